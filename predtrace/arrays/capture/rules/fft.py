"""Fourier transforms: every cell comes from all cells of the line that the transform reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.lib.array_utils import normalize_axis_index

from predtrace.arrays.capture.call import Call, Edges, Operand, edge, shape_of
from predtrace.arrays.capture.regions import follow, separable, span
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape

_FROM_HALF = {"irfft", "irfft2", "irfftn", "hfft"}
"""These read n//2 + 1 cells of the last axis for n cells of output."""


def lines(
    out_shape: Shape, in_shape: Shape, axes: Sequence[int], read: Sequence[int]
) -> LineageTable:
    """The first cells along the axes, as many as the transform reads; all other axes follow."""
    pieces = [follow(k) for k in range(len(in_shape))]
    for axis, count in zip(axes, read, strict=True):
        pieces[axis] = span(0, min(count, in_shape[axis]) - 1)
    return separable(out_shape, in_shape, pieces)


def _half(call: Call, length: int) -> int:
    return length // 2 + 1 if call.name.rpartition(".")[2] in _FROM_HALF else length


def _line(
    call: Call, a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: None = None
) -> Edges:
    shape = shape_of(a)
    axis = normalize_axis_index(axis, len(shape))
    length = shape[axis] if n is None else _half(call, int(n))
    yield from edge(a, lines, call.shape, shape, [axis], [length])


def _grid(
    call: Call, a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None
) -> Edges:
    if isinstance(s, Operand):
        raise call.refuse("with a tracked shape")
    shape = shape_of(a)
    if axes is None:
        axes = range(len(shape)) if s is None else range(-len(s), 0)
    places = [normalize_axis_index(axis, len(shape)) for axis in axes]
    lengths = [shape[place] for place in places]
    for k, n in enumerate(s if s is not None else ()):
        length = lengths[k] if n == -1 else int(n)
        lengths[k] = _half(call, length) if k == len(places) - 1 else length
    yield from edge(a, lines, call.shape, shape, places, lengths)


def _plane(
    call: Call, a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None
) -> Edges:
    return _grid(call, a, s, axes)


_LINE = "all cells of the line that the transform reads"

RULES = (
    CaptureRule(Family.FFT, "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", _line, _LINE),
    CaptureRule(Family.FFT, "fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2", _plane, _LINE),
    CaptureRule(Family.FFT, "fft.fftn fft.ifftn fft.rfftn fft.irfftn", _grid, _LINE),
)
