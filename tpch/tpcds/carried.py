"""Lineage from a query's text alone: row numbers carried along, in DuckDB.

A query without subqueries, over joins of tables, is rewritten: instead of its aggregates it gives
the numbers of the joined rows, beside the values of its group's keys. Neither Spark nor predtrace's
reading of plans takes part in that. Queries of other shapes, or whose output does not hold their
group's keys, have no such truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import sqlglot
from sqlglot import exp

from tpch.oracle import Row, ScanName

if TYPE_CHECKING:
    import duckdb

Lineage: TypeAlias = dict[ScanName, list[set[int]]]
"""For each scan the rows of each target."""
_OTHER = (exp.Subquery, exp.With, exp.SetOperation, exp.Window, exp.Exists, exp.Distinct)
_MINMAX = (exp.Min, exp.Max)


class Carried(msgspec.Struct, frozen=True):
    """A query that gives, per joined row, the group's keys and then the row number of each scan.

    `places` says where in the output each key stands.
    """

    sql: str
    scans: tuple[ScanName, ...]
    places: tuple[int, ...]

    def lineage(self, database: duckdb.DuckDBPyConnection, targets: Sequence[Row]) -> Lineage:
        """The rows of each scan, for each target."""
        wanted: dict[Row, list[int]] = {}
        for number, target in enumerate(targets):
            wanted.setdefault(tuple(target[place] for place in self.places), []).append(number)
        found: Lineage = {scan: [set() for _ in targets] for scan in self.scans}
        width = len(self.places)
        for row in database.execute(self.sql).fetchall():
            for number in wanted.get(row[:width], ()):
                for scan, line in zip(self.scans, row[width:], strict=True):
                    if line is not None:
                        found[scan][number].add(line)
        return found


def carried(text: str) -> Carried | None:
    """The query of a text that carries row numbers; None where the text has another shape."""
    query = sqlglot.parse_one(text.replace("`", '"'), read="duckdb")
    if not isinstance(query, exp.Select) or query.find(*_OTHER) or query.args.get("having"):
        return None
    if not query.find(exp.AggFunc) or (query.find(*_MINMAX) and not _adds(query)):
        return None
    keys = _keys(query)
    if keys is None:
        return None
    numbers = [
        exp.alias_(exp.column("file_row_number", table=table.alias_or_name), f"row{place}")
        for place, table in enumerate(_tables(query))
    ]
    values = [exp.alias_(value.copy(), f"key{place}") for place, (value, _) in enumerate(keys)]
    bare = query.copy()
    for clause in ("group", "order", "limit"):
        bare.set(clause, None)
    bare.set("expressions", [*values, *numbers])
    sql = bare.distinct().sql(dialect="duckdb")
    return Carried(sql, tuple(_scans(_tables(query))), tuple(place for _, place in keys))


def open_tables(files: dict[str, Path]) -> duckdb.DuckDBPyConnection:
    """A database with a view of each table's rows and their numbers."""
    import duckdb

    database = duckdb.connect()
    for table, file in files.items():
        rows = database.read_parquet(str(file), file_row_number=True)
        rows.create_view(table)
    return database


def _adds(query: exp.Select) -> bool:
    """Whether some aggregate has its whole group as lineage, beside any min and max."""
    return any(not isinstance(found, _MINMAX) for found in query.find_all(exp.AggFunc))


def _keys(query: exp.Select) -> list[tuple[exp.Expr, int]] | None:
    """What is grouped by, and its place in the output; None if a key is not in the output."""
    group = query.args.get("group")
    if group is None:
        return []
    if {key for key, value in group.args.items() if value} != {"expressions"}:
        return None
    by_value: dict[Any, int] = {}
    for place, item in enumerate(query.expressions):
        by_value.setdefault(item.unalias(), place)
        if isinstance(item, exp.Alias):
            by_value.setdefault(exp.column(item.alias), place)
    found = []
    for key in group.expressions:
        if key not in by_value:
            return None
        place = by_value[key]
        found.append((query.expressions[place].unalias(), place))
    return found


def _tables(query: exp.Select) -> list[exp.Table]:
    joins = query.args.get("joins") or []
    return [query.args["from_"].this, *(join.this for join in joins)]


def _scans(tables: Iterable[exp.Table]) -> Iterable[ScanName]:
    count: dict[str, int] = {}
    for table in tables:
        count[table.name] = count.get(table.name, 0) + 1
        yield ScanName(table.name, count[table.name])
