"""Cached sources as DuckDB relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.duckdb.exact_types import readable
from predtrace.engines.duckdb.source import (
    FILE_COLUMN,
    ROW_COLUMN,
    files_reader,
    named_type,
    read_as,
)
from predtrace.engines.sql import trees
from predtrace.engines.sql.query import FILE, ROW
from predtrace.jobs.caches import CachedSource, FoundSource
from predtrace.jobs.model import Source
from symbolic.expr import Column
from symbolic.types import type_name


def cached_inexactness(
    source: Source, cached: CachedSource, columns: Sequence[Column]
) -> str | None:
    """The reason why DuckDB cannot read the columns from the cache; None if it can."""
    for column in columns:
        if column.name not in cached.columns:
            return f"the cache has no column {source.name}.{column.name}"
        if not readable(column.type):
            return f"{source.name}.{column.name} is of type {type_name(column.type)}"
    return None


def cached_relation(
    source: Source,
    cached: FoundSource,
    columns: Sequence[Column],
    stored: Mapping[str, str],
    file_type: str,
) -> exp.Expr:
    """A cached source as a relation with physical names, ``file`` and ``row``.

    Rows that have numbers keep them, and `file_type` is an ENUM of the source's files. Others are
    told apart by their places in the cache, and it is an ENUM of the cached files. `stored` are the
    column types that DuckDB finds there. Raises EngineError if one is not what the job's record
    says.
    """
    places = {name: place for place, name in enumerate(cached.record.columns)}
    taken = [
        trees.alias(
            _column(source, column, physical_name(places[column.name]), stored),
            physical_name(column.id),
        )
        for column in columns
    ]
    numbered = cached.record.numbered
    file = trees.column(FILE) if numbered else trees.column(FILE_COLUMN, quoted=True)
    row = trees.column(ROW if numbered else ROW_COLUMN)
    taken.append(trees.alias(exp.Cast(this=file, to=named_type(file_type).copy()), FILE))
    taken.append(trees.alias(row, ROW))
    query = exp.Select().select(*taken, copy=False)
    return query.from_(files_reader(cached.paths), copy=False).subquery(copy=False)


def _column(source: Source, column: Column, name: str, stored: Mapping[str, str]) -> exp.Expr:
    where = f"{source.name}.{column.name}"
    return read_as(trees.column(name), column.type, stored.get(name, "absent"), where)
