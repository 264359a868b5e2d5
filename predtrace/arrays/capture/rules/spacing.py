"""Arrays between two ends: `linspace` and its like."""

from __future__ import annotations

from typing import Any

from numpy.lib.array_utils import normalize_axis_index

from predtrace.arrays.capture.call import Call, Edges, edge, shape_of
from predtrace.arrays.capture.regions import Limit, aligned, everything, separable
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


def _linspace(
    call: Call,
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    *arguments: Any,
    axis: int = 0,
    **options: Any,
) -> Edges:
    """The first cells are starts; the last ones, with `endpoint`, are stops."""
    if options.get("retstep") or (arguments and arguments[0]):
        raise call.refuse("with retstep=True")
    axis = normalize_axis_index(axis, len(call.shape))
    last = num - 1 if endpoint and num > 1 else num
    ends = ((start, Limit(axis, 0, last - 1)), (stop, Limit(axis, 1, num - 1)))
    for value, cells in ends:
        yield from edge(value, _inserted, call.shape, shape_of(value), axis, cells)
    base = options.get("base", arguments[0] if arguments else None)
    yield from edge(base, everything, call.shape, shape_of(base))


def _inserted(out_shape: Shape, in_shape: Shape, axis: int, cells: Limit) -> LineageTable:
    """Broadcast to the output without one of its axes."""
    others = [k for k in range(len(out_shape)) if k != axis]
    places = others[len(others) - len(in_shape) :]
    axes = [aligned(size, place) for size, place in zip(in_shape, places, strict=True)]
    return separable(out_shape, in_shape, axes, cells)


RULES = (
    CaptureRule(
        Family.CREATION,
        "linspace logspace geomspace",
        _linspace,
        "the start (except in the last cell, if it is the stop) and the stop (except in the first)",
    ),
)
