"""Targets of questions: rows, values and predicates, checked against the output."""
