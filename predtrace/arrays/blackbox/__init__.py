"""Lineage of functions that are not made of numpy's: by running them on cells that know theirs,
or by experiment."""
