"""Regions: compressed lineage written directly, without listing a single pair of cells.

Most operations on arrays are *separable*: which indices of one input axis contribute depends on
one output axis only, if on any. Such lineage is a few pieces for every input axis; the rows of
the compressed table (DSLog, section IV) are the combinations of the pieces.

    sum over the last axis of an (m, n) array     follow(0), whole(n)
    element-wise                                  follow(0), follow(1)
    cumulative sum                                up_to(0)
    three-point window                            window(0, -1, 1, size)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from predtrace.arrays.relation import End, LineageTable
from predtrace.packed.boxes import Shape


class Limit(NamedTuple):
    """Output cells whose index on `axis` is in low..high, both included."""

    axis: int
    low: int
    high: int


class Piece(NamedTuple):
    """The input indices low..high of one axis, for the output cells within the limits."""

    low: End
    high: End
    limits: tuple[Limit, ...] = ()

    def within(self, *limits: Limit) -> Piece:
        """The same for fewer output cells."""
        return self._replace(limits=self.limits + limits)


Pieces = Sequence[Piece]


def follow(axis: int, offset: int = 0, slope: int = 1) -> Piece:
    """The one index ``slope * o[axis] + offset``; slope is 1 or -1."""
    end = End(offset, axis, slope)
    return Piece(end, end)


def span(low: int, high: int) -> Piece:
    """The indices low..high, the same for all output cells."""
    return Piece(End(low), End(high))


def constant(index: int) -> Piece:
    """One index, the same for all output cells."""
    return span(index, index)


def whole(size: int) -> Piece:
    """All indices of an input axis of this size."""
    return span(0, size - 1)


def up_to(axis: int) -> Piece:
    """The indices 0..o[axis]: a scan."""
    return Piece(End(0), End(0, axis, 1))


def aligned(in_size: int, axis: int) -> Piece:
    """The same index, or the only one of a broadcast axis of size 1."""
    return constant(0) if in_size == 1 else follow(axis)


def window(axis: int, out_size: int, low: int, high: int, size: int, slope: int = 1) -> list[Piece]:
    """The indices ``slope*o + low .. slope*o + high`` that are in 0..size-1.

    One piece for every combination of ends that the border cuts: usually three.
    """
    if size == 0 or out_size == 0 or low > high:
        return []
    cuts = {0, out_size}
    for end in (low, high):
        # where an end enters or leaves 0..size-1
        for edge in (-end, size - 1 - end):
            position = edge if slope == 1 else -edge
            cuts.update(cut for cut in (position, position + 1) if 0 < cut < out_size)
    pieces: list[Piece] = []
    for start, stop in itertools.pairwise(sorted(cuts)):
        first, last = sorted((slope * start, slope * (stop - 1)))
        if last + high < 0 or first + low > size - 1:
            continue
        piece = Piece(
            End(0) if first + low < 0 else End(low, axis, slope),
            End(size - 1) if last + high > size - 1 else End(high, axis, slope),
        )
        previous = pieces[-1] if pieces else None
        if previous and previous[:2] == piece[:2] and previous.limits[0].high == start - 1:
            pieces.pop()
            start = previous.limits[0].low
        pieces.append(piece.within(Limit(axis, start, stop - 1)))
    return pieces


def separable(
    out_shape: Shape, in_shape: Shape, axes: Sequence[Pieces | Piece], *limits: Limit
) -> LineageTable:
    """The table of the combinations of the pieces of every input axis.

    `axes` has, for every input axis, its piece or pieces; `limits` hold for all of them.
    Arrays without cells have no lineage: the table has no rows.
    """
    if 0 in in_shape or 0 in out_shape:
        return no_lineage(out_shape, in_shape)
    choices = [(axis,) if isinstance(axis, Piece) else tuple(axis) for axis in axes]
    boxes: list[tuple[list[int], list[int]]] = []
    rows: list[tuple[Piece, ...]] = []
    for row in itertools.product(*choices):
        box = _box(out_shape, itertools.chain(limits, *(piece.limits for piece in row)))
        if box is not None:
            boxes.append(box)
            rows.append(row)
    shape = (len(rows), len(in_shape))
    ends = np.array(
        [[(*piece.low, *piece.high) for piece in row] for row in rows], dtype=np.int64
    ).reshape(*shape, 6)
    bounds = np.array(boxes, dtype=np.int64).reshape(len(rows), 2, len(out_shape))
    return table_of(out_shape, in_shape, bounds[:, 0], bounds[:, 1], ends[..., :3], ends[..., 3:])


def _box(out_shape: Shape, limits: Iterable[Limit]) -> tuple[list[int], list[int]] | None:
    low, high = [0] * len(out_shape), [size - 1 for size in out_shape]
    for limit in limits:
        low[limit.axis] = max(low[limit.axis], limit.low)
        high[limit.axis] = min(high[limit.axis], limit.high)
    return None if any(a > b for a, b in zip(low, high, strict=True)) else (low, high)


def table_of(
    out_shape: Shape,
    in_shape: Shape,
    out_lo: npt.NDArray[np.int64],
    out_hi: npt.NDArray[np.int64],
    lo: npt.NDArray[np.int64],
    hi: npt.NDArray[np.int64],
) -> LineageTable:
    """A table from arrays: boxes of output cells (rows, p), ends of inputs (rows, q, 3).

    The last axis of the ends is (base, output axis, slope) as in `End`.
    """
    wide = (np.ascontiguousarray(box, np.int64) for box in (out_lo, out_hi))
    ends = (
        np.ascontiguousarray(end[..., part], dtype)
        for end in (lo, hi)
        for part, dtype in enumerate((np.int64, np.int8, np.int8))
    )
    return LineageTable(tuple(out_shape), tuple(in_shape), *wide, *ends)  # type: ignore[arg-type]


def no_lineage(out_shape: Shape, in_shape: Shape) -> LineageTable:
    """No cell of the input contributes to any cell of the output."""
    return LineageTable.empty(tuple(out_shape), tuple(in_shape))


def everything(out_shape: Shape, in_shape: Shape) -> LineageTable:
    """Every cell of the input contributes to every cell of the output."""
    return separable(out_shape, in_shape, [whole(size) for size in in_shape])


def broadcast(out_shape: Shape, in_shape: Shape) -> LineageTable:
    """Element-wise, with the input broadcast to the output's shape."""
    lead = len(out_shape) - len(in_shape)
    return separable(
        out_shape, in_shape, [aligned(size, lead + k) for k, size in enumerate(in_shape)]
    )


def union(*tables: LineageTable) -> LineageTable:
    """The pairs of any of the tables, which are of the same shapes."""
    columns = zip(*(table.columns() for table in tables), strict=True)
    joined = [np.concatenate(parts) for parts in columns]
    return LineageTable(tables[0].out_shape, tables[0].in_shape, *joined)
