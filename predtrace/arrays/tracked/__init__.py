"""Arrays that record where their cells come from, while a numpy program runs."""
