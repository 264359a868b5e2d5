"""The row-id index: its answers are those of other modes, both ways, and nothing is half done."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import assume, event, given, settings

from predtrace import JobHandle, open_job
from predtrace.errors import (
    EngineError,
)
from pushdown.graph import OperatorGraph
from tests.reference import ReferenceResult, trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.strategies import Pipeline, count, pipelines
from tests.test_random_answers import runs_of

Links = set[tuple[str, int, int]]
"""Pairs of an output row's number and a source row's number, per scan."""


def make_job(folder: Path, pipeline: Pipeline) -> tuple[JobHandle, list[ReferenceResult]]:
    """A job made by hand, with the reference runs for both readings of min and max."""
    runs = runs_of(pipeline)
    return open_job(*store_job(folder, *pipeline, runs)), [reference for _, reference in runs]


def links_of(job: JobHandle, reference: ReferenceResult) -> Links:
    """What the reference says: every output row with the source rows of every scan."""
    graph = OperatorGraph(job.record.graph, job.record.root)
    names = {scan.id: f"{scan.table}[{scan.occurrence}]" for scan in graph.scans()}
    return {
        (names[node], number, row)
        for number, output in enumerate(reference.rows)
        for node, rows in reference.lineage(output).items()
        for row in rows
    }


def reached(job: JobHandle, links: Links, aggregates: str) -> Links:
    """The same, asked forward: for every source row the output rows that it reaches."""
    graph = OperatorGraph(job.record.graph, job.record.root)
    found: Links = set()
    for scan in graph.scans():
        name = f"{scan.table}[{scan.occurrence}]"
        (source,) = (source for source in job.record.sources if source.name == scan.table)
        for row in range(source.files[0].rows or 0):
            answer = job.forward(name, rows=[row], aggregates=aggregates)
            found.update((name, number, row) for number in answer.row_numbers().tolist())
    return found


def check_index(pipeline: Pipeline) -> None:
    """Backward as the reference, forward its inverse, for both readings of min and max."""
    graph, _ = pipeline
    with tempfile.TemporaryDirectory() as folder:
        job, references = make_job(Path(folder), pipeline)
        rows = references[0].distinct_rows()
        for aggregates, reference in zip(("minimal", "whole"), references, strict=True):
            job.build_index(aggregates=aggregates)
            answer = job.lineage([*rows, rows[0]], mode="indexed", aggregates=aggregates)
            check_answer(answer, reference, graph, rows)
            one = job.lineage(rows[-1], mode="indexed", aggregates=aggregates)
            for scan, several in zip(one.scans, answer.scans, strict=True):
                asked = several.row_ids()
                last = asked.filter(pa.compute.equal(asked["target"], len(rows) - 1))
                assert scan.row_ids()["row"].to_pylist() == last["row"].to_pylist()
                stored = job.lineage(rows[-1], mode="stored", aggregates=aggregates)
                assert scan.label == stored.scan(scan.table, scan.occurrence).label
            if answer.label == "precise":
                links = links_of(job, reference)
                assert reached(job, links, aggregates) == links


@given(pipeline=pipelines(operators=5))
@settings(max_examples=count(40))
def test_index_of_random_graphs(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    assume(graph.output() and graph.scans() and trace_graph(graph, tables).rows)
    try:
        check_index(pipeline)
    except EngineError as refusal:
        if "could not evaluate" in str(refusal):
            raise
        event(f"not on DuckDB: {str(refusal)[:50]}")
        assume(False)
