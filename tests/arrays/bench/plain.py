"""ProvRC in plain NumPy, as DSLog's Section IV tells it: what `compress` is compared with.

The pairs are sorted once, and every pass looks at neighbours in that order. It finds what the
papers' examples hold; rows that only another order would make neighbours stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.packed.boxes import Flags, Ints


@dataclass
class _Rows:
    """Boxes of output cells (rows, p); ends of input intervals (rows, q), and what they follow."""

    first: Ints
    last: Ints
    lo: Ints
    hi: Ints
    lo_axis: Ints
    hi_axis: Ints

    def joined(self, linked: Flags) -> tuple[_Rows, Ints, Ints]:
        """The first row of every run, and where runs begin and end."""
        cuts = np.flatnonzero(~linked)
        starts = np.concatenate([[0], cuts + 1])
        ends = np.concatenate([cuts, [len(linked)]])
        columns = (self.first, self.last, self.lo, self.hi, self.lo_axis, self.hi_axis)
        return _Rows(*(column[starts] for column in columns)), starts, ends


def compress_plainly(relation: CellRelation) -> LineageTable:
    """The relation, of one axis at least, as a table that decompresses to it."""
    p, q = len(relation.out_shape), len(relation.in_shape)
    pairs = relation.pairs[np.lexsort(relation.pairs.T[::-1])]
    fresh = np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))
    pairs = pairs[fresh[: len(pairs)]]
    if not len(pairs):
        return LineageTable.empty(relation.out_shape, relation.in_shape)
    out, into, constant = pairs[:, :p], pairs[:, p:], np.full((len(pairs), q), -1)
    rows = _Rows(out, out, into, into, constant, constant)
    for axis in reversed(range(q)):
        rows = _with_ranges(rows, axis)
    for axis in reversed(range(p)):
        rows = _with_relative_values(rows, axis)
    small = [axis.astype(np.int8) for axis in (rows.lo_axis, rows.hi_axis)]
    slopes = [(axis >= 0).astype(np.int8) for axis in small]
    return LineageTable(
        *(relation.out_shape, relation.in_shape, rows.first, rows.last),
        *(rows.lo, small[0], slopes[0]),
        *(rows.hi, small[1], slopes[1]),
    )


def _with_ranges(rows: _Rows, axis: int) -> _Rows:
    """Intervals on an input axis that follow one another become one."""
    others = [k for k in range(rows.lo.shape[1]) if k != axis]
    linked = rows.lo[1:, axis] == rows.hi[:-1, axis] + 1
    for column in (rows.first, rows.lo[:, others], rows.hi[:, others]):
        linked &= (column[1:] == column[:-1]).all(axis=1)
    merged, _, ends = rows.joined(linked)
    merged.hi[:, axis] = rows.hi[ends, axis]
    return merged


def _with_relative_values(rows: _Rows, axis: int) -> _Rows:
    """Successive output cells become one row if every end stands still or moves along."""
    others = [k for k in range(rows.first.shape[1]) if k != axis]
    linked = rows.first[1:, axis] == rows.last[:-1, axis] + 1
    for column in (rows.first[:, others], rows.last[:, others], rows.lo_axis, rows.hi_axis):
        linked &= (column[1:] == column[:-1]).all(axis=1)
    changed = np.zeros(len(linked), np.bool_)
    steps = []
    for base, follows in ((rows.lo, rows.lo_axis), (rows.hi, rows.hi_axis)):
        step = base[1:] - base[:-1]
        linked &= ((step == 0) | ((step == 1) & (follows[1:] < 0))).all(axis=1)
        changed[1:] |= (step[1:] != step[:-1]).any(axis=1)
        steps.append(step)
    # where the steps change, the row belongs to the run before
    linked[1:] &= ~(linked[:-1] & changed[1:])
    merged, starts, ends = rows.joined(linked)
    merged.last[:, axis] = rows.last[ends, axis]
    several = ends > starts
    for step, base, follows in (
        (steps[0], merged.lo, merged.lo_axis),
        (steps[1], merged.hi, merged.hi_axis),
    ):
        moves = np.zeros(base.shape, np.bool_)
        moves[several] = step[starts[several]] == 1
        base -= np.where(moves, merged.first[:, axis, None], 0)
        follows[moves] = axis
    return merged
