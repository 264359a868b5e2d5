"""Tracked arrays: random programs against numpy and against experiments on the whole program."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings

from predtrace import arrays
from predtrace.arrays import LineageArray, Quality
from predtrace.arrays.capture.call import UntrackedCallError
from predtrace.arrays.tracked.methods import REFUSED
from predtrace.arrays.tracked.operations import carry_out
from predtrace.errors import ArrayLineageError, LineageLostWarning
from tests.arrays.programs import ERRORS, moves, programs, run

X = np.arange(12.0).reshape(3, 4)


def cells(answer: arrays.Answer) -> list[Any]:
    found = [tuple(cell) for cell in answer.cells().tolist()]
    return [cell[0] for cell in found] if answer.where.lo.shape[1] == 1 else found


@given(programs())
@settings(max_examples=80, deadline=None)
def test_random_programs(program: Any) -> None:
    sources, steps = program
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = run([source.copy() for source in sources], steps)
        with arrays.tracking() as t:
            given = [t.array(f"s{n}", source) for n, source in enumerate(sources)]
            pool = list(given)
            for step, works in steps:
                if works:
                    step(pool)
                else:
                    with pytest.raises(ERRORS):
                        step(pool)
        for ours, numpys in zip(pool, expected, strict=True):
            np.testing.assert_array_equal(ours.values, numpys)
            assert ours.dtype == numpys.dtype
        for number, source in enumerate(sources):
            for cell in np.ndindex(source.shape):
                poisoned = [s.copy() for s in sources]
                poisoned[number][cell] = np.nan
                after = run(poisoned, steps)
                for ours, result in zip(pool, after, strict=True):
                    answer = ours.lineage.forward([cell], of=f"s{number}")
                    assert answer.label is Quality.PRECISE
                    np.testing.assert_array_equal(answer.mask(), np.isnan(result))


@given(moves())
@settings(max_examples=40, deadline=None)
def test_moved_cells_come_from_where_their_value_does(program: Any) -> None:
    sources, steps = program
    with arrays.tracking() as t:
        pool = run([t.array(f"s{n}", source) for n, source in enumerate(sources)], steps)
        for moved in pool:
            values = moved.values
            for cell in np.ndindex(values.shape):
                for number, source in enumerate(sources):
                    answer = moved.lineage.backward([cell], to=f"s{number}")
                    expected = np.argwhere(source == values[cell])
                    np.testing.assert_array_equal(answer.cells(), expected)


def test_writes_through_views_are_seen_everywhere() -> None:
    with arrays.tracking() as t:
        a, b = t.array("a", X), t.array("b", np.ones(3))
        column, row = a[:, 1], a[1]
        column[...] = b
        row += 1
        assert cells(a.lineage.backward((1, 1), to="b")) == [1]
        assert cells(a.lineage.backward((1, 1), to="a")) == []
        assert cells(row.lineage.backward((1,), to="b")) == [1]
        assert cells(row.lineage.backward((0,), to="a")) == [(1, 0)]
        assert cells(t.trace("b", a, [0])) == [(0, 1)]


def test_the_imaginary_part_is_half_of_every_cell() -> None:
    with arrays.tracking() as t:
        z, b = t.array("z", np.ones(3, complex)), t.array("b", np.ones(3))
        z.imag[...] = b
        assert cells(z.lineage.backward((1,), to="b")) == [1]
        assert cells(z.lineage.backward((1,), to="z")) == [1]
        np.testing.assert_array_equal(z.values, np.full(3, 1 + 1j))


def test_numbers_are_not_written_to_in_place() -> None:
    with arrays.tracking() as t:
        total = t.array("a", X).sum()
        kept = total
        total += 1
        assert float(kept.values) == 66
        assert float(total.values) == 67
        with pytest.raises(ValueError, match="number"):
            kept[()] = 3.0


def test_a_decorated_function() -> None:
    @arrays.track
    def standardised(table: Any, weights: Any) -> Any:
        """Doc."""
        centred = table - table.mean(axis=0)
        return {"scores": centred @ weights, "width": centred.max()}

    assert standardised.__doc__ == "Doc."
    found = standardised(X, weights=np.ones((4, 2)))
    np.testing.assert_allclose(found["scores"].values, (X - X.mean(axis=0)) @ np.ones((4, 2)))
    scores = found["scores"].lineage
    assert scores.backward((0, 1), to="table").count() == 12
    assert cells(scores.backward((0, 1), to="weights")) == [(k, 1) for k in range(4)]
    assert cells(scores.forward((2, 0), of="weights")) == [(k, 0) for k in range(3)]
    assert found["width"].lineage.backward((), to="weights").count() == 0


@arrays.track
def doubled(a: Any) -> Any:
    return a * 2


@arrays.track
def summed(a: Any, axis: int = 0) -> Any:
    return a.sum(axis=axis)


def test_a_workflow_of_functions_shares_a_store() -> None:
    result = summed(doubled(X))
    assert cells(result.lineage.backward((1,), to="a")) == [(k, 1) for k in range(3)]
    with arrays.tracking() as t:
        first, second = doubled(X), doubled(X[:2])
        # each result is asked about its own parameter
        assert first.lineage.backward((2, 1), to="a").where.shape == (3, 4)
        assert cells(second.lineage.backward((1, 1), to="a")) == [(1, 1)]
        joined = np.concatenate([first, second])
        assert cells(t.trace(joined, second, (4, 1))) == [(1, 1)]
        assert cells(t.trace(first, joined, (2, 1))) == [(2, 1)]
    with arrays.tracking():
        other = doubled(X)
    with pytest.raises(ArrayLineageError, match="another tracking"):
        np.add(first, other)
    with pytest.raises(ArrayLineageError, match="another tracking"):
        summed([first, other])


def test_what_a_function_writes_into_its_arguments() -> None:
    @arrays.track
    def cleared(a: Any, b: Any) -> Any:
        a[0] = 0.0
        return a + b

    x = X.copy()
    result = cleared(x, x)  # one array under two names
    assert x[0].tolist() == [0.0] * 4
    np.testing.assert_array_equal(result.values, 2 * x)
    assert result.lineage.backward((0, 1), to="a").count() == 0
    with pytest.raises(ArrayLineageError, match="shares its memory"):
        cleared(x[1:], x[:-1])


def test_arrays_that_left_are_no_results() -> None:
    @arrays.track
    def filled(a: Any) -> Any:
        result = np.zeros(len(a))
        for index in range(len(a)):
            result[index] = a[index].sum()
        return result

    @arrays.track
    def tracked_all_along(a: Any) -> Any:
        result = np.zeros(len(a), like=a)
        for index in range(len(a)):
            result[index] = a[index].sum()
        return result

    with pytest.raises(ArrayLineageError, match="not tracked"):
        filled(X)
    answer = tracked_all_along(X).lineage.backward((1,), to="a")
    assert cells(answer) == [(1, k) for k in range(4)]
    assert answer.label is Quality.PRECISE


@pytest.mark.parametrize(
    "decide",
    [bool, int, float, complex, operator.index, lambda x: x.item(), lambda x: x.tolist()],
)
def test_values_that_became_pythons_own_make_answers_observed(decide: Any) -> None:
    with arrays.tracking() as t:
        a = t.array("a", np.arange(3))
        before = a * 2
        number = decide(a[1])
        after = t.array("b", np.ones(3)) + number
    assert before.lineage.backward((0,), to="a").label is Quality.PRECISE
    answer = after.lineage.backward((0,), to="a")
    assert (answer.count(), answer.label) == (0, Quality.OBSERVED)
    assert "getitem" in answer.reasons[0]


def test_arrays_that_come_back_make_answers_observed() -> None:
    with arrays.tracking() as t:
        a, b = t.array("a", X), t.array("b", X)
        with pytest.warns(LineageLostWarning, match="'a'"):
            left = np.asarray(a)
        plain, mixed, scaled = b * 2, b * left, b * left[0, 1]
        listed = np.add(b, left[0].tolist())
    assert plain.lineage.backward((0, 0), to="b").label is Quality.PRECISE
    for result in (mixed, scaled, listed):
        assert result.lineage.backward((0, 0), to="b").label is Quality.OBSERVED
    assert mixed.lineage.backward((0, 0), to="a").label is Quality.OBSERVED
    assert not left.flags.writeable
    with arrays.tracking() as t:
        a = t.array("a", X)
        looked_at = a.values * 2
        assert (a * looked_at).lineage.backward((0, 0), to="a").label is Quality.PRECISE
        with pytest.raises(ValueError, match="read-only"):
            a.values[0] = 1


def test_a_store_in_a_folder(tmp_path: Path) -> None:
    with arrays.tracking(tmp_path) as t:
        result = t.array("total", doubled(t.array("data", X)).sum(axis=1))
        piecewise = np.piecewise(result, [result.to_numpy() > 30], [lambda v: v - v.min(), 0])
    store = arrays.open_store(tmp_path)
    assert cells(store.trace("total", "data", (2,))) == [(2, k) for k in range(4)]
    assert cells(store.trace("data", "total", (2, 1))) == [2]
    answer = store.trace(piecewise.name, "data", (2,))
    assert (answer.count(), answer.label) == (12, Quality.OBSERVED)
    assert [operation.name for operation in store.catalogue.operations][:3] == [
        "array",
        "multiply",
        "sum",
    ]
    with (
        arrays.tracking(tmp_path) as again,
        pytest.raises(ArrayLineageError, match="already"),
    ):
        again.array("data", X)


def test_a_superset_is_labelled_with_its_reason() -> None:
    with arrays.tracking() as t:
        result = np.apply_along_axis(np.cumsum, 0, t.array("a", X)) * 2
    answer = result.lineage.backward((0, 1), to="a")
    assert (answer.count(), answer.label) == (3, Quality.SUPERSET)
    assert answer.reasons[0].startswith("apply_along_axis")


def test_functions_without_a_rule() -> None:
    with arrays.tracking() as t:
        a = t.array("a", X)
        with pytest.raises(UntrackedCallError, match="pad"):
            np.pad(a, 1, mode="mean")
    with arrays.tracking(unknown="everything") as t:
        answer = np.pad(t.array("a", X), 1, mode="mean").lineage.backward((0, 0), to="a")
        assert (answer.count(), answer.label) == (12, Quality.SUPERSET)
        assert "pad" in answer.reasons[0]
        with pytest.raises(UntrackedCallError, match="save"):
            np.save("never", t.array("b", X))
        with pytest.raises(UntrackedCallError, match="something else"):
            carry_out(t, lambda a: {"a": a}, "__call__", (t.array("c", X),), {})
    with pytest.raises(ArrayLineageError, match="guess"):
        arrays.Tracking(unknown="guess")


@pytest.mark.parametrize(
    "use",
    [
        lambda a: np.add(a, 1, out=np.zeros((3, 4))),
        lambda a: operator.iadd(np.zeros((3, 4)), a),
        lambda a: np.copyto(np.zeros((3, 4)), a),
        lambda a: np.copyto(dst=a, src=a),
        lambda a: np.save("never", a),
        lambda a: np.array([a, a], like=a),
    ],
)
def test_what_would_lose_lineage_is_refused(use: Any) -> None:
    with arrays.tracking() as t, pytest.raises(UntrackedCallError):
        use(t.array("a", X))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([None]), "object"),
        (np.zeros(2, [("x", float)]), "type"),
        (np.ma.masked_array([1.0]), "masked"),
    ],
)
def test_what_is_no_source(data: Any, message: str) -> None:
    with arrays.tracking() as t, pytest.raises(ArrayLineageError, match=message):
        t.array("a", data)


def test_numpys_attributes_are_offered_or_refused_with_a_reason() -> None:
    with arrays.tracking() as t:
        a = t.array("a", X)
    offered = {name for name in dir(a) if not name.startswith("_")}
    for name in [name for name in dir(np.ndarray) if not name.startswith("_")]:
        assert (name in offered) != (name in REFUSED), name
        if name in REFUSED:
            with pytest.raises(AttributeError, match="not offered"):
                getattr(a, name)


WITHOUT_ARGUMENTS = (
    "all any argmax argmin argsort copy cumprod cumsum diagonal flatten max mean min nonzero prod"
    " ravel squeeze std sum trace transpose var conj conjugate"
)
METHODS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, ()) for name in WITHOUT_ARGUMENTS.split()),
    *(("reshape", shape) for shape in ((4, 3), ((2, 6),), (-1,))),
    *(("transpose", axes) for axes in ((1, 0), ((1, 0),), (None,))),
    ("argpartition", (1,)),
    ("astype", (int,)),
    ("clip", (2, 5)),
    ("compress", ([True, False, True], 0)),
    ("dot", (X.T,)),
    ("repeat", (2, 1)),
    ("round", (1,)),
    ("swapaxes", (0, 1)),
    ("take", ([0, 5],)),
    ("sum", (1,)),
]


@pytest.mark.parametrize(("name", "arguments"), METHODS)
def test_methods_are_numpys(name: str, arguments: Any) -> None:
    with arrays.tracking() as t:
        found = getattr(t.array("a", X / 3), name)(*arguments)
    expected = getattr(X / 3, name)(*arguments)
    for ours, numpys in zip(
        *(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True
    ):
        assert isinstance(ours, LineageArray)
        np.testing.assert_array_equal(ours.values, numpys)
        assert ours.dtype == numpys.dtype


def test_sorting_in_place() -> None:
    with arrays.tracking() as t:
        a = t.array("a", np.array([3.0, 1.0, 2.0]))
        a.sort()
        assert cells(a.lineage.backward((0,), to="a")) == [1]


def test_pythons_own() -> None:
    with arrays.tracking() as t:
        a = t.array("a", X)
        assert (len(a), a.ndim, a.size, a.itemsize, a.nbytes) == (3, 2, 12, 8, 96)
        assert cells(sum(a).lineage.backward((1,), to="a")) == [(k, 1) for k in range(3)]
        assert cells(copy.deepcopy(a).lineage.backward((1, 1), to="a")) == [(1, 1)]
        assert f"{a[0, 1]:.1f} {a[0]}" == "1.0 [0. 1. 2. 3.]"
        assert "LineageArray('a'" in repr(a)
        assert 5.0 in a
        assert round(a[1, 1] / 3, 1).values == 1.7
        assert round(a[1, 1] / 3).values == 2
        with pytest.raises(TypeError, match="numbers"):
            round(a)
        assert np.shape(a) == (3, 4)
        with pytest.raises(ArrayLineageError, match="pickled"):
            pickle.dumps(a)
        with pytest.raises(TypeError):
            hash(a)
        with pytest.raises(AttributeError, match="no attribute"):
            _ = a.nothing
        with pytest.raises(TypeError):
            iter(a.sum())


class Pair(NamedTuple):
    left: Any
    right: Any


def test_a_named_tuple_of_arrays_stays_one() -> None:
    @arrays.track
    def swapped(pair: Pair) -> Pair:
        return Pair(pair.right * 2, pair.left + 1)

    found = swapped(Pair(np.arange(3), np.arange(4)))
    assert type(found) is Pair
    assert cells(found.left.lineage.backward([(3,)], to="pair[1]")) == [3]
    assert cells(found.right.lineage.backward([(2,)], to="pair[0]")) == [2]
