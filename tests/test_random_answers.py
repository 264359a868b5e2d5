"""The DuckDB engine against the reference tracer: jobs made by hand of random graphs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, event, given, settings

from predtrace import open_job
from predtrace.errors import EngineError, NonDeterministicError
from predtrace.inference import infer
from predtrace.inference.plan import LineagePlan
from pushdown.graph import OperatorGraph
from pushdown.operators import AggregateCall, Aggregation, GroupBy, InnerJoin, Scan
from symbolic.expr import TRUE, Column
from symbolic.types import INTEGER
from tests.reference import ReferenceResult, trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.strategies import Pipeline, compared, count, pipelines


def runs_of(pipeline: Pipeline) -> list[tuple[LineagePlan, ReferenceResult]]:
    """The plan and the reference run for each reading of min and max."""
    graph, tables = pipeline
    return [
        (infer(graph, aggregates=mode), trace_graph(graph, tables, mode, keep_outputs=True))
        for mode in ("minimal", "whole")
    ]


def check_on_duckdb(pipeline: Pipeline) -> None:
    """All distinct output rows in one question, and one by itself, in every mode of answering."""
    graph, tables = pipeline
    runs = runs_of(pipeline)
    rows = runs[0][1].distinct_rows()
    with tempfile.TemporaryDirectory() as folder:
        job = open_job(*store_job(Path(folder), graph, tables, runs))
        for plan, reference in runs:
            for mode in ("stored", "replayed", "refined"):
                # The first row twice: the answer then always numbers its targets.
                for asked in ([*rows, rows[0]], rows[-1:]):
                    try:
                        answer = job.lineage(
                            asked, mode=mode, engine="duckdb", aggregates=plan.aggregates
                        )
                        check_answer(answer, reference, graph, rows if len(asked) > 1 else asked)
                        compared(len(asked))
                    except NonDeterministicError:
                        compared(0)
                        event(f"refused: {mode}")


@pytest.mark.slow
@given(pipeline=pipelines(operators=5, samples=True))
@settings(max_examples=count(40))
def test_duckdb_answers_as_the_reference(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    assume(graph.output() and graph.scans() and trace_graph(graph, tables).rows)
    try:
        check_on_duckdb(pipeline)
    except EngineError as refusal:
        # Not exact there (a function, names that differ by case only): but no broken query.
        if "could not evaluate" in str(refusal):
            raise
        event(f"not on DuckDB: {str(refusal)[:50]}")
        assume(False)


@pytest.mark.parametrize("inner", [[(7,), (None,)], []])
def test_an_intermediate_of_which_no_column_is_needed(inner: list[tuple[int | None]]) -> None:
    """A cross join under ``min``: above it counts only whether there are pairs at all."""
    a, b, lowest = (Column(place, name, INTEGER) for place, name in enumerate("abm", start=1))
    smallest = Aggregation(lowest, AggregateCall("min", (a,), INTEGER))
    graph = OperatorGraph(
        [
            Scan(id=1, table="r", occurrence=1, columns=(a,)),
            Scan(id=2, table="s", occurrence=1, columns=(b,)),
            InnerJoin(id=3, left=1, right=2, condition=TRUE),
            GroupBy(id=4, input=3, keys=(), aggregations=(smallest,)),
        ],
        4,
    )
    check_on_duckdb(Pipeline(graph, {"r": [(1,), (2,)], "s": inner}))
