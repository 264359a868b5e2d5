"""Lineage of single calls of numpy's functions: rules, and what carries them out."""
