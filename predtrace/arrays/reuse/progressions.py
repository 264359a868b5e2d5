"""A table's rows as arithmetic progressions, so that tables of many rows are few numbers.

Rows are vectors of integers: the columns of a `LineageTable` side by side. Three or more successive
rows with the same difference become one progression: the first row, the difference, the count.

    numpy.ravel(A), A of shape (4, 3)     folded
    out       in                          first            step             count
    [0, 2]    0, o0                       [0, 2]  0, o0    [3, 3]  1, -3    4
    [3, 5]    1, o0 - 3
    [6, 8]    2, o0 - 6
    [9, 11]   3, o0 - 9

Folding twice also covers nested rows, such as the rows of `kron`. The number of rows of a table
then does not matter. What matters is the number of progressions, and whether their numbers are
functions of the sizes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from predtrace.arrays.relation import LineageTable
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Flags, Ints, Shape

LIMIT = 128
"""The most progressions of a table worth keeping; tables with more have little structure."""

_DEPTH = 2
_NESTED = 8
"""Progressions before the last fold, relative to the limit after it."""
_HEAD = 4096
_MOST_ROWS = 10_000_000


def fold(table: LineageTable) -> Ints | None:
    """The progressions of the rows, shape (progressions, numbers); None if there are many."""
    if len(table) > _HEAD and _folded(table.take(np.arange(_HEAD))) is None:
        return None
    folded = _folded(table)
    return folded if folded is not None and len(folded) <= LIMIT else None


def _folded(table: LineageTable) -> Ints | None:
    rows = np.concatenate([column.astype(np.int64) for column in table.columns()], axis=1)
    still = _styles(len(table.out_shape), len(table.in_shape))
    for _ in range(_DEPTH):
        found = _fold(rows, still, LIMIT * _NESTED)
        if found is None:
            return None
        rows = found
        still = np.append(still, np.zeros(len(still) + 1, np.bool_))
    return rows


def unfold(folded: Ints, out_shape: Shape, in_shape: Shape) -> LineageTable | None:
    """The table that folds to these progressions; None if there is none between the shapes."""
    if not len(folded):
        return LineageTable.empty(out_shape, in_shape)
    rows = folded
    p, q = len(out_shape), len(in_shape)
    for _ in range(_DEPTH):
        counts = rows[:, -1]
        if (counts < 1).any() or int(counts.sum()) > _MOST_ROWS:
            return None
        width = (rows.shape[1] - 1) // 2
        which = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = rows[which, :width] + within[:, None] * rows[which, width:-1]
    columns: list[npt.NDArray[np.int64]] = []
    for width, small in zip(_widths(p, q), _SMALL, strict=True):
        part, rows = rows[:, :width], rows[:, width:]
        columns.append(np.ascontiguousarray(part, np.int8 if small else np.int64))
    try:
        return LineageTable(out_shape, in_shape, *columns).checked()  # type: ignore[arg-type]
    except ArrayLineageError:
        return None


_SMALL = (False, False, False, True, True, False, True, True)
"""The columns of a table that are axes and slopes: they stay constant in a progression."""


def _widths(p: int, q: int) -> tuple[int, ...]:
    return (p, p, q, q, q, q, q, q)


def _styles(p: int, q: int) -> Flags:
    return np.repeat(np.array(_SMALL), _widths(p, q))


def _fold(rows: Ints, still: Flags, limit: int) -> Ints | None:
    """The progressions from top to bottom, each as long as possible; None if more than `limit`.

    `still` marks the columns that may not change.
    """
    steps = rows[1:] - rows[:-1]
    steady = (steps[1:] == steps[:-1]).all(axis=1) & ~steps[1:, still].any(axis=1)
    breaks = np.append(np.flatnonzero(~steady), len(steady))
    starts: list[int] = []
    counts: list[int] = []
    start = 0
    while start < len(rows):
        if len(starts) == limit:
            return None
        ahead = int(breaks[np.searchsorted(breaks, start)]) - start if start < len(steady) else 0
        count = ahead + 2 if ahead > 0 else 1
        starts.append(start)
        counts.append(count)
        start += count
    first, count_of = np.array(starts, np.int64), np.array(counts, np.int64)
    step = np.zeros((len(first), rows.shape[1]), np.int64)
    several = count_of > 1
    step[several] = steps[first[several]]
    return np.concatenate([rows[first], step, count_of[:, None]], axis=1)
