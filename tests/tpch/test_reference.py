"""The reference tracer on the 22 queries as the Spark front end reads them, twisted data.

Its results and lineage equal those of the oracle's SQL, which was written by hand: an
operator that translation loses shows here, without running anything on Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from predtrace.frontends.spark import read_pipeline
from tests.reference import row_key, trace_graph
from tpch.check import choose_targets, register_tables
from tpch.data import TABLES
from tpch.oracle import AGGREGATES, Oracle, ScanName
from tpch.queries import NUMBERS, read_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
TARGETS = 40


class Tables(dict[str, list[tuple[Any, ...]]]):
    """The rows of the tables; `ids` has their identities. Short in failure reports."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        super().__init__()
        self.ids: dict[str, list[int]] = {}
        for name in TABLES:
            rows = database.cursor().sql(f"FROM {name} SELECT row_id, * EXCLUDE row_id").fetchall()
            self[name] = [row[1:] for row in rows]
            self.ids[name] = [row[0] for row in rows]

    def __repr__(self) -> str:
        return f"<tables {', '.join(self)}>"


@pytest.fixture(scope="module")
def session(spark: SparkSession, twisted_folder: Path) -> SparkSession:
    own = spark.newSession()
    register_tables(own, twisted_folder)
    return own


@pytest.fixture(scope="module")
def tables(twisted_database: duckdb.DuckDBPyConnection) -> Tables:
    return Tables(twisted_database)


@pytest.mark.parametrize("number", NUMBERS)
def test_reference_and_oracle_agree(
    session: SparkSession,
    tables: Tables,
    twisted_database: duckdb.DuckDBPyConnection,
    number: int,
) -> None:
    pipeline = read_pipeline(session.sql(read_query(number)), session)
    oracle = Oracle(number, twisted_database)
    for aggregates in AGGREGATES if oracle.has_readings else AGGREGATES[:1]:
        result = trace_graph(pipeline.graph, tables, aggregates)
        assert not result.ambiguous_limits
        assert sorted(map(row_key, result.rows), key=repr) == sorted(
            map(row_key, oracle.output()), key=repr
        )
        targets = choose_targets(result.rows, TARGETS)
        expected = oracle.lineage(targets, aggregates)
        traced: dict[ScanName, list[set[int]]] = {}
        lineages = [result.lineage(target) for target in targets]
        for scan in pipeline.graph.scans():
            ids = tables.ids[scan.table]
            rows = [{ids[index] for index in lineage[scan.id]} for lineage in lineages]
            traced[ScanName(scan.table, scan.occurrence)] = rows
        assert traced == expected
