"""Joins many boxes in a small array: marks them in a bitmap, and reads the runs of marked cells.

Sorting n boxes takes n log n steps with scattered memory access. If the array has not many more
cells than there are boxes, it is faster to mark the cells and find the borders of marked cells, and
the result is sorted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from predtrace.packed.boxes import Columns, Flags, Ints, Shape, expand, ravel, volumes

MANY = 1 << 10
"""Up to so many boxes are sorted, even if the array is small."""

_CELLS_PER_BOX = 32
_LINES_PER_BOX = 4


_WORTH_JOINING = 1 / 8
_SHORT = 4


class Runs(NamedTuple):
    """First and last cells of runs along the last axis, in order.

    `axes` are the other axes along which enough runs may be joined, the last one first.
    """

    lo: Columns
    hi: Columns
    axes: list[int]


def runs(lo: Ints, hi: Ints, shape: Shape) -> Runs | None:
    """The cells of the boxes as runs; None if sorting is better."""
    size = math.prod(shape)
    if len(lo) < MANY or size > _CELLS_PER_BOX * len(lo):
        return None
    starts = ravel(list(lo.T), shape)
    stops = starts + (hi[:, -1] - lo[:, -1])
    several = np.flatnonzero((lo[:, :-1] != hi[:, :-1]).any(axis=1))
    if len(several):
        first, last = lo[several, :-1], hi[several, :-1]
        if int(volumes(first, last).sum()) > _LINES_PER_BOX * len(lo):
            return None
        box, lines = expand(first, last)
        begins = ravel([*lines.T, lo[several[box], -1]], shape)
        lengths = (stops - starts)[several[box]]
        starts = np.concatenate([starts, begins])
        stops = np.concatenate([stops, begins + lengths])
    return _borders(_marked(starts, stops, size), shape)


def _marked(starts: Ints, stops: Ints, size: int) -> Flags:
    """The cells that are in any of the runs; short runs are marked cell by cell."""
    marked = np.zeros(size, np.bool_)
    for _ in range(_SHORT):
        marked[starts] = True
        longer = starts < stops
        if not longer.any():
            return marked
        starts, stops = starts[longer] + 1, stops[longer]
    begun = np.bincount(starts, minlength=size + 1)
    begun -= np.bincount(stops + 1, minlength=size + 1)
    marked |= np.cumsum(begun[:-1]) > 0
    return marked


def _borders(marked: Flags, shape: Shape) -> Runs:
    """The runs of marked cells within lines."""
    length = shape[-1]
    begins, ends = marked.copy(), marked.copy()
    begins[1:] &= ~marked[:-1]
    begins[::length] = marked[::length]
    ends[:-1] &= ~marked[1:]
    ends[length - 1 :: length] = marked[length - 1 :: length]
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    lo: Columns = []
    rest = first
    for size in reversed(shape):
        rest, index = np.divmod(rest, size) if len(lo) + 1 < len(shape) else (rest, rest)
        lo.insert(0, index)
    axes = [
        axis
        for axis in reversed(range(len(shape) - 1))
        if _aligned(begins.reshape(shape), axis) >= _WORTH_JOINING * len(first)
    ]
    return Runs(lo, [*lo[:-1], last - first + lo[-1]], axes)


def _aligned(begins: Flags, axis: int) -> int:
    """The number of runs that begin where a run of the next line begins: these may be joined."""
    ahead, behind = [slice(None)] * begins.ndim, [slice(None)] * begins.ndim
    ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
    return int(np.count_nonzero(begins[tuple(ahead)] & begins[tuple(behind)]))
