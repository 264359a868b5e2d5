"""The lineage between two arrays: as pairs of cells, and compressed to rows of intervals.

A lineage relation between an output array B with p axes and an input array A with q axes
is a set of pairs (o, i): cell i of A contributed to cell o of B. As a relation (DSLog,
Section III-B) every pair is one row of p + q indices. Compressed (Section IV), a row
stands for many pairs: a box of output cells and, for every input axis, an interval that
may shift along with an output index.

    numpy.flip(A), A of length 5                 the same, compressed
    out  in                                      out       in
     0    4                                      [0, 4]    [4 - o, 4 - o]
     1    3
     2    2                                      numpy.cumsum(A)
     3    1                                      out       in
     4    0                                      [0, 4]    [0, o]

Indices count from 0; the papers count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Flags, Ints, Shape, expand, sorted_unique, volumes

SmallInts: TypeAlias = npt.NDArray[np.int8]


class End(NamedTuple):
    """An interval's end: `base`, plus `slope` (-1, 0, 1) times the output index on `axis`.

    A constant has slope 0 and axis -1.
    """

    base: int
    axis: int = -1
    slope: int = 0


Row: TypeAlias = tuple[Sequence[tuple[int, int]], Sequence[tuple[End | int, End | int]]]
"""One row: (first, last) per output axis; (first, last) per input axis, each an `End`."""


def follow(axis: int, offset: int = 0, slope: int = 1) -> tuple[End, End]:
    """The interval of one index: the output's on `axis` times `slope`, plus `offset`."""
    return End(offset, axis, slope), End(offset, axis, slope)


@dataclass(frozen=True, eq=False)
class CellRelation:
    """A set of pairs of cells; shape of `pairs` (pairs, p + q), output indices first.

    Duplicate rows mean the same as one. Raises ArrayLineageError if an index is outside
    its array or the columns don't fit the shapes.
    """

    out_shape: Shape
    in_shape: Shape
    pairs: Ints

    def __post_init__(self) -> None:
        shape = self.out_shape + self.in_shape
        if self.pairs.ndim != 2 or self.pairs.shape[1] != len(shape):
            raise ArrayLineageError(
                f"pairs of shape {self.pairs.shape} do not fit arrays of shapes "
                f"{self.out_shape} and {self.in_shape}: {len(shape)} columns are needed"
            )
        if self.pairs.dtype != np.int64:
            raise ArrayLineageError(f"pairs must be int64, not {self.pairs.dtype}")
        for axis, size in enumerate(shape):
            column = self.pairs[:, axis]
            if len(column) and not (column.min() >= 0 and column.max() < size):
                raise ArrayLineageError(
                    f"column {axis} of the pairs holds indices outside its axis of size {size}"
                )

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def shape(self) -> Shape:
        """The sizes of all p + q axes."""
        return self.out_shape + self.in_shape

    @property
    def nbytes(self) -> int:
        """Bytes of the uncompressed pairs."""
        return self.pairs.nbytes

    def normalized(self) -> CellRelation:
        """The same set without duplicates, in lexicographic order."""
        pairs = sorted_unique(self.pairs, self.shape)
        if pairs is self.pairs:
            return self
        return CellRelation(self.out_shape, self.in_shape, pairs)

    def inverse(self) -> CellRelation:
        """The same pairs with the roles of output and input exchanged."""
        p = len(self.out_shape)
        pairs = np.concatenate([self.pairs[:, p:], self.pairs[:, :p]], axis=1)
        return CellRelation(self.in_shape, self.out_shape, pairs)

    def same_as(self, other: CellRelation) -> bool:
        """Whether both have the same pairs between arrays of the same shapes."""
        return (self.out_shape, self.in_shape) == (other.out_shape, other.in_shape) and (
            np.array_equal(self.normalized().pairs, other.normalized().pairs)
        )


@dataclass(frozen=True, eq=False)
class LineageTable:
    """A lineage relation as a union of rows, each a box of output cells with intervals.

    Row r holds all (o, i) with ``out_lo[r] <= o <= out_hi[r]`` and, on every input axis k,
    ``lo(o) <= i_k <= hi(o)``, where the ends are ``base + slope * o[axis]`` (DSLog's
    relative values, extended by the slope -1 and by ends that move independently). Rows
    may overlap. Shapes: `out_lo`, `out_hi` (rows, p); all others (rows, q).

    Arrays are taken as they are; `checked` and `build` verify what the meaning needs.
    """

    out_shape: Shape
    in_shape: Shape
    out_lo: Ints
    out_hi: Ints
    lo_base: Ints
    lo_axis: SmallInts
    lo_slope: SmallInts
    hi_base: Ints
    hi_axis: SmallInts
    hi_slope: SmallInts

    @classmethod
    def build(cls, out_shape: Shape, in_shape: Shape, rows: Iterable[Row]) -> LineageTable:
        """The table of these rows, checked.

        Raises ArrayLineageError if a row has the wrong number of axes, leaves its arrays,
        or holds an empty interval.
        """
        rows = list(rows)
        p, q = len(out_shape), len(in_shape)
        for number, (out, into) in enumerate(rows):
            if len(out) != p or len(into) != q:
                raise ArrayLineageError(
                    f"row {number} has {len(out)} output and {len(into)} input axes; "
                    f"arrays of shapes {out_shape} and {in_shape} need {p} and {q}"
                )
        boxes = np.array([out for out, _ in rows], np.int64).reshape(len(rows), p, 2)
        ends = np.array(
            [[[*_end(lo), *_end(hi)] for lo, hi in into] for _, into in rows], np.int64
        ).reshape(len(rows), q, 6)
        small = ends.astype(np.int8)
        return cls(
            out_shape,
            in_shape,
            out_lo=boxes[..., 0],
            out_hi=boxes[..., 1],
            lo_base=ends[..., 0],
            lo_axis=small[..., 1],
            lo_slope=small[..., 2],
            hi_base=ends[..., 3],
            hi_axis=small[..., 4],
            hi_slope=small[..., 5],
        ).checked()

    @classmethod
    def of_pairs(cls, relation: CellRelation) -> LineageTable:
        """The relation with a row for each of its pairs."""
        p, q = len(relation.out_shape), len(relation.in_shape)
        out, into = relation.pairs[:, :p], relation.pairs[:, p:]
        constant = np.full((len(relation), q), -1, np.int8)
        still = np.zeros((len(relation), q), np.int8)
        return cls(
            *(relation.out_shape, relation.in_shape, out, out),
            *(into, constant, still),
            *(into, constant, still),
        )

    @classmethod
    def empty(cls, out_shape: Shape, in_shape: Shape) -> LineageTable:
        """The table without pairs."""
        return cls.build(out_shape, in_shape, [])

    def __len__(self) -> int:
        return len(self.out_lo)

    @property
    def nbytes(self) -> int:
        """Bytes that the columns take in memory."""
        return sum(column.nbytes for column in self.columns())

    def columns(self) -> tuple[Ints | SmallInts, ...]:
        """All columns, in the order of the fields."""
        return (self.out_lo, self.out_hi, *self.lo_columns(), *self.hi_columns())

    def lo_columns(self) -> tuple[Ints, SmallInts, SmallInts]:
        """Base, axis and slope of the intervals' first ends."""
        return self.lo_base, self.lo_axis, self.lo_slope

    def hi_columns(self) -> tuple[Ints, SmallInts, SmallInts]:
        """Base, axis and slope of the intervals' last ends."""
        return self.hi_base, self.hi_axis, self.hi_slope

    def take(self, rows: Ints | Flags) -> LineageTable:
        """The table of the chosen rows only."""
        chosen: list[npt.NDArray[np.int64]] = [column[rows] for column in self.columns()]  # type: ignore[misc]
        return LineageTable(self.out_shape, self.in_shape, *chosen)  # type: ignore[arg-type]

    def checked(self) -> LineageTable:
        """The table itself.

        Raises ArrayLineageError unless every box and interval is non-empty and inside its
        array, and every end is constant or follows an output axis with slope -1 or 1.
        """
        self._check_columns()
        for axis, slope in ((self.lo_axis, self.lo_slope), (self.hi_axis, self.hi_slope)):
            known = (axis >= -1) & (axis < len(self.out_shape)) & (abs(slope) <= 1)
            if not bool((known & ((axis == -1) == (slope == 0))).all()):
                raise ArrayLineageError(
                    "an end must be constant (axis -1, slope 0) or follow one of the "
                    f"{len(self.out_shape)} output axes with slope -1 or 1"
                )
        if not _inside(self.out_lo, self.out_hi, self.out_shape):
            raise ArrayLineageError(f"a row's output box leaves the shape {self.out_shape}")
        if not _inside(*self.input_bounds(), self.in_shape):
            raise ArrayLineageError(f"a row's input interval leaves the shape {self.in_shape}")
        if bool((self._least_widths() < 1).any()):
            raise ArrayLineageError("a row's input interval is empty for some of its output cells")
        return self

    def input_bounds(self) -> tuple[Ints, Ints]:
        """Per row and input axis, the least first and the greatest last index."""
        lo_from, lo_to = self._moves(self.lo_axis, self.lo_slope)
        hi_from, hi_to = self._moves(self.hi_axis, self.hi_slope)
        return self.lo_base + np.minimum(lo_from, lo_to), self.hi_base + np.maximum(hi_from, hi_to)

    def intervals(self, row: Ints, cells: Ints) -> tuple[Ints, Ints]:
        """First and last input index per axis, for the output cell `cells[n]` of row `row[n]`."""
        padded = _padded(cells)
        return (
            self.lo_base[row] + self.lo_slope[row] * _pick(padded, self.lo_axis[row]),
            self.hi_base[row] + self.hi_slope[row] * _pick(padded, self.hi_axis[row]),
        )

    def decompress(self) -> CellRelation:
        """The pairs, normalized."""
        row, cells = expand(self.out_lo, self.out_hi)
        pair, inputs = expand(*self.intervals(row, cells))
        pairs = np.concatenate([cells[pair], inputs], axis=1)
        return CellRelation(self.out_shape, self.in_shape, pairs).normalized()

    def pair_count(self) -> int:
        """The number of pairs in the rows; pairs of overlapping rows count repeatedly."""
        row, cells = expand(self.out_lo, self.out_hi)
        return int(volumes(*self.intervals(row, cells)).sum())

    def _check_columns(self) -> None:
        rows, p, q = len(self.out_lo), len(self.out_shape), len(self.in_shape)
        widths = (p, p, q, q, q, q, q, q)
        types = [np.int64, np.int64, *[np.int64, np.int8, np.int8] * 2]
        for column, width, dtype in zip(self.columns(), widths, types, strict=True):
            if column.shape != (rows, width) or column.dtype != dtype:
                raise ArrayLineageError(
                    f"a column of shape {column.shape} and type {column.dtype} stands where "
                    f"shape {(rows, width)} and type {np.dtype(dtype)} are needed"
                )

    def _moves(self, axis: SmallInts, slope: SmallInts) -> tuple[Ints, Ints]:
        """The offsets that an end adds to its base at the first and at the last index of its
        axis."""
        return (
            slope * _pick(_padded(self.out_lo), axis),
            slope * _pick(_padded(self.out_hi), axis),
        )

    def _least_widths(self) -> Ints:
        """Per row and input axis, the least number of indices over the row's output cells."""
        lo_from, lo_to = self._moves(self.lo_axis, self.lo_slope)
        hi_from, hi_to = self._moves(self.hi_axis, self.hi_slope)
        apart = np.minimum(hi_from, hi_to) - np.maximum(lo_from, lo_to)
        together = np.minimum(hi_from - lo_from, hi_to - lo_to)
        least: Ints = np.where(self.lo_axis == self.hi_axis, together, apart)
        return self.hi_base - self.lo_base + 1 + least


def _end(end: End | int) -> End:
    return end if isinstance(end, End) else End(end)


def _padded(cells: Ints) -> Ints:
    """The cells with a last column of zeros: the index that axis -1, a constant, follows."""
    return np.concatenate([cells, np.zeros((len(cells), 1), np.int64)], axis=1)


def _pick(padded: Ints, axis: SmallInts) -> Ints:
    picked: Ints = np.take_along_axis(padded, axis.astype(np.int64), axis=1)
    return picked


def _inside(lo: Ints, hi: Ints, shape: Shape) -> bool:
    sizes = np.array(shape, np.int64)
    return bool(((lo >= 0) & (lo <= hi) & (hi < sizes)).all())
