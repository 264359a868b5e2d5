"""Engines: they select source rows by lineage predicates; `base` has their protocol."""
