"""Plan nodes whose results only the run knows: functions of tables and groups, scripts, places."""

from __future__ import annotations

from predtrace.frontends.spark.catalyst import items, origin_of
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.grouped import grouping
from predtrace.frontends.spark.pass_through import build_of
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from pushdown import operators as ops

NAMES: dict[str, str] = {
    "MapInPandas": "mapInPandas",
    "MapInArrow": "mapInArrow",
    "FlatMapGroupsInPandas": "applyInPandas",
    "FlatMapGroupsInArrow": "applyInArrow",
    "FlatMapCoGroupsInPandas": "applyInPandas of two frames",
    "FlatMapCoGroupsInArrow": "applyInArrow of two frames",
    "ScriptTransformation": "TRANSFORM",
}
"""The names that users know."""


@translates(*NAMES, to="Opaque")
def _opaque(translation: Translation, prepared: Prepared) -> Translated:
    attributes = prepared.many("output")
    columns = tuple(
        translation.column(each.expr_id, each.name, value_type(each, each.fields["dataType"]))
        for each in attributes
    )
    inputs = tuple(each.node for each in prepared.inputs)
    found = grouping(translation, prepared)
    operator = ops.Opaque(
        id=translation.next_node,
        inputs=inputs,
        name=_name(prepared),
        columns=columns,
        keys=found.keys if found else (),
        grouped=found is not None,
        origin=origin_of(prepared.node.handle),
    )
    build = found.build if found else build_of(translation, prepared)
    node = translation.add(operator, build, inputs)
    own = zip(attributes, columns, strict=True)
    program = Translated(node, tuple((each.expr_id, column) for each, column in own))
    return _without_keys(translation, prepared, program) if operator.keys else program


def _without_keys(translation: Translation, prepared: Prepared, program: Translated) -> Translated:
    """The program's own columns."""
    builder, handle = translation.builder, prepared.node.handle
    drop = ops.RowTransform(
        id=translation.next_node,
        input=program.node,
        assignments=tuple(ops.Assignment(column, column) for _, column in program.output),
        origin=origin_of(handle),
    )
    node = translation.add(
        drop, lambda plans: builder.project(items(handle.output()), plans[0]), (program.node,)
    )
    return Translated(node, program.output)


@translates("AttachDistributedSequence", to="OpaqueColumns, RowTransform above", keeps_columns=True)
def _numbered(translation: Translation, prepared: Prepared) -> Translated:
    """Rows with their places, which are the run's: labels that contribute nothing."""
    (below,) = prepared.inputs
    attribute = prepared.one("sequenceAttr")
    assert attribute is not None
    kind = value_type(attribute, attribute.fields["dataType"])
    number = translation.column(attribute.expr_id, attribute.name, kind, nullable=False)
    operator = ops.OpaqueColumns(
        id=translation.next_node,
        input=below.node,
        made=(ops.OpaqueColumn(number, "distributed_sequence_id()", ()),),
        origin=origin_of(prepared.node.handle),
    )
    node = translation.add(operator, build_of(translation, prepared), (below.node,))
    # The number comes first, where pandas-on-Spark expects it.
    output = ((attribute.expr_id, number), *below.output)
    ordered = ops.RowTransform(
        id=translation.next_node,
        input=node,
        assignments=tuple(ops.Assignment(column, column) for _, column in output),
        origin=operator.origin,
    )
    return Translated(translation.add(ordered, lambda plans: plans[0], (node,)), output)


def _name(prepared: Prepared) -> str:
    """The operator's name, with that of the function if it has one."""
    called = NAMES[prepared.node.cls]
    found = (one for name in ("func", "functionExpr") if (one := prepared.one(name)) is not None)
    function = next((str(each.fields["name"]) for each in found if "name" in each.fields), "")
    return f"{called}({function})" if function else called
