"""Replay and refinement against the reference tracer: random graphs, without stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import assume, event, given, settings

from predtrace.inference import infer
from predtrace.inference.plan import PRECISE, LineagePlan, RefinedPlan, Restriction, ValueSet
from predtrace.inference.refinement import infer_refinement
from predtrace.inference.replay import infer_replays, sufficient, unrepeatable
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import TRUE, Column, conjunction, same
from tests.reference import ReferenceResult, evaluate_plan, trace_graph
from tests.reference.functions import Settings
from tests.reference.joins import matching
from tests.reference.plans import PlanAnswer, _Bound, _selected, project
from tests.reference.values import Row
from tests.strategies import Pipeline, count, pipelines

Tables = Mapping[str, Sequence[Row]]


def replayed_outputs(
    graph: OperatorGraph,
    tables: Tables,
    node: int,
    restrictions: Sequence[Restriction],
    bound: _Bound,
    binding: int,
) -> list[Row]:
    """The rows of a node over scans that keep only what the restrictions select."""
    kept: dict[str, list[Row]] = {}
    operators = []
    by_node = {restriction.node: restriction.predicate for restriction in restrictions}
    for below in graph.top_down(node):
        operator = graph[below]
        if isinstance(operator, Scan):
            rows = list(tables[operator.table])
            picked = _selected(
                rows, operator.columns, by_node[below], binding, {binding: bound}, Settings("UTC")
            )
            name = f"scan {below}"
            kept[name] = [rows[index] for index in picked]
            operator = msgspec.structs.replace(operator, table=name, occurrence=1)
        operators.append(operator)
    replayed = trace_graph(OperatorGraph(operators, node), kept, keep_outputs=True)
    return list(replayed.outputs[node])


def replay(
    plan: LineagePlan, pipeline: Pipeline, reference: ReferenceResult, target: Row
) -> dict[int, PlanAnswer]:
    """The answer of a plan whose intermediates are replayed one after the other."""
    graph, tables = pipeline
    replays = {found.binding: found for found in infer_replays(graph, plan)}
    bindings = {0: _Bound(graph.output(), [target])}
    outputs: dict[int, list[Row]] = dict(reference.outputs)
    for item in sorted(plan.intermediates, key=lambda item: item.binding):
        rows = replayed_outputs(
            graph,
            tables,
            item.node,
            replays[item.binding].restrictions,
            bindings[item.parent],
            item.parent,
        )
        outputs[item.node] = rows
        stored = project(rows, graph.output(item.node), item.columns)
        picked = _selected(
            stored, item.columns, item.predicate, item.parent, bindings, Settings("UTC")
        )
        bindings[item.binding] = _Bound(item.columns, [stored[index] for index in picked])
    found: Any = SimpleNamespace(outputs=outputs)
    return evaluate_plan(plan, graph, found, [target])


@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
@given(pipeline=pipelines())
@settings(max_examples=count(40))
def test_replay_is_precise(aggregates: str, pipeline: Pipeline) -> None:
    graph, tables = pipeline
    plan = infer(graph, aggregates=aggregates)
    assume(not any(unrepeatable(graph, item.node) for item in plan.intermediates))
    reference = trace_graph(graph, tables, aggregates, keep_outputs=True)
    event(f"{len(plan.intermediates)} replays")
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        for node, answer in replay(plan, pipeline, reference, row).items():
            assert answer.rows >= expected[node], f"lineage rows are missing: scan {node}, {row!r}"
            if answer.label == PRECISE:
                assert answer.rows == expected[node], f"too many: scan {node}, {row!r}"


@given(pipeline=pipelines(operators=6))
@settings(max_examples=count(40))
def test_every_node_can_be_replayed(pipeline: Pipeline) -> None:
    """Sufficient predicates give the selected rows of any node as the full run gave them."""
    graph, tables = pipeline
    assume(not unrepeatable(graph, graph.root))
    reference = trace_graph(graph, tables, keep_outputs=True)
    for node in graph.top_down():
        columns = graph.output(node)
        if not columns or isinstance(graph[node], Scan):
            continue
        lookup = infer_lookup(columns[:1])
        restrictions = sufficient(graph, node, lookup)
        rows = list(reference.outputs[node])
        for row in dict.fromkeys(rows):
            bound = _Bound(columns, [row])
            again = replayed_outputs(graph, tables, node, restrictions, bound, 0)
            picked = [
                [
                    found[i]
                    for i in _selected(found, columns, lookup, 0, {0: bound}, Settings("UTC"))
                ]
                for found in (rows, again)
            ]
            assert sorted(map(repr, picked[0])) == sorted(map(repr, picked[1]))


def infer_lookup(columns: tuple[Column, ...]) -> Any:
    """The row-selection predicate of some columns."""
    from predtrace.inference.precise import row_selection

    return row_selection(columns)


def refine(
    plan: RefinedPlan, graph: OperatorGraph, tables: Tables, target: Row
) -> dict[int, PlanAnswer]:
    """Refinement by its definition, to a fixpoint, with Python sets."""
    bindings = {0: _Bound(graph.output(), [target])}
    rows: dict[int, list[Row]] = {}
    for found in plan.sets:
        rows[found.node] = _set_rows(found, graph, tables, bindings)
    candidates = {
        found.node: set(
            _selected(
                rows[found.node],
                graph.output(found.node),
                found.predicate,
                0,
                bindings,
                Settings("UTC"),
            )
        )
        for found in plan.sets
    }
    while True:
        before = {node: len(kept) for node, kept in candidates.items()}
        for found in plan.sets:
            own = graph.output(found.node)
            for membership in found.memberships:
                other = graph.output(membership.node)
                columns = [c for i in membership.columns for c in other if c.id == i]
                ties = map(same, membership.args, columns)
                matches = matching(
                    rows[found.node],
                    own,
                    [rows[membership.node][i] for i in candidates[membership.node]],
                    other,
                    conjunction(*ties, membership.condition),
                    Settings("UTC"),
                )
                candidates[found.node] &= {i for i, match in enumerate(matches) if match}
        if before == {node: len(kept) for node, kept in candidates.items()}:
            break
    labels = {scan.node: scan.label for scan in plan.scans}
    return {node: PlanAnswer(frozenset(candidates[node]), label) for node, label in labels.items()}


def _set_rows(
    found: ValueSet, graph: OperatorGraph, tables: Tables, bindings: Mapping[int, _Bound]
) -> list[Row]:
    operator = graph[found.node]
    if isinstance(operator, Scan):
        return list(tables[operator.table])
    return replayed_outputs(graph, tables, found.node, found.restrictions, bindings[0], 0)


@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
@given(pipeline=pipelines())
@settings(max_examples=count(40))
def test_refinement_misses_nothing(aggregates: str, pipeline: Pipeline) -> None:
    graph, tables = pipeline
    reference = trace_graph(graph, tables, aggregates, keep_outputs=True)
    plan = infer_refinement(graph, aggregates)
    event("all precise" if all(s.label == PRECISE for s in plan.scans) else "some superset")
    event("value sets" if any(s.memberships for s in plan.sets) else "no value sets")
    if any(m.condition != TRUE for s in plan.sets for m in s.memberships):
        event("conditions between value sets")
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        for node, answer in refine(plan, graph, tables, row).items():
            where = f"scan {node}, row {row!r}"
            assert answer.rows >= expected[node], f"lineage rows are missing: {where}"
            if answer.label == PRECISE:
                assert answer.rows == expected[node], f"too many rows called precise: {where}"


@given(pipeline=pipelines(operators=5))
@settings(max_examples=count(60))
def test_refinement_of_small_graphs(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    reference = trace_graph(graph, tables, keep_outputs=True)
    plan = infer_refinement(graph, "minimal")
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        for node, answer in refine(plan, graph, tables, row).items():
            assert answer.rows >= expected[node]
            if answer.label == PRECISE:
                assert answer.rows == expected[node]
