"""Session windows: grouping by a column that Spark marks merges overlapping windows.

The merging stands nowhere in a plan. An aggregation, DISTINCT and the like merge the windows of a
grouping column whose metadata has Spark's mark, wherever the column was made. They are refused
here; without grouping, a session window is a plain function of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, items, place
from predtrace.frontends.spark.tree import Node
from symbolic.expr import Column
from symbolic.types import Record

_MARK = "spark.sessionWindow"


def structs(node: Node, columns: Iterable[Column]) -> Iterator[JavaObject]:
    """The attributes of a node's output that may be windows; `columns` are its columns in order."""
    for attribute, column in zip(items(node.handle.output()), columns, strict=True):
        if isinstance(column.type, Record):
            yield attribute


def refuse_merging(node: Node, grouped: Iterable[JavaObject]) -> None:
    """Raise UnsupportedOperatorError if a plan node that groups by attributes merges windows."""
    for attribute in grouped:
        if attribute.metadata().contains(_MARK):
            raise UnsupportedOperatorError(
                f"grouping by session windows (session_window, as {attribute.name()}) merges "
                "windows that overlap, which is not traced yet; number the sessions with "
                f"lag and a running sum{place(node.handle)}"
            )
