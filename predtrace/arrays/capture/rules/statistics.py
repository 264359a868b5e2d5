"""Statistics: quantiles and averages of slices, covariances of variables."""

from __future__ import annotations

from typing import Any

from predtrace.arrays.capture.call import Call, Edges, edge, shape_of
from predtrace.arrays.capture.regions import Limit, everything, follow, separable, union, whole
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.rules.reductions import (
    SLICE,
    Axis,
    is_kept,
    reduce_slices,
    slices,
    spread_slices,
)
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


def _mean(
    call: Call,
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Edges:
    return reduce_slices(call, a, axis, keepdims, None, where)


def _spread(
    call: Call,
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Edges:
    yield from reduce_slices(call, a, axis, keepdims, None, where)
    kept = is_kept(keepdims)
    yield from edge(mean, spread_slices, call.shape, shape_of(mean), shape_of(a), axis, kept)


def _median(
    call: Call,
    a: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: Any = False,
) -> Edges:
    if overwrite_input:
        raise call.refuse("with overwrite_input=True, which leaves its argument in disorder")
    return reduce_slices(call, a, axis, keepdims)


def _quantile(
    call: Call,
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Edges:
    if overwrite_input:
        raise call.refuse("with overwrite_input=True, which leaves its argument in disorder")
    lead = len(shape_of(q))
    shape = shape_of(a)
    yield from edge(a, slices, call.shape, shape, axis, is_kept(keepdims), lead)
    yield from edge(q, separable, call.shape, shape_of(q), [follow(k) for k in range(lead)])
    yield from edge(weights, _weights, call.shape, shape, weights, axis, keepdims, lead)


def _weights(
    out_shape: Shape, shape: Shape, weights: Any, axis: Axis, keepdims: Any, lead: int = 0
) -> LineageTable:
    """Weights have the array's shape, or one axis for every reduced one."""
    if shape_of(weights) == shape:
        return slices(out_shape, shape, axis, is_kept(keepdims), lead)
    return everything(out_shape, shape_of(weights))


def _average(
    call: Call,
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = False,
) -> Edges:
    yield from reduce_slices(call, a, axis, keepdims)
    for output in range(len(call.outputs)):
        yield from edge(
            weights, _weights, call.shape, shape_of(a), weights, axis, keepdims, output=output
        )


def _cov(
    call: Call,
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    **options: Any,
) -> Edges:
    """Cell (i, j) comes from all observations of the variables i and j."""
    start = 0
    for operand in (m, y):
        if operand is None:
            continue
        shape = shape_of(operand)
        across = len(shape) == 2 and not rowvar and shape[0] != 1
        if operand is y and len(shape) == 2 and not rowvar:
            across = shape[0] != 1
        count = 1 if len(shape) < 2 else shape[1 if across else 0]
        yield from edge(operand, _variables, call.shape, shape, start, count, across)
        start += count
    for weights in (fweights, aweights):
        yield from edge(weights, everything, call.shape, shape_of(weights))


def _corrcoef(call: Call, x: Any, y: Any = None, rowvar: bool = True, **options: Any) -> Edges:
    return _cov(call, x, y, rowvar)


def _variables(
    out_shape: Shape, in_shape: Shape, start: int, count: int, across: bool
) -> LineageTable:
    if not out_shape:
        return everything(out_shape, in_shape)
    tables = []
    for axis in range(2):
        limits = Limit(axis, start, start + count - 1)
        axes = [follow(axis, -start), whole(in_shape[-1])] if len(in_shape) == 2 else []
        if across:
            axes = [whole(in_shape[0]), follow(axis, -start)]
        if len(in_shape) == 1:
            axes = [whole(in_shape[0])]
        tables.append(separable(out_shape, in_shape, axes, limits))
    return union(*tables)


RULES = (
    CaptureRule(Family.REDUCTION, "mean nanmean", _mean, SLICE),
    CaptureRule(Family.REDUCTION, "std var nanstd nanvar", _spread, SLICE),
    CaptureRule(Family.REDUCTION, "median nanmedian", _median, SLICE),
    CaptureRule(
        Family.REDUCTION, "percentile quantile nanpercentile nanquantile", _quantile, SLICE
    ),
    CaptureRule(Family.REDUCTION, "average", _average, SLICE + ", and their weights"),
    CaptureRule(Family.PRODUCT, "cov", _cov, "all observations of both variables"),
    CaptureRule(Family.PRODUCT, "corrcoef", _corrcoef, "all observations of both variables"),
)
