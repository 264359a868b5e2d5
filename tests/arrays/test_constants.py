"""Operations that join tracked cells with constants: no constant is ever taken for a cell.

Every case has some arguments tracked and the others constant, of all sorts and of values that
equal the numbers of cells. Tracked cells have values that no constant has, so that the result
itself shows what came from where.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.arrays.chosen import captured_with, claimed, copied, marked

MASK = np.array([True, False, True])
PLACES = np.array([[2], [0]])

JOINS: list[tuple[str, Any, list[tuple[int, ...]], Callable[..., Any], dict[str, Any]]] = [
    # name, function, shapes of what is joined, the positional arguments, the others
    ("concatenate", np.concatenate, [(2, 3), (1, 3)], lambda a, b: ([a, b],), {}),
    ("three", np.concatenate, [(2,), (1,), (3,)], lambda *parts: (parts,), {}),
    ("along an axis", np.concatenate, [(2, 3), (2, 2)], lambda a, b: ((a, b),), {"axis": -1}),
    ("flat", np.concatenate, [(2, 2), (3,)], lambda a, b: ([a, b],), {"axis": None}),
    ("stack", np.stack, [(2, 3), (2, 3)], lambda a, b: ([a, b],), {}),
    ("stack in front", np.stack, [(3,), (3,)], lambda a, b: ([a, b],), {"axis": -1}),
    ("vstack", np.vstack, [(3,), (2, 3)], lambda a, b: ([a, b],), {}),
    ("hstack", np.hstack, [(2, 3), (2, 1)], lambda a, b: ([a, b],), {}),
    ("dstack", np.dstack, [(2, 3), (2, 3)], lambda a, b: ([a, b],), {}),
    ("column_stack", np.column_stack, [(4,), (4, 2)], lambda a, b: ([a, b],), {}),
    ("numbers", np.hstack, [(), (), ()], lambda *parts: (parts,), {}),
    ("append", np.append, [(2, 2), ()], lambda a, b: (a, b), {}),
    ("append rows", np.append, [(2, 2), (1, 2)], lambda a, b: (a, b), {"axis": 0}),
    ("block", np.block, [(2, 2), (2, 1), (1, 3)], lambda a, b, c: ([[a, b], [c]],), {}),
    ("insert", np.insert, [(4,), ()], lambda a, b: (a, 2, b), {}),
    ("insert columns", np.insert, [(2, 3), (2,)], lambda a, b: (a, 1, b), {"axis": 1}),
    ("insert several", np.insert, [(4,), (2,)], lambda a, b: (a, [0, 3], b), {}),
    ("where", np.where, [(3,), (3,)], lambda a, b: (MASK, a, b), {}),
    ("where spread", np.where, [(2, 3), ()], lambda a, b: (MASK, a, b), {}),
    ("where turned", np.where, [(), (2, 1)], lambda a, b: (MASK, a, b), {}),
    ("select", np.select, [(3,), (3,)], lambda a, b: ([MASK, ~MASK], [a, b]), {}),
    ("select default", np.select, [(3,), ()], lambda a, b: ([MASK], [a], b), {}),
    ("choose", np.choose, [(3,), (3,)], lambda a, b: (MASK.astype(int), [a, b]), {}),
    ("choose number", np.choose, [(), (3,)], lambda a, b: (MASK.astype(int), [a, b]), {}),
    ("broadcast", np.broadcast_arrays, [(3,), (2, 1)], lambda a, b: (a, b), {}),
    ("full_like", np.full_like, [(2, 3), (3,)], lambda a, b: (a, b), {"dtype": float}),
]
WRITES: list[tuple[str, Any, list[tuple[int, ...]], Callable[..., Any], dict[str, Any]]] = [
    ("setitem", operator.setitem, [(2, 3), (3,)], lambda a, b: (a, 1, b), {}),
    ("setitem masked", operator.setitem, [(3,), ()], lambda a, b: (a, MASK, b), {}),
    ("setitem placed", operator.setitem, [(4,), (2,)], lambda a, b: (a, [3, 0], b), {}),
    ("copyto", np.copyto, [(3,), (3,)], lambda a, b: (a, b), {"where": MASK}),
    ("place", np.place, [(3,), (2,)], lambda a, b: (a, MASK, b), {}),
    ("putmask", np.putmask, [(3,), (2,)], lambda a, b: (a, MASK, b), {}),
    ("put", np.put, [(2, 2), (2,)], lambda a, b: (a, [3, 0], b), {}),
    ("put_along", np.put_along_axis, [(2, 3), (2, 1)], lambda a, b: (a, PLACES, b, 1), {}),
    ("fill_diagonal", np.fill_diagonal, [(3, 3), ()], lambda a, b: (a, b), {}),
]

CONSTANTS: dict[str, Callable[[int], Any]] = {
    "ones": np.ones,
    "zeros": np.zeros,
    "numbers of cells": lambda n: np.arange(1, n + 1),
    "numbers of cells, floating": lambda n: np.arange(0.0, n),
    "numbers of the others' cells": lambda n: np.arange(n) + 4,
    "NaN": lambda n: np.full(n, np.nan),
    "infinity": lambda n: np.full(n, -np.inf),
    "Booleans": lambda n: np.arange(n) % 2 == 0,
    "small integers": lambda n: np.arange(1, n + 1, dtype=np.int8),
    "half precision": lambda n: np.arange(1, n + 1, dtype=np.float16),
    "below zero": lambda n: -np.arange(n),
}


def cases(joins: Any, always: tuple[int, ...] = ()) -> list[Any]:
    return [
        pytest.param(join, sort, always, id=f"{join[0]}-{sort}")
        for join in joins
        for sort in CONSTANTS
    ]


@pytest.mark.parametrize(("join", "sort", "always"), cases(JOINS) + cases(WRITES, (0,)))
def test_constants_are_no_cells(join: Any, sort: str, always: tuple[int, ...]) -> None:
    _, function, shapes, arguments, options = join
    slots = range(len(shapes))
    choices = [
        chosen
        for count in slots
        for chosen in itertools.combinations(slots, count + 1)
        if set(always) <= set(chosen)
    ]
    assert choices
    layouts = ("C", "F", "reversed", "strided") if sort == "ones" else ("C",)
    for layout, tracked in itertools.product(layouts, choices):
        parts = [
            marked(shape, slot, layout)
            if slot in tracked
            else CONSTANTS[sort](int(np.prod(shape))).reshape(shape)
            for slot, shape in enumerate(shapes)
        ]
        # a number that is no array is the caller's own
        parts = [
            part if part.ndim or slot in tracked else part.item() for slot, part in enumerate(parts)
        ]
        # masks and places are arrays, too, but none of the parts
        args, positions = placed(arguments(*parts), parts)
        captured = captured_with(function, args, options, {positions[slot] for slot in tracked})
        given = arguments(*[np.array(part, float) for part in parts])
        result = function(*given, **options)
        expected = [given[0]] if always else list(result if isinstance(result, tuple) else [result])
        for slot in tracked:
            truth = copied(expected, shapes[slot], slot)
            assert claimed(captured, positions[slot]) == truth, (layout, tracked, slot)


def placed(args: Any, parts: list[Any]) -> tuple[Any, dict[int, int]]:
    """The arguments, and where among all arrays of theirs every part stands."""
    found: list[Any] = []

    def walk(tree: Any) -> None:
        if isinstance(tree, np.ndarray):
            found.append(tree)
        elif isinstance(tree, (list, tuple)):
            for item in tree:
                walk(item)

    walk(args)
    return args, {
        slot: next(k for k, array in enumerate(found) if array is part)
        for slot, part in enumerate(parts)
        if isinstance(part, np.ndarray)
    }


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, complex])
def test_a_type_for_the_result_is_none_for_the_cells(dtype: Any) -> None:
    a, b = marked((20, 10), 0), marked((1, 10), 1)
    for function, args in (
        (np.concatenate, ([a, b],)),
        (np.vstack, ([a, b],)),
        (np.stack, ([a, a],)),
    ):
        captured = captured_with(function, args, {"dtype": dtype, "casting": "unsafe"}, {0})
        assert captured.outputs[0].dtype == dtype
        truth = copied([function(*args)], a.shape, 0)
        if function is np.stack:
            truth = {pair for pair in truth if pair[1][0] == 0}
        assert claimed(captured, 0) == truth


def test_text_among_constants() -> None:
    captured = captured_with(
        np.concatenate, ([np.array(["a", "b"]), np.array(["1", "2"])],), {}, {0}
    )
    assert claimed(captured, 0) == {(0, (0,), (0,)), (0, (1,), (1,))}
