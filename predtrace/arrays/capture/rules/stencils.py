"""Stencils: a cell comes from a window of cells around its place, cut off at the border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from predtrace.arrays.capture.call import Call, Edges, Operand, edge, plain, shape_of, size_of
from predtrace.arrays.capture.regions import (
    Limit,
    Piece,
    follow,
    no_lineage,
    separable,
    span,
    union,
    window,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.sources import layers
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


def _along(out_shape: Shape, in_shape: Shape, axis: int, pieces: Sequence[Piece]) -> LineageTable:
    """The pieces on one axis; all other axes follow the output's."""
    axes = [pieces if k == axis else [follow(k)] for k in range(len(in_shape))]
    return separable(out_shape, in_shape, axes)


def _diff(
    call: Call,
    a: Any,
    n: int = 1,
    axis: int = -1,
    prepend: Any = np._NoValue,
    append: Any = np._NoValue,
) -> Edges:
    """n+1 cells beginning at the same place, in the array with its additions in front and behind.

    An addition without axes is broadcast to one cell along the axis.
    """
    axis = normalize_axis_index(axis, len(shape_of(a)))
    start = 0
    for part in (prepend, a, append):
        if part is np._NoValue:
            continue
        if n == 0 and part is not a:  # numpy gives the array back, and looks at no addition
            yield from edge(part, no_lineage, call.shape, shape_of(part))
            continue
        shape = shape_of(part)
        size = shape[axis] if shape else 1
        pieces = window(axis, call.shape[axis], -start, n - start, size)
        if shape:
            yield from edge(part, _along, call.shape, shape, axis, pieces)
        else:
            yield from edge(part, _scalar_along, call.shape, pieces)
        start += size


def _scalar_along(out_shape: Shape, pieces: Sequence[Piece]) -> LineageTable:
    tables = [separable(out_shape, (), [], *piece.limits) for piece in pieces]
    return union(no_lineage(out_shape, ()), *tables)


def _ediff1d(call: Call, ary: Any, to_end: Any = None, to_begin: Any = None) -> Edges:
    lead, size = size_of(to_begin) if to_begin is not None else 0, size_of(ary)
    total = call.shape[0]
    yield from edge(ary, _flat_windows, total, shape_of(ary), lead)
    count = max(size - 1, 0)
    for part, start in ((to_begin, 0), (to_end, lead + count)):
        yield from edge(part, _flat_copy, total, shape_of(part), start)


def _flat_windows(total: int, in_shape: Shape, lead: int) -> Any:
    size = int(np.prod(in_shape, dtype=np.int64))
    if len(in_shape) == 1:
        inside = Limit(0, lead, lead + size - 2)
        pieces = window(0, total, -lead, 1 - lead, size)
        return separable((total,), in_shape, [pieces], inside)
    first = np.zeros(total, np.int64)
    first[lead : lead + max(size - 1, 0)] = np.arange(1, max(size, 1))
    return layers([first, np.where(first > 0, first + 1, 0)], in_shape)


def _flat_copy(total: int, in_shape: Shape, start: int) -> Any:
    number = np.zeros(total, np.int64)
    size = int(np.prod(in_shape, dtype=np.int64))
    number[start : start + size] = np.arange(1, size + 1)
    return layers([number], in_shape)


def _gradient(call: Call, f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Edges:
    """Inside, both neighbours, and the cell itself where the spacing is uneven."""
    ndim = len(shape_of(f))
    axes = range(ndim) if axis is None else normalize_axis_tuple(axis, ndim)
    for output, place in enumerate(axes):
        spacing = varargs[output] if len(varargs) > 1 else varargs[0] if varargs else 1.0
        if isinstance(spacing, Operand):
            raise call.refuse("with a tracked spacing")
        pieces = _gradient_pieces(place, shape_of(f)[place], edge_order, _uneven(spacing))
        shape = shape_of(f)
        yield from edge(f, _along, shape, shape, place, pieces, output=output)


def _uneven(spacing: Any) -> bool:
    steps = np.diff(np.asarray(plain(spacing), float)) if np.ndim(spacing) else np.zeros(1)
    return bool((steps != steps[0]).any())


def _gradient_pieces(axis: int, size: int, edge_order: int, uneven: bool) -> list[Piece]:
    inside = Limit(axis, 1, size - 2)
    offsets = (-1, 0, 1) if uneven else (-1, 1)
    return [
        span(0, edge_order).within(Limit(axis, 0, 0)),
        *(follow(axis, offset).within(inside) for offset in offsets),
        span(size - 1 - edge_order, size - 1).within(Limit(axis, size - 1, size - 1)),
    ]


def _convolve(call: Call, a: Any, v: Any, mode: str = "full") -> Edges:
    """Output o of the full convolution holds the products of a[k] and v[o - k]."""
    a, v = (v, a) if size_of(v) > size_of(a) else (a, v)
    n, m = size_of(a), size_of(v)
    start = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}[mode]
    total = call.shape[0]
    yield from edge(a, _products, total, shape_of(a), start - m + 1, start)
    yield from edge(v, _products, total, shape_of(v), start - n + 1, start)


def _products(total: int, in_shape: Shape, low: int, high: int, slope: int = 1) -> LineageTable:
    size = int(np.prod(in_shape, dtype=np.int64))
    pieces = window(0, total, low, high, size, slope)
    return separable((total,), in_shape, [pieces] if in_shape else [])


def _correlate(call: Call, a: Any, v: Any, mode: str = "valid") -> Edges:
    """Output o of the full correlation holds the products of a[k + o - (m - 1)] and v[k].

    With the longer array second, numpy exchanges the two and turns the result around.
    """
    n, m = size_of(a), size_of(v)
    total = call.shape[0]
    swapped = m > n
    short = min(n, m)
    start = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}[mode]
    if swapped and mode != "full":
        # the reversed result of the exchanged call starts where the exchanged one ends
        start = n + m - 1 - start - total
    shift = start - (m - 1)
    yield from edge(a, _products, total, shape_of(a), shift, shift + m - 1)
    yield from edge(v, _products, total, shape_of(v), -shift, n - 1 - shift, -1)


RULES = (
    CaptureRule(Family.STENCIL, "diff", _diff, "n+1 neighbouring cells"),
    CaptureRule(Family.STENCIL, "ediff1d", _ediff1d, "two neighbouring cells"),
    CaptureRule(
        Family.STENCIL,
        "gradient",
        _gradient,
        "both neighbours, and the cell if spaced unevenly; at the border, the cells next to it",
    ),
    CaptureRule(
        Family.STENCIL, "convolve", _convolve, "the window, and the weights inside of the border"
    ),
    CaptureRule(
        Family.STENCIL, "correlate", _correlate, "the window, and the weights inside of the border"
    ),
)
