"""Universal functions on float64 and their methods, against experiments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from predtrace.arrays.capture.capture import capture
from tests.arrays.perturbation import changed_cells
from tests.arrays.test_capture_numpy import lineage_pairs

NO_FLOATS = {
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_count", "invert", "left_shift"),
    *("right_shift", "gcd", "lcm", "isnat", "ldexp"),
}
"""They refuse float64, or take integers besides."""

FLAT = {
    **dict.fromkeys(("isfinite", "isinf", "isnan"), "all values are finite"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), "one decides"),
    **dict.fromkeys(("equal", "not_equal"), "random values are never equal"),
    **dict.fromkeys(("nextafter", "spacing"), "changes are below the tolerance"),
    "heaviside": "the second operand is the value at zero only",
}
"""What experiments need not change, and why; no cell may be missing still."""

UFUNCS = sorted(
    {
        value.__name__: value
        for name in np.__all__
        if isinstance(value := getattr(np, name), np.ufunc) and value.signature is None
    }.items()
)
FLOAT_UFUNCS = [pytest.param(ufunc, id=name) for name, ufunc in UFUNCS if name not in NO_FLOATS]


def check(run: Callable[..., Any], ufunc: np.ufunc, captured: Any, arrays: Any) -> None:
    found = changed_cells(lambda changed: run(*changed), arrays, np.random.default_rng(5))
    for operand, seen in enumerate(found):
        claimed = lineage_pairs(captured, operand)
        assert seen <= claimed
        # of two outputs (modf, frexp), one may not show the change
        shown = {pair[1:] for pair in seen}
        if ufunc.__name__ not in FLAT:
            assert {pair[1:] for pair in claimed} == shown


@pytest.mark.parametrize("ufunc", FLOAT_UFUNCS)
def test_calls(ufunc: np.ufunc) -> None:
    rng = np.random.default_rng(11)
    shapes = [(2, 3), (3,)][: ufunc.nin]
    arrays = [0.2 + 0.6 * rng.random(shape) for shape in shapes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        captured = capture(ufunc, *arrays)
        check(ufunc, ufunc, captured, arrays)
        expected = ufunc(*arrays)
    assert type(captured.result) is type(expected)
    for own, numpys in zip(
        captured.outputs, expected if ufunc.nout > 1 else (expected,), strict=True
    ):
        np.testing.assert_array_equal(own, numpys)


METHODS: list[tuple[np.ufunc, str, tuple[Any, ...], dict[str, Any]]] = [
    (np.add, "reduce", (), {"axis": 1}),
    (np.maximum, "reduce", (), {"axis": None, "keepdims": True}),
    (np.add, "reduce", (), {"axis": 0, "where": [[True, False, True], [True, True, False]]}),
    (np.multiply, "accumulate", (), {"axis": 1}),
    (np.add, "reduceat", ([0, 2, 1],), {"axis": 1}),
]


@pytest.mark.parametrize(("ufunc", "method", "rest", "options"), METHODS)
def test_methods(ufunc: np.ufunc, method: str, rest: Any, options: Any) -> None:
    array = np.random.default_rng(1).random((2, 3))
    captured = capture(ufunc, array, *rest, method=method, **options)
    check(lambda a: getattr(ufunc, method)(a, *rest, **options), ufunc, captured, [array])


def test_outer() -> None:
    arrays = [np.random.default_rng(1).random(shape) for shape in ((2,), (2, 2))]
    captured = capture(np.subtract, *arrays, method="outer")
    check(np.subtract.outer, np.subtract, captured, arrays)


def test_at() -> None:
    arrays = [np.random.default_rng(1).random(shape) for shape in ((4,), (3,))]

    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        np.add.at(a, [0, 2, 2], b)
        return a

    captured = capture(np.add, arrays[0], [0, 2, 2], arrays[1], method="at")
    check(run, np.add, captured, arrays)
    np.testing.assert_array_equal(captured.outputs[0], run(arrays[0].copy(), arrays[1]))


def test_functions_of_the_user() -> None:
    ufunc = np.frompyfunc(lambda x, y: x + y, 2, 1)
    captured = capture(ufunc, np.ones((2, 1)), np.ones(3))
    assert len(captured.lineage(0)) == len(captured.lineage(1)) == 1


def test_every_ufunc_is_covered() -> None:
    assert {name for name, _ in UFUNCS} >= NO_FLOATS
    assert len(FLOAT_UFUNCS) == len(UFUNCS) - len(NO_FLOATS)
