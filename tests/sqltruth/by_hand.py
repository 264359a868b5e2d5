"""Small tables and statements whose lineage is written by hand."""

from __future__ import annotations

from typing import Any

from tests.sqltruth import functions as f
from tests.sqltruth import rows, tracer
from tests.sqltruth.scans import scans
from tests.sqltruth.spelling import statement_text
from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Expr,
    Grouping,
    Item,
    Query,
    Ref,
    Select,
    Statement,
    Table,
)
from tests.sqltruth.values import Settings

TABLES = {
    "r": [(0, 1, "x"), (1, 1, "y"), (2, 2, "x"), (3, None, "z"), (4, 3, "w")],
    "s": [(0, 1, 10), (1, 1, 20), (2, 2, 10), (3, None, 30), (4, 5, None), (5, 1, 20)],
    "u": [(0, 1, 20), (1, 2, 10), (2, 2, None)],
}
TYPES = (f.INT, f.INT, f.INT)
R, S, U = (Table(number, name, None, 3) for number, name in enumerate("rsu", start=1))
EQUAL = f.comparison("=", f.INT)


def col(table: Table, name: str) -> Ref:
    place = {"id": 0, "a": 1, "b": 2, "c": 2}[name]
    return Ref(table.relation, place, f.TEXT if name == "b" else f.INT, f"{table.name}.{name}")


def constant(value: int | None) -> Constant:
    return Constant(value, f.INT, "NULL" if value is None else str(value))


def eq(left: Expr, right: Expr) -> Call:
    return Call(EQUAL, (left, right))


def select(*items: Expr, source: Item = R, **clauses: Any) -> Select:
    return Select(items, tuple(f"k{place}" for place in range(len(items))), source, **clauses)


def group(
    number: int, keys: tuple[Expr, ...], *aggregates: Aggregate
) -> tuple[Grouping, list[Ref]]:
    parts = [*keys, *aggregates]
    refs = [Ref(number, place, part.type, of=part) for place, part in enumerate(parts)]
    return Grouping(number, keys, aggregates, tuple(map(str, range(1, len(keys) + 1)))), refs


def lineage(
    query: Query, target: tuple[Any, ...], aggregates: str = "minimal"
) -> dict[str, set[int]]:
    """By scan (``r``, ``s`` …, in plan order) the rows behind an output row."""
    statement = Statement(query)
    assert statement_text(statement)
    places = scans(statement)
    run = tracer.Tracer(TABLES, Settings("UTC", True), aggregates)
    for number, place in enumerate(places):
        run.scans[place.path] = rows.ScanName(place.table, None, number)
    found = {row.values: row.sources for row in rows.merged(run.run(statement))}
    names = [place.table for place in places]
    return {
        name + str(names[:n].count(name) + 1) * (names.count(name) > 1): rows.source_rows(
            found[target], rows.ScanName("", None, n)
        )
        for n, name in enumerate(names)
    }
