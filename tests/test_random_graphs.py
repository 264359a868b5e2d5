"""Inference against the reference tracer: random graphs, every output row, both readings."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import event, given, note, settings

from predtrace.inference import infer
from predtrace.inference.plan import LineagePlan
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import FALSE, TRUE, Column, Expr, render
from symbolic.types import INTEGER
from tests.reference import ReferenceResult, evaluate_plan, trace_graph
from tests.strategies import Pipeline, compared, count, pipelines


def describe(plan: LineagePlan) -> str:
    """The plan as text, for the report of a failed example."""
    lines = [
        f"intermediate {stored.binding} at node {stored.node}: {render(stored.predicate)}"
        for stored in plan.intermediates
    ]
    lines += [
        f"scan {scan.node} by binding {scan.binding} ({scan.label}): {render(scan.predicate)}"
        for scan in plan.scans
    ]
    return "\n".join(lines)


def check_plan(pipeline: Pipeline, plan: LineagePlan, reference: ReferenceResult) -> None:
    """Every distinct output row: `precise` scans equal the reference, others contain it."""
    compared(len(reference.distinct_rows()))
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        answers = evaluate_plan(plan, pipeline.graph, reference, [row])
        assert answers.keys() == expected.keys()
        for node, answer in answers.items():
            where = f"scan {node}, row {row!r}"
            assert answer.rows >= expected[node], f"lineage rows are missing: {where}"
            if answer.label == PRECISE:
                assert answer.rows == expected[node], f"too many rows called precise: {where}"


@pytest.mark.slow
@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
@given(pipeline=pipelines(samples=True))
@settings(max_examples=count(250))
def test_plans_give_the_reference_lineage(aggregates: str, pipeline: Pipeline) -> None:
    graph, tables = pipeline
    reference = trace_graph(graph, tables, aggregates, keep_outputs=True)
    plan = infer(graph, aggregates=aggregates)
    note(describe(plan))
    event("all precise" if all(s.label == PRECISE for s in plan.scans) else "some superset")
    event(f"{len(plan.intermediates)} intermediates")
    check_plan(pipeline, plan, reference)


@pytest.mark.slow
@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
@given(pipeline=pipelines(operators=4, samples=True))
@settings(max_examples=count(250))
def test_plans_of_small_graphs(aggregates: str, pipeline: Pipeline) -> None:
    """Small graphs: each operator near the target and near a scan."""
    graph, tables = pipeline
    reference = trace_graph(graph, tables, aggregates, keep_outputs=True)
    check_plan(pipeline, infer(graph, aggregates=aggregates), reference)


def tampered(plan: LineagePlan, predicate: Expr, label: str) -> LineagePlan:
    """The plan with another predicate and label for every scan."""
    scans = tuple(
        msgspec.structs.replace(scan, predicate=predicate, label=label) for scan in plan.scans
    )
    return msgspec.structs.replace(plan, scans=scans)


def test_the_check_notices_wrong_plans() -> None:
    columns = (Column(1, "a", INTEGER),)
    graph = OperatorGraph([Scan(id=1, table="r", occurrence=1, columns=columns)], 1)
    pipeline = Pipeline(graph, {"r": [(1,), (2,), (None,)]})
    reference = trace_graph(*pipeline, keep_outputs=True)
    plan = infer(graph)
    check_plan(pipeline, plan, reference)
    check_plan(pipeline, tampered(plan, TRUE, SUPERSET), reference)
    with pytest.raises(AssertionError, match="too many rows"):
        check_plan(pipeline, tampered(plan, TRUE, PRECISE), reference)
    with pytest.raises(AssertionError, match="rows are missing"):
        check_plan(pipeline, tampered(plan, FALSE, SUPERSET), reference)
