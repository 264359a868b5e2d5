"""Replay and refinement against the reference tracer: random graphs, without stored results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from predtrace.inference import costs, infer
from predtrace.inference.narrowing import narrowed
from predtrace.inference.plan import LineagePlan, Membership, RefinedPlan, Restriction, ValueSet
from predtrace.inference.precise import Pushdown
from predtrace.inference.refinement import infer_refinement
from predtrace.inference.repeating import unrepeatable
from predtrace.inference.replay import infer_replays, sufficient
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.obligations import SUFFICIENT
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Filter,
    GroupBy,
    InnerJoin,
    Operator,
    OuterJoin,
    Scan,
    SemiJoin,
)
from symbolic.expr import TRUE, Column, Literal, call, conjunction, same
from symbolic.types import INTEGER
from tests.reference import ReferenceResult, evaluate_plan, trace_graph
from tests.reference.functions import Settings
from tests.reference.joins import matching
from tests.reference.plans import PlanAnswer, _Bound, _selected, project
from tests.reference.values import Row
from tests.strategies import Pipeline, compared, count, pipelines

Tables = Mapping[str, Sequence[Row]]


def replayed_outputs(
    graph: OperatorGraph,
    tables: Tables,
    node: int,
    restrictions: Sequence[Restriction],
    bound: _Bound,
    binding: int,
    sets: Sequence[ValueSet] = (),
) -> list[Row]:
    """The rows of a node over scans that keep only what the restrictions select."""
    kept: dict[str, list[Row]] = {}
    operators = []
    by_node = {restriction.node: restriction for restriction in restrictions}
    found: dict[int, list[Row]] = {}
    for one in sets:
        rows = list(tables[graph[one.node].table])
        picked = _selected(
            rows, graph.output(one.node), one.predicate, binding, {binding: bound}, Settings("UTC")
        )
        chosen = [rows[index] for index in picked]
        found[one.node] = within(chosen, graph, one.node, one.memberships, found)
    for below in graph.top_down(node):
        operator = graph[below]
        if isinstance(operator, Scan):
            rows = list(tables[operator.table])
            picked = _selected(
                rows,
                operator.columns,
                by_node[below].predicate,
                binding,
                {binding: bound},
                Settings("UTC"),
            )
            name = f"scan {below}"
            chosen = [rows[index] for index in picked]
            kept[name] = within(chosen, graph, below, by_node[below].memberships, found)
            operator = msgspec.structs.replace(operator, table=name, occurrence=1)
        operators.append(operator)
    replayed = trace_graph(OperatorGraph(operators, node), kept, keep_outputs=True)
    return list(replayed.outputs[node])


def within(
    rows: list[Row],
    graph: OperatorGraph,
    node: int,
    memberships: Sequence[Membership],
    sets: Mapping[int, list[Row]],
) -> list[Row]:
    """The rows of a node whose memberships hold; `sets` has the rows of value sets by node."""
    for membership in memberships:
        other = graph.output(membership.node)
        columns = [c for i in membership.columns for c in other if c.id == i]
        condition = conjunction(*map(same, membership.args, columns), membership.condition)
        found = matching(
            rows, graph.output(node), sets[membership.node], other, condition, Settings("UTC")
        )
        rows = [row for row, match in zip(rows, found, strict=True) if match]
    return rows


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
            replays[item.binding].sets,
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
    compared(len(reference.distinct_rows()))
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        for node, answer in replay(plan, pipeline, reference, row).items():
            assert answer.rows >= expected[node], f"lineage rows are missing: scan {node}, {row!r}"
            if answer.label == PRECISE:
                assert answer.rows == expected[node], f"too many: scan {node}, {row!r}"


@given(pipeline=pipelines(operators=6))
@settings(max_examples=count(40))
def test_every_node_can_be_replayed(pipeline: Pipeline) -> None:
    """Sufficient predicates give the selected rows of any node as the full run gave them.

    So do they with all memberships that there are, whether or not these pay off.
    """
    graph, tables = pipeline
    assume(not unrepeatable(graph, graph.root))
    reference = trace_graph(graph, tables, keep_outputs=True)
    for node in graph.top_down():
        columns = graph.output(node)
        if not columns or isinstance(graph[node], Scan):
            continue
        lookup = infer_lookup(columns[:1])
        restrictions = sufficient(graph, node, lookup)
        pushdown = Pushdown(graph, "whole", SUFFICIENT)
        with all_pay_off():
            fewer, sets = narrowed(pushdown, node, lookup, restrictions, {})
        event("narrowed" if any(one.memberships for one in fewer) else "not narrowed")
        rows = list(reference.outputs[node])
        compared(len(rows))
        for row in dict.fromkeys(rows):
            bound = _Bound(columns, [row])
            again = replayed_outputs(graph, tables, node, restrictions, bound, 0)
            less = replayed_outputs(graph, tables, node, fewer, bound, 0, sets)
            picked = [
                [
                    found[i]
                    for i in _selected(found, columns, lookup, 0, {0: bound}, Settings("UTC"))
                ]
                for found in (rows, again, less)
            ]
            assert sorted(map(repr, picked[0])) == sorted(map(repr, picked[1]))
            assert sorted(map(repr, picked[0])) == sorted(map(repr, picked[2]))


@contextmanager
def all_pay_off() -> Iterator[None]:
    """Narrowing takes every membership, whatever it is estimated to cost."""
    with mock.patch.multiple(costs, MUCH_SMALLER=math.inf, READ_COST=math.inf):
        yield


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
@given(pipeline=pipelines(operators=6, samples=True))
@settings(max_examples=count(40))
def test_refinement_misses_nothing(aggregates: str, pipeline: Pipeline) -> None:
    graph, tables = pipeline
    reference = trace_graph(graph, tables, aggregates, keep_outputs=True)
    plan = infer_refinement(graph, aggregates)
    event("all precise" if all(s.label == PRECISE for s in plan.scans) else "some superset")
    event("value sets" if any(s.memberships for s in plan.sets) else "no value sets")
    if any(m.condition != TRUE for s in plan.sets for m in s.memberships):
        event("conditions between value sets")
    compared(len(reference.distinct_rows()))
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
    compared(len(reference.distinct_rows()))
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        for node, answer in refine(plan, graph, tables, row).items():
            assert answer.rows >= expected[node]
            if answer.label == PRECISE:
                assert answer.rows == expected[node]


K, V, Q, K2, Q2, KEY, N = (Column(id, name, INTEGER) for id, name in enumerate("kvqgrzn", start=1))
SMALL = st.lists(st.tuples(*[st.sampled_from([None, 0, 1, 2])] * 2), max_size=5)


def _grouped_side(join: type[Operator], kind: dict[str, str], picked: int) -> OperatorGraph:
    """Some of `p`, joined in some way with the groups of `b`: they are few of its keys."""
    condition = call("eq", K, KEY)
    count_rows = Aggregation(N, AggregateCall("count", (), INTEGER))
    chosen = call("eq", V, Literal(picked, INTEGER))
    return OperatorGraph(
        [
            Scan(id=1, table="p", occurrence=1, columns=(K, V)),
            Filter(id=2, input=1, condition=chosen),
            Scan(id=3, table="b", occurrence=1, columns=(K2, Q2)),
            GroupBy(id=4, input=3, keys=(Assignment(KEY, K2),), aggregations=(count_rows,)),
            join(id=5, left=2, right=4, condition=condition, **kind),
        ],
        5,
    )


@pytest.mark.parametrize(
    ("join", "kind"),
    [
        (InnerJoin, {}),
        (SemiJoin, {}),
        (AntiJoin, {}),
        *((OuterJoin, {"kind": kind}) for kind in ("left", "right", "full")),
    ],
)
@given(picked=st.integers(0, 2), p=SMALL, b=SMALL)
@settings(max_examples=count(15))
def test_groups_are_cut_down_by_what_they_are_joined_with(
    join: type[Operator], kind: dict[str, str], picked: int, p: list[Row], b: list[Row]
) -> None:
    graph, tables = _grouped_side(join, kind, picked), {"p": p, "b": b}
    lookup = infer_lookup((V,))
    plain = sufficient(graph, 5, lookup)
    with all_pay_off():
        fewer, sets = narrowed(Pushdown(graph, "whole", SUFFICIENT), 5, lookup, plain, {})
    cut_down = {one.node for one in fewer if one.memberships}
    assert cut_down == ({3} if kind.get("kind") not in ("right", "full") else set())
    columns = graph.output()
    rows = list(trace_graph(graph, tables, keep_outputs=True).outputs[5])
    for row in dict.fromkeys(rows):
        bound = _Bound(columns, [row])
        less = replayed_outputs(graph, tables, 5, fewer, bound, 0, sets)
        whole, again = (
            [found[i] for i in _selected(found, columns, lookup, 0, {0: bound}, Settings("UTC"))]
            for found in (rows, less)
        )
        assert sorted(map(repr, whole)) == sorted(map(repr, again))
