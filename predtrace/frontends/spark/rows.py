"""Operators on the rows of one input: filters, projections, duplicates, order."""

from __future__ import annotations

from predtrace.frontends.spark.aggregation import translate_aggregate
from predtrace.frontends.spark.catalyst import origin_of
from predtrace.frontends.spark.pass_through import build_of, finish
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.session_windows import refuse_merging, structs
from predtrace.frontends.spark.sort_keys import sort_key
from predtrace.frontends.spark.translation import Prepared, Translated, Translation, assign
from pushdown import operators as ops


@translates("Filter", to="Filter", keeps_columns=True)
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
    return finish(translation, prepared, operator, (below,))


@translates("Project", to="RowTransform")
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
    added = translation.add(operator, build_of(translation, prepared), (below.node,))
    output = zip(projections, assignments, strict=True)
    return Translated(added, tuple((p.expr_id, a.column) for p, a in output))


@translates("Aggregate", to="GroupBy, RowTransform above where results are computed")
def _aggregate(translation: Translation, prepared: Prepared) -> Translated:
    return translate_aggregate(translation, prepared)


@translates("Distinct", to="Distinct")
def _distinct(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    refuse_merging(prepared.node, structs(prepared.node, (c for _, c in below.output)))
    operator = ops.Distinct(
        id=translation.next_node, input=below.node, origin=origin_of(prepared.node.handle)
    )
    return finish(translation, prepared, operator, (below,))


@translates(
    "Deduplicate",
    to="Distinct when all columns are compared, else DropDuplicates",
    keeps_columns=True,
)
def _deduplicate(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    refuse_merging(prepared.node, (key.handle for key in prepared.many("keys")))
    keys = {key.expr_id for key in prepared.many("keys")}
    if keys >= {expr_id for expr_id, _ in below.output}:
        return _distinct(translation, prepared)
    operator = ops.DropDuplicates(
        id=translation.next_node,
        input=below.node,
        keys=tuple(column for expr_id, column in below.output if expr_id in keys),
        origin=origin_of(prepared.node.handle),
    )
    return finish(translation, prepared, operator, (below,))


@translates("Sort", to="Sort", keeps_columns=True)
def _sort(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    if not prepared.node.fields["global"]:
        return _pass_on(translation, prepared)
    reader = translation.reader(below, replaced=prepared.replaced)
    keys = tuple(sort_key(reader, key) for key in prepared.many("order"))
    operator = ops.Sort(
        id=translation.next_node,
        input=below.node,
        keys=keys,
        origin=origin_of(prepared.node.handle),
    )
    return finish(translation, prepared, operator, (below,))


@translates("Sample", to="Sample", keeps_columns=True)
def _sample(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    given = prepared.node.fields
    operator = ops.Sample(
        id=translation.next_node,
        input=below.node,
        lower=float(given["lowerBound"]),
        upper=float(given["upperBound"]),
        with_replacement=given["withReplacement"],
        seed=given.get("seed"),
        origin=origin_of(prepared.node.handle),
    )
    return finish(translation, prepared, operator, (below,))


@translates(
    "LimitAll",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "ResolvedHint",
    "SubqueryAlias",
    "View",
    to="nothing: the same rows",
    keeps_columns=True,
)
def _pass_on(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    translation.wrap(below.node, prepared.node.handle)
    return below
