"""Window functions: values, and the rows that section 2.1 of docs/semantics.md names for each."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from tests.sqltruth.aggregates import AGGREGATES, EXTREMES
from tests.sqltruth.rows import Joined
from tests.sqltruth.syntax import Edge, Expr, Frame, Window, Windows
from tests.sqltruth.values import Settings, key, row_key

RANKINGS = ("rank", "dense_rank", "row_number")
Behind = Iterable[int]
"""Places in the partition."""


class Reading(NamedTuple):
    """The session's settings, and whether min and max count for the rows that attain them."""

    settings: Settings
    minimal: bool


class Part(NamedTuple):
    """A sorted partition: its rows' arguments and sort keys, and of each place its peers' first
    and last end.
    """

    window: Window
    arguments: Sequence[Sequence[Any]]
    keys: Sequence[Sequence[Any]]
    peers: Sequence[tuple[int, int]]
    reading: Reading

    @property
    def places(self) -> range:
        """Of all rows."""
        return range(len(self.keys))

    def held(self, place: int) -> Any:
        """The first argument there."""
        return self.arguments[place][0]


def windowed(
    windows: Windows,
    computed: Sequence[tuple[int, Window]],
    passing: Sequence[Expr],
    rows: Sequence[Joined],
    read: Callable[[int, Expr], Any],
    reading: Reading,
) -> list[Joined]:
    """The rows with the columns of windows, of which some are `computed`.

    Behind each row are its equals in the columns that are `passing`, and those that functions name.
    `read` gives the value of an expression in a row.
    """
    names = [row_key([read(n, part) for part in passing]) for n in range(len(rows))]
    own: dict[Any, int] = {}
    for name, row in zip(names, rows, strict=True):
        own[name] = own.get(name, 0) | row.sources
    values: list[list[Any]] = [[None] * len(windows.functions) for _ in rows]
    sources = [own[name] for name in names]
    for place, window in computed:
        for number, (value, behind) in enumerate(column(window, read, len(rows), reading)):
            values[number][place] = value
            others = () if window.silent else (own[names[n]] for n in behind)
            sources[number] = functools.reduce(int.__or__, others, sources[number])
    return [
        Joined({**row.env, windows.relation: tuple(made)}, found)
        for row, made, found in zip(rows, values, sources, strict=True)
    ]


def column(
    window: Window, read: Callable[[int, Expr], Any], rows: int, reading: Reading
) -> list[tuple[Any, list[int]]]:
    """For every row the function's value, and the rows behind it; `read` gives what a row has."""
    partitions: dict[Hashable, list[int]] = {}
    for row in range(rows):
        found = row_key([read(row, part) for part in window.partition])
        partitions.setdefault(found, []).append(row)
    result: list[tuple[Any, list[int]]] = [(None, [])] * rows
    for members in partitions.values():
        keys = {row: [read(row, by.value) for by in window.order] for row in members}
        placed = in_order(members, keys, [by.direction for by in window.order])
        part = Part(
            window,
            [[read(row, argument) for argument in window.arguments] for row in placed],
            [keys[row] for row in placed],
            list(_peers([row_key(keys[row]) for row in placed])),
            reading,
        )
        for place, row in enumerate(placed):
            value, behind = _FUNCTIONS.get(window.name, _aggregate)(part, place)
            result[row] = value, [placed[each] for each in behind]
    return result


def in_order(
    rows: Sequence[int], keys: dict[int, list[Any]], directions: Sequence[str]
) -> list[int]:
    """The rows by their keys; equal ones stay as they are."""
    placed = list(rows)
    for place, direction in reversed(list(enumerate(directions))):
        nulls = [row for row in placed if keys[row][place] is None]
        others = [row for row in placed if keys[row][place] is not None]
        values = {row: key(keys[row][place]) for row in others}
        others.sort(key=values.__getitem__, reverse=direction.startswith("DESC"))
        placed = [*nulls, *others] if nulls_first(direction) else [*others, *nulls]
    return placed


def nulls_first(direction: str) -> bool:
    """Whether NULL comes first."""
    return direction.endswith("FIRST") or direction == "ASC"


def _peers(keys: Sequence[Any]) -> Iterable[tuple[int, int]]:
    start = 0
    for _, same in itertools.groupby(keys):
        end = start + len(list(same))
        yield from [(start, end)] * (end - start)
        start = end


def _rank(part: Part, place: int) -> tuple[Any, Behind]:
    start, _ = part.peers[place]
    return start + 1, range(start)


def _dense_rank(part: Part, place: int) -> tuple[Any, Behind]:
    start, _ = part.peers[place]
    return len(set(part.peers[: place + 1])), range(start)


def _row_number(part: Part, place: int) -> tuple[Any, Behind]:
    start, end = part.peers[place]
    return place + 1, range(end if place > start else start)


def _ntile(part: Part, place: int) -> tuple[Any, Behind]:
    tiles, rows = part.held(place), len(part.keys)
    ends = itertools.accumulate(rows // tiles + (n < rows % tiles) for n in range(tiles))
    return next(n for n, end in enumerate(ends, start=1) if place < end), part.places


def _percent_rank(part: Part, place: int) -> tuple[Any, Behind]:
    others = len(part.keys) - 1
    return (part.peers[place][0] / others if others else 0.0), part.places


def _cume_dist(part: Part, place: int) -> tuple[Any, Behind]:
    return part.peers[place][1] / len(part.keys), part.places


def _lag(part: Part, place: int) -> tuple[Any, Behind]:
    return _neighbour(part, place, range(place - 1, -1, -1))


def _lead(part: Part, place: int) -> tuple[Any, Behind]:
    return _neighbour(part, place, range(place + 1, len(part.keys)))


def _neighbour(part: Part, place: int, others: Iterable[int]) -> tuple[Any, Behind]:
    _, steps, *default = part.arguments[place]
    found = _shown(part, others)
    if len(found) < steps:
        return (default[0] if default else None), ()
    giver = found[steps - 1]
    return part.held(giver), _alike(part, giver)


def _first_value(part: Part, place: int) -> tuple[Any, Behind]:
    return _of_frame(part, place, 0)


def _last_value(part: Part, place: int) -> tuple[Any, Behind]:
    return _of_frame(part, place, -1)


def _nth_value(part: Part, place: int) -> tuple[Any, Behind]:
    return _of_frame(part, place, part.arguments[place][1] - 1)


def _of_frame(part: Part, place: int, number: int) -> tuple[Any, Behind]:
    members = frame(part, place)
    found = _shown(part, members)
    there = found[number:][:1]
    value = part.held(there[0]) if there else None
    if not part.reading.minimal:
        return value, members
    return value, _alike(part, there[0]) if there else ()


def _shown(part: Part, places: Iterable[int]) -> list[int]:
    """The places, those of NULL left out if the function ignores them."""
    return [n for n in places if not part.window.skips or part.held(n) is not None]


def _alike(part: Part, giver: int) -> Behind:
    """The giving row and its peers that hold the same value."""
    value = key(part.held(giver))
    return [place for place in range(*part.peers[giver]) if key(part.held(place)) == value]


def _aggregate(part: Part, place: int) -> tuple[Any, Behind]:
    members = frame(part, place)
    name = part.window.name
    if name == "count all":
        return len(members), members
    shown = [part.held(n) for n in members if part.held(n) is not None]
    value = AGGREGATES[name](shown, part.reading.settings)
    if name not in EXTREMES or not part.reading.minimal:
        return value, members
    return value, [n for n in members if value is not None and key(part.held(n)) == key(value)]


def frame(part: Part, place: int) -> list[int]:
    """The places of a row's frame."""
    given = part.window.frame
    if given is None:
        end = part.peers[place][1] if part.window.order else len(part.keys)
        return list(range(end))
    test = _by_rows if given.unit == "ROWS" else _by_keys
    return [other for other in part.places if test(part, given, place, other)]


def _by_rows(part: Part, given: Frame, place: int, other: int) -> bool:
    return _beyond(given.start, other - place, 1) and _beyond(given.end, other - place, -1)


def _beyond(edge: Edge, distance: int, sign: int) -> bool:
    if edge.side == 0:
        return distance * sign >= 0
    return edge.shift is None or distance * sign >= edge.side * edge.shift * sign


def _by_keys(part: Part, given: Frame, place: int, other: int) -> bool:
    return _reaches(part, given.start, place, other, 1) and _reaches(
        part, given.end, place, other, -1
    )


def _reaches(part: Part, edge: Edge, place: int, other: int, sign: int) -> bool:
    """Whether `other` is not before (1) or not after (-1) the edge of the frame of `place`."""
    if edge.side == 0:
        start, end = part.peers[place]
        return other >= start if sign > 0 else other < end
    if edge.shift is None:
        return True
    (own,), (theirs,) = part.keys[place], part.keys[other]
    direction = part.window.order[0].direction
    down = -1 if direction.startswith("DESC") else 1
    bound = None if own is None else edge.shift(part.reading.settings, own, edge.side * down)
    if bound is None or theirs is None:
        stands = ((theirs is not None) - (bound is not None)) * (
            1 if nulls_first(direction) else -1
        )
    else:
        stands = ((key(theirs) > key(bound)) - (key(theirs) < key(bound))) * down
    return stands * sign >= 0


_FUNCTIONS: dict[str, Callable[[Part, int], tuple[Any, Behind]]] = {
    "rank": _rank,
    "dense_rank": _dense_rank,
    "row_number": _row_number,
    "ntile": _ntile,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "lag": _lag,
    "lead": _lead,
    "first_value": _first_value,
    "last_value": _last_value,
    "nth_value": _nth_value,
}
