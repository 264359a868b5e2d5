"""Common table expressions that Spark computes once: one operator with several consumers.

Spark copies a common table expression to its references if the copies give the same rows. One with
random functions that is read several times stays (WithCTE), and is computed once. Each reference
becomes a projection of its operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from predtrace.frontends.spark.catalyst import JavaObject, items, origin_of
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from pushdown.operators import Assignment, RowTransform


@translates("CTERelationDef", to="nothing: the operator that its references read")
def _definition(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    translation.shared[int(prepared.node.fields["id"])] = below
    return below


@translates("WithCTE", to="nothing: what its query becomes")
def _query(translation: Translation, prepared: Prepared) -> Translated:
    return prepared.inputs[-1]


@translates("CTERelationRef", to="RowTransform over an operator with several consumers")
def _reference(translation: Translation, prepared: Prepared) -> Translated:
    node, builder = prepared.node, translation.builder
    below = translation.shared[int(node.fields["cteId"])]
    attributes = node.expressions("output")
    pairs = tuple(zip(attributes, below.output, strict=True))
    assignments = tuple(
        Assignment(
            translation.column(each.expr_id, each.name, column.type, column.nullable), column
        )
        for each, (_, column) in pairs
    )
    operator = RowTransform(
        id=translation.next_node,
        input=below.node,
        assignments=assignments,
        origin=origin_of(node.handle),
    )

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        given = {int(each.exprId().id()): each for each in items(plans[0].output())}
        return builder.project(
            (
                given[expr_id]
                if expr_id == each.expr_id
                else builder.alias(given[expr_id], each.name, each.handle.exprId())
                for each, (expr_id, _) in pairs
            ),
            plans[0],
        )

    added = translation.add(operator, build, (below.node,))
    ids = (each.expr_id for each in attributes)
    return Translated(added, tuple(zip(ids, (a.column for a in assignments), strict=True)))
