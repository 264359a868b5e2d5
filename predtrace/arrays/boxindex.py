"""Finds the boxes among many that may overlap given boxes, by sorted orders and binary search.

Boxes are laid out along one line by the row-major numbers of their corners: every cell of
a box has a number between those of its first and its last corner, so boxes that share a
cell have overlapping ranges. Ranges are kept in classes of similar length, each sorted by
its start; a query reads the stretch of each class that begins at most a length before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from predtrace.packed.boxes import KEY_LIMIT, Ints, Shape, ravel


@dataclass(frozen=True, eq=False)
class _Class:
    """Ranges of similar length, by start; `rows` are the boxes' numbers."""

    starts: Ints
    rows: Ints
    length: int


class BoxIndex:
    """An index of the boxes `lo` to `hi`, shape (boxes, axes), of an array of shape `shape`."""

    def __init__(self, lo: Ints, hi: Ints, shape: Shape) -> None:
        self._axes = _axis_order(lo, hi, shape)
        self._sizes = tuple(shape[axis] for axis in self._axes)
        starts = self._key(lo)
        lengths = self._key(hi) - starts
        self._classes = tuple(_classes(starts, lengths))

    @property
    def major(self) -> int | None:
        """The axis by which boxes are sorted first, if there are several."""
        return self._axes[0] if len(self._axes) > 1 else None

    def candidates(self, lo: Ints, hi: Ints) -> Iterator[tuple[Ints, Ints | None]]:
        """Pairs (box of the index, given box), in parts; all that overlap are among them.

        For a single given box, only the boxes of the index.
        """
        first, last = self._key(lo), self._key(hi)
        for each in self._classes:
            rows, given = _overlapping(each, first, last)
            if len(rows):
                yield rows, given

    def _key(self, cells: Ints) -> Ints:
        return ravel([cells[:, axis] for axis in self._axes], self._sizes)


def _axis_order(lo: Ints, hi: Ints, shape: Shape) -> list[int]:
    """Axes whose intervals are shortest come first, so that ranges are short.

    Only as many as the numbers of cells allow; fewer axes give more candidates.
    """
    share = (hi - lo).mean(axis=0) / np.array(shape)
    axes = [int(axis) for axis in np.argsort(share, kind="stable")]
    while math.prod(shape[axis] for axis in axes) >= KEY_LIMIT:
        axes.pop()
    return axes


def _classes(starts: Ints, lengths: Ints) -> list[_Class]:
    magnitude = np.frexp(lengths.astype(np.float64))[1]
    classes = []
    for each in np.unique(magnitude):
        rows = np.flatnonzero(magnitude == each)
        ordered = starts[rows]
        if bool((ordered[1:] < ordered[:-1]).any()):
            order = np.argsort(ordered, kind="stable")
            rows, ordered = rows[order], ordered[order]
        classes.append(_Class(ordered, rows, int(lengths[rows].max())))
    return classes


def _overlapping(each: _Class, first: Ints, last: Ints) -> tuple[Ints, Ints | None]:
    begin = np.searchsorted(each.starts, first - each.length, side="left")
    end = np.searchsorted(each.starts, last, side="right")
    if len(first) == 1:
        return each.rows[int(begin[0]) : int(end[0])], None
    counts = np.maximum(end - begin, 0)
    given = np.repeat(np.arange(len(first)), counts)
    within = np.arange(len(given)) - np.repeat(np.cumsum(counts) - counts, counts)
    return each.rows[begin[given] + within], given
