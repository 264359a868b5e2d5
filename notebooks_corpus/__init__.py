"""Evaluation on pandas notebooks; empty so far, see the README."""
