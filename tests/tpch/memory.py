"""Random graphs over tables in DuckDB's memory, and the lineage that the reference gives."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from predtrace.engines.duckdb.restated import register
from predtrace.engines.values import arrow_type, target_table
from pushdown.operators import Scan
from symbolic.expr import Column
from tests.reference import ReferenceResult
from tests.strategies import Pipeline
from tpch.bench.perm_query import TARGETS

Answer = dict[int, set[int]]
"""Per scan the numbers of its rows."""


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(config={"threads": 1})
    register(database)
    return database


class MemoryTables:
    """A pipeline's tables as relations of a connection, rows numbered from 0."""

    def __init__(self, pipeline: Pipeline, connection: duckdb.DuckDBPyConnection) -> None:
        self.graph = pipeline.graph
        self.scans = [scan.id for scan in pipeline.graph.scans()]
        self.tables = pipeline.tables
        self.connection = connection

    def relation(self, scan: Scan, row: Column | None) -> exp.Expr:
        """What a scan reads, if need be with row numbers. The scan may leave out columns."""
        rows = self.tables[scan.table]
        # Any scan of the table has all of its columns.
        whole = next(each for each in self.graph.scans() if each.table == scan.table)
        names = [column.name for column in whole.columns]
        arrays = {
            f"c{column.id}": pa.array(
                [values[names.index(column.name)] for values in rows], arrow_type(column.type)
            )
            for column in scan.columns
        }
        if row is not None:
            arrays[f"c{row.id}"] = pa.array(range(len(rows)), pa.int64())
        if not arrays:
            arrays = {"nothing": pa.nulls(len(rows))}
        name = f"scan{scan.id}"
        self.connection.register(name, pa.table(arrays))
        return exp.to_table(name)

    def give_targets(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Make the rows the table that questions to many read."""
        columns = self.graph.output()
        by_id = [
            (number, {c.id: value for c, value in zip(columns, row, strict=True)})
            for number, row in enumerate(rows)
        ]
        self.connection.register(TARGETS, target_table(columns, by_id))

    def nothing(self) -> Answer:
        """No rows of any scan."""
        return {scan: set() for scan in self.scans}


@contextmanager
def memory_tables(pipeline: Pipeline) -> Iterator[MemoryTables]:
    """The tables, and an end to their connection."""
    with _database().cursor() as connection:
        yield MemoryTables(pipeline, connection)


def lineages(reference: ReferenceResult) -> dict[tuple[Any, ...], Answer]:
    """Every different output row with its lineage."""
    return {
        row: {scan: set(rows) for scan, rows in reference.lineage(row).items()}
        for row in reference.distinct_rows()
    }
