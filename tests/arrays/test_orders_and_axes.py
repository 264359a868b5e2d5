"""Orders in memory, axes of all kinds and tracked indices, against values and changed cells."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

from predtrace.arrays.capture.call import Operand, UntrackedCallError
from predtrace.arrays.capture.capture import capture_call
from predtrace.arrays.capture.rule import numpy_function
from tests.arrays.chosen import captured_with, claimed, laid_out, marked
from tests.arrays.perturbation import changed_by

ORDERED = [("ravel", ()), ("reshape", ((2, 6),)), ("reshape", ((3, 2, 2),)), ("copy", ())]


@pytest.mark.parametrize("layout", ["C", "F", "reversed", "strided", "turned"])
@pytest.mark.parametrize(
    ("name", "rest", "order"),
    [
        (name, rest, order)
        for name, rest in ORDERED
        for order in ("C", "F", "A", "K", "a")
        if (name, order) != ("reshape", "K")  # numpy refuses it
    ],
)
def test_orders(name: str, rest: Any, order: str, layout: str) -> None:
    cells = marked((2, 3, 2), 0, layout)
    if layout == "turned":
        cells = marked((3, 2, 2), 0).transpose(1, 0, 2)
        cells = cells - cells.min() + marked((), 0)
    function = numpy_function(name)
    captured = captured_with(function, (cells, *rest), {"order": order}, {0})
    found = function(cells, *rest, order=order)
    places = {float(cells[cell]): cell for cell in np.ndindex(cells.shape)}
    truth = {(0, cell, places[float(found[cell])]) for cell in np.ndindex(found.shape)}
    assert claimed(captured, 0) == truth


def test_cells_that_share_memory_have_no_order() -> None:
    spread = np.broadcast_to(np.arange(3.0), (2, 3))
    assert len(claimed(captured_with(np.ravel, (spread,), {"order": "C"}, {0}), 0)) == 6
    with pytest.raises(UntrackedCallError, match="share memory"):
        captured_with(np.ravel, (spread,), {"order": "K"}, {0})


SORTED = [
    (np.sort, {}),
    (np.sort, {"axis": 0, "kind": "heapsort"}),
    (np.sort, {"axis": -2, "stable": True}),
    (np.sort, {"axis": None}),
    (np.partition, {"kth": (0, 2)}),
    (np.partition, {"kth": 1, "axis": 0}),
    (np.partition, {"kth": -1, "axis": None}),
    (np.unique, {}),
    (np.unique_values, {}),
    (np.sort_complex, {}),
]


@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
@pytest.mark.parametrize(("function", "options"), SORTED)
def test_cells_that_values_move(function: Any, options: dict[str, Any], layout: str) -> None:
    cells = laid_out(np.random.default_rng(5).permutation(12).reshape(3, 4) + 0.5, layout)
    captured = captured_with(function, (cells,), options, {0})
    found = captured.outputs[0]
    places = {float(cells[cell]): cell for cell in np.ndindex(cells.shape)}
    assert claimed(captured, 0) == {
        (0, cell, places[float(np.real(found[cell]))]) for cell in np.ndindex(found.shape)
    }


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_unique_slices(axis: int) -> None:
    cells = np.array([[1.0, 2.0, 1.0], [3.0, 4.0, 3.0], [1.0, 2.0, 1.0]])
    captured = captured_with(
        np.unique,
        (cells,),
        {"axis": axis, "return_index": True, "return_inverse": True, "return_counts": True},
        {0},
    )
    truth = set()
    values, _, inverse, _ = captured.outputs
    slices, groups = np.moveaxis(cells, axis, 0), np.moveaxis(values, axis, 0)
    for group, slice_ in itertools.product(range(len(groups)), range(len(slices))):
        same = np.array_equal(groups[group], slices[slice_])
        for k in range(3):
            source = (slice_, k) if axis in (0, -2) else (k, slice_)
            if same:
                place = (group, k) if axis in (0, -2) else (k, group)
                truth |= {(0, place, source), (1, (group,), source), (3, (group,), source)}
            if group == 0:
                truth.add(
                    (
                        2,
                        tuple(np.argwhere(np.arange(3).reshape(inverse.shape) == slice_)[0]),
                        source,
                    )
                )
    assert claimed(captured, 0) == {(o, out, tuple(map(int, source))) for o, out, source in truth}


GENERALISED = [
    (
        np.matmul,
        (2, 3, 3),
        (2, 3, 3),
        [(-2, -1), (-1, -2), (0, 1), (1, 0), (2, 0)],
        [(-2, -1), (0, 2)],
    ),
    (np.matmul, (3,), (2, 3, 2), [(0,)], [(-1,), (0,)]),
    (np.matvec, (2, 2, 2), (2, 2), [(0, 1), (-1, 0)], [(0,), (-1,)]),
    (np.vecmat, (2, 2), (2, 2, 2), [(0,), (-1,)], [(0,), (-1,)]),
    (np.vecdot, (3, 2, 3), (3, 2, 3), [(0,), (-1,), 2], [()]),
]


@pytest.mark.parametrize(("function", "left", "right", "first", "last"), GENERALISED)
def test_axes_of_generalised_functions(
    function: Any, left: Any, right: Any, first: Any, last: Any
) -> None:
    rng = np.random.default_rng(1)
    arrays = [0.1 + rng.random(left), 0.1 + rng.random(right)]
    tried = 0
    seconds = first if left == right else list(itertools.permutations(range(-len(right), 0), 2))
    if function is np.matvec:
        seconds = [(0,), (-1,)]
    for axes in itertools.product(first, seconds, last):
        try:
            function(*arrays, axes=list(axes))
        except ValueError:
            continue  # sizes do not fit
        tried += 1
        captured = captured_with(function, arrays, {"axes": list(axes)}, {0, 1})
        for position in range(2):
            seen = changed_by(
                lambda changed, axes=axes: function(*changed, axes=list(axes)), arrays, position
            )
            assert claimed(captured, position) == seen, (axes, position)
    assert tried >= 4


def test_axes_that_are_kept() -> None:
    arrays = [np.random.default_rng(1).random((2, 3, 4)) for _ in range(2)]
    for options in ({"axis": 1}, {"axis": -2}, {"axes": [0, 0, 0]}, {"axes": [(1,), (1,), (1,)]}):
        options = {**options, "keepdims": True}
        captured = captured_with(np.vecdot, arrays, options, {0, 1})
        for position in range(2):
            seen = changed_by(
                lambda changed, options=options: np.vecdot(*changed, **options), arrays, position
            )
            assert claimed(captured, position) == seen, (options, position)


@pytest.mark.parametrize(
    ("method", "rest", "options"),
    [
        ("reduce", (), {"axis": (0, -1), "keepdims": True}),
        ("reduce", (), {"axis": -1, "initial": 2.0, "where": np.array([[True], [False], [True]])}),
        ("reduce", (), {"axis": None, "dtype": np.float32}),
        ("accumulate", (), {"axis": -2}),
        ("reduceat", ([0, 2, 1],), {"axis": -1}),
        ("reduceat", ([1, 0],), {"axis": 0, "dtype": np.float32}),
        ("outer", (np.array([1.0, 2.0]),), {"dtype": np.float32}),
        ("__call__", (np.array([[1.0], [2.0], [3.0]]),), {"order": "F", "dtype": np.float32}),
        ("__call__", (3.0,), {"casting": "unsafe", "subok": False}),
    ],
)
@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_methods_of_universal_functions(
    method: str, rest: Any, options: dict[str, Any], layout: str
) -> None:
    for ufunc in (np.add, np.multiply, np.hypot):
        arrays = [laid_out(0.2 + np.random.default_rng(2).random((3, 4)), layout)]
        operand = Operand(0, arrays[0])
        called = ufunc if method == "__call__" else getattr(ufunc, method)
        captured = capture_call(ufunc, method, (operand, *rest), options)
        seen = changed_by(
            lambda changed, called=called: called(*changed, *rest, **options), arrays, 0
        )
        assert claimed(captured, 0) == seen, ufunc


def test_tracked_indices_of_methods() -> None:
    cells, places = np.zeros((3, 2)), np.array([2, 0, 2])
    captured = captured_with(np.put, (cells, places, [7.0]), {}, {0, 1})
    assert claimed(captured, 1) == {(0, (0, 0), (1,)), (0, (1, 0), (2,))}
    call = capture_call(
        np.add, "at", (Operand(0, cells), Operand(1, places), Operand(2, np.ones(2))), {}
    )
    met = {(2, 0), (0, 1), (2, 2)}
    assert claimed(call, 1) == {(0, (row, k), (n,)) for row, n in met for k in range(2)}
    assert claimed(call, 2) == {(0, (row, k), (k,)) for row, _ in met for k in range(2)}
    key = (Operand(1, places), 1)
    call = capture_call(np.add, "at", (Operand(0, cells), key, 1.0), {})
    assert claimed(call, 1) == {(0, (row, 1), (n,)) for row, n in met}
    starts = Operand(1, np.array([0, 2, 1]))
    call = capture_call(np.add, "reduceat", (Operand(0, np.arange(4.0)), starts), {})
    assert claimed(call, 1) == {
        (0, (0,), (0,)),
        (0, (0,), (1,)),
        (0, (1,), (1,)),
        (0, (1,), (2,)),
        (0, (2,), (2,)),
    }


def test_numbers_in_lists_of_a_key() -> None:
    cells = marked((3, 4), 0)
    for key, row in (([Operand(1, np.array(2)), 1],), 0), (([1, Operand(1, np.array(2))],), 1):
        captured = capture_call(operator.getitem, "__call__", (Operand(0, cells), key), {})
        assert claimed(captured, 1) == {(0, (row, k), ()) for k in range(4)}
        assert claimed(captured, 0) == {
            (0, (r, k), (source, k)) for r, source in ((row, 2), (1 - row, 1)) for k in range(4)
        }
    key = ([0, Operand(1, np.array(2))], [3, 1])
    captured = capture_call(operator.getitem, "__call__", (Operand(0, cells), key), {})
    assert claimed(captured, 1) == {(0, (1,), ())}
    one = (Operand(1, np.array(True)), slice(1, 2))
    captured = capture_call(operator.getitem, "__call__", (Operand(0, cells), one), {})
    assert captured.outputs[0].shape == (1, 1, 4)
    assert claimed(captured, 1) == {(0, (0, 0, k), ()) for k in range(4)}
