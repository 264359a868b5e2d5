"""Session windows: grouping by a column that Spark marks merges overlapping windows.

The merging stands nowhere in a plan. An aggregation, DISTINCT and the like merge the windows of a
grouping column whose metadata has Spark's mark, wherever the column was made. `sessions_merged`
writes the merging out for groupings; what is left is refused here. Without grouping, a session
window is a plain function of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, items, place
from predtrace.frontends.spark.tree import Node
from symbolic.expr import Column
from symbolic.types import Record

MARK = "spark.sessionWindow"
"""The key of Spark's mark in a column's metadata."""


def structs(node: Node, columns: Iterable[Column]) -> Iterator[JavaObject]:
    """The attributes of a node's output that may be windows; `columns` are its columns in order."""
    for attribute, column in zip(items(node.handle.output()), columns, strict=True):
        if isinstance(column.type, Record):
            yield attribute


def refuse_merging(node: Node, grouped: Iterable[JavaObject]) -> None:
    """Raise UnsupportedOperatorError if a plan node that groups by attributes merges windows."""
    for attribute in grouped:
        if attribute.metadata().contains(MARK):
            raise UnsupportedOperatorError(
                f"session windows (session_window, as {attribute.name()}) that overlap are merged "
                f"here (Catalyst: {node.cls}), which is traced only for GROUP BY and DISTINCT, if "
                "they are never NULL and no aggregate reads them; group by the window in a "
                f"subquery first{place(node.handle)}"
            )
