"""Order and sets: an output cell comes from the input cells that have its value.

Sorting compares every cell with others, but moves it unchanged. The lineage is the cell that was
moved (where-provenance), as in DSLog, whose "Sort" has one pair for every cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from predtrace.arrays.capture.call import (
    Array,
    Call,
    Edge,
    Edges,
    Lineage,
    Operand,
    edge,
    plain,
    shape_of,
)
from predtrace.arrays.capture.regions import broadcast, everything
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.sources import Ids, from_ids, ids, pairs


def _sort(call: Call, a: Any, axis: int | None = -1, *arguments: Any, **options: Any) -> Edges:
    yield from edge(a, _by_rank, call.outputs[0], plain(a), axis)


def _partition(
    call: Call,
    a: Any,
    kth: Any,
    axis: int | None = -1,
    kind: str = "introselect",
    order: Any = None,
) -> Edges:
    yield from edge(a, _by_rank, call.outputs[0], plain(a), axis)


def _sort_complex(call: Call, a: Any) -> Edges:
    yield from edge(a, _by_rank, call.outputs[0], plain(a).astype(complex), -1)


def _by_rank(out: Array, a: Array, axis: int | None) -> Lineage:
    """Cells of the same rank in their slice; equal cells keep their order."""
    in_shape = a.shape
    number = ids(in_shape)
    if axis is None:
        a, number, axis = a.reshape(-1), number.reshape(-1), 0
    if out.ndim == 0:
        return from_ids(number.reshape(()), in_shape)
    before = np.argsort(a, axis=axis, kind="stable")
    after = np.argsort(out, axis=axis, kind="stable")
    found = np.empty_like(number)
    np.put_along_axis(found, after, np.take_along_axis(number, before, axis), axis)
    return from_ids(found, in_shape)


def _argsort(call: Call, a: Any, axis: int | None = -1, *arguments: Any, **options: Any) -> Edges:
    yield from edge(a, _at_positions, call.outputs[0], shape_of(a), axis)


def _argpartition(
    call: Call,
    a: Any,
    kth: Any,
    axis: int | None = -1,
    kind: str = "introselect",
    order: Any = None,
) -> Edges:
    yield from edge(a, _at_positions, call.outputs[0], shape_of(a), axis)


def _at_positions(positions: Array, in_shape: Any, axis: int | None) -> Lineage:
    number = ids(in_shape)
    if axis is None:
        number, axis = number.reshape(-1), 0
    if number.ndim == 0:
        return from_ids(number, in_shape)
    return from_ids(np.take_along_axis(number, positions, axis), in_shape)


def _lexsort(call: Call, keys: Any, axis: int = -1) -> Edges:
    positions = call.outputs[0]
    if isinstance(keys, Operand):
        place = normalize_axis_index(axis, keys.ndim - 1)
        number = np.take_along_axis(ids(keys.shape), positions[None], place + 1)
        out = np.broadcast_to(np.indices(positions.shape)[:, None], (positions.ndim, *keys.shape))
        cells = np.unravel_index(number - 1, keys.shape)
        yield Edge(keys, pairs(call.shape, keys.shape, list(out), cells))
        return
    for key in keys:
        yield from edge(key, _at_positions, positions, shape_of(key), axis)


def _unique(
    call: Call,
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Edges:
    if axis is None:
        return _groups_of(call, ar, return_index, return_inverse, equal_nan)
    inverse = np.unique(plain(ar), return_inverse=True, axis=axis, equal_nan=equal_nan)[1].ravel()
    return _groups_of_slices(call, ar, return_index, return_inverse, axis, inverse)


def _groups_of(
    call: Call, a: Any, has_index: bool, has_inverse: bool, equal_nan: bool = True
) -> Edges:
    """Outputs one a group of equal cells; the inverse, one a cell."""
    inverse_at = 1 + has_index if has_inverse else -1
    for output, result in enumerate(call.outputs):
        if output == inverse_at:
            yield from edge(
                a, from_ids, ids(shape_of(a)).reshape(result.shape), shape_of(a), output=output
            )
        else:
            yield from edge(a, equal_cells, call.outputs[0], plain(a), equal_nan, output=output)


def _groups_of_slices(
    call: Call, a: Any, has_index: bool, has_inverse: bool, axis: int, group: Ids
) -> Edges:
    """Groups of equal slices: a cell from those in its place; places and counts, from all."""
    shape = shape_of(a)
    axis = normalize_axis_index(axis, len(shape))
    cells = [index.ravel() for index in np.indices(shape)]
    slice_of = cells[axis]
    for output, result in enumerate(call.outputs):
        if output == 0:
            out = [group[slice_of] if k == axis else index for k, index in enumerate(cells)]
        elif has_inverse and output == 1 + has_index:
            out = list(np.unravel_index(slice_of, result.shape))
        else:
            out = [group[slice_of]]
        yield from edge(a, pairs, result.shape, shape, out, cells, output=output)


def _unique_all(call: Call, x: Any) -> Edges:
    return _groups_of(call, x, True, True, equal_nan=False)


def _unique_inverse(call: Call, x: Any) -> Edges:
    return _groups_of(call, x, False, True, equal_nan=False)


def _unique_groups(call: Call, x: Any) -> Edges:
    return _groups_of(call, x, False, False, equal_nan=False)


def equal_cells(values: Array, a: Array, equal_nan: bool = True) -> Lineage:
    """For every value of a vector, the cells of the array that are equal to it.

    NaNs that are not equal to each other are taken in order: each is a value of its own.
    """
    flat = a.reshape(-1)
    order = np.argsort(values, kind="stable")
    nans = np.isnan(flat) if flat.dtype.kind in "fc" else np.zeros(flat.shape, np.bool_)
    place = np.minimum(np.searchsorted(values[order], flat), max(len(values) - 1, 0))
    at = order[place] if len(values) else place
    with np.errstate(invalid="ignore"):
        hit = (values[at] == flat) if len(values) else np.zeros(flat.shape, np.bool_)
    if nans.any():
        ends = np.flatnonzero(np.isnan(values))
        if len(ends) == nans.sum() and not (equal_nan and len(ends) == 1):
            at[nans], hit[nans] = ends, True
        elif len(ends):
            at[nans], hit[nans] = ends[0], True
    cells = np.flatnonzero(hit)
    return pairs(
        values.shape, a.shape, [at[cells]], np.unravel_index(cells, a.shape) if a.ndim else ()
    )


def _members(call: Call, ar1: Any, ar2: Any, *arguments: Any, **options: Any) -> Edges:
    """Intersection, union, difference: the equal cells of either array.

    Indices into the arrays (return_indices) come from the same cells, each of its own array.
    """
    for own, operand in enumerate((ar1, ar2)):
        for output in range(len(call.outputs)):
            if output in (0, own + 1):
                yield from edge(
                    operand, equal_cells, call.outputs[0], np.asarray(plain(operand)), output=output
                )


def _isin(
    call: Call,
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Edges:
    yield from edge(element, broadcast, call.shape, shape_of(element))
    yield from edge(test_elements, everything, call.shape, shape_of(test_elements))


_MOVED = "the cell that was moved there"
_EQUAL = "the cells that are equal to it"

RULES = (
    CaptureRule(Family.ORDER, "sort", _sort, _MOVED, by_shape=False),
    CaptureRule(Family.ORDER, "sort_complex", _sort_complex, _MOVED, by_shape=False),
    CaptureRule(Family.ORDER, "partition", _partition, _MOVED, by_shape=False),
    CaptureRule(Family.ORDER, "argsort", _argsort, "the cell at the position", by_shape=False),
    CaptureRule(
        Family.ORDER, "argpartition", _argpartition, "the cell at the position", by_shape=False
    ),
    CaptureRule(
        Family.ORDER, "lexsort", _lexsort, "every key's cell at the position", by_shape=False
    ),
    CaptureRule(
        Family.SET,
        "unique",
        _unique,
        _EQUAL + "; with an axis, those in its place in equal slices",
        by_shape=False,
    ),
    CaptureRule(Family.SET, "unique_all", _unique_all, _EQUAL, by_shape=False),
    CaptureRule(Family.SET, "unique_inverse", _unique_inverse, _EQUAL, by_shape=False),
    CaptureRule(Family.SET, "unique_counts unique_values", _unique_groups, _EQUAL, by_shape=False),
    CaptureRule(
        Family.SET,
        "intersect1d union1d setdiff1d setxor1d",
        _members,
        _EQUAL + ", in both arrays",
        by_shape=False,
    ),
    CaptureRule(Family.SET, "isin", _isin, "the element, and all cells that it is sought in"),
)
