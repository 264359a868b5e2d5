"""What is asked about: rows, values and predicates, checked against the output."""
