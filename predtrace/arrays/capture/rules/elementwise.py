"""Element-wise operations: a cell comes from the cells in the same place, after broadcasting."""

from __future__ import annotations

from typing import Any

from predtrace.arrays.capture.call import Call, Edges, edge, shape_of
from predtrace.arrays.capture.regions import broadcast, everything, no_lineage
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.quality import Quality


def elementwise(call: Call, *operands: Any) -> Edges:
    """Every operand contributes to every output, each in its place."""
    for output, result in enumerate(call.outputs):
        for operand in operands:
            yield from edge(operand, broadcast, result.shape, shape_of(operand), output=output)


def _unary(call: Call, a: Any, **options: Any) -> Edges:
    if tracked := sorted(name for name, value in options.items() if shape_of(value)):
        raise call.refuse(f"with an array as {tracked[0]!r}")
    return elementwise(call, a)


def _round(call: Call, a: Any, decimals: int = 0, out: None = None) -> Edges:
    return elementwise(call, a)


def _clip(
    call: Call,
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: None = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Edges:
    return elementwise(call, a, a_min, a_max, min, max)


def _copy(call: Call, a: Any, *arguments: Any, **options: Any) -> Edges:
    return elementwise(call, a)


def _nan_to_num(
    call: Call,
    x: Any,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Edges:
    if not copy:
        raise call.refuse("with copy=False, which writes into its argument")
    yield from elementwise(call, x)
    for fill in (nan, posinf, neginf):
        yield from edge(fill, broadcast, call.shape, shape_of(fill), quality=Quality.SUPERSET)


def _angle(call: Call, z: Any, deg: bool = False) -> Edges:
    return elementwise(call, z)


def _real_if_close(call: Call, a: Any, tol: float = 100) -> Edges:
    return elementwise(call, a)


def _isclose(
    call: Call, a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Edges:
    return elementwise(call, a, b, rtol, atol)


def _like(call: Call, a: Any, *arguments: Any, **options: Any) -> Edges:
    yield from edge(a, no_lineage, call.shape, shape_of(a))


def _full_like(call: Call, a: Any, fill_value: Any, *arguments: Any, **options: Any) -> Edges:
    yield from _like(call, a)
    yield from elementwise(call, fill_value)


def _piecewise(call: Call, x: Any, condlist: Any, funclist: Any) -> Edges:
    """The functions are given all cells of a piece at once, and may mix them."""
    yield from edge(x, everything, call.shape, shape_of(x))
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    for condition in conditions:
        yield from edge(condition, everything, call.shape, shape_of(condition))


_SAME = "the cell in the same place, after broadcasting"

RULES = (
    CaptureRule(Family.ELEMENTWISE, "round around", _round, _SAME),
    CaptureRule(
        Family.ELEMENTWISE, "clip", _clip, "the cells in the same place, of the bounds too"
    ),
    CaptureRule(Family.ELEMENTWISE, "copy astype", _copy, _SAME),
    CaptureRule(
        Family.ELEMENTWISE,
        "fix i0 sinc real imag isneginf isposinf iscomplex isreal",
        _unary,
        _SAME,
    ),
    CaptureRule(Family.ELEMENTWISE, "angle", _angle, _SAME),
    CaptureRule(Family.ELEMENTWISE, "real_if_close", _real_if_close, _SAME),
    CaptureRule(Family.ELEMENTWISE, "nan_to_num", _nan_to_num, _SAME),
    CaptureRule(Family.ELEMENTWISE, "isclose", _isclose, _SAME),
    CaptureRule(
        Family.ELEMENTWISE,
        "piecewise",
        _piecewise,
        "all cells: what the functions do with a piece is not known",
        quality=Quality.SUPERSET,
    ),
    CaptureRule(Family.CREATION, "zeros_like ones_like empty_like", _like, "no cell"),
    CaptureRule(Family.CREATION, "full_like", _full_like, "the fill value's cell"),
)
