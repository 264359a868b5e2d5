"""Products: every axis of a factor follows an output axis, or is summed over and taken whole.

So labels describe a product, as in `einsum`, and one row is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from predtrace.arrays.capture.call import Call, Edges, edge, shape_of
from predtrace.arrays.capture.regions import (
    Limit,
    Piece,
    aligned,
    broadcast,
    constant,
    everything,
    follow,
    no_lineage,
    separable,
    union,
    whole,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.sources import from_ids, ids
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape

Places = Sequence[int | None]
"""For every input axis, the output axis that it follows; None where it is summed over."""


def placed(out_shape: Shape, in_shape: Shape, places: Places) -> LineageTable:
    """The table of a factor; axes of size 1 are broadcast."""
    axes = [
        whole(size) if place is None else aligned(size, place)
        for size, place in zip(in_shape, places, strict=True)
    ]
    return separable(out_shape, in_shape, axes)


def _dot(call: Call, a: Any, b: Any, out: None = None) -> Edges:
    left, right = len(shape_of(a)), len(shape_of(b))
    if not left or not right:
        yield from edge(a, broadcast, call.shape, shape_of(a))
        yield from edge(b, broadcast, call.shape, shape_of(b))
        return
    summed = right - 2 if right > 1 else 0
    yield from edge(a, placed, call.shape, shape_of(a), [*range(left - 1), None])
    rest = iter(range(left - 1, len(call.shape)))
    places = [None if k == summed else next(rest) for k in range(right)]
    yield from edge(b, placed, call.shape, shape_of(b), places)


def _vdot(call: Call, a: Any, b: Any, /) -> Edges:
    for operand in (a, b):
        yield from edge(operand, everything, (), shape_of(operand))


def _inner(call: Call, a: Any, b: Any, /) -> Edges:
    left, right = len(shape_of(a)), len(shape_of(b))
    if not left or not right:
        yield from _dot(call, a, b)
        return
    yield from edge(a, placed, call.shape, shape_of(a), [*range(left - 1), None])
    places = [*range(left - 1, left + right - 2), None]
    yield from edge(b, placed, call.shape, shape_of(b), places)


def _outer(call: Call, a: Any, b: Any, out: None = None) -> Edges:
    """Both factors are flattened."""
    for axis, operand in enumerate((a, b)):
        number = ids(shape_of(operand)).reshape((-1, 1) if axis == 0 else (1, -1))
        if len(shape_of(operand)) == 1:
            yield from edge(operand, placed, call.shape, shape_of(operand), [axis])
        else:
            spread = np.broadcast_to(number, call.shape)
            yield from edge(operand, from_ids, spread, shape_of(operand))


def _tensordot(call: Call, a: Any, b: Any, axes: Any = 2, **options: Any) -> Edges:
    left, right = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, (int, np.integer)):
        summed = (range(left - int(axes), left), range(int(axes)))
    else:
        first, second = (np.atleast_1d(np.asarray(part, int)) for part in axes)
        summed = ([k % left for k in first], [k % right for k in second])  # type: ignore[assignment]
    rest = iter(range(len(call.shape)))
    for operand, gone in ((a, summed[0]), (b, summed[1])):
        places = [None if k in gone else next(rest) for k in range(len(shape_of(operand)))]
        yield from edge(operand, placed, call.shape, shape_of(operand), places)


def _kron(call: Call, a: Any, b: Any) -> Edges:
    p = len(call.shape)
    left, right = ((1,) * (p - len(shape_of(x))) + shape_of(x) for x in (a, b))
    yield from edge(a, _kron_factor, call.shape, shape_of(a), left, right, True)
    yield from edge(b, _kron_factor, call.shape, shape_of(b), left, right, False)


def _kron_factor(
    out_shape: Shape, in_shape: Shape, left: Shape, right: Shape, first: bool
) -> LineageTable:
    """Along every axis, cell i of the first meets all cells of the second in places i*n.."""
    axes: list[list[Piece]] = []
    for axis, (count, size) in enumerate(zip(left, right, strict=True)):
        blocks = [Limit(axis, i * size, (i + 1) * size - 1) for i in range(count)]
        axes.append(
            [
                (constant(i) if first else follow(axis, -i * size)).within(block)
                for i, block in enumerate(blocks)
            ]
        )
    padded = left if first else right
    if 0 in out_shape:
        return no_lineage(out_shape, in_shape)
    table = separable(out_shape, padded, axes)
    lead = len(padded) - len(in_shape)
    columns = [column if k < 2 else column[:, lead:] for k, column in enumerate(table.columns())]
    return LineageTable(out_shape, in_shape, *columns)  # type: ignore[arg-type]


def _cross(
    call: Call,
    a: Any,
    b: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Edges:
    """A component comes from the two others of both vectors; that of plane vectors, from all."""
    if axis is not None:
        axisa = axisb = axisc = axis
    sizes = [shape_of(x)[k] for x, k in ((a, axisa), (b, axisb))]
    scalar = sizes == [2, 2]
    at = None if scalar else normalize_axis_index(axisc, len(call.shape))
    for operand, along, other in ((a, axisa, sizes[1]), (b, axisb, sizes[0])):
        pieces = _components(at, shape_of(operand)[along], other)
        yield from edge(operand, _vectors, call.shape, shape_of(operand), along, at, pieces)


def _linalg_cross(call: Call, x1: Any, x2: Any, /, *, axis: int = -1) -> Edges:
    return _cross(call, x1, x2, axis=axis)


def _components(at: int | None, size: int, other: int) -> list[Piece]:
    """The components of a vector that go into each component of the product; a missing one is
    zero."""
    if at is None:
        return [whole(size)]
    used = {
        (output, own)
        for output in range(3)
        for own in range(size)
        if own != output and 3 - output - own < other
    }
    return [constant(own).within(Limit(at, output, output)) for output, own in sorted(used)]


def _vectors(
    out_shape: Shape, in_shape: Shape, along: int, at: int | None, pieces: list[Piece]
) -> LineageTable:
    others = [k for k in range(len(out_shape)) if k != at]
    own = [k for k in range(len(in_shape)) if k != along % len(in_shape)]
    places = dict(zip(reversed(own), reversed(others), strict=False))
    axes: list[Sequence[Piece]] = [
        [aligned(size, places[k])] if k in places else pieces for k, size in enumerate(in_shape)
    ]
    return separable(out_shape, in_shape, axes)


def _multi_dot(call: Call, arrays: Iterable[Any], *, out: None = None) -> Edges:
    """The first factor's rows and the last one's columns; those in between are taken whole."""
    arrays = list(arrays)
    first, last = shape_of(arrays[0]), shape_of(arrays[-1])
    for operand in arrays[1:-1]:
        yield from edge(operand, everything, call.shape, shape_of(operand))
    places: Places = [0, None] if len(first) == 2 else [None]
    yield from edge(arrays[0], placed, call.shape, first, places)
    places = [None, len(call.shape) - 1] if len(last) == 2 else [None]
    yield from edge(arrays[-1], placed, call.shape, last, places)


def _matrix_power(call: Call, a: Any, n: int) -> Edges:
    lead: Places = list(range(len(call.shape) - 2))
    i, j = len(call.shape) - 2, len(call.shape) - 1
    if n == 0:
        yield from edge(a, no_lineage, call.shape, shape_of(a))
    elif n == 1:
        yield from edge(a, broadcast, call.shape, shape_of(a))
    elif n == 2:
        ways = [[*lead, i, None], [*lead, None, j]]
        yield from edge(a, _either, call.shape, shape_of(a), ways)
    else:
        yield from edge(a, placed, call.shape, shape_of(a), [*lead, None, None])


def _either(out_shape: Shape, in_shape: Shape, ways: Sequence[Places]) -> LineageTable:
    return union(*(placed(out_shape, in_shape, places) for places in ways))


RULES = (
    CaptureRule(Family.PRODUCT, "dot", _dot, "the row and the column"),
    CaptureRule(Family.PRODUCT, "vdot", _vdot, "all cells"),
    CaptureRule(Family.PRODUCT, "inner", _inner, "the two rows"),
    CaptureRule(Family.PRODUCT, "outer linalg.outer", _outer, "the two factors"),
    CaptureRule(Family.PRODUCT, "tensordot linalg.tensordot", _tensordot, "the slices summed over"),
    CaptureRule(Family.PRODUCT, "kron", _kron, "the two factors"),
    CaptureRule(Family.PRODUCT, "cross", _cross, "the two other components of both vectors"),
    CaptureRule(
        Family.PRODUCT, "linalg.cross", _linalg_cross, "the two other components of both vectors"
    ),
    CaptureRule(
        Family.PRODUCT,
        "linalg.multi_dot",
        _multi_dot,
        "the first factor's row, the last one's column, all of the others",
    ),
    CaptureRule(
        Family.PRODUCT,
        "linalg.matrix_power",
        _matrix_power,
        "nothing, the cell, its row and column, or the matrix, for n = 0, 1, 2 and others",
    ),
)
