"""Random SQL on real Spark: translation, run and lineage against the reference tracer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, event, given, note, settings

import predtrace
from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark import read_pipeline
from tests.reference import ReferenceResult, row_key, trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import write_source
from tests.strategies import compared, count, phases
from tests.strategies.databases import SUFFIXES, database, source_columns
from tests.strategies.sql import statements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
Row = tuple[Any, ...]


class Tables(dict[str, Sequence[Row]]):
    """All databases' rows by table; a failed example need not print them."""

    def __repr__(self) -> str:
        return f"<{len(self)} tables>"


outcomes: Counter[str] = Counter()
"""How many statements were read, refused by the front end, or not accepted by Spark."""


FAST = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings for very small data: compiling code would take most of the time."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session of this module's own."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    for key, value in FAST.items():
        own.conf.set(key, value)
    return own


@pytest.fixture(scope="module")
def tables(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """All databases, written to Parquet and registered as temp views."""
    folder = tmp_path_factory.mktemp("random-sql")
    rows = Tables()
    for suffix in SUFFIXES:
        rows.update(database(suffix))
    for name, content in rows.items():
        source = write_source(folder, name, source_columns(), content)
        session.read.parquet(*source.roots).createOrReplaceTempView(name)
    return rows


def as_bag(rows: Sequence[Sequence[Any]]) -> Counter[Row]:
    return Counter(map(row_key, rows))


def read(session: SparkSession, statement: str) -> tuple[DataFrame, Any]:
    """The statement's DataFrame and operator graph; gives up on what is not supported."""
    from pyspark.errors import AnalysisException

    try:
        frame = session.sql(statement)
    except AnalysisException:
        outcomes["not accepted"] += 1
        event("not accepted by Spark")
        assume(False)
    try:
        pipeline = read_pipeline(frame, session)
    except UnsupportedOperatorError as refusal:
        outcomes["refused"] += 1
        event(f"refused: {str(refusal)[:60]}")
        assume(False)
    outcomes["read"] += 1
    return frame, pipeline


def traced(pipeline: Any, tables: Tables, aggregates: str = "minimal") -> ReferenceResult:
    reference = trace_graph(
        pipeline.graph, tables, aggregates, time_zone=pipeline.settings.time_zone
    )
    assert not reference.ambiguous_limits, "every LIMIT here sorts by all columns"
    return reference


@given(statement=statements(SUFFIXES))
@settings(max_examples=count(40), phases=phases())
def test_graphs_give_what_spark_gives(
    session: SparkSession, tables: Tables, statement: str
) -> None:  # fmt: skip
    """The graph, run by the reference interpreter, has the same result as the statement."""
    note(statement)
    frame, pipeline = read(session, statement)
    assert as_bag(traced(pipeline, tables).rows) == as_bag(frame.collect())


@given(statement=statements(SUFFIXES))
@settings(max_examples=count(12), phases=phases())
def test_run_and_lineage(
    session: SparkSession, tables: Tables, tmp_path_factory: pytest.TempPathFactory, statement: str
) -> None:
    """The run gives the plain result, and every output row's lineage is the reference's."""
    note(statement)
    frame, pipeline = read(session, statement)
    plain = frame.collect()
    store: Path = tmp_path_factory.mktemp("store")
    job = predtrace.trace(frame).run(store=store, aggregates="both")
    assert as_bag([tuple(row) for row in job.output.collect()]) == as_bag(plain)
    graph = pipeline.graph
    for aggregates in ("minimal", "whole"):
        reference = traced(pipeline, tables, aggregates)
        rows = reference.distinct_rows()
        compared(len(rows))
        if rows:
            # Twice the first, so that the answer always numbers its targets.
            answer = job.lineage([*rows, rows[0]], aggregates=aggregates)
            check_answer(answer, reference, graph, rows)


def test_few_statements_are_refused() -> None:
    """What this module read: most statements, or the tests above say little."""
    if not outcomes["read"]:
        pytest.skip("the other tests of this module did not run")
    assert outcomes["not accepted"] <= outcomes["read"] // 4, outcomes
    assert outcomes["refused"] <= outcomes["read"] // 4, outcomes
