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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from predtrace.arrays.boxindex import BoxIndex
from predtrace.arrays.cells import Cells
from predtrace.arrays.relation import LineageTable, SmallInts
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Columns, Flags, Ints, Shape, as_columns, as_matrix, expand

FEW_ROWS = 64
"""Parts of at most so many rows are joined with every box, larger parts through an index."""

_BLOCK = 1 << 21
"""Pairs of a row and a box that are processed together; bounds memory."""

_BOXES = 1 << 15
"""Boxes that are looked up in an index together."""

_SLABS = 1 << 12
"""The number of slabs that boxes may always be cut into."""

_FAR = np.int64(2**62)

Column = TypeVar("Column", Ints, Flags)


class Direction(Enum):
    """From output cells to the input cells they came from, or from input cells to output."""

    backward = "backward"
    forward = "forward"


class TableIndex:
    """A table made ready for queries in both directions; orders are built when first used."""

    def __init__(self, table: LineageTable) -> None:
        self.table = table
        self._parts = tuple(_parts(table))

    def hop(self, cells: Cells, direction: Direction) -> Cells:
        """The cells on the other side that are related to any of `cells`.

        Raises ArrayLineageError if `cells` are of an array of another shape.
        """
        here, there = self.table.out_shape, self.table.in_shape
        if direction is Direction.forward:
            here, there = there, here
        if cells.shape != here:
            raise ArrayLineageError(
                f"cells of an array of shape {cells.shape} cannot be traced {direction.value} "
                f"through lineage that begins at shape {here}"
            )
        # boxes that overlap or touch would find the same rows, one after the other
        cells = cells.coalesced()
        images = [image for part in self._parts for image in part.images(cells, direction, there)]
        return images[0].coalesced() if len(images) == 1 else Cells.union(there, images)


def trace(path: Iterable[tuple[TableIndex, Direction]], cells: Cells) -> Cells:
    """The cells at the end of a path of tables that are related to `cells` at its start.

    Boxes are joined after every hop. Raises ArrayLineageError if a table does not begin at
    the shape of the array before it.
    """
    for table, direction in path:
        cells = table.hop(cells, direction)
    return cells


def _parts(table: LineageTable) -> Iterator[_Part]:
    """The table's rows by the output axes that several of their input axes follow."""
    if not len(table):
        return
    shared = np.stack(
        [
            ((table.lo_axis == axis) | (table.hi_axis == axis)).sum(axis=1) > 1
            for axis in range(len(table.out_shape))
        ]
        or [np.zeros(len(table), np.bool_)],
        axis=1,
    )
    if bool((shared == shared[0]).all()):
        yield _Part(table, np.flatnonzero(shared[0]).tolist())
        return
    kinds, kind = np.unique(shared, axis=0, return_inverse=True)
    for number, axes in enumerate(kinds):
        rows = np.flatnonzero(kind.reshape(-1) == number)
        yield _Part(table.take(rows), np.flatnonzero(axes).tolist())


class _Term(NamedTuple):
    """An end that moves with the output index on `axis` by `slope`, in `rows` (None means all)."""

    axis: int
    slope: int
    rows: Flags | None


class _Part:
    """Rows in which the axes `shared` are those that several input axes follow."""

    def __init__(self, rows: LineageTable, shared: list[int]) -> None:
        self.rows = rows
        self.shared = shared
        self.inputs = range(len(rows.in_shape))
        self.out_lo, self.out_hi = as_columns(rows.out_lo), as_columns(rows.out_hi)
        self.lo_base, self.hi_base = as_columns(rows.lo_base), as_columns(rows.hi_base)
        self.lo_terms = [_terms(rows.lo_axis[:, k], rows.lo_slope[:, k]) for k in self.inputs]
        self.hi_terms = [_terms(rows.hi_axis[:, k], rows.hi_slope[:, k]) for k in self.inputs]

    def images(self, cells: Cells, direction: Direction, there: Shape) -> Iterator[Cells]:
        """The cells on the other side, of shape `there`, that are related to `cells`."""
        image = self._backward if direction is Direction.backward else self._forward
        for pairs in self._pairs(cells, direction) if len(cells) else ():
            lo, hi, count = image(pairs)
            yield Cells(there, as_matrix(lo, count), as_matrix(hi, count))

    def _pairs(self, cells: Cells, direction: Direction) -> Iterator[_Pairs]:
        """Pairs of rows and boxes; all that overlap are among them."""
        rows = len(self.rows)
        if rows <= FEW_ROWS or not cells.shape:
            for lo, hi in _blocks(cells, max(1, _BLOCK // rows)):
                yield _Pairs(as_columns(lo), as_columns(hi), (rows, len(lo)))
            return
        backward = direction is Direction.backward
        index = self._output_order if backward else self._input_order
        for lo, hi in _blocks(_slabs(cells, index.major), _BOXES):
            for found, boxes in index.candidates(lo, hi):
                yield _Pairs(as_columns(lo), as_columns(hi), found.shape, found, boxes)

    @cached_property
    def _output_order(self) -> BoxIndex:
        return BoxIndex(self.rows.out_lo, self.rows.out_hi, self.rows.out_shape)

    @cached_property
    def _input_order(self) -> BoxIndex:
        return BoxIndex(*self.rows.input_bounds(), self.rows.in_shape)

    def _backward(self, pairs: _Pairs) -> tuple[Columns, Columns, int]:
        """The input boxes of output boxes: first and last indices, and their number."""
        lo = [
            np.maximum(pairs.row(ours), pairs.box(theirs))
            for ours, theirs in zip(self.out_lo, pairs.lo, strict=True)
        ]
        hi = [
            np.minimum(pairs.row(ours), pairs.box(theirs))
            for ours, theirs in zip(self.out_hi, pairs.hi, strict=True)
        ]
        meeting = _all([first <= last for first, last in zip(lo, hi, strict=True)], pairs.shape)
        rows = pairs.rows_where(meeting)
        lo, hi = _chosen(lo, meeting), _chosen(hi, meeting)
        if self.shared:
            box, lo, hi = _split(lo, hi, self.shared)
            rows = rows[box]
        first = [
            _moved(base[rows], terms, rows, lo, hi)
            for base, terms in zip(self.lo_base, self.lo_terms, strict=True)
        ]
        last = [
            _moved(base[rows], terms, rows, hi, lo)
            for base, terms in zip(self.hi_base, self.hi_terms, strict=True)
        ]
        return first, last, len(rows)

    def _forward(self, pairs: _Pairs) -> tuple[Columns, Columns, int]:
        """The output boxes of input boxes: first and last indices, and their number."""
        least = [pairs.row(first) for first in self.out_lo]
        greatest = [pairs.row(last) for last in self.out_hi]
        conditions: list[Flags] = []
        for k in self.inputs:
            # lo(o) <= the box's last index, and hi(o) >= its first
            room = pairs.box(pairs.hi[k]) - pairs.row(self.lo_base[k])
            for axis, slope, rows in self.lo_terms[k]:
                mask = None if rows is None else pairs.row(rows)
                _narrow(least, greatest, conditions, axis, slope, room, mask)
            room = pairs.row(self.hi_base[k]) - pairs.box(pairs.lo[k])
            for axis, slope, rows in self.hi_terms[k]:
                mask = None if rows is None else pairs.row(rows)
                _narrow(least, greatest, conditions, axis, -slope, room, mask)
        conditions += [first <= last for first, last in zip(least, greatest, strict=True)]
        meeting = _all(conditions, pairs.shape)
        count = int(np.count_nonzero(meeting))
        return _chosen(least, meeting), _chosen(greatest, meeting), count


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a row and a box: listed pairs, all pairs, or listed rows with one box.

    All pairs are laid out as a matrix, a line per row and a column per box, so that numpy
    broadcasts instead of copying.
    """

    lo: Columns
    hi: Columns
    shape: tuple[int, ...]
    rows: Ints | None = None
    boxes: Ints | None = None

    def row(self, column: Column) -> Column:
        """A column of the rows, laid out like the pairs."""
        return column[:, None] if self.rows is None else column[self.rows]

    def box(self, column: Ints) -> Ints:
        """A column of the boxes, laid out like the pairs."""
        if self.boxes is not None:
            return column[self.boxes]
        return column[None, :] if self.rows is None else column

    def rows_where(self, chosen: Flags) -> Ints:
        """The rows of the chosen pairs."""
        return np.nonzero(chosen)[0] if self.rows is None else self.rows[chosen]


def _terms(axes: SmallInts, slopes: SmallInts) -> list[_Term]:
    """The movements of the ends on one input axis, by groups of rows that move alike."""
    kinds = sorted({*zip(axes.tolist(), slopes.tolist(), strict=True)})
    if len(kinds) == 1:
        return [_Term(*kinds[0], None)]
    return [_Term(axis, slope, (axes == axis) & (slopes == slope)) for axis, slope in kinds]


def _blocks(cells: Cells, size: int) -> Iterator[tuple[Ints, Ints]]:
    """The boxes, at most `size` at a time."""
    for start in range(0, len(cells), size):
        yield cells.lo[start : start + size], cells.hi[start : start + size]


def _all(conditions: list[Flags], shape: tuple[int, ...]) -> Flags:
    """Where all conditions hold; shape `shape`."""
    result = np.ones(shape, np.bool_)
    for condition in conditions:
        result &= condition
    return result


def _chosen(columns: Columns, chosen: Flags) -> Columns:
    """The columns, laid out like `chosen`, where it is true; one-dimensional."""
    if chosen.ndim == 1 and chosen.all():
        return [np.broadcast_to(column, chosen.shape) for column in columns]
    return [
        (column if column.shape == chosen.shape else np.broadcast_to(column, chosen.shape))[chosen]
        for column in columns
    ]


def _moved(base: Ints, terms: list[_Term], rows: Ints, lo: Columns, hi: Columns) -> Ints:
    """The least values of ends over boxes of output cells.

    If `lo` and `hi` are exchanged, the greatest values.
    """
    for axis, slope, where in terms:
        if slope:
            step = lo[axis] if slope > 0 else -hi[axis]
            base = base + (step if where is None else step * where[rows])
    return base


def _narrow(
    least: Columns,
    greatest: Columns,
    conditions: list[Flags],
    axis: int,
    slope: int,
    room: Ints,
    where: Flags | None,
) -> None:
    """Narrow the bounds of ``o[axis]`` to ``slope * o[axis] <= room``, in the pairs `where`."""
    if not slope:
        conditions.append(room >= 0 if where is None else (room >= 0) | ~where)
    elif slope > 0:
        bound = room if where is None else np.where(where, room, _FAR)
        greatest[axis] = np.minimum(greatest[axis], bound)
    else:
        bound = -room if where is None else np.where(where, -room, -_FAR)
        least[axis] = np.maximum(least[axis], bound)


def _split(lo: Columns, hi: Columns, axes: list[int]) -> tuple[Ints, Columns, Columns]:
    """The boxes cut to single indices on these axes, and the box of each piece."""
    box, single = expand(
        np.stack([lo[axis] for axis in axes], axis=1), np.stack([hi[axis] for axis in axes], axis=1)
    )
    lo, hi = [column[box] for column in lo], [column[box] for column in hi]
    for place, axis in enumerate(axes):
        lo[axis] = hi[axis] = single[:, place]
    return box, lo, hi


def _slabs(cells: Cells, major: int | None) -> Cells:
    """The boxes cut to single indices of the index's first axis, if the pieces are not too many.

    The range of a piece in the index then covers little more than the piece.
    """
    if major is None:
        return cells
    lengths = cells.hi[:, major] - cells.lo[:, major] + 1
    if int(lengths.sum()) > max(_SLABS, 2 * len(cells)):
        return cells
    _, lo, hi = _split(as_columns(cells.lo), as_columns(cells.hi), [major])
    return Cells(cells.shape, as_matrix(lo, len(lo[0])), as_matrix(hi, len(hi[0])))
