"""Lineage of single calls of numpy's functions: rules, and the code that applies them."""
