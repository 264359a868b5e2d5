"""The DuckDB engine against the reference tracer: jobs made by hand of random graphs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import assume, event, given, note, settings

from predtrace import open_job
from predtrace.errors import EngineError
from predtrace.inference import infer
from predtrace.inference.plan import PRECISE
from tests.reference import trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.strategies import Pipeline, count, pipelines


@given(pipeline=pipelines(operators=5))
@settings(max_examples=count(40))
def test_duckdb_answers_as_the_reference(pipeline: Pipeline) -> None:
    """All distinct output rows in one question, for both readings of min and max."""
    graph, tables = pipeline
    runs = [
        (infer(graph, aggregates=mode), trace_graph(graph, tables, mode, keep_outputs=True))
        for mode in ("minimal", "whole")
    ]
    rows = runs[0][1].distinct_rows()
    assume(rows and graph.output() and graph.scans())
    with tempfile.TemporaryDirectory() as folder:
        job = open_job(*store_job(Path(folder), graph, tables, runs))
        for plan, reference in runs:
            note(f"{plan.aggregates}: {rows}")
            try:
                # The first row twice: the answer then always numbers its targets.
                answer = job.lineage(
                    [*rows, rows[0]], engine="duckdb", aggregates=plan.aggregates
                )  # fmt: skip
            except EngineError as refusal:
                event(f"not on DuckDB: {str(refusal)[:50]}")
                assume(False)
            event("precise" if answer.label == PRECISE else "superset")
            check_answer(answer, reference, graph, rows)
