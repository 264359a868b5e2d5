"""Generalised universal functions: products whose axes a signature names.

    matmul   (n?,k),(k,m?)->(n?,m?)

An operand's core axes are those that the signature names, by default its last ones; `axis` and
`axes` choose others. A core axis that the output has follows it there, any other one is summed
over. All further axes are loop axes, which are broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.lib.array_utils import normalize_axis_index

from predtrace.arrays.capture.call import Call, Edges, edge, shape_of
from predtrace.arrays.capture.regions import aligned, separable, whole
from predtrace.arrays.capture.rule import CaptureRule, Family

_MATMUL = "(n?,k),(k,m?)->(n?,m?)"
_VECDOT = "(n),(n)->()"


def _by_signature(
    call: Call,
    *operands: Any,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    out: None = None,
    casting: Any = None,
    order: Any = None,
    dtype: Any = None,
    subok: Any = True,
    signature: Any = None,
) -> Edges:
    return _product(call, call.function.signature, operands, axes, axis, keepdims)  # type: ignore[attr-defined]


def _linalg_matmul(call: Call, x1: Any, x2: Any, /) -> Edges:
    return _product(call, _MATMUL, (x1, x2))


def _linalg_vecdot(call: Call, x1: Any, x2: Any, /, *, axis: int = -1) -> Edges:
    return _product(call, _VECDOT, (x1, x2), axis=axis)


def _product(
    call: Call,
    signature: str,
    operands: Sequence[Any],
    axes: Any = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Edges:
    if len(operands) != signature.partition("->")[0].count("("):
        raise call.refuse("with an 'out' argument")
    ndims = [len(shape_of(operand)) for operand in operands]
    *named, result = _core_axes(signature, ndims)
    if keepdims:
        result = ["" for _ in named[0]]
    chosen = _chosen([*named, result], axes, axis)
    places = [
        [normalize_axis_index(place, ndim) for place in own]
        for own, ndim in zip(chosen, [*ndims, len(call.shape)], strict=True)
    ]
    core = {name: place for name, place in zip(result, places[-1], strict=True) if name}
    loop = [k for k in range(len(call.shape)) if k not in places[-1]]
    for operand, names, own in zip(operands, named, places, strict=False):
        shape = shape_of(operand)
        leading = [k for k in range(len(shape)) if k not in own]
        follows = dict(zip(reversed(leading), reversed(loop), strict=False))
        for name, place in zip(names, own, strict=True):
            if name in core:
                follows[place] = core[name]
        pieces = [
            aligned(size, follows[k]) if k in follows else whole(size)
            for k, size in enumerate(shape)
        ]
        yield from edge(operand, separable, call.shape, shape, pieces)


def _core_axes(signature: str, ndims: Sequence[int]) -> Iterator[list[str]]:
    """The names of every operand's core axes, then the output's; optional ones if there are."""
    inputs, _, output = signature.partition("->")
    missing = set[str]()
    for part, ndim in zip(inputs.split("),("), ndims, strict=True):
        names = part.strip("()").split(",")
        if ndim < len(names):
            missing |= {name for name in names if name.endswith("?")}
        yield [name for name in names if name not in missing]
    yield [name for name in output.strip("()").split(",") if name and name not in missing]


def _chosen(names: Sequence[Sequence[str]], axes: Any, axis: int | None) -> Sequence[Sequence[int]]:
    """The core axes as the caller counts them, for every operand and the output."""
    if axis is not None:
        return [[axis] * len(own) for own in names]
    if axes is None:
        return [range(-len(own), 0) for own in names]
    given = [tuple(part) if isinstance(part, tuple | list) else (part,) for part in axes]
    # the entry of an output without core axes may be missing; kept axes are as the first's
    return [*given, given[0] if names[-1] else ()][: len(names)]


RULES = (
    CaptureRule(Family.PRODUCT, "matmul", _by_signature, "the row and the column"),
    CaptureRule(Family.PRODUCT, "linalg.matmul", _linalg_matmul, "the row and the column"),
    CaptureRule(Family.PRODUCT, "matvec", _by_signature, "the row, and the vector"),
    CaptureRule(Family.PRODUCT, "vecmat", _by_signature, "the vector, and the column"),
    CaptureRule(Family.PRODUCT, "vecdot", _by_signature, "both vectors"),
    CaptureRule(Family.PRODUCT, "linalg.vecdot", _linalg_vecdot, "both vectors"),
)
