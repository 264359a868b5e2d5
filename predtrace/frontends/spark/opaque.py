"""Plan nodes whose program only the run knows: functions of tables and groups, and scripts."""

from __future__ import annotations

from predtrace.frontends.spark.catalyst import origin_of
from predtrace.frontends.spark.collations import value_type
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
    operator = ops.Opaque(
        id=translation.next_node,
        inputs=inputs,
        name=_name(prepared),
        columns=columns,
        origin=origin_of(prepared.node.handle),
    )
    node = translation.add(operator, build_of(translation, prepared), inputs)
    pairs = zip(attributes, columns, strict=True)
    return Translated(node, tuple((each.expr_id, column) for each, column in pairs))


def _name(prepared: Prepared) -> str:
    """The operator's name, with that of the function if it has one."""
    called = NAMES[prepared.node.cls]
    found = (one for name in ("func", "functionExpr") if (one := prepared.one(name)) is not None)
    function = next((str(each.fields["name"]) for each in found if "name" in each.fields), "")
    return f"{called}({function})" if function else called
