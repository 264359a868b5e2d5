"""Operator graphs as SQL over the caller's own relations.

This module is for harnesses and experiments that run a job's graph themselves. `plan_query`
compiles a node for a `Dialect`. `duckdb_relation` and `spark_frame` give a job's sources as its
inputs, on request with row numbers. Columns have their physical names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from sqlglot import exp

from predtrace.engines.base import TARGET, physical_name
from predtrace.engines.duckdb.dialect import DUCKDB_DIALECT
from predtrace.engines.duckdb.exact_plans import plan_inexactness
from predtrace.engines.duckdb.process import database
from predtrace.engines.duckdb.source import source_relation
from predtrace.engines.spark.dialect import SPARK_DIALECT
from predtrace.engines.spark.source import literal_address, source_frame
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.literals import number, sql_literal
from predtrace.engines.sql.query import ROW
from predtrace.engines.sql.relational import plan_query
from predtrace.engines.values import target_table
from predtrace.errors import EngineError
from predtrace.index.numbering import RowNumbers
from predtrace.jobs.model import EngineSettings, Source
from symbolic.expr import Column

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "DUCKDB_DIALECT",
    "SPARK_DIALECT",
    "TARGET",
    "Dialect",
    "EngineSettings",
    "RowNumbers",
    "Source",
    "database",
    "duckdb_relation",
    "number",
    "physical_name",
    "plan_inexactness",
    "plan_query",
    "spark_frame",
    "sql_literal",
    "target_table",
]


def duckdb_relation(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    columns: Sequence[Column],
    row: Column | None = None,
) -> exp.Expr:
    """A source's columns under their physical names, as Spark reads them; `row` is the number.

    Rows are numbered file after file, as `RowNumbers` does. Raises EngineError for files that
    DuckDB reads differently from Spark, or whose rows were not counted.
    """
    branches = []
    for part, start in _files(source):
        stored = _column_types(connection, part)
        inner = exp.alias_(source_relation(part, columns, stored, "VARCHAR"), "s", table=True)
        branches.append(exp.select(*_taken(columns, row, start)).from_(inner))
    union = exp.union(*branches, distinct=False) if len(branches) > 1 else branches[0]
    return union.subquery()


def spark_frame(
    session: SparkSession, source: Source, columns: Sequence[Column], row: Column | None = None
) -> DataFrame:
    """The same in a Spark session, as a DataFrame. Raises EngineError for formats except
    Parquet."""
    from functools import reduce

    from pyspark.sql import functions as f

    if not source.has_row_numbers:
        raise EngineError(f"source {source.name} is {source.format}, which has no row numbers")
    frames = []
    for part, start in _files(source):
        if source.is_computed:
            found = source_frame(session, source, columns, identity=False)
            kept = [physical_name(column.id) for column in columns]
            numbers = [] if row is None else [f.col(ROW).alias(physical_name(row.id))]
            return found.select(*kept, *numbers)
        taken = [
            f.col(exp.to_identifier(column.name, quoted=True).sql("spark")).alias(
                physical_name(column.id)
            )
            for column in columns
        ]
        if row is not None:
            number = f.col("_metadata.row_index") + f.lit(start)
            taken.append(number.alias(physical_name(row.id)))
        paths = [literal_address(file.path) for file in part.files]
        frames.append(session.read.parquet(*paths).select(*taken))
    return reduce(lambda one, other: one.unionAll(other), frames)


def _files(source: Source) -> Iterator[tuple[Source, int]]:
    """The source file by file, with the number of each file's first row."""
    counts = [file.rows for file in source.files]
    if len(counts) < 2:
        yield source, 0
        return
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        raise EngineError(f"source {source.name} is {source.format}, which has no row numbers")
    for file, start in zip(source.files, itertools.accumulate(known, initial=0), strict=False):
        yield replace(source, files=(file,), roots=(file.path,)), start


def _taken(columns: Sequence[Column], row: Column | None, start: int) -> list[exp.Expr]:
    taken: list[exp.Expr] = [exp.column(physical_name(column.id)) for column in columns]
    if row is not None:
        value: exp.Expr = exp.column(ROW)
        if start:
            value = exp.Add(this=value, expression=number(start))
        taken.append(exp.alias_(value, physical_name(row.id)))
    return taken or [exp.column(ROW)]


def _column_types(connection: duckdb.DuckDBPyConnection, source: Source) -> Mapping[str, str]:
    if source.is_computed or not source.files:
        return {}
    relation = connection.from_parquet(source.files[0].path)
    return dict(zip(relation.columns, map(str, relation.types), strict=True))
