"""Lineage tables between a result's cells and an argument's, for movements along an array.

The first axis numbers the array's elements. Further axes, of arrays in the array, are passed on:
cell (o, j) of ``reverse(a)`` is cell (n-1-o, j) of a.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from predtrace.arrays.relation import LineageTable, Row, follow
from predtrace.cells.layouts import Box, Layout, boxes, length, shape
from predtrace.packed.boxes import Ints, Shape


def moved(
    out: Shape, into: Shape, starts: Ints, origins: Ints, lengths: Ints, slope: int = 1
) -> LineageTable:
    """Runs of elements: `lengths[r]` elements from `origins[r]` on are placed from `starts[r]` on.

    With slope -1 they are in reverse order: `origins[r]` is the origin of the last one.
    """
    inner = [min(sizes) - 1 for sizes in zip(out[1:], into[1:], strict=True)]
    kept = np.flatnonzero(lengths > 0) if min(inner, default=0) >= 0 else np.empty(0, np.int64)
    starts, origins, lengths = starts[kept], origins[kept], lengths[kept]
    ends = starts + lengths - 1
    rows, axes = len(kept), len(out)
    zeros = np.zeros((rows, axes), np.int64)
    base, axis = zeros.copy(), np.broadcast_to(np.arange(axes, dtype=np.int8), (rows, axes))
    base[:, 0] = origins - starts if slope > 0 else origins + ends
    out_hi = np.concatenate([ends[:, None], np.tile(np.array(inner, np.int64), (rows, 1))], axis=1)
    out_lo = zeros.copy()
    out_lo[:, 0] = starts
    slopes = np.ones((rows, axes), np.int8)
    slopes[:, 0] = slope
    followed = base, axis, slopes
    return LineageTable(out, into, out_lo, out_hi, *followed, *followed).checked()


def picked(out: Shape, into: Shape, places: Ints) -> LineageTable:
    """Element o of the result is the argument's element `places[o]`; negative: none."""
    if not len(places):
        return LineageTable.empty(out, into)
    places = np.where(places < 0, -2, places)  # where nothing comes after -1
    firsts = np.flatnonzero(np.concatenate([[True], np.diff(places) != 1]))
    lengths = np.diff(np.concatenate([firsts, [len(places)]]))
    there = places[firsts] >= 0
    return moved(out, into, firsts[there], places[firsts][there], lengths[there])


def same(out: Shape, into: Shape) -> LineageTable:
    """Every cell is the argument's cell in the same place."""
    if not out:
        return LineageTable.build((), (), [((), ())])
    zero = np.zeros(1, np.int64)
    return moved(out, into, zero, zero, np.array([min(out[0], into[0])]))


def chained(out: Shape, into: Shape, start: int, count: int) -> LineageTable:
    """The argument's `count` elements stand in the result from `start` on."""
    return moved(out, into, np.array([start]), np.zeros(1, np.int64), np.array([count]))


def entered(out: Shape, into: Shape, place: int) -> LineageTable:
    """The result is the argument's element `place`."""
    return _built(
        out, into, [(_upto(_least(out, into[1:])), [(place, place), *map(follow, range(len(out)))])]
    )


def inserted(out: Shape, into: Shape, first: int, last: int) -> LineageTable:
    """The result's elements from `first` to `last` are, each, the whole argument."""
    box = [(first, last), *_upto(_least(out[1:], into))]
    return _built(out, into, [(box, [follow(axis + 1) for axis in range(len(into))])])


def flattened(out: Shape, into: Shape, parts: Sequence[Layout]) -> LineageTable:
    """The elements of the argument's elements, of these layouts, one after the other."""
    rows: list[Row] = []
    start = 0
    rest = _least(out[1:], into[2:])
    for place, part in enumerate(parts):
        count = length(part)
        inner = [follow(axis + 1) for axis in range(len(rest))]
        box = [(start, start + count - 1), *_upto(rest)]
        rows.append((box, [(place, place), follow(0, -start), *inner]))
        start += count
    return _built(out, into, rows)


def whole(out: Shape, layout: Layout, axes: int) -> LineageTable:
    """Every cell of the result comes from all cells of the argument."""
    rows: list[Row] = [(_upto(out), box) for box in boxes(layout, axes)]
    return _built(out, shape(layout, axes), rows)


def of_elements(out: Shape, layout: Layout, axes: int, places: Ints) -> LineageTable:
    """All cells of element o of the result come from all cells of the argument's element
    `places[o]`."""
    into = shape(layout, axes)
    if axes == 1:
        row = picked((len(places),), into, np.where(places < length(layout), places, -1))
        return _widened(row, out)
    found: dict[int, list[Box]] = {}
    for box in boxes(layout, axes):
        found.setdefault(box[0][0], []).append(box)
    return _built(
        out,
        into,
        [
            ([(element, element), *_upto(out[1:])], box)
            for element, place in enumerate(places.tolist())
            for box in found.get(place, ())
        ],
    )


def _widened(table: LineageTable, out: Shape) -> LineageTable:
    """The table of a vector for a result whose elements are arrays: for all of their cells."""
    rest = np.array(out[1:], np.int64)
    if not rest.all():
        return LineageTable.empty(out, table.in_shape)
    rows = (len(table), 1)
    return LineageTable(
        out,
        table.in_shape,
        np.concatenate([table.out_lo, np.tile(0 * rest, rows)], axis=1),
        np.concatenate([table.out_hi, np.tile(rest - 1, rows)], axis=1),
        *table.lo_columns(),
        *table.hi_columns(),
    ).checked()


def _built(out: Shape, into: Shape, rows: Iterable[Row]) -> LineageTable:
    """The table of those rows whose boxes have cells."""
    there = [row for row in rows if all(first <= last for first, last in row[0])]
    return LineageTable.build(out, into, there)


def _least(out: Shape, into: Shape) -> Shape:
    return tuple(map(min, out, into))


def _upto(sizes: Shape) -> list[tuple[int, int]]:
    return [(0, size - 1) for size in sizes]
