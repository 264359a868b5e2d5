"""Sort orders of Catalyst as sort keys."""

from __future__ import annotations

from predtrace.frontends.spark.expressions import ExpressionReader
from predtrace.frontends.spark.tree import Node
from pushdown.operators import SortKey


def sort_key(reader: ExpressionReader, order: Node) -> SortKey:
    """The sort key that a ``SortOrder`` states."""
    return SortKey(
        value=reader.read(order.children[0]),
        ascending=order.fields["direction"]["object"].endswith("Ascending$"),
        nulls_first=order.fields["nullOrdering"]["object"].endswith("NullsFirst$"),
    )
