"""Logical lineage inference: from an operator graph to a lineage plan."""
