"""Rows with the source rows behind them, and operations on sets of such rows."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.sqltruth.syntax import Item, Join, SetOperation, Top
from tests.sqltruth.values import key, normalized, row_key

Row = tuple[Any, ...]
Env = Mapping[int, Row]
Path = tuple[int, ...]
BITS = 64
"""Room for the rows of a scan."""


class Traced(NamedTuple):
    """An output row and its source rows."""

    values: Row
    sources: int


class Joined(NamedTuple):
    """A row of FROM items (by their numbers) and its source rows."""

    env: dict[int, Row]
    sources: int


class Found(NamedTuple):
    """A subquery's value for an outer row, and the inner rows that it takes along."""

    value: Any
    sources: int


class ScanName(NamedTuple):
    """A scan: its table and alias, and the number of its bits."""

    table: str
    alias: str | None
    number: int


def padding(item: Item) -> dict[int, Row]:
    """NULLs for all columns of a FROM item."""
    if isinstance(item, Join):
        merged = {item.relation: (None,) * len(item.merged)} if item.merged else {}
        return {**padding(item.left), **padding(item.right), **merged}
    return {item.relation: (None,) * item.width}


def with_merged(join: Join, env: dict[int, Row]) -> dict[int, Row]:
    """The row with the columns that USING or NATURAL merges."""
    if not join.merged:
        return env
    pairs = [(env[a.relation][a.place], env[b.relation][b.place]) for a, b in join.merged]
    if "RIGHT" in join.kind:
        values = [right for _, right in pairs]
    elif "FULL" in join.kind:
        values = [right if left is None else left for left, right in pairs]
    else:
        values = [left for left, _ in pairs]
    return {**env, join.relation: tuple(values)}


def union(rows: Sequence[Traced]) -> int:
    """All their source rows."""
    return functools.reduce(int.__or__, (row.sources for row in rows), 0)


def by_values(rows: Sequence[Traced]) -> dict[Row, list[Traced]]:
    """Rows by their values."""
    found: dict[Row, list[Traced]] = {}
    for row in rows:
        found.setdefault(row_key(row.values), []).append(row)
    return found


def distinct(rows: Sequence[Traced]) -> list[Traced]:
    """One row for equal ones, from all of them."""
    return [
        Traced(tuple(map(normalized, same[0].values)), union(same))
        for same in by_values(rows).values()
    ]


def merged(rows: Sequence[Traced]) -> list[Traced]:
    """The rows, each with what all equal ones are from."""
    sources = {found: union(same) for found, same in by_values(rows).items()}
    return [Traced(row.values, sources[row_key(row.values)]) for row in rows]


def source_rows(sources: int, scan: ScanName) -> set[int]:
    """The rows of one scan among source rows."""
    part = sources >> (scan.number * BITS)
    return {place for place in range(BITS) if part >> place & 1}


def matched(
    operation: SetOperation, left: Sequence[Traced], right: Sequence[Traced]
) -> list[Traced]:
    """INTERSECT and EXCEPT: equal rows of the left side, of which ALL keeps some."""
    theirs = by_values(right)
    result: list[Traced] = []
    for found, rows in by_values(left).items():
        others = theirs.get(found, [])
        if operation.operator == "INTERSECT":
            times = min(len(rows), len(others)) if operation.all else min(1, len(others))
            sources = union([*rows, *others])
        else:
            times = len(rows) - len(others) if operation.all else int(not others)
            sources = union(rows)
        values = tuple(map(normalized, rows[0].values))
        result += [Traced(values, sources)] * max(times, 0)
    return result


def first_rows(top: Top, rows: Sequence[Traced]) -> list[Traced]:
    """The rows in order, those that LIMIT and OFFSET leave; equal ones share their sources."""
    kept = merged(rows)
    for place, direction in reversed(top.order):
        kept = _by_column(kept, place, direction)
    end = None if top.limit is None else top.offset + top.limit
    return kept[top.offset : end]


def _by_column(rows: Sequence[Traced], place: int, direction: str) -> list[Traced]:
    down = direction.startswith("DESC")
    nulls_first = direction.endswith("FIRST") or direction == "ASC"
    nulls = [row for row in rows if row.values[place] is None]
    others = [row for row in rows if row.values[place] is not None]
    others.sort(key=lambda row: key(row.values[place]), reverse=down)
    return [*nulls, *others] if nulls_first else [*others, *nulls]
