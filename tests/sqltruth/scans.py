"""The scans of a statement in plan order, as section 1 numbers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.sqltruth import reads
from tests.sqltruth.syntax import (
    Derived,
    Expr,
    Item,
    Join,
    Pivot,
    Query,
    Select,
    SetOperation,
    Statement,
    Table,
    Top,
    Unpivot,
    Values,
    inputs,
    subqueries,
)

Path = tuple[int, ...]
ROWS = ("rows", "range(")
"""How the tables of VALUES and of ``range`` begin; answers number them."""


class Place(NamedTuple):
    """A scan of the statement, and whether anything is read of what it is in."""

    path: Path
    table: str
    alias: str | None
    read: bool


def scans(statement: Statement) -> list[Place]:
    """FROM items left to right, then subqueries in the order of the text."""
    found = _query(statement.query, reads.every(statement.query), (), True)
    names: dict[tuple[int, str], str] = {}
    counts: Counter[str] = Counter()
    places = []
    for place in found:
        kind = next((kind for kind in ROWS if place.table.startswith(kind)), None)
        if kind is not None:
            # Those of a CTE are one table, which every reference reads; equal ranges, too.
            rows = (place.path[-1] if kind == "rows" else 0, place.table)
            if rows not in names:
                counts[kind] += 1
                names[rows] = f"{kind.rstrip('(')} {counts[kind]}"
            place = place._replace(table=names[rows])
        places.append(place)
    return places


def _query(query: Query, needed: reads.Places, path: Path, read: bool) -> Iterator[Place]:
    match query:
        case Top(query=inner):
            yield from _query(inner, reads.every(inner), path, read)
        case SetOperation():
            places = reads.branches_need(query, needed)
            yield from _query(query.left, places, path, read)
            yield from _query(query.right, places, path, read)
        case Select():
            clauses = reads.of_select(query, needed)
            yield from _item(query.source, clauses, path, read)
            for expr, is_read in _expressions(query, needed, clauses):
                yield from _nested(expr, path, read and is_read)


def _nested(expr: Expr, path: Path, read: bool) -> Iterator[Place]:
    for inner in subqueries(expr):
        yield from _query(inner.query, reads.asked(inner), (*path, -id(inner)), read)


def _expressions(
    select: Select, needed: reads.Places, clauses: reads.Reads
) -> Iterator[tuple[Expr, bool]]:
    for place, item in enumerate(select.items):
        yield item, select.distinct or place in needed
    for condition in _conditions(select.source):
        yield condition, True
    for term in select.where:
        yield term, True
    grouping = select.grouping
    if grouping is not None:
        for key in grouping.keys:
            yield key, True
        kept = [aggregate for _, aggregate in reads.aggregates_read(grouping, clauses)]
        for aggregate in grouping.aggregates:
            for part in inputs(aggregate):
                yield part, aggregate in kept
        if grouping.having is not None:
            yield grouping.having, True
    if select.qualify is not None:
        yield select.qualify, True
    for term in select.order:
        yield term, True


def _item(item: Item, above: reads.Reads, path: Path, read: bool) -> Iterator[Place]:
    match item:
        case Table(relation, name, alias):
            yield Place((*path, relation), name, alias, read)
        case Values(relation=relation, text=rows):
            table = rows if rows.startswith("range") else "rows"
            yield Place((*path, relation), table, None, read)
        case Derived(relation=relation) | Pivot(relation=relation) | Unpivot(relation=relation):
            needed = reads.asked_of(item, above)
            yield from _query(item.query, needed, (*path, relation), read)
        case Join():
            own = above | reads.joined(item, above)
            yield from _item(item.left, own, path, read)
            yield from _item(item.right, own, path, read)


def _conditions(item: Item) -> Iterator[Expr]:
    """The conditions of a FROM clause's joins, in the order of the text."""
    if isinstance(item, Join):
        yield from _conditions(item.left)
        yield from _conditions(item.right)
        if item.on is not None:
            yield item.on
