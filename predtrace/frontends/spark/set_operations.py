"""UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from predtrace.frontends.spark.catalyst import items, origin_of
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.session_windows import refuse_merging, structs
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from pushdown import operators as ops
from symbolic.expr import Column


@translates("Union", to="Union")
def _union(translation: Translation, prepared: Prepared) -> Translated:
    columns = _set_columns(translation, prepared)
    operator = ops.Union_(
        id=translation.next_node,
        inputs=tuple(each.node for each in prepared.inputs),
        branches=_branches(prepared),
        columns=columns,
        origin=origin_of(prepared.node.handle),
    )
    return _set_operation(translation, prepared, operator)


@translates("Intersect", "Except", to="Intersect, Except")
def _intersect_or_except(translation: Translation, prepared: Prepared) -> Translated:
    left, right = prepared.inputs
    refuse_merging(prepared.node, structs(prepared.node, (c for _, c in left.output)))
    make = ops.Intersect if prepared.node.cls == "Intersect" else ops.Except
    operator = make(
        id=translation.next_node,
        left=left.node,
        right=right.node,
        branches=_branches(prepared),
        columns=_set_columns(translation, prepared),
        all=bool(prepared.node.fields["isAll"]),
        origin=origin_of(prepared.node.handle),
    )
    return _set_operation(translation, prepared, operator)


def _branches(prepared: Prepared) -> tuple[tuple[Column, ...], ...]:
    return tuple(tuple(column for _, column in each.output) for each in prepared.inputs)


def _set_columns(translation: Translation, prepared: Prepared) -> tuple[Column, ...]:
    schema = items(prepared.node.handle.output())
    return tuple(
        translation.column(
            int(attribute.exprId().id()),
            str(attribute.name()),
            column.type,
            bool(attribute.nullable()),
        )
        for attribute, (_, column) in zip(schema, prepared.inputs[0].output, strict=True)
    )


def _set_operation(
    translation: Translation, prepared: Prepared, operator: ops.Operator
) -> Translated:
    build = translation.same_node(prepared.node)
    inputs = [each.node for each in prepared.inputs]
    added = translation.add(operator, build, inputs)
    columns = translation.output_of(added)
    return Translated(added, tuple((translation.expr_ids[c.id], c) for c in columns))
