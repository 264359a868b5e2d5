"""Expansions: several rows of each input row."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from predtrace.frontends.spark.catalyst import origin_of
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.translation import (
    Prepared,
    Translated,
    Translation,
    may_be_null,
)
from predtrace.frontends.spark.tree import Node
from pushdown import operators as ops
from symbolic.expr import Column, Expr
from symbolic.types import Null


@translates("Expand", to="Expand")
def _expand(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    node = prepared.node
    reader = translation.reader(below, replaced=prepared.replaced)
    written = tuple(map(tuple, translation.builder.rows_of(node, "projections")))
    projections = tuple(tuple(map(reader.read, projection)) for projection in written)
    output = node.expressions("output")
    columns: list[Column] = []
    for place, attribute in enumerate(output):
        passed = all(_is(projection[place], attribute) for projection in written)
        values = tuple(projection[place] for projection in projections)
        used = {column.id for column in columns} if passed else None
        columns.append(_column(translation, attribute, values, used))
    operator = ops.Expand(
        id=translation.next_node,
        input=below.node,
        projections=projections,
        columns=tuple(columns),
        origin=origin_of(node.handle),
    )
    added = translation.add(operator, translation.same_node(node), (below.node,))
    found = zip(output, columns, strict=True)
    return Translated(added, tuple((attribute.expr_id, column) for attribute, column in found))


def _is(value: Node, attribute: Node) -> bool:
    return value.cls == "AttributeReference" and value.expr_id == attribute.expr_id


def _column(
    translation: Translation, attribute: Node, values: Sequence[Expr], used: Collection[int] | None
) -> Column:
    """An output column; one that all projections pass on keeps its id the first time.

    None for `used` says that Catalyst knows the column by another id than the projections' input,
    even if their values are the same: what is stored above has only the one of the output.
    """
    first = values[0]
    if used is not None and isinstance(first, Column) and first.id not in used:
        return Column(first.id, attribute.name, first.type, first.nullable)
    kinds = (value.type for value in values if not isinstance(value.type, Null))
    kind = next(kinds, first.type)
    nullable = any(map(may_be_null, values))
    return translation.column(attribute.expr_id, attribute.name, kind, nullable)
