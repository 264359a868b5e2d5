"""Engines: they select source rows by lineage predicates; see `base` for what one is asked."""
