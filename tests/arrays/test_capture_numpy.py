"""The lineage of every tracked numpy function against experiments."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from predtrace.arrays.capture.capture import Captured, capture
from predtrace.arrays.capture.registry import (
    RULES,
    SHAPE_ONLY,
    UNSUPPORTED,
    find_rule,
    rules_by_function,
)
from predtrace.arrays.capture.rule import Family, numpy_function
from predtrace.arrays.quality import Quality
from tests.arrays.examples import EXAMPLES, Arguments
from tests.arrays.perturbation import changed_cells

BY_VALUE = (Family.ORDER, Family.SET, Family.CHOICE, Family.GROUP)
"""Where values decide which cells contribute, changing a value changes the lineage itself."""

FLAT = {
    "corrcoef": "a variable's correlation with itself is one",
    "allclose": "cells that are far apart stay so",
    "array_equiv": "unequal arrays stay unequal",
    "array_equal": "unequal arrays stay unequal",
    "isclose": "random cells are not close",
    "all": "one cell that is not zero does not decide",
    "any": "the other cells are not zero",
    "count_nonzero": "",
    "iscomplex": "floats are real",
    "isreal": "floats are real",
    "isneginf": "finite values only",
    "isposinf": "finite values only",
    "imag": "zero for floats",
    "angle": "zero or pi",
    "ptp": "",
    "roots": "",
    "linalg.matrix_rank": "stays full",
    "linalg.slogdet": "the sign is one",
    "linalg.lstsq": "the rank stays full",
    "linalg.cond": "",
    "unwrap": "most steps need no correction",
    "searchsorted": "",
    "digitize": "",
    "piecewise": "a superset",
    "linalg.qr": "a superset",
    "apply_along_axis": "a superset",
    "polydiv": "remainder: a superset",
}
"""Functions whose outputs an experiment need not change, and why: no cell may be missing still."""

NUMBERED = [
    (name, number) for name, examples in EXAMPLES.items() for number in range(len(examples))
]
CASES = [pytest.param(*case, id="{}-{}".format(*case)) for case in NUMBERED]
UNDEFINED = "empty_like"
"""Gives whatever is in memory."""
NOT_BY_CHANGES = {UNDEFINED, "trim_zeros", "interp"}
"""A change of a cell shows nothing of their lineage, as of functions that choose by values."""
NO_NUMBERS = [("ix_", 1)]
"""Examples of indices alone, which cannot be changed a little."""


def arguments(name: str, number: int, seed: int = 7) -> Arguments:
    rng = np.random.default_rng(seed)
    # values away from zero, and no two of them close to each other
    return EXAMPLES[name][number](
        lambda *shape: rng.permutation(
            0.11
            + 0.8
            * (np.arange(int(np.prod(shape))) + rng.random(int(np.prod(shape))) / 2)
            / max(int(np.prod(shape)), 1)
        ).reshape(shape)
    )


def observed(name: str, args: Any, kwargs: Any) -> tuple[Captured, list[np.ndarray]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return capture(numpy_function(name), *args, **kwargs), arrays_in((args, kwargs))


def arrays_in(tree: Any) -> list[np.ndarray]:
    if isinstance(tree, np.ndarray):
        return [tree]
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    return [a for item in tree for a in arrays_in(item)] if isinstance(tree, (tuple, list)) else []


def replaced(tree: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(tree, np.ndarray):
        return arrays.pop(0)
    if isinstance(tree, (tuple, list)):
        return type(tree)(replaced(item, arrays) for item in tree)
    if isinstance(tree, dict):
        return {key: replaced(item, arrays) for key, item in tree.items()}
    return tree


def lineage_pairs(captured: Captured, operand: int) -> set[Any]:
    pairs = set()
    for output, result in enumerate(captured.outputs):
        table = captured.lineage(operand, output).checked().decompress().pairs
        for row in table.tolist():
            pairs.add((output, tuple(row[: result.ndim]), tuple(row[result.ndim :])))
    return pairs


@pytest.mark.parametrize(("name", "number"), CASES)
def test_against_changed_cells(name: str, number: int) -> None:
    args, kwargs = arguments(name, number)
    captured, arrays = observed(name, args, kwargs)
    function, rule = numpy_function(name), captured.rule

    def run(changed: list[np.ndarray]) -> Any:
        left = list(changed)
        new_args, new_kwargs = replaced((args, kwargs), left)
        result = function(*new_args, **new_kwargs)
        return new_args[0] if rule.writes else result

    by_changes = rule.family not in BY_VALUE and name not in NOT_BY_CHANGES
    compared = 0
    for array, seen in enumerate(changed_cells(run, arrays, np.random.default_rng(3))):
        if arrays[array].dtype.kind not in "fc" or name == UNDEFINED:
            continue
        claimed = lineage_pairs(captured, array)
        if by_changes:
            compared += 1
            assert seen <= claimed, f"operand {array}: missing {sorted(seen - claimed)[:5]}"
            if name not in FLAT and captured.quality(array) is Quality.PRECISE:
                assert claimed == seen, f"operand {array}: too many {sorted(claimed - seen)[:5]}"
    assert bool(compared) == (by_changes and (name, number) not in NO_NUMBERS)


@pytest.mark.parametrize(
    ("name", "number"), [case for case in CASES if case.values[0] != UNDEFINED]
)
def test_results_are_numpys_own(name: str, number: int) -> None:
    (args, kwargs), (again, options) = arguments(name, number), arguments(name, number)
    captured, _ = observed(name, args, kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = numpy_function(name)(*again, **options)
    if captured.rule.writes:
        expected = again[0]
        np.testing.assert_array_equal(captured.outputs[0], expected)
    else:
        assert type(captured.result) is type(expected)
        for own, numpys in zip(captured.outputs, arrays_in_result(expected), strict=True):
            assert own.dtype == numpys.dtype
            np.testing.assert_array_equal(own, numpys)
    if not captured.rule.writes:
        for own, numpys in zip(arrays_in((args, kwargs)), arrays_in((again, options)), strict=True):
            np.testing.assert_array_equal(own, numpys)


def arrays_in_result(result: Any) -> list[np.ndarray]:
    if isinstance(result, (tuple, list)):
        return [a for item in result for a in arrays_in_result(item)]
    return [np.asarray(result)]


def test_every_rule_has_an_example() -> None:
    names = {name for rule in RULES for name in rule.names.split()}
    assert names == set(EXAMPLES)


def namespace() -> dict[str, Any]:
    found = {}
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, (type, ModuleType)):
                found[prefix + name] = value
    return found


def test_every_numpy_function_has_a_rule_or_a_reason() -> None:
    reasons = {name for names in UNSUPPORTED.values() for name in names.split()}
    shape_only = set(SHAPE_ONLY.split())
    rest = [
        name
        for name, function in namespace().items()
        if name not in reasons | shape_only and find_rule(function) is None
    ]
    assert rest == []


def test_reasons_are_for_functions_without_a_rule() -> None:
    reasons = [name for names in UNSUPPORTED.values() for name in names.split()]
    assert len(reasons) == len(set(reasons))
    for name in reasons:
        function = numpy_function(name) if name != "row_stack" else None
        assert function not in rules_by_function(), name
