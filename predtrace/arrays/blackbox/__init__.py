"""Lineage of functions that do not consist of numpy's: by annotated execution or by experiment."""
