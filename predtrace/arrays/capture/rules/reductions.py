"""Reductions: a cell comes from all cells of its slice.

This includes `max`: a number is the greatest because the others are smaller. So `max` takes its
whole slice, as `sum` does, and as annotated execution would find (thesis, 3.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from predtrace.arrays.capture.call import (
    Array,
    Call,
    Edges,
    Lineage,
    edge,
    plain,
    shape_of,
)
from predtrace.arrays.capture.regions import (
    Piece,
    constant,
    everything,
    follow,
    no_lineage,
    separable,
    union,
    whole,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.sources import ids, pairs
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.packed.boxes import Shape

Axis = int | tuple[int, ...] | None


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that a reduction takes together, counted from the front."""
    return tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)


def is_kept(keepdims: Any) -> bool:
    """Whether reduced axes stay, with size 1; numpy's default is a marker, not a Boolean."""
    return keepdims is not np._NoValue and bool(keepdims)


def slices(
    out_shape: Shape, in_shape: Shape, axis: Axis = None, keepdims: bool = False, lead: int = 0
) -> LineageTable:
    """Whole slices along the axes; the output has `lead` axes of its own before the kept ones."""
    gone = reduced_axes(axis, len(in_shape))
    axes: list[Piece] = []
    place = lead
    for k, size in enumerate(in_shape):
        axes.append(whole(size) if k in gone else follow(place))
        place += keepdims or k not in gone
    return separable(out_shape, in_shape, axes)


def _reduce(
    call: Call,
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Edges:
    return reduce_slices(call, a, axis, keepdims, initial, where)


def reduce_slices(
    call: Call, a: Any, axis: Axis, keepdims: Any, initial: Any = None, where: Any = True
) -> Edges:
    """Edges of a reduction; cells that `where` leaves out do not contribute."""
    kept = is_kept(keepdims)
    if where is True or where is np._NoValue:
        yield from edge(a, slices, call.shape, shape_of(a), axis, kept)
    else:
        yield from edge(a, _masked, call, a, axis, kept, plain(where))
        yield from edge(where, spread_slices, call.shape, shape_of(where), shape_of(a), axis, kept)
    yield from edge(initial, everything, call.shape, shape_of(initial))


def _masked(call: Call, a: Any, axis: Axis, keepdims: bool, where: Any) -> Lineage:
    if np.broadcast_shapes(shape_of(a), np.shape(where)) != shape_of(a):
        raise call.refuse("with a 'where' that broadcasts the array")
    cells = np.nonzero(np.broadcast_to(where, shape_of(a)))
    return pairs(call.shape, shape_of(a), _reduced(cells, axis, keepdims), cells)


def spread_slices(
    out_shape: Shape, in_shape: Shape, shape: Shape, axis: Axis, keepdims: bool
) -> LineageTable | CellRelation:
    """Whole slices of an array that is first broadcast to this shape: a mask, a mean."""
    if in_shape == shape:
        return slices(out_shape, shape, axis, keepdims)
    number = np.broadcast_to(ids(in_shape), shape)
    cells = [index.ravel() for index in np.indices(shape)]
    inputs = np.unravel_index(number.ravel() - 1, in_shape) if in_shape else ()
    return pairs(out_shape, in_shape, _reduced(cells, axis, keepdims), inputs)


def _reduced(cells: Sequence[Array], axis: Axis, keepdims: bool) -> list[Array]:
    """The output's indices of an array's cells, a column an axis."""
    gone = reduced_axes(axis, len(cells))
    if keepdims:
        return [np.zeros_like(index) if k in gone else index for k, index in enumerate(cells)]
    return [index for k, index in enumerate(cells) if k not in gone]


def _extreme(
    call: Call,
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Edges:
    return reduce_slices(call, a, axis, keepdims, initial, where)


def _logical(
    call: Call,
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Edges:
    return reduce_slices(call, a, axis, keepdims, None, where)


def _keeping(
    call: Call, a: Any, axis: Axis = None, out: None = None, keepdims: Any = False
) -> Edges:
    return reduce_slices(call, a, axis, keepdims)


def _arg(
    call: Call, a: Any, axis: int | None = None, out: None = None, *, keepdims: Any = False
) -> Edges:
    return reduce_slices(call, a, axis, keepdims)


def _count_nonzero(call: Call, a: Any, axis: Axis = None, *, keepdims: bool = False) -> Edges:
    return reduce_slices(call, a, axis, keepdims)


def _trapezoid(call: Call, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Edges:
    yield from edge(y, slices, call.shape, shape_of(y), axis)
    if len(shape_of(x)) == 1:
        yield from edge(x, everything, call.shape, shape_of(x))
    elif shape_of(x) == shape_of(y):
        yield from edge(x, slices, call.shape, shape_of(x), axis)
    if not shape_of(dx):
        yield from edge(dx, everything if x is None else no_lineage, call.shape, ())


def _norm(call: Call, x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Edges:
    return reduce_slices(call, x, axis, keepdims)


def _vector_norm(
    call: Call, x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2
) -> Edges:
    return reduce_slices(call, x, axis, keepdims)


def _matrix_norm(call: Call, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Edges:
    return reduce_slices(call, x, (-2, -1), keepdims)


def _trace(
    call: Call,
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: None = None,
) -> Edges:
    yield from edge(a, _diagonal_sum, call.shape, shape_of(a), offset, axis1, axis2)


def _matrix_trace(call: Call, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Edges:
    yield from edge(x, _diagonal_sum, call.shape, shape_of(x), offset, -2, -1)


def _diagonal_sum(
    out_shape: Shape, shape: Shape, offset: int, axis1: int, axis2: int
) -> LineageTable:
    """One row for every cell of the diagonal."""
    first, second = (normalize_axis_index(axis, len(shape)) for axis in (axis1, axis2))
    places = {k: n for n, k in enumerate(k for k in range(len(shape)) if k not in (first, second))}
    skipped = (max(-offset, 0), max(offset, 0))
    count = min(shape[first] - skipped[0], shape[second] - skipped[1])
    rows = [no_lineage(out_shape, shape)]
    for step in range(count):
        on = {first: constant(skipped[0] + step), second: constant(skipped[1] + step)}
        axes = [on[k] if k in on else follow(places[k]) for k in range(len(shape))]
        rows.append(separable(out_shape, shape, axes))
    return union(*rows)


def _apply_along_axis(call: Call, func1d: Any, axis: int, arr: Any, *args: Any) -> Edges:
    shape = shape_of(arr)
    axis = normalize_axis_index(axis, len(shape))
    grown = len(call.shape) - len(shape)
    axes = [
        whole(size) if k == axis else follow(k if k < axis else k + grown)
        for k, size in enumerate(shape)
    ]
    yield from edge(arr, separable, call.shape, shape, axes)


def _allclose(call: Call, a: Any, b: Any, *arguments: Any, **options: Any) -> Edges:
    for operand in (a, b):
        yield from edge(operand, everything, (), shape_of(operand))


SLICE = "all cells of the slice"

RULES = (
    CaptureRule(
        Family.REDUCTION,
        "sum prod nansum nanprod",
        _reduce,
        SLICE + ", without those that `where` leaves out",
    ),
    CaptureRule(Family.REDUCTION, "max min amax amin nanmax nanmin", _extreme, SLICE),
    CaptureRule(Family.REDUCTION, "all any", _logical, SLICE),
    CaptureRule(Family.REDUCTION, "ptp", _keeping, SLICE),
    CaptureRule(Family.REDUCTION, "argmax argmin nanargmax nanargmin", _arg, SLICE),
    CaptureRule(Family.REDUCTION, "count_nonzero", _count_nonzero, SLICE),
    CaptureRule(Family.REDUCTION, "trapezoid", _trapezoid, SLICE),
    CaptureRule(Family.REDUCTION, "linalg.norm", _norm, SLICE),
    CaptureRule(Family.REDUCTION, "linalg.vector_norm", _vector_norm, SLICE),
    CaptureRule(Family.REDUCTION, "linalg.matrix_norm", _matrix_norm, "all cells of the matrix"),
    CaptureRule(Family.REDUCTION, "trace", _trace, "the cells of the diagonal"),
    CaptureRule(Family.REDUCTION, "linalg.trace", _matrix_trace, "the cells of the diagonal"),
    CaptureRule(Family.REDUCTION, "allclose array_equal array_equiv", _allclose, "all cells"),
    CaptureRule(
        Family.REDUCTION,
        "apply_along_axis",
        _apply_along_axis,
        "the slice that the function is given",
        quality=Quality.SUPERSET,
    ),
)
