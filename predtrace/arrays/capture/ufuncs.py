"""The methods of numpy's universal functions.

All of them, numpy's own and those made by `numpy.frompyfunc`, work cell by cell; the methods
`reduce`, `accumulate`, `reduceat`, `outer` and `at` carry that to slices. Functions on whole
vectors or matrices (those with a signature, such as `matmul`) have rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    operands_of,
    plain,
    shape_of,
)
from predtrace.arrays.capture.regions import (
    Limit,
    broadcast,
    follow,
    separable,
    span,
    window,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.rules.elementwise import elementwise
from predtrace.arrays.capture.rules.movement import key_numbers
from predtrace.arrays.capture.rules.reductions import reduce_slices
from predtrace.arrays.capture.rules.scans import scan
from predtrace.arrays.capture.rules.writes import written
from predtrace.arrays.capture.sources import NONE, Ids, from_ids, ids, pairs
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.packed.boxes import Shape


def _call(call: Call, *arguments: Any, where: Any = True, out: Any = None, **options: Any) -> Edges:
    if len(arguments) > call.function.nin:  # type: ignore[attr-defined]
        raise call.refuse("with an 'out' argument; assign its result instead")
    if where is True:
        yield from elementwise(call, *arguments)
    elif not call.out or None in call.out:
        raise call.refuse("with 'where' but without 'out', which leaves cells undefined")
    else:
        yield from _where(call, arguments, where)


def _where(call: Call, arguments: tuple[Any, ...], where: Any) -> Edges:
    """Cells that the mask leaves out keep their values in the array that is written to."""
    mask = np.broadcast_to(plain(where), call.shape)
    for output, target in enumerate(call.out):
        for operand in arguments:
            yield from edge(operand, _chosen, mask, shape_of(operand), output=output)
        yield from edge(target, _chosen, ~mask, shape_of(target), output=output)
        yield from edge(where, broadcast, call.shape, shape_of(where), output=output)


def _chosen(mask: Array, in_shape: Shape) -> Lineage:
    """The cells in the same place, where the mask is true."""
    return from_ids(np.where(mask, np.broadcast_to(ids(in_shape), mask.shape), NONE), in_shape)


def _reduce(
    call: Call,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Edges:
    return reduce_slices(call, array, axis, keepdims, initial, where)


def _accumulate(call: Call, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Edges:
    yield from edge(array, scan, call.shape, shape_of(array), axis)


def _outer(call: Call, a: Any, b: Any, /, **options: Any) -> Edges:
    for output, result in enumerate(call.outputs):
        for operand, start in ((a, 0), (b, len(shape_of(a)))):
            axes = [follow(start + k) for k in range(len(shape_of(operand)))]
            yield from edge(
                operand, separable, result.shape, shape_of(operand), axes, output=output
            )


def _reduceat(
    call: Call, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Edges:
    yield from edge(array, _parts, call.shape, shape_of(array), plain(indices), axis)
    if operands_of(indices) and not isinstance(indices, Operand):
        raise call.refuse("with tracked numbers in a list of indices")
    # an index begins a part, and ends the one before
    place, count = normalize_axis_index(axis, len(call.shape)), len(plain(indices))
    ends = window(place, count, 0, 1, count)
    yield from edge(indices, separable, call.shape, shape_of(indices), [ends])


def _parts(out_shape: Shape, in_shape: Shape, indices: Any, axis: int) -> LineageTable:
    """The cells from an index up to the next one; one cell where the next one is not greater."""
    axis = normalize_axis_index(axis, len(in_shape))
    starts = np.asarray(indices)
    stops = np.append(starts[1:], in_shape[axis])
    pieces = [
        span(int(start), max(int(stop) - 1, int(start))).within(Limit(axis, k, k))
        for k, (start, stop) in enumerate(zip(starts, stops, strict=True))
    ]
    axes = [pieces if k == axis else [follow(k)] for k in range(len(in_shape))]
    return separable(out_shape, in_shape, axes)


def _at(call: Call, a: Any, indices: Any, b: Any = None, /) -> Edges:
    """Cells keep their old lineage, and gain the lineage of every operand that meets them."""
    yield from written(a, 0, lambda state, numbers: None)
    met = ids(a.shape)[plain(indices)]
    if isinstance(b, Operand):
        yield Edge(b, _meeting(a.shape, b.shape, met, np.broadcast_to(ids(b.shape), met.shape)))
    for operand in operands_of(indices):
        chose = key_numbers(a.shape, indices, operand)
        yield Edge(operand, _meeting(a.shape, operand.shape, met, chose))


def _meeting(out_shape: Shape, in_shape: Shape, met: Ids, number: Ids) -> CellRelation:
    """Pairs of the cells that were met and the cells of an operand that met them."""
    meets = number != NONE
    out = np.unravel_index(met[meets] - 1, out_shape)
    inputs = np.unravel_index(number[meets] - 1, in_shape) if in_shape else ()
    return pairs(out_shape, in_shape, out, inputs)


_METHODS: Mapping[str, tuple[Family, Callable[..., Edges], str]] = {
    "__call__": (Family.ELEMENTWISE, _call, "the cells in the same place, after broadcasting"),
    "reduce": (Family.REDUCTION, _reduce, "all cells of the slice"),
    "accumulate": (Family.SCAN, _accumulate, "the cells of the slice up to the same place"),
    "outer": (Family.PRODUCT, _outer, "the two factors"),
    "reduceat": (Family.REDUCTION, _reduceat, "the cells from an index up to the next"),
    "at": (Family.WRITE, _at, "the old cell, and the operands and indices that met it"),
}

UFUNC_RULES: Mapping[str, CaptureRule] = {
    method: CaptureRule(family, "", capture, meaning, writes=method == "at")
    for method, (family, capture, meaning) in _METHODS.items()
}
"""The rule of every method of an element-wise universal function."""
