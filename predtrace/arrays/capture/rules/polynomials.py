"""Polynomials given by their coefficients, highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from predtrace.arrays.capture.call import (
    Array,
    Call,
    Edges,
    edge,
    plain,
    shape_of,
    size_of,
)
from predtrace.arrays.capture.regions import (
    Limit,
    broadcast,
    everything,
    follow,
    no_lineage,
    separable,
    span,
    up_to,
    window,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


def _polyval(call: Call, p: Any, x: Any) -> Edges:
    yield from edge(p, everything, call.shape, shape_of(p))
    yield from edge(x, broadcast, call.shape, shape_of(x))


def _shifted(out_shape: Shape, in_shape: Shape, shift: int) -> LineageTable:
    """Output o comes from coefficient o + shift, where there is one."""
    pieces = window(0, out_shape[0], shift, shift, in_shape[0] if in_shape else 1)
    axes = [pieces] if in_shape else []
    limits = [] if in_shape else [limit for piece in pieces for limit in piece.limits]
    return separable(out_shape, in_shape, axes, *limits)


def _polyadd(call: Call, a1: Any, a2: Any) -> Edges:
    for operand in (a1, a2):
        shift = size_of(operand) - call.shape[0]
        yield from edge(operand, _shifted, call.shape, shape_of(operand), shift)


def _zeros(coefficients: Array) -> int:
    """The number of leading zeros that numpy drops; it keeps the last of only zeros."""
    found = np.flatnonzero(coefficients)
    return int(found[0]) if len(found) else max(coefficients.size - 1, 0)


def _polymul(call: Call, a1: Any, a2: Any) -> Edges:
    drops = [_zeros(np.atleast_1d(plain(x))) for x in (a1, a2)]
    sizes = [size_of(x) - drop for x, drop in zip((a1, a2), drops, strict=True)]
    for k, operand in enumerate((a1, a2)):
        drop, own, other = drops[k], sizes[k], sizes[1 - k]
        yield from edge(operand, _factor, call.shape, shape_of(operand), drop, own, other)


def _factor(out_shape: Shape, in_shape: Shape, drop: int, own: int, other: int) -> LineageTable:
    """A convolution with `other` coefficients, of the array without its leading zeros."""
    if not in_shape:
        return everything(out_shape, in_shape)
    pieces = [
        piece._replace(
            low=piece.low._replace(base=piece.low.base + drop),
            high=piece.high._replace(base=piece.high.base + drop),
        )
        for piece in window(0, out_shape[0], 1 - other, 0, own)
    ]
    return separable(out_shape, in_shape, [pieces])


def _polyder(call: Call, p: Any, m: int = 1) -> Edges:
    yield from edge(p, _shifted, call.shape, shape_of(p), 0)


def _polyint(call: Call, p: Any, m: int = 1, k: Any = None) -> Edges:
    yield from edge(p, _shifted, call.shape, shape_of(p), 0)
    if k is not None:
        if np.ndim(plain(k)) == 0 or size_of(k) != m:
            yield from edge(k, _constant, call.shape, shape_of(k), size_of(p))
        else:
            yield from edge(k, _shifted, call.shape, shape_of(k), -size_of(p))


def _constant(out_shape: Shape, in_shape: Shape, start: int) -> LineageTable:
    axes = [span(0, 0)] * len(in_shape)
    return separable(out_shape, in_shape, axes, Limit(0, start, out_shape[0] - 1))


def _polydiv(call: Call, u: Any, v: Any) -> Edges:
    """Quotient o comes from the coefficients up to o; the remainder from all of them."""
    quotient, remainder = call.outputs
    for operand in (u, v):
        shape = shape_of(operand)
        yield from edge(operand, _prefix, quotient.shape, shape)
        yield from edge(
            operand, everything, remainder.shape, shape, output=1, quality=Quality.SUPERSET
        )


def _prefix(out_shape: Shape, in_shape: Shape) -> LineageTable:
    if not in_shape:
        return everything(out_shape, in_shape)
    size, total = in_shape[0], out_shape[0]
    inside, beyond = Limit(0, 0, size - 1), Limit(0, size, total - 1)
    pieces = [up_to(0).within(inside), span(0, size - 1).within(beyond)]
    return separable(out_shape, in_shape, [pieces])


def _polyfit(call: Call, x: Any, y: Any, deg: Any, rcond: Any = None, *, w: Any = None) -> Edges:
    """The points, of several columns of values the own one."""
    for operand in (x, w):
        yield from edge(operand, everything, call.shape, shape_of(operand))
    columns = [span(0, shape_of(y)[0] - 1), *(follow(k) for k in range(1, len(shape_of(y))))]
    yield from edge(y, separable, call.shape, shape_of(y), columns)


def _poly(call: Call, seq_of_zeros: Any) -> Edges:
    """The leading coefficient is one; a matrix stands for its eigenvalues."""
    shape = shape_of(seq_of_zeros)
    # of a matrix, some coefficients (the trace) leave cells out
    quality = Quality.SUPERSET if len(shape) == 2 else Quality.PRECISE
    yield from edge(seq_of_zeros, _after_first, call.shape, shape, quality=quality)


def _after_first(out_shape: Shape, in_shape: Shape) -> LineageTable:
    if not out_shape:
        return no_lineage(out_shape, in_shape)
    axes = [span(0, size - 1) for size in in_shape]
    return separable(out_shape, in_shape, axes, Limit(0, 1, out_shape[0] - 1))


def _roots(call: Call, p: Any) -> Edges:
    yield from edge(p, everything, call.shape, shape_of(p))


RULES = (
    CaptureRule(Family.POLYNOMIAL, "polyval", _polyval, "all coefficients, and the place"),
    CaptureRule(
        Family.POLYNOMIAL, "polyadd polysub", _polyadd, "the coefficients of the same power"
    ),
    CaptureRule(
        Family.POLYNOMIAL,
        "polymul",
        _polymul,
        "the coefficients whose products have the power",
        by_shape=False,
    ),
    CaptureRule(
        Family.POLYNOMIAL, "polyder", _polyder, "the coefficient that the power comes from"
    ),
    CaptureRule(
        Family.POLYNOMIAL, "polyint", _polyint, "the coefficient that the power comes from"
    ),
    CaptureRule(
        Family.POLYNOMIAL,
        "polydiv",
        _polydiv,
        "quotient: the coefficients up to the same one; remainder: a superset, all of them",
        by_shape=False,
    ),
    CaptureRule(Family.POLYNOMIAL, "polyfit", _polyfit, "all points"),
    CaptureRule(Family.POLYNOMIAL, "poly", _poly, "all roots; the leading one has no lineage"),
    CaptureRule(Family.POLYNOMIAL, "roots", _roots, "all coefficients", by_shape=False),
)
