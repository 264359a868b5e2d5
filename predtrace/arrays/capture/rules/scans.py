"""Scans: a cell comes from the cells of its slice up to its place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from predtrace.arrays.capture.call import Call, Edges, Lineage, edge, shape_of
from predtrace.arrays.capture.regions import (
    Limit,
    Piece,
    constant,
    everything,
    follow,
    no_lineage,
    separable,
    span,
    union,
    up_to,
    whole,
    window,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


def scan(out_shape: Shape, in_shape: Shape, axis: int | None, initial: bool = False) -> Lineage:
    """Cells up to the same place; with `initial`, the first output cell comes before the first."""
    if axis is None:
        return _flat_scan(in_shape) if len(in_shape) != 1 else scan(out_shape, in_shape, 0)
    axis = normalize_axis_index(axis, len(in_shape))
    scanned: Piece | list[Piece] = up_to(axis)
    if initial:
        size = in_shape[axis]
        scanned = window(axis, size + 1, -size, -1, size)
    axes = [scanned if k == axis else follow(k) for k in range(len(in_shape))]
    return separable(out_shape, in_shape, axes)


def _flat_scan(in_shape: Shape) -> LineageTable:
    """A scan of all cells in C order: whole slices before, and a part of the last one."""
    size = math.prod(in_shape)
    if size == 0 or not in_shape:
        return everything((size,), in_shape)
    tables = [no_lineage((size,), in_shape)]
    for depth, extent in enumerate(in_shape):
        inner = math.prod(in_shape[depth + 1 :])
        for lead in np.ndindex(*in_shape[:depth]):
            start = (
                int(np.ravel_multi_index(lead, in_shape[:depth])) * extent * inner if lead else 0
            )
            fixed = [constant(index) for index in lead]
            if depth == len(in_shape) - 1:
                last = Piece(span(0, 0).low, follow(0, -start).high)
                cells = Limit(0, start, start + extent - 1)
                tables.append(separable((size,), in_shape, [*fixed, last], cells))
                continue
            rest = [whole(n) for n in in_shape[depth + 1 :]]
            for index in range(1, extent):
                cells = Limit(0, start + index * inner, start + (index + 1) * inner - 1)
                axes = [*fixed, span(0, index - 1), *rest]
                tables.append(separable((size,), in_shape, axes, cells))
    return union(*tables)


def _cumulative(
    call: Call, a: Any, axis: int | None = None, dtype: Any = None, out: None = None
) -> Edges:
    yield from edge(a, scan, call.shape, shape_of(a), axis)


def _cumulative_with_initial(
    call: Call,
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: None = None,
    include_initial: bool = False,
) -> Edges:
    axis = 0 if axis is None else axis
    yield from edge(x, scan, call.shape, shape_of(x), axis, include_initial)


def _unwrap(
    call: Call, p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi
) -> Edges:
    yield from edge(p, scan, call.shape, shape_of(p), axis)


RULES = (
    CaptureRule(
        Family.SCAN,
        "cumsum cumprod nancumsum nancumprod",
        _cumulative,
        "the cells of the slice up to the same place",
    ),
    CaptureRule(
        Family.SCAN,
        "cumulative_sum cumulative_prod",
        _cumulative_with_initial,
        "the cells of the slice up to the same place",
    ),
    CaptureRule(Family.SCAN, "unwrap", _unwrap, "the cells of the slice up to the same place"),
)
