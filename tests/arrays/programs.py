"""Random numpy programs that run on numpy's arrays and on tracked ones alike.

A program is a list of steps on a list of arrays; a step appends an array, or writes into one.
Only operations that hand a NaN on are used, and so NaN in one source cell shows which
cells depend on it, whatever the other values are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

Pool = list[Any]
Step = Callable[[Pool], None]


def appended(make: Callable[[Pool], Any]) -> Step:
    return lambda pool: pool.append(make(pool))


def unary(draw: st.DrawFn, pool: Pool) -> Step:
    n = draw(st.integers(0, len(pool) - 1))
    function = draw(
        st.sampled_from(
            [
                np.negative,
                lambda x: x * 2 + 1,
                lambda x: x.T,
                lambda x: x.ravel(),
                lambda x: x.flatten(),
                lambda x: x.copy(),
                lambda x: x.reshape(-1),
                lambda x: np.flip(x),
                lambda x: np.roll(x, 1),
                lambda x: x[None],
                lambda x: np.squeeze(x),
                lambda x: np.tile(x, 2),
                lambda x: np.concatenate([np.ravel(x), np.ravel(x)[:2]]),
                lambda x: np.broadcast_to(x, (2, *np.shape(x))),
                lambda x: np.atleast_2d(x),
                lambda x: x.cumsum(),
                lambda x: np.stack([x, x * 3], axis=-1),
                lambda x: np.pad(x, 1) if np.ndim(x) else x,
                lambda x: np.real(x),
                lambda x: np.split(np.ravel(x), [1])[1],
                lambda x: np.zeros_like(x),
                lambda x: x.astype(np.float32),
                lambda x: np.where(np.ones(np.shape(x), bool), x, 0.0),
            ]
        )
    )
    return appended(lambda pool: function(pool[n]))


def reduction(draw: st.DrawFn, pool: Pool) -> Step:
    n = draw(st.integers(0, len(pool) - 1))
    axis = draw(st.sampled_from([None, *range(np.ndim(pool[n]))]))
    keepdims = draw(st.booleans())
    # NumPy warns of the mean of nothing.
    functions = [np.sum, np.prod, np.mean] if np.size(pool[n]) else [np.sum, np.prod]
    function = draw(st.sampled_from(functions))
    return appended(lambda pool: function(pool[n], axis=axis, keepdims=keepdims))


def binary(draw: st.DrawFn, pool: Pool) -> Step:
    n, m = (draw(st.integers(0, len(pool) - 1)) for _ in range(2))
    function = draw(
        st.sampled_from([np.add, np.multiply, np.maximum, np.matmul, np.multiply.outer])
    )
    return appended(lambda pool: function(pool[n], pool[m]))


def indexing(draw: st.DrawFn, pool: Pool) -> Step:
    n = draw(st.integers(0, len(pool) - 1))
    key = draw(keys(np.shape(pool[n])))
    return appended(lambda pool: pool[n][key])


def assignment(draw: st.DrawFn, pool: Pool) -> Step:
    n = draw(st.integers(0, len(pool) - 1))
    key = draw(keys(np.shape(pool[n])))
    m = draw(st.sampled_from([None, *range(len(pool))]))

    def step(pool: Pool) -> None:
        pool[n][key] = 99.0 if m is None else pool[m]

    return step


def through_a_view(draw: st.DrawFn, pool: Pool) -> Step:
    n = draw(st.integers(0, len(pool) - 1))
    key = draw(arrays.basic_indices(np.shape(pool[n]), allow_newaxis=True))
    m = draw(st.sampled_from([None, *range(len(pool))]))

    def step(pool: Pool) -> None:
        view = pool[n][key]
        view[...] = 99.0 if m is None else pool[m]
        pool.append(view)

    return step


def in_place(draw: st.DrawFn, pool: Pool) -> Step:
    n, m = (draw(st.integers(0, len(pool) - 1)) for _ in range(2))
    key = draw(st.sampled_from([..., slice(1, None), slice(None, -1)]))

    def whole(pool: Pool) -> None:
        pool[n] += pool[m]

    def part(pool: Pool) -> None:
        pool[n][key] *= 2.0

    return draw(st.sampled_from([whole, part]))


def out(draw: st.DrawFn, pool: Pool) -> Step:
    n, m, target = (draw(st.integers(0, len(pool) - 1)) for _ in range(3))
    size = np.size(pool[target])
    mask = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool)
    mask = mask.reshape(np.shape(pool[target]))

    def step(pool: Pool) -> None:
        if not np.ndim(pool[target]):
            raise ValueError("numbers are no targets")
        np.add(pool[n], pool[m], out=pool[target])

    def masked(pool: Pool) -> None:
        if not np.ndim(pool[target]):
            raise ValueError("numbers are no targets")
        np.multiply(pool[n], pool[m], out=pool[target], where=mask)

    def summed(pool: Pool) -> None:
        if not np.ndim(pool[target]):
            raise ValueError("numbers are no targets")
        np.sum(pool[n], axis=0, out=pool[target])

    return draw(st.sampled_from([step, masked, summed]))


def write(draw: st.DrawFn, pool: Pool) -> Step:
    n, m = (draw(st.integers(0, len(pool) - 1)) for _ in range(2))
    function = draw(
        st.sampled_from(
            [
                lambda x, y: np.copyto(x, y),
                lambda x, y: np.put(x, [0, -1], y),
                lambda x, y: np.add.at(x, [0, -1, 0], np.ravel(y)[0]),
                lambda x, y: x.fill(3.0),
                lambda x, y: np.fill_diagonal(x, y),
            ]
        )
    )

    def step(pool: Pool) -> None:
        if not np.ndim(pool[n]):
            raise ValueError("numbers are not written to")
        pool[n][:0] = 0.0  # numpy's `at` writes to arrays that are read-only
        function(pool[n], pool[m])

    return step


def keys(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    basic = arrays.basic_indices(shape, allow_newaxis=True)
    if not shape or 0 in shape:
        return basic
    masks = arrays.arrays(np.bool_, shape[:1])
    return basic | arrays.integer_array_indices(shape, result_shape=st.just((2,))) | masks


KINDS = (
    unary,
    unary,
    reduction,
    binary,
    indexing,
    assignment,
    through_a_view,
    in_place,
    out,
    write,
)
ERRORS = (ValueError, TypeError, IndexError)
MAX_CELLS = 60


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[np.ndarray], list[tuple[Step, bool]]]:
    """Sources, and steps with whether numpy carries them out (or raises one of `ERRORS`)."""
    shapes = arrays.array_shapes(min_dims=1, max_dims=3, max_side=3)
    sources = [
        np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape) / 7
        for shape in draw(st.lists(shapes, min_size=1, max_size=2))
    ]
    return sources, completed(draw, sources, KINDS, draw(st.integers(1, 7)))


def completed(
    draw: st.DrawFn, sources: list[np.ndarray], kinds: Any, length: int
) -> list[tuple[Step, bool]]:
    """Steps that were tried on the way, each with whether it works."""
    pool = [source.copy() for source in sources]
    steps = []
    for _ in range(length):
        step = draw(st.sampled_from(kinds))(draw, pool)
        before = len(pool)
        try:
            step(pool)
        except ERRORS:
            steps.append((step, False))
            continue
        if max((np.size(array) for array in pool[before:]), default=0) > MAX_CELLS:
            pool.pop()
            continue
        steps.append((step, True))
    return steps


def value_moves(draw: st.DrawFn, pool: Pool) -> Step:
    n, m = (draw(st.integers(0, len(pool) - 1)) for _ in range(2))
    bound = draw(st.floats(0, 12))
    axis = draw(st.sampled_from([None, 0, -1]))
    function = draw(
        st.sampled_from(
            [
                lambda x, y: np.sort(x, axis=axis),
                lambda x, y: np.partition(x, 0, axis=None),
                lambda x, y: x[plain(x) > bound],
                lambda x, y: np.where(plain(x) > bound, x, y),
                lambda x, y: np.compress(np.ravel(plain(x)) > bound, x),
                lambda x, y: np.extract(plain(x) > bound, x),
                lambda x, y: np.take(x, [0, -1]),
                lambda x, y: np.insert(x, 0, y),
                lambda x, y: np.delete(x, 0),
                lambda x, y: np.tril(x),
                lambda x, y: x.copy(),
            ]
        )
    )
    return appended(lambda pool: function(pool[n], pool[m]))


def plain(array: Any) -> np.ndarray:
    """The cells of either kind of array, to look at."""
    return array if isinstance(array, np.ndarray | np.generic) else array.values


@st.composite
def moves(draw: st.DrawFn) -> tuple[list[np.ndarray], list[tuple[Step, bool]]]:
    """Programs that move cells, and write constants that no source has."""
    first = np.arange(1.0, 7.0)[draw(st.permutations(range(6)))].reshape(2, 3)
    second = np.arange(7.0, 11.0)[draw(st.permutations(range(4)))]
    sources = [first, second]
    kinds = (value_moves, value_moves, indexing, assignment, through_a_view)
    return sources, completed(draw, sources, kinds, draw(st.integers(1, 6)))


def run(sources: list[Any], steps: list[tuple[Step, bool]]) -> Pool:
    """The arrays after the program."""
    pool = list(sources)
    for step, works in steps:
        if works:
            step(pool)
    return pool
