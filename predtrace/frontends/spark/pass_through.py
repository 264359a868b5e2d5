"""Adding operators whose output keeps the columns of their inputs."""

from __future__ import annotations

from collections.abc import Sequence

from predtrace.frontends.spark.catalyst import JavaObject, items
from predtrace.frontends.spark.translation import (
    Build,
    Prepared,
    Translated,
    Translation,
    join_output,
)
from pushdown import operators as ops
from symbolic.expr import Column


def finish(
    translation: Translation,
    prepared: Prepared,
    operator: ops.Operator,
    inputs: Sequence[Translated],
    added: tuple[tuple[int, Column], ...] = (),
) -> Translated:
    """Add an operator that keeps its inputs' columns; the columns of subqueries are dropped
    again."""
    node = translation.add(operator, build_of(translation, prepared), [i.node for i in inputs])
    passed = inputs[:1] if isinstance(operator, (ops.SemiJoin, ops.AntiJoin)) else inputs
    passed = inputs[:1] if isinstance(operator, ops.MarkJoin) else passed
    output = (*join_output(translation, node, *passed), *added)
    helpers = {column.id for column in prepared.replaced.values()}
    if not helpers:
        return Translated(node, output)
    kept = tuple(pair for pair in output if pair[1].id not in helpers)
    drop = ops.RowTransform(
        id=translation.next_node,
        input=node,
        assignments=tuple(ops.Assignment(column, column) for _, column in kept),
        origin=operator.origin,
    )
    builder, handle = translation.builder, prepared.node.handle
    dropped = translation.add(
        drop, lambda plans: builder.project(items(handle.output()), plans[0]), (node,)
    )
    return Translated(dropped, kept)


def build_of(translation: Translation, prepared: Prepared) -> Build:
    """The builder of a plan node's operator, with its subqueries replaced by columns."""
    if not prepared.attributes:
        return translation.same_node(prepared.node)
    builder = translation.builder

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        plan = builder.with_expressions(prepared.node, prepared.attributes, prepared.roots)
        return builder.with_children(plan, plans)

    return build
