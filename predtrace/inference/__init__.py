"""Logical lineage inference: from an operator graph to a lineage plan."""

from predtrace.inference.infer import infer

__all__ = ["infer"]
