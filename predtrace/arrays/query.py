"""Lineage queries on compressed tables (DSLog, Section V): the θ-join, without unpacking.

A hop takes boxes of cells through one table, in either direction:

*Backward*, from output to input: a box is cut to the rows' output boxes. Over such a part
every interval's union is one interval again, because an end moves by at most one from one
output cell to the next, and the image is the product of these unions: a box. The exception
is an output axis that several input axes follow, as on a diagonal; there a part is split
into single indices first.

*Forward*, from input to output: an output cell of a row meets a box if on every axis the
interval begins before the box ends and ends after it begins. Each of these inequalities
bounds one output index, so the answer is the row's output box with narrower bounds, exact
even on diagonals.

docs/arrays.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cached_property

import numpy as np

from predtrace.arrays.boxes import Flags, Ints, expand
from predtrace.arrays.boxindex import BoxIndex
from predtrace.arrays.cells import Cells
from predtrace.arrays.relation import LineageTable, SmallInts
from predtrace.errors import ArrayLineageError

FEW_ROWS = 64
"""Tables of at most so many rows are joined with every box, others through an index."""

_BLOCK = 1 << 21
"""Pairs of a row and a box that are looked at together; bounds memory."""

_BOXES = 1 << 15
"""Boxes that are looked up in an index together."""

_SLABS = 1 << 12
"""Slabs that boxes may always be cut to."""


class Direction(Enum):
    """From output cells to the input cells they came from, or from input cells to output."""

    backward = "backward"
    forward = "forward"


class TableIndex:
    """A table made ready for queries in both directions; orders are built when first used."""

    def __init__(self, table: LineageTable) -> None:
        self.table = table

    def hop(self, cells: Cells, direction: Direction) -> Cells:
        """The cells on the other side that are related to any of `cells`.

        Raises ArrayLineageError if `cells` are of an array of another shape.
        """
        table = self.table
        backward = direction is Direction.backward
        here, there = (
            (table.out_shape, table.in_shape) if backward else (table.in_shape, table.out_shape)
        )
        if cells.shape != here:
            raise ArrayLineageError(
                f"cells of an array of shape {cells.shape} cannot be traced {direction.value} "
                f"through lineage that begins at shape {here}"
            )
        if not len(table) or not len(cells):
            return Cells.nothing(there)
        image = self._backward if backward else self._forward
        index = self._by_output if backward else self._by_input
        parts = [image(*pairs) for pairs in _candidates(len(table), index, cells)]
        lo = np.concatenate([lo for lo, _ in parts]) if len(parts) > 1 else parts[0][0]
        hi = np.concatenate([hi for _, hi in parts]) if len(parts) > 1 else parts[0][1]
        return Cells(there, lo, hi).coalesced()

    @cached_property
    def _output_order(self) -> BoxIndex:
        return BoxIndex(self.table.out_lo, self.table.out_hi, self.table.out_shape)

    @cached_property
    def _input_order(self) -> BoxIndex:
        return BoxIndex(*self.table.input_bounds(), self.table.in_shape)

    def _by_output(self) -> BoxIndex:
        return self._output_order

    def _by_input(self) -> BoxIndex:
        return self._input_order

    @cached_property
    def _shared(self) -> Flags:
        """Shape (rows, p): the output axes that ends on several input axes follow."""
        table = self.table
        followers = np.zeros((len(table), len(table.out_shape)), np.int64)
        for axis in range(len(table.out_shape)):
            follows = (table.lo_axis == axis) | (table.hi_axis == axis)
            followers[:, axis] = follows.sum(axis=1)
        return followers > 1

    @cached_property
    def _any_shared(self) -> bool:
        return bool(self._shared.any())

    def _backward(self, rows: Ints, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
        """The input boxes of output boxes, box n through row ``rows[n]``."""
        table = self.table
        lo, hi = np.maximum(lo, table.out_lo[rows]), np.minimum(hi, table.out_hi[rows])
        rows, lo, hi = _filled(rows, lo, hi)
        if self._any_shared:
            rows, lo, hi = _split(rows, lo, hi, self._shared[rows])
        return (
            table.lo_base[rows] + _least(table.lo_axis[rows], table.lo_slope[rows], lo, hi),
            table.hi_base[rows] - _least(table.hi_axis[rows], -table.hi_slope[rows], lo, hi),
        )

    def _forward(self, rows: Ints, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
        """The output boxes of input boxes, box n through row ``rows[n]``.

        A last column stands for an output axis whose only index is 0: constants follow it.
        """
        table = self.table
        none = np.zeros((len(rows), 1), np.int64)
        least = np.concatenate([table.out_lo[rows], none], axis=1)
        greatest = np.concatenate([table.out_hi[rows], none], axis=1)
        for k in range(lo.shape[1]):
            # lo(o) <= the box's last index, and hi(o) >= its first
            base, axis, slope = (column[rows, k] for column in table.lo_columns())
            _narrow(least, greatest, axis, slope, hi[:, k] - base)
            base, axis, slope = (column[rows, k] for column in table.hi_columns())
            _narrow(least, greatest, axis, -slope, base - lo[:, k])
        _, least, greatest = _filled(rows, least, greatest)
        return least[:, :-1], greatest[:, :-1]


def trace(path: Iterable[tuple[TableIndex, Direction]], cells: Cells) -> Cells:
    """The cells at the end of a path of tables that are related to `cells` at its start.

    Boxes are joined after every hop. Raises ArrayLineageError if a table does not begin at
    the shape of the array before it.
    """
    for table, direction in path:
        cells = table.hop(cells, direction)
    return cells


def _candidates(
    rows: int, index: Callable[[], BoxIndex], cells: Cells
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Row numbers and boxes to look at; all pairs that overlap are among them."""
    if rows <= FEW_ROWS or not cells.shape:
        size = max(1, _BLOCK // rows)
        for start in range(0, len(cells), size):
            lo, hi = cells.lo[start : start + size], cells.hi[start : start + size]
            given = np.tile(np.arange(len(lo)), rows)
            yield np.repeat(np.arange(rows), len(lo)), lo[given], hi[given]
        return
    lo, hi = _slabs(cells, index().major)
    for start in range(0, len(lo), _BOXES):
        some_lo, some_hi = lo[start : start + _BOXES], hi[start : start + _BOXES]
        found, given = index().candidates(some_lo, some_hi)
        yield found, some_lo[given], some_hi[given]


def _slabs(cells: Cells, major: int | None) -> tuple[Ints, Ints]:
    """The boxes cut to single indices of the index's first axis, if that makes not too many.

    A box's range in the index then covers little beside the box.
    """
    lo, hi = cells.lo, cells.hi
    if major is None:
        return lo, hi
    cut = np.zeros((len(lo), lo.shape[1]), np.bool_)
    cut[:, major] = True
    if int((hi[:, major] - lo[:, major] + 1).sum()) > max(_SLABS, 2 * len(lo)):
        return lo, hi
    _, lo, hi = _split(np.arange(len(lo)), lo, hi, cut)
    return lo, hi


def _filled(rows: Ints, lo: Ints, hi: Ints) -> tuple[Ints, Ints, Ints]:
    """Without the empty boxes."""
    filled = (lo <= hi).all(axis=1)
    if filled.all():
        return rows, lo, hi
    chosen = np.flatnonzero(filled)
    return rows[chosen], lo[chosen], hi[chosen]


def _split(rows: Ints, lo: Ints, hi: Ints, axes: Flags) -> tuple[Ints, Ints, Ints]:
    """The boxes cut to single indices on the axes flagged for each of them."""
    if not bool((axes & (lo < hi)).any()):
        return rows, lo, hi
    box, single = expand(np.where(axes, lo, 0), np.where(axes, hi, 0))
    axes = axes[box]
    return rows[box], np.where(axes, single, lo[box]), np.where(axes, single, hi[box])


def _least(axis: SmallInts, slope: SmallInts, lo: Ints, hi: Ints) -> Ints:
    """The least of ``slope * o[axis]`` over the boxes, per box and input axis."""
    box = np.arange(len(lo))[:, None]
    pad = np.zeros((len(lo), 1), np.int64)
    from_lo = np.concatenate([lo, pad], axis=1)[box, axis]
    from_hi = np.concatenate([hi, pad], axis=1)[box, axis]
    least: Ints = np.where(slope < 0, -from_hi, np.where(slope > 0, from_lo, 0))
    return least


def _narrow(least: Ints, greatest: Ints, axis: SmallInts, slope: SmallInts, room: Ints) -> None:
    """Narrow the bounds of ``o[axis]`` to where ``slope * o[axis] <= room``.

    Constants, slope 0, follow the last column, whose only index is 0: either sign will do.
    """
    box = np.arange(len(room))
    place = axis.astype(np.int64)
    falling = slope < 0
    greatest[box, place] = np.minimum(
        greatest[box, place], np.where(falling, greatest[box, place], room)
    )
    least[box, place] = np.maximum(least[box, place], np.where(falling, -room, least[box, place]))
