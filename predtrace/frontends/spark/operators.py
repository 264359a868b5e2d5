"""Catalyst plan nodes as operators: one small function a node class, in one registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from predtrace.errors import NonDeterministicError, PredTraceError, UnsupportedOperatorError
from predtrace.frontends.spark.aggregation import translate_aggregate
from predtrace.frontends.spark.catalyst import JavaObject, items, origin_of, place
from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.limits import LIMITS, limit_input, translate_limit
from predtrace.frontends.spark.sources import REFUSED_LEAVES, read_relation
from predtrace.frontends.spark.translation import (
    Prepared,
    Translated,
    Translation,
    assign,
    join_output,
    pull_out_subqueries,
)
from predtrace.frontends.spark.tree import Node
from pushdown import operators as ops
from symbolic.expr import TRUE, Column

Translator = Callable[[Translation, Prepared], Translated]

TRANSLATORS: dict[str, Translator] = {}
"""Catalyst node class: its translation."""
BECOMES: dict[str, str] = dict.fromkeys(LIMITS, "Limit")
"""For the coverage table: the operator that a node class becomes."""

_NOT_YET = "not traced yet"
UNSUPPORTED: dict[str, str] = {
    **REFUSED_LEAVES,
    "Window": f"window functions are {_NOT_YET}",
    "Generate": f"explode and its like are {_NOT_YET}",
    "Expand": f"ROLLUP, CUBE and grouping sets are {_NOT_YET}; write a UNION of GROUP BYs",
    "Pivot": f"pivots are {_NOT_YET}",
    "Unpivot": f"unpivots are {_NOT_YET}; write a UNION",
    "LateralJoin": f"lateral joins are {_NOT_YET}; write a plain join",
    "DomainJoin": "this correlated subquery needs a join with its outer rows; write it as a join",
    "AsOfJoin": f"as-of joins are {_NOT_YET}",
    "MapInPandas": f"Python functions over tables are {_NOT_YET}",
    "MapInArrow": f"Python functions over tables are {_NOT_YET}",
    "FlatMapGroupsInPandas": f"Python functions over groups are {_NOT_YET}",
    "FlatMapCoGroupsInPandas": f"Python functions over groups are {_NOT_YET}",
    "BatchEvalPython": f"Python functions are {_NOT_YET}",
    "ArrowEvalPython": f"Python functions are {_NOT_YET}",
    "MapElements": f"functions over JVM objects are {_NOT_YET}",
    "MapPartitions": f"functions over JVM objects are {_NOT_YET}",
    "Tail": "the last rows of an unordered result are up to the run; sort descending and limit",
    "LocalLimit": "a limit per partition is up to the run; use LIMIT",
    "LimitAll": f"LIMIT ALL is {_NOT_YET}; leave it out",
    "UnionLoop": f"recursive queries are {_NOT_YET}",
    "WithCTE": f"recursive queries are {_NOT_YET}",
    "CTERelationRef": f"recursive queries are {_NOT_YET}",
    "EventTimeWatermark": "streaming is not traced",
}
"""Plan node classes known to be refused, with the reason and the way out."""

NON_DETERMINISTIC = {
    "Sample": "which rows a sample takes is up to the run",
}
"""Plan node classes whose rows another run need not repeat."""


def translate(translation: Translation, node: Node) -> Translated:
    """Translate a normalised plan, inputs first.

    Raises UnsupportedOperatorError, NonDeterministicError or SourceError, each naming
    the Catalyst class and where it stands in the query.
    """
    if node.cls in LIMITS:
        return translate_limit(translation, node, translate(translation, limit_input(node)))
    if node.cls not in TRANSLATORS:
        raise _refusal(node)
    inputs = tuple(translate(translation, child) for child in node.children)
    prepared = Prepared(node, inputs, node.roots())
    pull_out_subqueries(translation, prepared, lambda plan: translate(translation, plan))
    return TRANSLATORS[node.cls](translation, prepared)


def _refusal(node: Node) -> PredTraceError:
    where = place(node.handle)
    if node.cls in NON_DETERMINISTIC:
        return NonDeterministicError(
            f"Catalyst operator {node.cls} cannot be traced: {NON_DETERMINISTIC[node.cls]}; "
            f"write its result to Parquet and read that{where}"
        )
    why = UNSUPPORTED.get(node.cls, "it is not known to predtrace")
    return UnsupportedOperatorError(f"Catalyst operator {node.cls} cannot be traced: {why}{where}")


def _translates(*classes: str, to: str) -> Callable[[Translator], Translator]:
    def register(translator: Translator) -> Translator:
        TRANSLATORS.update(dict.fromkeys(classes, translator))
        BECOMES.update(dict.fromkeys(classes, to))
        return translator

    return register


@_translates("LogicalRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation", to="Scan")
def _scan(translation: Translation, prepared: Prepared) -> Translated:
    node = prepared.node
    attributes = node.expressions("output")
    leaf = translation.leaves.take(attributes[0].expr_id if attributes else -1)
    relation = read_relation(node, leaf)
    columns = tuple(
        translation.column(
            attribute.expr_id,
            attribute.name,
            data_type(attribute.fields["dataType"]),
            bool(attribute.fields["nullable"]),
        )
        for attribute in attributes
    )
    if any(column.name == "_metadata" for column in columns):
        raise UnsupportedOperatorError(
            f"the hidden column _metadata of {relation.name} cannot be traced; "
            f"leave it out{place(node.handle)}"
        )
    translation.book.enter(relation, columns)
    scan = ops.Scan(
        id=translation.next_node,
        table=relation.name,
        # Numbered when all scans are known: this one counts in plan order.
        occurrence=leaf.number,
        columns=columns,
        alias=None if leaf.alias == relation.name else leaf.alias,
        origin=origin_of(node.handle),
    )
    translation.leaf_handles[scan.id] = node.handle
    added = translation.add(scan, translation.same_node(node))
    return Translated(added, tuple((translation.expr_ids[c.id], c) for c in columns))


@_translates("OneRowRelation", to="OneRow")
def _one_row(translation: Translation, prepared: Prepared) -> Translated:
    operator = ops.OneRow(id=translation.next_node)
    return Translated(translation.add(operator, translation.same_node(prepared.node)), ())


@_translates("Filter", to="Filter")
def _filter(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    condition = prepared.one("condition")
    assert condition is not None
    operator = ops.Filter(
        id=translation.next_node,
        input=below.node,
        condition=translation.reader(below, replaced=prepared.replaced).read(condition),
        origin=origin_of(prepared.node.handle),
    )
    return _finish(translation, prepared, operator, (below,))


@_translates("Project", to="RowTransform")
def _project(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    reader = translation.reader(below, replaced=prepared.replaced)
    projections = prepared.many("projectList")
    assignments: list[ops.Assignment] = []
    used: set[int] = set()
    for projection in projections:
        assignments.append(assign(translation, projection, reader.read(projection), used))
    operator = ops.RowTransform(
        id=translation.next_node,
        input=below.node,
        assignments=tuple(assignments),
        origin=origin_of(prepared.node.handle),
    )
    added = translation.add(operator, _build(translation, prepared), (below.node,))
    output = zip(projections, assignments, strict=True)
    return Translated(added, tuple((p.expr_id, a.column) for p, a in output))


_JOINS: dict[str, Callable[..., ops.Operator]] = {
    "Inner": ops.InnerJoin,
    "Cross": ops.InnerJoin,
    "LeftSemi": ops.SemiJoin,
    "LeftAnti": ops.AntiJoin,
}
_OUTER_JOINS = {
    "LeftOuter": "left",
    "RightOuter": "right",
    "FullOuter": "full",
    # At most one partner a row (else the query fails): made for scalar subqueries.
    "LeftSingle": "left",
}


@_translates("Join", to="InnerJoin, OuterJoin, SemiJoin, AntiJoin, MarkJoin")
def _join(translation: Translation, prepared: Prepared) -> Translated:
    left, right = prepared.inputs
    condition = prepared.one("condition")
    reader = translation.reader(left, right, replaced=prepared.replaced)
    common: dict[str, Any] = {
        "left": left.node,
        "right": right.node,
        "condition": TRUE if condition is None else reader.read(condition),
        "origin": origin_of(prepared.node.handle),
    }
    kind = prepared.node.fields["joinType"]
    name = kind.get("object", kind.get("product-class", "")).rsplit(".", 1)[-1].rstrip("$")
    mark: tuple[tuple[int, Column], ...] = ()
    if name == "ExistenceJoin":
        expr_id = int(kind["exists"][0]["exprId"]["id"])
        column = translation.column(expr_id, "exists", data_type("boolean"), nullable=False)
        mark = ((expr_id, column),)
    id_ = translation.next_node
    operator: ops.Operator
    if mark:
        operator = ops.MarkJoin(id=id_, mark=mark[0][1], **common)
    elif name in _OUTER_JOINS:
        operator = ops.OuterJoin(id=id_, kind=_OUTER_JOINS[name], **common)
    elif name in _JOINS:
        operator = _JOINS[name](id=id_, **common)
    else:
        raise UnsupportedOperatorError(
            f"Catalyst join type {name} cannot be traced{place(prepared.node.handle)}"
        )
    return _finish(translation, prepared, operator, (left, right), mark)


@_translates("Aggregate", to="GroupBy, RowTransform above where results are computed")
def _aggregate(translation: Translation, prepared: Prepared) -> Translated:
    return translate_aggregate(translation, prepared)


@_translates("Distinct", to="Distinct")
def _distinct(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    operator = ops.Distinct(
        id=translation.next_node, input=below.node, origin=origin_of(prepared.node.handle)
    )
    return _finish(translation, prepared, operator, (below,))


@_translates("Deduplicate", to="Distinct (when all columns are compared)")
def _deduplicate(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    keys = {key.expr_id for key in prepared.many("keys")}
    if keys < {expr_id for expr_id, _ in below.output}:
        raise NonDeterministicError(
            "dropDuplicates on some of the columns (Catalyst: Deduplicate) keeps whichever row "
            "comes first; group by them with min or max, or drop the other columns before"
            f"{place(prepared.node.handle)}"
        )
    return _distinct(translation, prepared)


@_translates("Union", to="Union")
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


@_translates("Intersect", "Except", to="Intersect, Except")
def _intersect_or_except(translation: Translation, prepared: Prepared) -> Translated:
    left, right = prepared.inputs
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


@_translates("Sort", to="Sort")
def _sort(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    if not prepared.node.fields["global"]:
        return _pass_on(translation, prepared)
    reader = translation.reader(below, replaced=prepared.replaced)
    keys = tuple(
        ops.SortKey(
            value=reader.read(key.children[0]),
            ascending=key.fields["direction"]["object"].endswith("Ascending$"),
            nulls_first=key.fields["nullOrdering"]["object"].endswith("NullsFirst$"),
        )
        for key in prepared.many("order")
    )
    operator = ops.Sort(
        id=translation.next_node,
        input=below.node,
        keys=keys,
        origin=origin_of(prepared.node.handle),
    )
    return _finish(translation, prepared, operator, (below,))


@_translates(
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "ResolvedHint",
    "SubqueryAlias",
    "View",
    to="nothing: the same rows",
)
def _pass_on(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    translation.wrap(below.node, prepared.node.handle)
    return below


def _finish(
    translation: Translation,
    prepared: Prepared,
    operator: ops.Operator,
    inputs: Sequence[Translated],
    added: tuple[tuple[int, Column], ...] = (),
) -> Translated:
    """Note an operator that passes columns on, and drop the columns of subqueries again."""
    node = translation.add(operator, _build(translation, prepared), [i.node for i in inputs])
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


def _build(
    translation: Translation, prepared: Prepared
) -> Callable[[Sequence[JavaObject]], JavaObject]:
    if not prepared.attributes:
        return translation.same_node(prepared.node)
    builder = translation.builder

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        plan = builder.with_expressions(prepared.node, prepared.attributes, prepared.roots)
        return builder.with_children(plan, plans)

    return build
