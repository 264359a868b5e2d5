"""Windows, and what picks rows by their order, in plain Python (docs/semantics.md, 2.1)."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tests.pipelines.kit import Frame
from tests.pipelines.rows import Agg, Row, grouped, key


class At(NamedTuple):
    """A row's place: the sorted partition, its position, and its peers' first and last end."""

    rows: Sequence[Row]
    place: int
    peers: Sequence[tuple[int, int]]
    order: Sequence[str]
    whole: bool


Function = Callable[[At], tuple[Any, Iterable[Row]]]
"""A window function: its value at a place, and the rows behind it beside the own."""
Bounds = Callable[[At], Sequence[Row]]


def window(frame: Frame, partition: str, order: str, **functions: Function) -> Frame:
    """The columns, and window functions; a minus before a column of the order means descending.

    NULL comes first, or last if descending.
    """
    own = {id(row): same.sources for row, same in zip(frame.rows, frame.unite().rows, strict=True)}
    rows = []
    for part in grouped(frame.rows, partition.split()):
        placed = in_order(part, order)
        peers = _peers(placed, order)
        for place, row in enumerate(placed):
            at = At(placed, place, peers, order.split(), frame.whole)
            values, sources = dict(row.values), own[id(row)]
            for name, function in functions.items():
                values[name], behind = function(at)
                sources |= frozenset().union(*(one.sources for one in behind))
            rows.append(Row(values, sources))
    return frame.made(dict.fromkeys([*frame.columns, *functions]), rows)


def top(
    frame: Frame, partition: str, order: str, most: int = 1, by: Function | None = None
) -> Frame:
    """The rows that a ranking (row_number) numbers up to `most`; own rows alone."""
    numbered = []
    for part in grouped(frame.unite().rows, partition.split()):
        placed = in_order(part, order)
        peers = _peers(placed, order)
        for place, row in enumerate(placed):
            at = At(placed, place, peers, order.split(), frame.whole)
            if (by or row_number())(at)[0] <= most:
                numbered.append(row)
    return frame.made(frame.columns, numbered)


def limit(frame: Frame, order: str, most: int, offset: int = 0) -> Frame:
    """ORDER BY, LIMIT and OFFSET."""
    rows = in_order(frame.unite().rows, order)
    return frame.made(frame.columns, rows[offset : offset + most])


def in_order(rows: Iterable[Row], order: str) -> list[Row]:
    """The rows, sorted; rows with equal keys stay as they are."""
    placed = list(rows)
    for name in reversed(order.split()):
        column = name.removeprefix("-")
        placed.sort(key=lambda row: _rank(row[column]), reverse=name.startswith("-"))
    return placed


def rank() -> Function:
    """One more than the rows strictly before."""
    return lambda at: (_start(at) + 1, at.rows[: _start(at)])


def dense_rank() -> Function:
    """One more than the different keys before."""
    return lambda at: (len(set(at.peers[: at.place + 1])), at.rows[: _start(at)])


def row_number() -> Function:
    """The position from 1; peers are behind it if there is one before."""

    def numbered(at: At) -> tuple[Any, Iterable[Row]]:
        first, end = at.peers[at.place]
        return at.place + 1, at.rows[: end if at.place > first else first]

    return numbered


def lag(column: str, steps: int = 1, default: Any = None) -> Function:
    """The value so many rows before; after, if negative."""

    def given(at: At) -> tuple[Any, Iterable[Row]]:
        place = at.place - steps
        if not 0 <= place < len(at.rows):
            return default, ()
        return at.rows[place][column], _alike(at, place, column)

    return given


def first(column: str, bounds: Bounds | None = None, nulls: bool = True) -> Function:
    """The frame's first value; without `nulls` the first that is not NULL."""
    return _edge(column, bounds, nulls, 0)


def last(column: str, bounds: Bounds | None = None, nulls: bool = True) -> Function:
    """The frame's last value; without `nulls` the last that is not NULL."""
    return _edge(column, bounds, nulls, -1)


def over(aggregate: Agg, bounds: Bounds | None = None) -> Function:
    """An aggregate over the frame: up to the row's last peer, or the partition without order."""

    def computed(at: At) -> tuple[Any, Iterable[Row]]:
        rows = (bounds or _usual)(at)
        value = aggregate.value(rows)
        if aggregate.attaining is None or at.whole:
            return value, rows
        return value, () if value is None else aggregate.attaining(rows, value)

    return computed


def part(function: Callable[[At], Any]) -> Function:
    """A function that has the whole partition behind it: ntile, percent_rank, cume_dist."""
    return lambda at: (function(at), at.rows)


def rows(start: float = -math.inf, end: float = math.inf) -> Bounds:
    """ROWS BETWEEN two positions, counted from the row."""

    def bounds(at: At) -> Sequence[Row]:
        places = range(len(at.rows))
        return [at.rows[p] for p in places if start <= p - at.place <= end]

    return bounds


def span(start: Any = None, end: Any = None) -> Bounds:
    """RANGE BETWEEN two distances from the sort key; None is unbounded."""

    def bounds(at: At) -> Sequence[Row]:
        (name,) = at.order
        column, down = name.removeprefix("-"), name.startswith("-")
        mine = at.rows[at.place][column]
        if mine is None:
            low, high = at.peers[at.place]
            return at.rows[0 if start is None else low : None if end is None else high]
        found = []
        for row in at.rows:
            if row[column] is None:
                inside = (end if down else start) is None
            else:
                far = mine - row[column] if down else row[column] - mine
                inside = (start is None or far >= start) and (end is None or far <= end)
            if inside:
                found.append(row)
        return found

    return bounds


def _edge(column: str, bounds: Bounds | None, nulls: bool, which: int) -> Function:
    def given(at: At) -> tuple[Any, Iterable[Row]]:
        inside = (bounds or _usual)(at)
        fitting = [row for row in inside if nulls or row[column] is not None]
        if not fitting:
            return None, ()
        giving = fitting[which]
        if at.whole:
            return giving[column], inside
        place = next(place for place, row in enumerate(at.rows) if row is giving)
        return giving[column], _alike(at, place, column)

    return given


def _usual(at: At) -> Sequence[Row]:
    return at.rows[: at.peers[at.place][1]] if at.order else at.rows


def _alike(at: At, place: int, column: str) -> list[Row]:
    value = key(at.rows[place][column])
    return [row for row in at.rows[slice(*at.peers[place])] if key(row[column]) == value]


def _start(at: At) -> int:
    return at.peers[at.place][0]


def _peers(placed: Sequence[Row], order: str) -> list[tuple[int, int]]:
    columns = [name.removeprefix("-") for name in order.split()]
    keys = [tuple(key(row[column]) for column in columns) for row in placed]
    return [(keys.index(one), keys.index(one) + keys.count(one)) for one in keys]


def _rank(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


def days(number: int) -> dt.timedelta:
    """So many days."""
    return dt.timedelta(days=number)
