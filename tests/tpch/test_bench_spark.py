"""The benchmark's systems on Spark and DuckDB, on tables in several files, beside the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb
import pytest

import predtrace
from tpch.bench.engines.base import Engine
from tpch.bench.engines.duckdb import DuckDBEngine
from tpch.bench.engines.spark import SparkEngine
from tpch.bench.systems import MAKERS
from tpch.bench.systems.base import Forward, Ids, Row, Subject
from tpch.check import choose_targets, register_tables
from tpch.database import row_id
from tpch.errors import TpchError
from tpch.oracle import Oracle
from tpch.queries import read_query

QUERIES = (3, 22)
"""Joins that Panda reaches, and subqueries that it does not."""
SYSTEMS = {
    "duckdb": ("stored", "perm", "trace", "panda", "eager"),
    # The others send no other kind of query to Spark; the modes have tests of their own.
    "spark": ("perm", "panda"),
}
Answer = dict[int, list[set[int]]]
"""Per scan, per target, numbers of source rows."""


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest, spark: Any) -> Iterator[Engine]:
    with duckdb.connect() as connection:
        yield DuckDBEngine(connection) if request.param == "duckdb" else SparkEngine(spark)


@pytest.fixture(scope="module")
def jobs(
    spark: Any, twisted_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[int, Any]:
    store = str(tmp_path_factory.mktemp("lineage"))
    register_tables(spark, twisted_folder)
    return {
        number: predtrace.trace(spark.sql(read_query(number))).run(store=store)
        for number in QUERIES
    }


def targets_of(subject: Subject) -> list[Row]:
    columns = subject.job.output_arrow().columns
    return choose_targets(list(zip(*(c.to_pylist() for c in columns), strict=True)), 9)


def expected_of(subject: Subject, oracle: Oracle) -> Answer:
    """What the oracle says, with one range of numbers for the rows of a table's files."""
    numbers: dict[str, dict[int, int]] = {}
    for name, source in subject.sources.items():
        starts = accumulate((file.rows or 0 for file in source.files), initial=0)
        numbers[name] = {row_id(file, 0): start for file, start in enumerate(starts)}
    lineage = oracle.lineage(targets_of(subject))
    found: Answer = {}
    for scan in subject.graph.scans():
        table = scan.table.rpartition(".")[2]
        starts = numbers[scan.table]
        found[scan.id] = [
            {starts[row >> 32 << 32] + row % (1 << 32) for row in rows}
            for rows in lineage[(table, scan.occurrence)]  # type: ignore[index]
        ]
    return found


def answer_of(ids: Ids, targets: int) -> Answer:
    found: Answer = {}
    for scan, table in ids.items():
        found[scan] = [set() for _ in range(targets)]
        for target, row in zip(*table.select(["target", "row"]).to_pydict().values(), strict=True):
            found[scan][target].add(row)
    return found


@pytest.mark.parametrize("number", QUERIES)
def test_systems_answer_what_the_oracle_says(
    engine: Engine, jobs: Mapping[int, Any], twisted_database: Any, number: int
) -> None:
    subject = Subject(number, jobs[number], engine)
    assert max(len(source.files) for source in subject.sources.values()) > 1
    targets = targets_of(subject)
    expected = expected_of(subject, Oracle(number, twisted_database))
    refused = []
    for name in SYSTEMS[engine.name]:
        try:
            system = MAKERS[name](subject)
        except TpchError:
            refused.append(name)
            continue
        assert answer_of(system.ids(targets), len(targets)) == expected
        first = answer_of(system.ids(targets[:1]), 1)
        assert first == {scan: rows[:1] for scan, rows in expected.items()}
        counts = [table.num_rows for table in system.rows(targets[0])]
        assert counts == [len(rows[0]) for rows in expected.values()]
        if isinstance(system, Forward):
            rows = {scan: min(found[0]) for scan, found in expected.items() if found[0]}
            reached = system.reached(rows)
            assert all(0 in outputs for outputs in reached.values())
    assert refused == (["panda"] if number == 22 else [])
