"""Lineage of data movement: the operation itself is run on arrays of cell numbers.

An operation that only moves cells moves any numbers in the same way. So it is run on arrays in
which every cell holds its own number; the result says where every output cell came from. Other
moved values, such as constants, are replaced by a mark. Operations that return views do not even
need this run: the view's offset and strides are enough, at a cost that does not depend on the
array's size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from predtrace.arrays.capture.call import (
    Array,
    Call,
    Edge,
    Edges,
    Lineage,
    Operand,
    arrays_of,
)
from predtrace.arrays.capture.regions import no_lineage, table_of
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.packed.boxes import Shape

Ids = npt.NDArray[np.int64]
"""Numbers of input cells in the places of the output; `NONE` where no cell was moved to."""

NONE = 0
_FIRST = 1
_BOXES_PER_CELL = 0.25
"""With more boxes than this for every output cell, pairs are compressed by ProvRC instead."""


def ids(shape: Shape) -> Ids:
    """An array that holds the number of every cell; no number is `NONE`."""
    count = math.prod(shape)
    return np.arange(_FIRST, _FIRST + count, dtype=np.int64).reshape(shape)


def moved(call: Call, run: Callable[..., Any], *data: Any) -> Edges:
    """Edges of the operands in `data`, arguments whose cells `run` moves: it is given numbers.

    `run` carries the call out on these arguments, which may be nested lists. All values in them
    that are not operands become `NONE`, so that no constant can be mistaken for a cell. The numbers
    keep their type, whatever type the call's own result is cast to.
    """
    starts: dict[Operand, int] = {}
    size = 0

    def numbered(tree: Any) -> Any:
        nonlocal size
        if isinstance(tree, tuple | list):
            return [numbered(item) for item in tree]
        if not isinstance(tree, Operand):
            return np.full(np.shape(tree), NONE, np.int64)
        starts[tree] = size
        size += tree.value.size
        return ids(tree.shape) + starts[tree]

    found = arrays_of(run(*[numbered(tree) for tree in data]))
    for output, numbers in enumerate(found):
        for operand, start in starts.items():
            yield Edge(operand, from_ids(numbers, operand.shape, start), output)


def moved_alone(call: Call, operand: Operand) -> Edges:
    """Edges of the only argument that the call moves; all others keep their values.

    Cells that the call makes up, such as those that `tril` clears, must be zeros.
    """
    for output, numbers in enumerate(call.rerun(operand, ids(operand.shape))):
        yield Edge(operand, from_ids(numbers, operand.shape), output)


def laid_out(array: Array) -> Ids | None:
    """The numbers of an array's cells, laid out in memory like the cells; None if cells share
    memory."""
    size = array.itemsize
    if any(stride % size for stride in array.strides) or not array.size:
        return None
    strides = [stride // size for stride in array.strides]
    reach = [stride * (n - 1) for stride, n in zip(strides, array.shape, strict=True)]
    first = -sum(min(step, 0) for step in reach)
    flat = np.full(first + sum(max(step, 0) for step in reach) + 1, NONE, np.int64)
    step = flat.itemsize
    twin: Ids = np.ndarray(
        array.shape, np.int64, flat, first * step, [stride * step for stride in strides]
    )
    numbers = ids(array.shape)
    twin[...] = numbers
    return twin if np.array_equal(twin, numbers) else None


def seen_through(numbers: Ids, shape: Shape, steps: Sequence[int]) -> Ids | None:
    """The numbers that a view sees if it begins where they do; None if it sees anything else.

    `numbers` are `laid_out`; `steps` count cells of memory.
    """
    flat = numbers.base
    assert flat is not None
    if 0 in shape:
        return np.full(shape, NONE, np.int64)
    start = (numbers.__array_interface__["data"][0] - flat.__array_interface__["data"][0]) // 8
    reach = [step * (size - 1) for step, size in zip(steps, shape, strict=True)]
    first = start + sum(min(step, 0) for step in reach)
    last = start + sum(max(step, 0) for step in reach)
    if first < 0 or last >= flat.size:
        return None
    view: Ids = np.ndarray(shape, np.int64, flat, start * 8, [step * 8 for step in steps])
    return None if (view == NONE).any() else view


def from_ids(found: Array, in_shape: Shape, start: int = 0) -> Lineage:
    """Lineage from the numbers of cells; those of this input begin after `start`."""
    number = found.astype(np.int64) - (_FIRST + start)
    ours = (number >= 0) & (number < math.prod(in_shape))
    if not ours.any():
        return no_lineage(found.shape, in_shape)
    cells = (
        np.stack(np.unravel_index(np.where(ours, number, 0), in_shape))
        if in_shape
        else (np.empty((0, *found.shape), np.int64))
    )
    table = _boxes(cells, ours, in_shape)
    if table is not None:
        return table
    out = np.argwhere(ours)
    return CellRelation(found.shape, in_shape, np.concatenate([out, cells[:, ours].T], axis=1))


def _boxes(cells: Ids, ours: npt.NDArray[np.bool_], in_shape: Shape) -> LineageTable | None:
    """The table of a grid of boxes, in each of which all indices move in step; None if too many.

    `cells` (q, *out_shape) are input indices, meaningful where `ours`. An output axis is cut
    wherever the step from one slice to the next is not the same for all cells of the slice.
    """
    out_shape = ours.shape
    segments = [_segments(cells, ours, axis) for axis in range(ours.ndim)]
    count = math.prod(len(starts) for starts, _ in segments)
    if count > max(4, _BOXES_PER_CELL * ours.size):
        return None
    grid = np.indices([len(starts) for starts, _ in segments]).reshape(ours.ndim, count).T
    low, high = np.empty_like(grid), np.empty_like(grid)
    steps = np.zeros((count, ours.ndim, len(in_shape)), np.int64)
    for axis, (starts, step) in enumerate(segments):
        low[:, axis] = starts[grid[:, axis]]
        stops = np.append(starts[1:], out_shape[axis])
        high[:, axis] = stops[grid[:, axis]] - 1
        steps[:, axis] = step[grid[:, axis]]
    chosen = ours[tuple(low.T)].reshape(count)
    corners = cells[(slice(None), *low.T)].reshape(len(in_shape), count).T
    return _rows(out_shape, in_shape, low[chosen], high[chosen], corners[chosen], steps[chosen])


def _segments(cells: Ids, ours: npt.NDArray[np.bool_], axis: int) -> tuple[Ids, Ids]:
    """The starts of the segments of an output axis, and the step of every input index in each."""
    size, q = ours.shape[axis], len(cells)
    if size <= 1:
        return np.zeros(size, np.int64), np.zeros((size, q), np.int64)
    kept = np.moveaxis(ours, axis, 0).reshape(size, -1)
    steps = np.zeros((size - 1, q), np.int64)
    good = (kept[1:] == kept[:-1]).all(axis=1)
    for k, coordinate in enumerate(cells):
        lines = np.moveaxis(coordinate, axis, 0).reshape(size, -1)
        step = lines[1:] - lines[:-1]
        least = np.where(kept[1:], step, 2).min(axis=1)
        most = np.where(kept[1:], step, -2).max(axis=1)
        empty = least > most
        good &= empty | ((least == most) & (abs(least) <= 1))
        steps[:, k] = np.where(empty, 0, least)
    changes = np.ones(size - 1, np.bool_)
    changes[1:] = (steps[1:] != steps[:-1]).any(axis=1)
    cuts = [0]
    for position in np.flatnonzero(~good | changes):
        # a changed step is no cut where it is the first one of its segment
        if not good[position] or position > cuts[-1]:
            cuts.append(int(position) + 1)
    starts = np.array(cuts, np.int64)
    alone = np.diff(np.append(starts, size)) == 1
    return starts, np.where(alone[:, None], 0, steps[np.minimum(starts, size - 2)])


def _rows(
    out_shape: Shape, in_shape: Shape, low: Ids, high: Ids, corners: Ids, steps: Ids
) -> LineageTable | None:
    """The table of boxes with corner cells (rows, q) and steps (rows, p, q)."""
    steps = np.where((high > low)[..., None], steps, 0)
    if (abs(steps).sum(axis=1) > 1).any():
        return None
    ends = np.zeros((len(low), len(in_shape), 3), np.int64)
    ends[..., 1] = -1
    row, axis, k = np.nonzero(steps)
    slope = steps[row, axis, k]
    ends[..., 0] = corners
    ends[row, k, 0] -= slope * low[row, axis]
    ends[row, k, 1] = axis
    ends[row, k, 2] = slope
    return table_of(out_shape, in_shape, low, high, ends, ends)


def viewed(call: Call, operand: Operand) -> Edges:
    """Edges of a call that returns views of its only operand; falls back to `moved_alone`.

    The call is run on an array of bytes of the same shape, whose cells are never touched.
    """
    stub = np.empty(operand.shape, np.int8)
    for output, view in enumerate(call.rerun(operand, stub)):
        table = from_view(view, stub)
        if table is None:
            yield from (edge for edge in moved_alone(call, operand) if edge.output == output)
        else:
            yield Edge(operand, table, output)


def from_view(view: Array, base: Array) -> LineageTable | None:
    """The lineage of a view of a C-contiguous array; None if it is not a view or needs many
    rows."""
    if view.size == 0 or base.size == 0:
        return no_lineage(view.shape, base.shape)
    if not np.may_share_memory(view, base):
        return None
    start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return affine(
        view.shape,
        base.shape,
        start // base.itemsize,
        [stride // base.itemsize for stride in view.strides],
    )


def affine(
    out_shape: Shape, in_shape: Shape, start: int, strides: Sequence[int]
) -> LineageTable | None:
    """The table of output cells o that come from cell number ``start + strides @ o``.

    Output axes along which an input index moves by more than one, or that share an input
    index with another output axis, are taken apart, a row for every index.
    """
    corner = np.array(np.unravel_index(start, in_shape), np.int64)
    steps = np.zeros((len(out_shape), len(in_shape)), np.int64)
    for axis, (size, stride) in enumerate(zip(out_shape, strides, strict=True)):
        if size > 1:
            steps[axis] = np.array(np.unravel_index(start + stride, in_shape)) - corner
    reach = steps * (np.array(out_shape, np.int64) - 1)[:, None]
    least = corner + np.minimum(reach, 0).sum(axis=0)
    most = corner + np.maximum(reach, 0).sum(axis=0)
    # Within the array on every axis, cell numbers and index tuples correspond one to one.
    if (least < 0).any() or (most >= np.array(in_shape)).any():
        return None
    apart: npt.NDArray[np.bool_] = np.any(abs(steps) > 1, axis=1)
    for k in range(len(in_shape)):
        sharing = [int(place) for place in np.flatnonzero(steps[:, k]) if not apart[place]]
        for place in sorted(sharing, key=lambda place: out_shape[place])[:-1]:
            apart[place] = True
    sizes = [size if cut else 1 for size, cut in zip(out_shape, apart, strict=True)]
    low = np.indices(sizes).reshape(len(sizes), math.prod(sizes)).T
    high = np.where(apart, low, np.array(out_shape, np.int64) - 1)
    every = np.broadcast_to(steps, (len(low), *steps.shape))
    return _rows(out_shape, in_shape, low, high, corner + low @ steps, every)


def reshaped(out_shape: Shape, in_shape: Shape) -> LineageTable:
    """Lineage of a reshape in C order: runs of cells that are next to each other in both.

    Leading and trailing axes that both shapes have in common follow each other.
    """
    if math.prod(out_shape) == 0:
        return no_lineage(out_shape, in_shape)
    lead = _common(out_shape, in_shape)
    tail = _common(out_shape[lead:][::-1], in_shape[lead:][::-1])
    middle_out, middle_in = (shape[lead : len(shape) - tail] for shape in (out_shape, in_shape))
    count = math.prod(middle_out)
    last_out, last_in = ((shape[-1] if shape else 1) for shape in (middle_out, middle_in))
    starts = np.union1d(np.arange(0, count, last_out), np.arange(0, count, last_in))
    lengths = np.diff(np.append(starts, count))
    rows, p, q = len(starts), len(out_shape), len(in_shape)
    low = np.zeros((rows, p), np.int64)
    high = np.broadcast_to(np.array(out_shape, np.int64) - 1, (rows, p)).copy()
    corners, steps = np.zeros((rows, q), np.int64), np.zeros((rows, p, q), np.int64)
    if middle_out:
        low[:, lead : p - tail] = np.stack(np.unravel_index(starts, middle_out), axis=1)
        high[:, lead : p - tail] = low[:, lead : p - tail]
        high[:, p - tail - 1] += lengths - 1
    if middle_in:
        corners[:, lead : q - tail] = np.stack(np.unravel_index(starts, middle_in), axis=1)
    if middle_out and middle_in:
        steps[:, p - tail - 1, q - tail - 1] = 1
    for k in range(lead):
        steps[:, k, k] = 1
    for k in range(1, tail + 1):
        steps[:, p - k, q - k] = 1
    table = _rows(out_shape, in_shape, low, high, corners, steps)
    assert table is not None
    return table


def _common(left: Shape, right: Shape) -> int:
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return sum(1 for _ in pairs)


def layers(numbers: Sequence[Array], in_shape: Shape) -> CellRelation:
    """The relation of output cells that come from several cells: one array of numbers for each."""
    found = np.stack([np.asarray(number, np.int64) for number in numbers])
    out = np.nonzero(found)
    cells = np.unravel_index(found[out] - _FIRST, in_shape) if in_shape else ()
    return pairs(found.shape[1:], in_shape, out[1:], cells)


def pairs(
    out_shape: Shape, in_shape: Shape, out: Sequence[Any], inputs: Sequence[Any]
) -> CellRelation:
    """The relation of index columns: one column an axis, as `np.nonzero` gives them."""
    columns = [np.asarray(column, np.int64).ravel() for column in (*out, *inputs)]
    # without any axis there is one pair, that of the only cells
    table = np.stack(columns, axis=1) if columns else np.empty((1, 0), np.int64)
    return CellRelation(tuple(out_shape), tuple(in_shape), table)
