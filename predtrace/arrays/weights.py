"""Lineage from the weights of an explanation, such as LIME's or D-RISE's (DSLog, VII-A2).

An explanation of a model gives a weight to every pair of an output cell and an input cell. Pairs
with significant weights are taken as lineage. This is an estimate: answers that rest on it are
labelled `estimated`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from predtrace.arrays.relation import CellRelation
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Ints, Shape

Floats: TypeAlias = npt.NDArray[np.float64]
Triples: TypeAlias = tuple[Ints, Ints, Floats]


@runtime_checkable
class Sparse(Protocol):
    """A sparse matrix, as scipy has them."""

    def tocoo(self) -> Any:
        """With attributes row, col, data and shape."""


Weights: TypeAlias = npt.ArrayLike | Sparse | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""A matrix of output cells by input cells, both in row-major order; a dense array may also have
the axes of both arrays. Or a sparse one; or triples: output cells' numbers, input cells'
numbers, weights, where weights of the same pair add up. A tuple is triples."""


def significant(
    weights: Weights,
    out_shape: Shape,
    in_shape: Shape,
    *,
    threshold: float | None = None,
    top: int | None = None,
) -> CellRelation:
    """The pairs of cells with significant weights.

    Weights count by their absolute value: `threshold` is the least one, `top` how many input
    cells an output cell has at most, those with the greatest weights (of equal ones, the first
    in row-major order). At least one of both is needed; with both, both hold. A weight of zero
    is never significant. Raises ArrayLineageError if weights do not fit the shapes or are no
    numbers, or if the limits make no sense.
    """
    if threshold is None and top is None:
        raise ArrayLineageError("say which weights are significant: give threshold=… or top=…")
    if threshold is not None and not 0 <= threshold < math.inf:
        raise ArrayLineageError(f"a threshold is a number from 0, not {threshold}")
    if top is not None and top < 1:
        raise ArrayLineageError(f"top is how many cells are kept, at least 1, not {top}")
    sizes = math.prod(out_shape), math.prod(in_shape)
    out, into, values = _triples(weights, out_shape + in_shape, sizes)
    if np.isnan(values).any():
        raise ArrayLineageError("a weight is NaN; give a number for every pair, or leave it out")
    size = abs(values)
    kept = size > 0 if threshold is None else (size > 0) & (size >= threshold)
    out, into, size = out[kept], into[kept], size[kept]
    if top is not None:
        order = np.lexsort((into, -size, out))
        out, into = out[order], into[order]
        place = np.arange(len(out)) - np.searchsorted(out, out)
        out, into = out[place < top], into[place < top]
    columns = [*_unravelled(out, out_shape), *_unravelled(into, in_shape)]
    pairs = np.stack(columns, axis=1) if columns else np.empty((len(out), 0), np.int64)
    return CellRelation(out_shape, in_shape, pairs)


def reason_of(threshold: float | None, top: int | None) -> str:
    """The reason that an answer gives for lineage from weights."""
    limits = [f"at least {threshold:g}"] if threshold is not None else []
    limits += [f"the {top} greatest"] if top is not None else []
    return f"an explanation's weights, {' and '.join(limits)}"


def _triples(weights: Weights, shape: Shape, sizes: tuple[int, int]) -> Triples:
    """Every pair once."""
    if isinstance(weights, Sparse):
        matrix = weights.tocoo()
        if tuple(matrix.shape) != sizes:
            raise _misfit(tuple(matrix.shape), sizes)
        return _added((matrix.row, matrix.col, matrix.data), sizes)
    if isinstance(weights, tuple):
        return _added(weights, sizes)
    dense = _numbers(weights)
    if dense.shape not in (sizes, shape):
        raise _misfit(dense.shape, sizes)
    dense = dense.reshape(sizes)
    out, into = np.nonzero(dense)
    return out, into, dense[out, into]


def _added(triples: tuple[Any, ...], sizes: tuple[int, int]) -> Triples:
    """Triples with the weights of equal pairs added up."""
    if len(triples) != 3 or len({len(np.atleast_1d(column)) for column in triples}) != 1:
        raise ArrayLineageError(
            "a tuple of weights is triples: output cells, input cells and weights, equally many"
        )
    out, into = (np.asarray(column) for column in triples[:2])
    for numbers, size in zip((out, into), sizes, strict=True):
        if numbers.size and (
            numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= size
        ):
            raise ArrayLineageError(f"cells of weights are numbered from 0 to {size - 1}")
    keys = out.astype(np.int64) * max(sizes[1], 1) + into.astype(np.int64)
    pairs, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place.ravel(), _numbers(triples[2]).ravel(), minlength=len(pairs))
    return *np.divmod(pairs, max(sizes[1], 1)), sums.astype(np.float64)


def _numbers(values: Any) -> Floats:
    found = np.asarray(values)
    if found.dtype.kind not in "biuf":
        raise ArrayLineageError(f"weights are numbers, not {found.dtype}")
    return found.astype(np.float64)


def _unravelled(numbers: Ints, shape: Shape) -> tuple[Any, ...]:
    return np.unravel_index(numbers, shape) if shape else ()


def _misfit(given: Shape, sizes: tuple[int, int]) -> ArrayLineageError:
    return ArrayLineageError(
        f"weights of shape {given} do not fit {sizes[0]} output and {sizes[1]} input cells"
    )
