"""ProvRC: a lineage relation compressed to rows of intervals (DSLog, Section IV).

Two families of passes shrink the list of rows. Each pass replaces runs of rows by one row that
denotes exactly their union, so any sequence of passes is lossless:

1. *Multi-attribute range encoding*, one pass per input axis: rows that agree everywhere but
   on this axis, where their intervals follow one another, become one.
2. *Relative value transformation*, one pass per output axis: rows of successive output
   indices, alike on the other output axes, become one if every end of every input interval
   stands still or moves by one, up or down, from each row to the next.

    numpy.sum(A, axis=1), A of shape (3, 2)

    out  in          after pass 1          after pass 2
    0    0  0        0    0  [0, 1]        [0, 2]   [o, o]  [0, 1]
    0    0  1        1    1  [0, 1]
    1    1  0        2    2  [0, 1]
    …

Every pass sorts the rows again, so that candidates are neighbours for its axis. Where an output
cell has several rows, those of the same rank among their cell's rows are neighbours: stencils with
holes become one row per tap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from predtrace.arrays.neighbours import share_with_neighbours
from predtrace.arrays.relation import CellRelation, LineageTable, SmallInts
from predtrace.arrays.runs import differs, joined_links, ranks_within, sorting_order
from predtrace.packed.boxes import Flags, Ints, as_columns, as_matrix

SAMPLE = 1 << 12
"""Pairs on which axis orders are compared; a larger relation uses the best order of a sample."""

SMALL = 1 << 14
"""Up to so many pairs the first order is tried on all; if it leaves few rows, no other is tried."""

_LEAST_SAMPLE = 256
_SHARE_SAMPLED = 4

MANY = 64
"""Up to so many pairs the passes are tried without estimating what they can save."""

WORTH_COMPRESSING = 1 / 16
"""Pairs stay as they are if passes can save at most this share of them."""

WORTH_ORDERING = 1 / 2
"""Other axis orders are not tried if passes can save at most this share of the pairs."""

FEW_ROWS = 16
"""Tables of up to so many rows are not tried with another axis order."""


def compress(relation: CellRelation) -> LineageTable:
    """The relation as a table that decompresses to it; duplicates are dropped.

    Pairs without structure, of which the passes would save less than a sixteenth, stay single rows.
    If the passes may save much, several orders of the axes are tried, for large relations on a
    sample, and the order with the fewest rows is used. Needs O(n log n) time, and memory for some
    copies of the pairs.
    """
    relation = relation.normalized()
    pairs = relation.pairs
    if not len(pairs):
        return LineageTable.empty(relation.out_shape, relation.in_shape)
    share = share_with_neighbours(relation) if len(pairs) >= MANY else 1.0
    if share < WORTH_COMPRESSING:
        return LineageTable.of_pairs(relation)
    orders = _axis_orders(len(relation.out_shape), len(relation.in_shape))
    if share < WORTH_ORDERING:
        orders = orders[:1]
    whole = None
    if len(orders) == 1 or len(pairs) <= SMALL:
        whole = _compress(pairs, relation, orders[0])
        if len(orders) == 1 or len(whole) <= FEW_ROWS:
            return whole
    size = min(SAMPLE, max(_LEAST_SAMPLE, len(pairs) // _SHARE_SAMPLED))
    middle = max(0, (len(pairs) - size) // 2)
    sample = pairs[middle : middle + size]
    best, rows = orders[0], _compress(sample, relation, orders[0])
    for order in orders[1:]:
        if len(rows) <= FEW_ROWS:
            break
        other = _compress(sample, relation, order)
        if len(other) < len(rows):
            best, rows = order, other
    if whole is not None and best == orders[0]:
        return whole
    return _compress(pairs, relation, best)


AxisOrder = tuple[tuple[int, ...], tuple[int, ...]]


def _axis_orders(p: int, q: int) -> list[AxisOrder]:
    """Orders in which the passes take output and input axes; the papers' comes first."""
    outs = dict.fromkeys([tuple(reversed(range(p))), tuple(range(p))])
    ins = dict.fromkeys([tuple(reversed(range(q))), tuple(range(q))])
    return list(product(outs, ins))


def _compress(pairs: Ints, relation: CellRelation, order: AxisOrder) -> LineageTable:
    out_axes, in_axes = order
    p, q = len(relation.out_shape), len(relation.in_shape)
    rows = _Rows.of_pairs(pairs, p, q)
    for axis in in_axes:
        rows = _encode_ranges(rows, axis)
    for axis in out_axes:
        rows = _follow_output(rows, axis)
    return _to_table(rows, relation)


@dataclass
class _Ends:
    """One end of every row's interval on an input axis; constants have axis -1."""

    base: Ints
    axis: SmallInts | None = None
    slope: SmallInts | None = None

    def group_columns(self) -> list[Ints]:
        """The columns on which rows must agree to become one: ends that already follow another
        axis."""
        if self.axis is None or self.slope is None:
            return []
        fixed = self.axis >= 0
        if not fixed.any():
            return []
        style = (self.axis.astype(np.int64) + 1) * 3 + self.slope
        return [style, np.where(fixed, self.base, 0)]

    def steps(self, order: Ints | None) -> Ints:
        base = self.base if order is None else self.base[order]
        return base[1:] - base[:-1]


@dataclass
class _Rows:
    """Rows under compression, column by column.

    `lo[k]` and `hi[k]` are the places in `ends` of the ends on input axis k: as long as all
    intervals there are single indices, both are the same one.
    """

    out_lo: list[Ints]
    out_hi: list[Ints]
    ends: list[_Ends] = field(default_factory=list)
    lo: list[int] = field(default_factory=list)
    hi: list[int] = field(default_factory=list)
    count: int = 0

    @classmethod
    def of_pairs(cls, pairs: Ints, p: int, q: int) -> _Rows:
        columns = as_columns(pairs)
        ends = [_Ends(column) for column in columns[p:]]
        return cls(columns[:p], columns[:p], ends, list(range(q)), list(range(q)), count=len(pairs))

    def output_columns(self, but: int | None = None) -> list[Ints]:
        """First and last output index on every axis except `but`."""
        columns: list[Ints] = []
        for axis, (lo, hi) in enumerate(zip(self.out_lo, self.out_hi, strict=True)):
            if axis != but:
                columns += [lo] if hi is lo else [lo, hi]
        return columns


def _encode_ranges(rows: _Rows, axis: int) -> _Rows:
    """One pass of range encoding, over the input axis `axis`."""
    if _one_row_per_cell(rows):
        return rows
    here = {rows.lo[axis], rows.hi[axis]}
    others = [ends.base for place, ends in enumerate(rows.ends) if place not in here]
    group = rows.output_columns() + others
    first, last = rows.ends[rows.lo[axis]].base, rows.ends[rows.hi[axis]].base
    order = sorting_order([*group, first])
    same = ~differs(group, order)
    first_sorted = first if order is None else first[order]
    last_sorted = last if order is None else last[order]
    joined = same & (first_sorted[1:] == last_sorted[:-1] + 1)
    if not joined.any():
        return rows
    starts, stops = _bounds(joined)
    merged = _take(rows, starts if order is None else order[starts])
    merged.hi[axis] = len(merged.ends)
    merged.ends.append(_Ends(last_sorted[stops]))
    return merged


def _one_row_per_cell(rows: _Rows) -> bool:
    """Whether no two neighbours share an output cell; rows of a cell are neighbours."""
    return bool(differs(rows.output_columns(), None).all())


def _follow_output(rows: _Rows, axis: int) -> _Rows:
    """One pass of relative value transformation, over the output axis `axis`."""
    index = rows.out_lo[axis]
    group = rows.output_columns(but=axis)
    for ends in rows.ends:
        group += ends.group_columns()
    order, ranks = _neighbours(group, index, [ends.base for ends in rows.ends])
    if ranks is not None:
        group = [*group, ranks]
    index_sorted = index if order is None else index[order]
    linked = ~differs(group, order) & (index_sorted[1:] == index_sorted[:-1] + 1)
    steps = [ends.steps(order) for ends in rows.ends]
    for step in steps:
        linked &= (step >= -1) & (step <= 1)
    joined = joined_links(linked, steps)
    if not joined.any():
        return rows
    starts, stops = _bounds(joined)
    merged = _take(rows, starts if order is None else order[starts])
    merged.out_hi = list(merged.out_hi)
    merged.out_hi[axis] = index_sorted[stops]
    several = stops > starts
    for ends, step in zip(merged.ends, steps, strict=True):
        _let_follow(ends, axis, merged.out_lo[axis], _first_steps(step, starts, several))
    return merged


def _neighbours(
    group: list[Ints], index: Ints, bases: list[Ints]
) -> tuple[Ints | None, Ints | None]:
    """The order that makes rows to be joined neighbours; ranks, if cells have several rows.

    The order is None if the rows already have it. Ranks are per row, in the old order.
    """
    order = sorting_order([*group, index])
    fresh = differs([*group, index], order)
    if fresh.all():
        return order, None
    order = sorting_order([*group, index, *bases])
    fresh = differs([*group, index], order)
    ranks = ranks_within(fresh)
    if order is not None:
        placed = np.empty_like(ranks)
        placed[order] = ranks
        ranks = placed
    return sorting_order([*group, ranks, index]), ranks


def _first_steps(step: Ints, starts: Ints, several: Flags) -> Ints:
    """The step of every joined run; 0 for a row that stays alone."""
    taken = np.zeros(len(starts), np.int64)
    taken[several] = step[starts[several]]
    return taken


def _let_follow(ends: _Ends, axis: int, first: Ints, step: Ints) -> None:
    """Make the ends that moved along the runs relative to the output index on `axis`."""
    if not step.any():
        return
    moved = step != 0
    if ends.axis is None or ends.slope is None:
        ends.axis = np.full(len(step), -1, np.int8)
        ends.slope = np.zeros(len(step), np.int8)
    ends.base = np.where(moved, ends.base - step * first, ends.base)
    ends.axis = np.where(moved, np.int8(axis), ends.axis)
    ends.slope = np.where(moved, step.astype(np.int8), ends.slope)


def _bounds(joined: Flags) -> tuple[Ints, Ints]:
    """First and last row of every run, where ``joined[n]`` ties row n to row n + 1."""
    cuts = np.flatnonzero(~joined)
    starts = np.concatenate([[0], cuts + 1])
    stops = np.concatenate([cuts, [len(joined)]])
    return starts, stops


def _take(rows: _Rows, chosen: Ints) -> _Rows:
    """The chosen rows; columns that were one object stay one."""
    taken: dict[int, Ints] = {}

    def take(column: Ints) -> Ints:
        if id(column) not in taken:
            taken[id(column)] = column[chosen]
        return taken[id(column)]

    ends = [
        _Ends(
            ends.base[chosen],
            None if ends.axis is None else ends.axis[chosen],
            None if ends.slope is None else ends.slope[chosen],
        )
        for ends in rows.ends
    ]
    return _Rows(
        [take(column) for column in rows.out_lo],
        [take(column) for column in rows.out_hi],
        ends,
        list(rows.lo),
        list(rows.hi),
        count=len(chosen),
    )


def _to_table(rows: _Rows, relation: CellRelation) -> LineageTable:
    """The rows as a table, ordered by output box, then by input intervals."""
    order = sorting_order([*rows.output_columns(), *(ends.base for ends in rows.ends)])
    if order is not None:
        rows = _take(rows, order)

    def bases(places: Sequence[int]) -> Ints:
        return as_matrix([rows.ends[place].base for place in places], rows.count)

    def small(name: str, places: Sequence[int], default: int) -> SmallInts:
        matrix = np.full((rows.count, len(places)), default, np.int8)
        for column, place in enumerate(places):
            values = getattr(rows.ends[place], name)
            if values is not None:
                matrix[:, column] = values
        return matrix

    return LineageTable(
        relation.out_shape,
        relation.in_shape,
        out_lo=as_matrix(rows.out_lo, rows.count),
        out_hi=as_matrix(rows.out_hi, rows.count),
        lo_base=bases(rows.lo),
        lo_axis=small("axis", rows.lo, -1),
        lo_slope=small("slope", rows.lo, 0),
        hi_base=bases(rows.hi),
        hi_axis=small("axis", rows.hi, -1),
        hi_slope=small("slope", rows.hi, 0),
    )
