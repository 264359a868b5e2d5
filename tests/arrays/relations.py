"""Relations for tests: random ones of odd shapes, and those of structured operations."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from predtrace.arrays.relation import CellRelation
from predtrace.packed.boxes import Ints, Shape

shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
sizes = st.lists(st.integers(1, 6), max_size=3).map(tuple)


def of(out_shape: Shape, in_shape: Shape, pairs: Ints) -> CellRelation:
    return CellRelation(out_shape, in_shape, np.asarray(pairs, np.int64))


def cells(shape: Shape) -> Ints:
    """All cells of an array, as columns; shape (axes, cells)."""
    return np.indices(shape).reshape(len(shape), math.prod(shape))


@st.composite
def scattered(draw: st.DrawFn) -> CellRelation:
    """Any pairs at all, duplicates included, in any order."""
    out_shape, in_shape = draw(shapes), draw(shapes)
    shape = out_shape + in_shape
    if 0 in shape:
        return of(out_shape, in_shape, np.empty((0, len(shape))))
    row = st.tuples(*(st.integers(0, size - 1) for size in shape))
    rows = draw(st.lists(row, max_size=40))
    return of(out_shape, in_shape, np.array(rows).reshape(len(rows), len(shape)))


@st.composite
def ruled(draw: st.DrawFn, out_shape: Shape | None = None) -> CellRelation:
    """Pairs by a rule that moves intervals along output indices: diagonals, flips, stencils."""
    if out_shape is None:
        out_shape = draw(sizes)
    in_shape = draw(sizes)
    out = cells(out_shape)
    inside = cells(in_shape)
    pairs = np.ones((out.shape[1], inside.shape[1]), np.bool_)
    for k in range(len(in_shape)):
        for lower in (True, False):
            end = np.full(out.shape[1], draw(st.integers(-2, 7)))
            if out_shape and draw(st.booleans()):
                end = (
                    end
                    + draw(st.sampled_from([-1, 1])) * out[draw(st.integers(0, len(out_shape) - 1))]
                )
            inside_end = inside[k][None, :] >= end[:, None]
            pairs &= inside_end if lower else ~inside_end
    if draw(st.booleans()):
        pairs |= np.eye(*pairs.shape, dtype=np.bool_)
    o, i = np.nonzero(pairs)
    return of(out_shape, in_shape, np.concatenate([out[:, o], inside[:, i]]).T)


relations = scattered() | ruled()


def by_rule(out_shape: Shape, in_shape: Shape, rule: Callable[[Ints], Ints]) -> CellRelation:
    """One input cell per output cell: `rule` maps output indices (axes, cells) to input's."""
    out = cells(out_shape)
    return of(out_shape, in_shape, np.concatenate([out, np.asarray(rule(out))]).T)


def negative(n: int, m: int) -> CellRelation:
    return by_rule((n, m), (n, m), lambda o: o)


def flip(n: int) -> CellRelation:
    return by_rule((n,), (n,), lambda o: n - 1 - o)


def rot90(n: int, m: int) -> CellRelation:
    return by_rule((m, n), (n, m), lambda o: np.stack([o[1], m - 1 - o[0]]))


def tile(n: int, m: int, reps: tuple[int, int]) -> CellRelation:
    return by_rule((n * reps[0], m * reps[1]), (n, m), lambda o: o % np.array([[n], [m]]))


def diagonal(n: int) -> CellRelation:
    return by_rule((n,), (n, n), lambda o: np.concatenate([o, o]))


def sum_axis(n: int, m: int, axis: int) -> CellRelation:
    cells = np.indices((n, m)).reshape(2, -1)
    return of(((n, m)[1 - axis],), (n, m), np.stack([cells[1 - axis], *cells]).T)


def sum_all(n: int, m: int) -> CellRelation:
    return of((), (n, m), np.indices((n, m)).reshape(2, -1).T)


def cumsum(n: int) -> CellRelation:
    return of((n,), (n,), np.argwhere(np.tri(n, dtype=np.bool_)))


def matmul_left(n: int, k: int, m: int) -> CellRelation:
    i, j, a = np.indices((n, m, k)).reshape(3, -1)
    return of((n, m), (n, k), np.stack([i, j, i, a]).T)


def convolution(n: int, m: int) -> CellRelation:
    """A 3 by 3 filter that keeps the shape."""
    i, j, di, dj = np.indices((n, m, 3, 3)).reshape(4, -1)
    pairs = np.stack([i, j, i + di - 1, j + dj - 1])
    inside = (pairs[2] >= 0) & (pairs[2] < n) & (pairs[3] >= 0) & (pairs[3] < m)
    return of((n, m), (n, m), pairs[:, inside].T)


def dilated(n: int) -> CellRelation:
    """The stencil {o, o + 5}."""
    o = np.arange(n)
    return of((n,), (n + 5,), np.concatenate([np.stack([o, o]).T, np.stack([o, o + 5]).T]))


def permuted(n: int, seed: int = 0) -> CellRelation:
    order = np.random.default_rng(seed).permutation(n)
    return of((n,), (n,), np.stack([np.arange(n), order]).T)


STRUCTURED: dict[str, tuple[CellRelation, int]] = {
    "negative": (negative(40, 50), 1),
    "sum over axis 0": (sum_axis(30, 40, 0), 1),
    "sum over axis 1": (sum_axis(30, 40, 1), 1),
    "sum": (sum_all(30, 40), 1),
    "tile": (tile(30, 20, (2, 2)), 4),
    "tile of rows": (tile(1, 40, (4, 1)), 1),
    "flip": (flip(100), 1),
    "rot90": (rot90(30, 40), 1),
    "cumsum": (cumsum(60), 1),
    "matrix product": (matmul_left(12, 15, 13), 1),
    "convolution": (convolution(20, 25), 9),
    "diagonal": (diagonal(50), 1),
    "dilated stencil": (dilated(60), 2),
}
"""Per operation its relation, and the number of rows that it takes compressed."""
