"""Black boxes: annotated execution and probing against all changes that are possible."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predtrace import arrays
from predtrace.arrays import Quality
from predtrace.errors import ArrayLineageError

X = np.array([3.0, 1.0, 2.0])
DOMAIN = (0.0, 1.0, 2.0)
SIZE = 3

# Random functions: statements that set output cells, in branches and loops


def expressions(control: bool) -> st.SearchStrategy[Any]:
    leaves = st.tuples(st.just("in"), st.integers(0, SIZE - 1)) | st.tuples(
        st.just("out"), st.integers(0, SIZE - 1)
    )
    leaves |= st.sampled_from([("const", 1.0), ("const", 2.0)])
    names = ["+", "-", "*", "<", "abs", *(["max", "python sqrt"] if control else [])]
    return st.recursive(
        leaves, lambda inner: st.tuples(st.sampled_from(names), inner, inner), max_leaves=4
    )


def bodies(control: bool) -> st.SearchStrategy[Any]:
    put = st.tuples(st.just("set"), st.integers(0, SIZE - 1), expressions(control))
    if not control:
        return st.lists(put, min_size=1, max_size=5)
    return st.lists(
        st.recursive(
            put,
            lambda inner: st.tuples(
                st.just("if"),
                expressions(control),
                st.lists(inner, max_size=2),
                st.lists(inner, max_size=2),
            ),
            max_leaves=4,
        ),
        min_size=1,
        max_size=3,
    )


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "<": lambda x, y: (x < y) * 1.0,
    "abs": lambda x, y: abs(x) + y,
    "max": max,
    "python sqrt": lambda x, y: math.sqrt(abs(float(x))) + y,
}


def evaluated(expression: Any, a: Any, out: Any) -> Any:
    kind, *rest = expression
    if kind == "const":
        return rest[0]
    if kind in ("in", "out"):
        return (a if kind == "in" else out)[rest[0]]
    return OPERATORS[kind](*(evaluated(part, a, out) for part in rest))


def executed(body: Any, a: Any, out: Any) -> None:
    for kind, *rest in body:
        if kind == "set":
            out[rest[0]] = evaluated(rest[1], a, out)
        else:
            executed(rest[1] if evaluated(rest[0], a, out) > 0 else rest[2], a, out)


def function_of(body: Any) -> Callable[[Any], Any]:
    def function(a: Any) -> Any:
        out = np.zeros(SIZE)
        executed(body, a, out)
        return out

    return function


def asked(function: Any, x: np.ndarray, **how: Any) -> tuple[list[set[int]], arrays.Answer]:
    """Per output cell the input cells, and an answer for its label."""
    with arrays.tracking() as t:
        result = arrays.black_box(function, **how)(t.array("a", x))
    np.testing.assert_array_equal(result.values, function(x.copy()))
    answers = [result.lineage.backward(o, to="a") for o in np.ndindex(result.shape)]
    return [set(answer.cells().ravel().tolist()) for answer in answers], answers[0]


def possible(function: Any, x: np.ndarray, others: Any) -> list[set[int]]:
    """The cells that change each output cell when they alone are changed."""
    before = function(x.copy())
    found: list[set[int]] = [set() for _ in before]
    for cell, value in itertools.product(range(len(x)), others):
        changed = x.copy()
        changed[cell] = value
        for o in np.flatnonzero(function(changed) != before):
            found[o].add(cell)
    return found


inputs = st.lists(st.sampled_from(DOMAIN), min_size=SIZE, max_size=SIZE).map(np.array)


@given(bodies(control=True), inputs)
@settings(max_examples=80, deadline=None)
def test_values_that_decide_give_a_superset(body: Any, x: np.ndarray) -> None:
    function = function_of(body)
    found, answer = asked(function, x)
    for ours, real in zip(found, possible(function, x, DOMAIN), strict=True):
        assert ours >= real
    assert answer.label in (Quality.PRECISE, Quality.SUPERSET)
    observed, answer = asked(function, x, control="ignored")
    assert answer.label in (Quality.PRECISE, Quality.OBSERVED)
    assert all(less <= more for less, more in zip(observed, found, strict=True))


@given(bodies(control=False), inputs)
@settings(max_examples=100, deadline=None)
def test_without_decisions_lineage_is_what_was_computed_with(body: Any, x: np.ndarray) -> None:
    function = function_of(body)
    found, answer = asked(function, x)
    assert answer.label is Quality.PRECISE
    # every cell's sources, statement by statement
    came_from: list[set[int]] = [set() for _ in range(SIZE)]

    def sources(expression: Any) -> set[int]:
        kind, *rest = expression
        if kind in ("in", "out"):
            return {rest[0]} if kind == "in" else came_from[rest[0]]
        return set().union(*map(sources, rest)) if kind != "const" else set()

    for _, place, expression in body:
        came_from[place] = sources(expression)
    assert found == came_from


@given(bodies(control=True), inputs)
@settings(max_examples=40, deadline=None)
def test_probing_sees_only_what_is_there(body: Any, x: np.ndarray) -> None:
    function = function_of(body)
    found, answer = asked(function, x, how="probe")
    assert answer.label is Quality.OBSERVED
    assert "experiments" in answer.reasons[0]
    superset = asked(function, x)[0]
    assert all(seen <= all_ for seen, all_ in zip(found, superset, strict=True))
    for seen, real in zip(found, possible(function, x, [np.nan, 0.0]), strict=True):
        assert seen >= real


def test_loops_over_cells() -> None:
    @arrays.black_box
    def smoothed(a: Any, weight: float = 0.5) -> Any:
        result = np.zeros(len(a))
        for k in range(len(a)):
            left = a[k - 1] if k > 0 else 0.0
            result[k] = weight * left + (1 - weight) * a[k]
        return result

    np.testing.assert_array_equal(smoothed(X), [1.5, 2.0, 1.5])
    with arrays.tracking() as t:
        result = smoothed(t.array("a", X), weight=0.25) + 1
    answer = result.lineage.backward((2,), to="a")
    assert (answer.cells().ravel().tolist(), answer.label) == ([1, 2], Quality.PRECISE)
    assert t.store.catalogue.operations[1].args == '{"0":{"input":0},"weight":0.25}'


def test_results_of_several_arrays_and_numbers() -> None:
    @arrays.black_box
    def both(a: Any, b: Any) -> Any:
        return [a * b[0], sum(b)]

    with arrays.tracking() as t:
        a, b = t.array("a", X), t.array("b", np.ones(2))
        product, total = both(a, b)
        assert total.is_number
        assert product.lineage.backward((1,), to="b").cells().tolist() == [[0]]
        assert total.lineage.backward((), to="b").count() == 2
        assert total.lineage.backward((), to="a").count() == 0
        # a number in, a number out
        half = arrays.black_box(lambda x: x / 2)(total)
        assert half.is_number
        assert half.lineage.backward((), to="b").count() == 2


class Model:
    """Fitted once; its prediction is code that takes floats only."""

    def __init__(self) -> None:
        self.weights = np.array([2.0, 0.0, -1.0])

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return np.linalg.multi_dot([rows.astype(np.float64), np.eye(3), self.weights]).view(float)


def test_a_model_that_takes_floats_only() -> None:
    model, rows = Model(), np.arange(6.0).reshape(2, 3)
    with arrays.tracking() as t:
        given = t.array("rows", rows)
        predicted = arrays.black_box(model.predict, how="probe")(given)
        mean = predicted.mean()
    answer = predicted.lineage.backward((1,), to="rows")
    # NaN shows also the weight that is zero
    assert answer.cells().tolist() == [[1, 0], [1, 1], [1, 2]]
    # the weakest label on the way is the answer's
    assert mean.lineage.backward((), to="rows").label is Quality.OBSERVED
    assert mean.lineage.backward((), to=predicted).label is Quality.PRECISE


def test_everything_from_everything() -> None:
    with arrays.tracking() as t:
        a = t.array("a", X)
        result = arrays.black_box(np.linalg.norm, how="everything")(a)
    answer = result.lineage.backward((), to="a")
    assert (answer.count(), answer.label) == (3, Quality.SUPERSET)


def no_objects(a: Any) -> Any:
    return np.linalg.solve(np.eye(len(a)), a)


def depends_on_type(a: Any) -> Any:
    return a * (2.0 if a.dtype == float else 3.0)


def writes(a: Any) -> Any:
    a[0] = 1.0
    return a


def random(a: Any) -> Any:
    return a + np.random.default_rng().random()


@pytest.mark.parametrize(
    ("function", "how", "message"),
    [
        (no_objects, {}, 'how="probe"'),
        (depends_on_type, {}, "something else"),
        (writes, {}, "writes into"),
        (writes, {"how": "probe"}, "writes into"),
        (random, {}, "deterministic"),
        (random, {"how": "probe"}, "different results"),
        (lambda a: {"a": a}, {}, "object"),
        (lambda a: a, {"limit": 2}, "limit=3"),
        (lambda a: a, {"how": "probe", "limit": 2}, "limit=3"),
        (lambda a: a, {"how": "guess"}, "guess"),
    ],
)
def test_what_is_refused(function: Any, how: Any, message: str) -> None:
    with arrays.tracking() as t, pytest.raises(ArrayLineageError, match=message):
        arrays.black_box(function, **how)(t.array("a", X))


def test_probing_of_other_types() -> None:
    with arrays.tracking() as t:
        picked = arrays.black_box(lambda a, k: a[k], how="probe")
        a, k = (
            t.array("a", np.array([4, 5, 6], np.uint8)),
            t.array("k", np.array([True, False, True])),
        )
        found = picked(a, k)
        assert found.lineage.backward((1,), to="a").cells().tolist() == [[2]]
        with pytest.raises(ArrayLineageError, match="U1"):
            picked(t.array("text", np.array(["a", "b", "c"])), k)


def test_tracked_arrays_must_be_given() -> None:
    with arrays.tracking() as t:
        a, b = t.array("a", X), t.array("b", X)
        for how in ("annotate", "probe", "everything"):
            with pytest.raises(ArrayLineageError, match="not given"):
                arrays.black_box(lambda a: a + b, how=how)(a)


def test_experiments_that_show_nothing_are_counted() -> None:
    def strict(a: Any) -> Any:
        if np.isnan(a).any():
            raise ValueError("NaN")
        return a[a > 0]

    with arrays.tracking() as t:
        result = arrays.black_box(strict, how="probe")(t.array("a", X))
    reason = result.lineage.backward((0,), to="a").reasons[0]
    assert "which failed" in reason
    assert "another shape" in reason
