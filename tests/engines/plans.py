"""Operator graphs compiled and run: on DuckDB from rows in memory, and on Spark."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from predtrace.engines.duckdb.dialect import DUCKDB_DIALECT
from predtrace.engines.duckdb.restated import register
from predtrace.engines.sql.limits import choices
from predtrace.engines.sql.relational import plan_query
from predtrace.engines.values import arrow_type
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from tests.reference import row_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]
Tables = Mapping[str, Sequence[Row]]


def scanned(scan: Scan, tables: Tables) -> pa.Table:
    """A scan's rows under physical names."""
    rows = tables[scan.table]
    arrays = [
        pa.array([row[place] for row in rows], arrow_type(column.type))
        for place, column in enumerate(scan.columns)
    ]
    return pa.table(arrays, names=[f"c{column.id}" for column in scan.columns])


def bag(rows: Sequence[Row]) -> Counter[Row]:
    """The rows without order; NaNs are alike, 0.0 is like -0.0."""
    return Counter(map(row_key, rows))


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(config={"threads": 1})
    register(found)
    return found


class InDuckDB:
    """A graph and its tables in the database."""

    def __init__(self, graph: OperatorGraph, tables: Tables) -> None:
        self.graph = graph
        self.connection = _database().cursor()
        self.scans: dict[int, exp.Expr] = {}
        for scan in graph.scans():
            self.connection.register(f"scan{scan.id}", scanned(scan, tables))
            self.scans[scan.id] = exp.to_table(f"scan{scan.id}")

    def __enter__(self) -> InDuckDB:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    def sql(self, node: int) -> str:
        """The text of the node's query."""
        return plan_query(self.graph, node, DUCKDB_DIALECT, self.scans).sql("duckdb")

    def rows(self, node: int) -> list[Row]:
        """The node's rows: empty tuples where it has no columns."""
        columns = self.graph.output(node)
        found = self.connection.sql(self.sql(node))
        if columns:
            assert found.columns == [f"c{column.id}" for column in columns]
        return [row[: len(columns)] for row in found.fetchall()]

    def choices(self, node: int) -> dict[int, bool]:
        """Per node at or under it that takes some of its rows, whether these were a choice."""
        checks = choices(self.graph, node, DUCKDB_DIALECT, self.scans)
        found = {}
        for check in checks:
            ((differ,),) = self.connection.sql(check.query.sql("duckdb")).fetchall()
            found[check.node] = differ
        return found


def spark_views(session: SparkSession, graph: OperatorGraph, tables: Tables) -> dict[int, exp.Expr]:
    """The scans' rows as views of a session."""
    scans: dict[int, exp.Expr] = {}
    for scan in graph.scans():
        session.createDataFrame(scanned(scan, tables)).createOrReplaceTempView(f"scan{scan.id}")
        scans[scan.id] = exp.to_table(f"scan{scan.id}")
    return scans
