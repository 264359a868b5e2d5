"""Ways out of tracking: each warns, is refused, or is taken on purpose."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from predtrace import arrays
from predtrace.arrays import Quality
from predtrace.arrays.capture.call import UntrackedCallError
from predtrace.arrays.ledger import Ledger
from predtrace.errors import ArrayLineageError, LineageLostWarning

X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "use",
    [
        lambda c: np.array([c[0, 0], c[0, 1]]),
        lambda c: np.array([c[0], c[1]]),
        lambda c: np.asarray(c),
        lambda c: np.ma.masked_array(c, mask=X > 3),
        lambda c: np.vectorize(lambda v: v + 1, signature="()->()")(c),
        lambda c: np.lib.stride_tricks.as_strided(c, (2, 2)),
        lambda c: pd.DataFrame(np.asarray(c)),
        lambda c: np.zeros((3, 4)).__setitem__(0, c[0]),
    ],
)
def test_numpy_arrays_are_made_with_a_warning(use: Callable[[Any], Any]) -> None:
    with arrays.tracking() as t:
        c = t.array("c", X)
        with pytest.warns(LineageLostWarning, match="to_numpy"):
            use(c)
        later = t.array("b", X) * np.ones((3, 4))
    assert later.lineage.backward((0, 0), to="b").label is Quality.OBSERVED


@pytest.mark.parametrize(
    "use",
    [
        lambda c: np.array(c, dtype=object),
        lambda c: c * np.ma.masked_array(X, mask=X > 3),
        lambda c: np.where(np.ma.masked_array(X > 3, mask=X > 5), c, 0.0),
        lambda c: np.concatenate([c, np.ma.masked_array(X, mask=X > 3)]),
        lambda c: c * np.matrix(X),
    ],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_what_numpy_would_do_something_else_with_is_refused(use: Callable[[Any], Any]) -> None:
    for unknown in ("refuse", "everything"):
        with arrays.tracking(unknown=unknown) as t, pytest.raises(ArrayLineageError):
            use(t.array("c", X))


@pytest.mark.filterwarnings("ignore::predtrace.errors.LineageLostWarning")
def test_vectorized_functions_are_refused() -> None:
    with arrays.tracking() as t, pytest.raises(ArrayLineageError, match="black_box"):
        np.vectorize(lambda v: v + 1)(t.array("c", X))


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame(X),
        pd.Series(X[0]),
        pd.Index([1, 2]),
        [pd.Series(X[0])],
        {"frame": pd.DataFrame(X)},
        np.ma.masked_array(X, mask=X > 3),
    ],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_arguments_with_cells_that_are_not_tracked_are_refused(data: Any) -> None:
    calls = []

    @arrays.track
    def doubled(table: Any) -> Any:
        calls.append(table)

    with pytest.raises(ArrayLineageError, match=r"table|frame"):
        doubled(data)
    with pytest.raises(ArrayLineageError, match="matrix"):
        doubled(np.asmatrix(X))
    assert calls == []


def test_a_frame_is_no_result() -> None:
    @arrays.track
    def framed(table: Any) -> Any:
        return pd.DataFrame(table.to_numpy())

    with pytest.raises(ArrayLineageError, match="DataFrame that is not tracked"):
        framed(X)


def test_leaving_on_purpose_is_quiet() -> None:
    with arrays.tracking() as t:
        c = t.array("c", X)
        copy = c.to_numpy()
        copy[0] = 0.0
        np.testing.assert_array_equal(c.values, X)
        assert (c * copy).lineage.backward((0, 0), to="c").label is Quality.OBSERVED


def test_windows() -> None:
    with arrays.tracking() as t:
        c = t.array("c", X)
        windows = np.lib.stride_tricks.sliding_window_view(c, 2, axis=1)
        np.testing.assert_array_equal(
            windows.values, np.lib.stride_tricks.sliding_window_view(X, 2, axis=1)
        )
        found = windows.sum(axis=-1).lineage.backward((1, 2), to="c").cells().tolist()
        assert found == [[1, 2], [1, 3]]
        strided = arrays.as_strided(c.ravel(), (3, 3), (c.itemsize, 2 * c.itemsize))
        np.testing.assert_array_equal(strided.values[1], [1.0, 3.0, 5.0])
        assert strided.lineage.backward((1, 2), to="c").cells().tolist() == [[1, 1]]
        with pytest.raises(ValueError, match="read-only"):
            strided[0, 0] = 1.0
        c[1, 1] = t.array("b", [7.0])[0]
        assert strided.lineage.backward((1, 2), to="b").count() == 1
        part = c[:, ::2]
        assert arrays.as_strided(part, (2,), (2 * c.itemsize,)).values.tolist() == [0.0, 2.0]
        for shape, strides in (((13,), (8,)), ((2,), (-8,)), ((2,), (4,)), ((3, 2), (32, 64))):
            with pytest.raises(UntrackedCallError):
                arrays.as_strided(c, shape, strides)
        with pytest.raises(UntrackedCallError, match="between its cells"):
            arrays.as_strided(part, (2,), (8,))


def test_added_at_tracked_places() -> None:
    with arrays.tracking() as t:
        counts, places = t.array("counts", np.zeros(3)), t.array("places", [2, 0, 2])
        amounts = t.array("amounts", [1.0, 2.0, 3.0])
        np.add.at(counts, places, amounts)
    assert counts.values.tolist() == [2.0, 0.0, 4.0]
    for name in ("places", "amounts"):
        assert counts.lineage.backward((2,), to=name).cells().tolist() == [[0], [2]]
        assert counts.lineage.forward((1,), of=name).cells().tolist() == [[0]]


def test_all_inputs_are_answered_for() -> None:
    with arrays.tracking() as t:
        a, b, _ = t.array("a", X), t.array("b", np.ones(4)), t.array("c", X)
        zeros = np.zeros(3, like=a)
        result = t.array("result", (a @ b + zeros).sum())
        found = result.lineage.backward(())
        assert {name: answer.count() for name, answer in found.items()} == {"a": 12, "b": 4}
        assert {name: answer.count() for name, answer in a.lineage.backward((0, 0)).items()} == {
            "a": 1
        }

    @arrays.track
    def first(table: Any, weights: Any) -> Any:
        return table[0] * 2

    found = first(X, np.ones(4)).lineage.backward((1,))
    assert {name: answer.cells().tolist() for name, answer in found.items()} == {
        "table": [[0, 1]],
        "weights": [],
    }


def test_layouts_are_as_numpy_has_them() -> None:
    for source in (np.asfortranarray(X), X[:, ::-1], X.reshape(3, 2, 2).transpose(1, 0, 2)):
        with arrays.tracking() as t:
            a = t.array("a", source)
            for order in "CFAK":
                flat = a.ravel(order=order)
                np.testing.assert_array_equal(flat.values, source.ravel(order=order))
                copied = (a * 1).copy().flatten(order)
                np.testing.assert_array_equal(copied.values, (source * 1).copy().flatten(order))
                for place in (0, 5, 11):
                    [cell] = flat.lineage.backward((place,), to="a").cells().tolist()
                    assert source[tuple(cell)] == flat.values[place]
            a[..., 0] = 9.0
            assert a.lineage.forward([(0,) * a.ndim], of="a").count() == 0


STEPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "operation": lambda a, b, k: a + b,
    "write": lambda a, b, k: a.__setitem__(k % 10, b[k % 9]),
    "view": lambda a, b, k: a[2:5].__setitem__(k % 3, b[0]),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_costs_the_same_however_many_came_before(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    catalogue = Ledger.catalogue.fget
    monkeypatch.setattr(
        Ledger, "catalogue", property(lambda self: built.append(1) or catalogue(self))
    )
    lines = 0

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    taken = []
    with arrays.tracking() as t:
        a, b = t.array("a", np.arange(10.0)), t.array("b", np.arange(10.0))
        for k in range(331):
            before, tracer = lines, sys.gettrace()
            if k in (30, 330):
                sys.settrace(count)
            try:
                STEPS[step](a, b, k)
            finally:
                sys.settrace(tracer)
            if k in (30, 330):
                taken.append(lines - before)
    early, late = taken
    # What the garbage collector finds to do meanwhile counts, too: a few lines.
    assert 0 < late <= 1.05 * early
    assert built == []
