"""Sets of cells of one array, as unions of boxes: the input and output of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from predtrace.arrays.bitmaps import runs
from predtrace.arrays.runs import differs, sorting_order
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import (
    KEY_LIMIT,
    Columns,
    Ints,
    Shape,
    as_columns,
    as_matrix,
    expand,
    sorted_unique,
    volumes,
)

Place: TypeAlias = int | slice
"""One axis of a box: an index or a slice with step 1; negative numbers count from the end."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells in any of the boxes ``lo[n] <= cell <= hi[n]``, shapes (boxes, axes).

    Boxes may overlap; none is empty. `box`, `points` and `everything` check their arguments.
    """

    shape: Shape
    lo: Ints
    hi: Ints

    @classmethod
    def box(cls, shape: Shape, *places: Place) -> Cells:
        """The cells that ``array[places]`` would select; missing axes are taken whole.

        Raises ArrayLineageError if there are too many axes, an index is outside its axis,
        or a slice has a step.
        """
        if len(places) > len(shape):
            raise ArrayLineageError(f"{len(places)} axes given for an array of shape {shape}")
        whole = (slice(None),) * (len(shape) - len(places))
        ranges = [_range(place, size) for place, size in zip((*places, *whole), shape, strict=True)]
        if any(not len(each) for each in ranges):
            return cls.nothing(shape)
        first = np.array([[each[0] for each in ranges]], np.int64)
        last = np.array([[each[-1] for each in ranges]], np.int64)
        return cls(shape, first, last)

    @classmethod
    def points(cls, shape: Shape, cells: npt.ArrayLike) -> Cells:
        """These cells, one per row; for one axis also a flat list of indices.

        Raises ArrayLineageError if a cell is not of this array.
        """
        points = np.asarray(cells)
        if points.size == 0:
            points = points.reshape(len(points) if len(shape) == 0 else 0, len(shape))
        elif points.ndim == 1 and len(shape) == 1:
            points = points[:, None]
        if points.ndim != 2 or points.shape[1] != len(shape):
            raise ArrayLineageError(
                f"cells of an array of shape {shape} need {len(shape)} indices each, "
                f"one cell a row; given: {points.shape}"
            )
        if points.size and points.dtype.kind not in "iu":
            raise ArrayLineageError(f"indices must be integers, not {points.dtype}")
        if bool(((points < 0) | (points >= np.array(shape))).any()):
            raise ArrayLineageError(f"a cell is outside the array of shape {shape}")
        points = points.astype(np.int64)
        return cls(shape, points, points)

    @classmethod
    def everything(cls, shape: Shape) -> Cells:
        """All cells of the array."""
        return cls.box(shape)

    @classmethod
    def nothing(cls, shape: Shape) -> Cells:
        """No cell."""
        none = np.empty((0, len(shape)), np.int64)
        return cls(shape, none, none)

    @classmethod
    def union(cls, shape: Shape, parts: Sequence[Cells]) -> Cells:
        """The cells in any of the parts."""
        if len(parts) == 1:
            return parts[0]
        none = cls.nothing(shape)
        lo = np.concatenate([none.lo, *(part.lo for part in parts)])
        hi = np.concatenate([none.hi, *(part.hi for part in parts)])
        return cls(shape, lo, hi).coalesced()

    def __len__(self) -> int:
        """The number of boxes."""
        return len(self.lo)

    def __contains__(self, cell: Sequence[int]) -> bool:
        point = np.array(cell, np.int64)
        return bool(((self.lo <= point) & (point <= self.hi)).all(axis=1).any())

    def cells(self) -> Ints:
        """The cells, each once, in row-major order; shape (cells, axes)."""
        return sorted_unique(expand(self.lo, self.hi)[1], self.shape)

    def count(self) -> int:
        """The number of cells."""
        return int(volumes(self.lo, self.hi).sum()) if len(self) < 2 else len(self.cells())

    def same_as(self, other: Cells) -> bool:
        """Whether both are the same cells of arrays of the same shape."""
        return self.shape == other.shape and np.array_equal(self.cells(), other.cells())

    def coalesced(self) -> Cells:
        """The same cells in fewer boxes: without repetitions, with adjacent and overlapping boxes
        joined.

        Per axis, boxes that agree on all other axes are joined to the union of their
        intervals, as range encoding does (DSLog, Section V-B3).
        """
        if not self.shape:
            return Cells(self.shape, self.lo[:1], self.hi[:1])
        if len(self) < 2:
            return self
        marked = runs(self.lo, self.hi, self.shape)
        if marked is not None and len(marked.lo[0]) <= len(self):
            lo, hi, axes = marked
        else:
            lo, hi = as_columns(self.lo), as_columns(self.hi)
            axes = list(reversed(range(len(self.shape))))
        for axis in axes:
            lo, hi = _joined(lo, hi, axis, self.shape)
        return Cells(self.shape, as_matrix(lo, len(lo[0])), as_matrix(hi, len(hi[0])))


def _range(place: Place, size: int) -> range:
    if isinstance(place, slice):
        if place.step not in (None, 1):
            raise ArrayLineageError(f"{place} has a step; give single cells, or several boxes")
        return range(*place.indices(size))
    if not -size <= place < size:
        raise ArrayLineageError(f"index {place} is outside an axis of size {size}")
    return range(place % size, place % size + 1)


def _joined(lo: Columns, hi: Columns, axis: int, shape: Shape) -> tuple[Columns, Columns]:
    """The boxes with runs along one axis joined."""
    others = [other for other in range(len(lo)) if other != axis]
    keys = [column for other in others for column in (lo[other], hi[other])]
    sizes = [shape[other] for other in others for _ in range(2)]
    order = sorting_order([*keys, lo[axis]], (*sizes, shape[axis]))
    if order is not None:
        lo, hi, keys = ([column[order] for column in columns] for columns in (lo, hi, keys))
    group = np.zeros(len(lo[axis]), np.int64)
    if keys:
        np.cumsum(differs(keys, None), out=group[1:])
    step = shape[axis] + 1
    if (int(group[-1]) + 1) * step >= KEY_LIMIT:
        return lo, hi
    # The greatest last index so far, within the group: later groups lie above earlier ones.
    lift = group * step
    reach = np.maximum.accumulate(hi[axis] + lift)
    apart = lo[axis][1:] + lift[1:] > reach[:-1] + 1
    if apart.all():
        return lo, hi
    cuts = np.flatnonzero(apart)
    starts, stops = np.append(0, cuts + 1), np.append(cuts, len(group) - 1)
    joined_hi = [column[starts] for column in hi]
    joined_hi[axis] = reach[stops] - lift[stops]
    return [column[starts] for column in lo], joined_hi
