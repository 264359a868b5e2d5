"""Tracking with reuse: the same lineage as without, and less captured."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from predtrace import arrays
from predtrace.arrays.provrc import compress
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import CellRelation
from predtrace.arrays.reuse.predictor import Reuse
from predtrace.arrays.signatures import CallSignature
from tests.arrays.programs import programs, run

RUNS = 12
"""Calls on arrays of four cells are predicted after five."""


def reused(tracking: arrays.Tracking) -> int:
    """How many operations were not captured."""
    return sum(operation.reused for operation in tracking.store.catalogue.operations)


def answers(pool: list[Any], sources: list[Any]) -> list[Any]:
    """Behind every cell of every array the cells of the sources."""
    return [
        array.lineage.backward([cell], to=f"s{number}").cells().tolist()
        for array in pool
        for cell in np.ndindex(array.shape)
        for number in range(len(sources))
    ]


def test_programs_have_the_same_lineage() -> None:
    predicted = 0

    @given(programs())
    @settings(max_examples=25, deadline=None)
    def check(program: Any) -> None:
        nonlocal predicted
        sources, steps = program
        reuse = Reuse(verify_every=10**6)
        for number in range(RUNS):
            given = [source + number for source in sources]
            with arrays.tracking(reuse=reuse) as t:
                pool = run([t.array(f"s{n}", source) for n, source in enumerate(given)], steps)
        with arrays.tracking() as plain:
            same = run([plain.array(f"s{n}", source) for n, source in enumerate(given)], steps)
        assert answers(pool, sources) == answers(same, sources)
        predicted += reused(t)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()
    assert predicted > 10  # else the comparison says nothing


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "a + 1.5": lambda a: a + 1.5,
    "roll": lambda a: np.roll(a, 3, axis=1),
    "repeat": lambda a: np.repeat(a, 2, axis=1),
    "ravel": lambda a: a.ravel(),
    "tile": lambda a: np.tile(a, (1, 2)),
    "sum": lambda a: a.sum(axis=1, keepdims=True),
    "cumsum": lambda a: a.cumsum(axis=0),
    "matmul": lambda a: a @ a.T,
    "rot90": lambda a: np.rot90(a),
    "pad": lambda a: np.pad(a, 2),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_other_sizes(name: str) -> None:
    """What was learnt on some shapes is predicted for others, as they would be captured."""
    operation, rng, reuse = OPERATIONS[name], np.random.default_rng(0), Reuse(verify_every=10**6)
    shapes = [(9, 20), (10, 23), (12, 21), (11, 26), (14, 24), (13, 29), (15, 25), (16, 32)]
    for shape in shapes:
        with arrays.tracking(reuse=reuse) as t:
            operation(t.array("s0", rng.random(shape)))
    with arrays.tracking(reuse=reuse) as t, arrays.tracking() as plain:
        new = rng.random((17, 31))
        ours, captured = (operation(one.array("s0", new)) for one in (t, plain))
    assert reused(t) == len(t.store.catalogue.operations) - 1
    for one in t.store.catalogue.lineage:
        ((found,), (expected,)) = (
            store.tables(one.output, one.input) for store in (t.store, plain.store)
        )
        assert found.decompress().same_as(expected.decompress())
    assert ours.name == captured.name
    assert ours.lineage.backward([(0,) * ours.ndim], to="s0").label is Quality.OBSERVED


def test_what_values_decide_is_captured_every_time() -> None:
    """Indices, counts and masks are arrays, too; sorting and choosing look at values."""
    reuse = Reuse(verify_every=10**6)
    operations: dict[str, Callable[[Any, Any], Any]] = {
        "sort": lambda a, n: np.sort(a),
        "take": lambda a, n: np.take(a, n),
        "index": lambda a, n: a[n],
        "repeat": lambda a, n: np.repeat(a, n),
        "plain": lambda a, n: np.repeat(a, n.values),
        "where": lambda a, n: np.sum(a, where=n > 1),
    }
    for _ in range(30):
        with arrays.tracking(reuse=reuse) as t:
            for name, operation in operations.items():
                a, n = t.array(f"a {name}", np.arange(20.0)), t.array(f"n {name}", np.full(20, 2))
                operation(a, n)
            assert not [
                operation.name for operation in t.store.catalogue.operations if operation.reused
            ]


def test_wrong_predictions_are_found_out() -> None:
    """Lineage that a captured call contradicts is marked, and never predicted again."""
    reuse = Reuse(verify_every=4, seed=0)
    rng = np.random.default_rng(1)
    for _ in range(8):
        with arrays.tracking(reuse=reuse) as t:
            np.negative(t.array("a", rng.random((8, 8))))
    with arrays.tracking(reuse=reuse) as t:
        predicted = [np.negative(t.array(f"a{n}", rng.random((8, 8)))) for n in range(3)]
        assert reused(t) >= 2
        basis = next(iter(t.bases))
        wrong = compress(CellRelation((8, 8), (8, 8), np.array([[0, 0, 1, 1]])))
        call = CallSignature.of(
            "negative", ((8, 8),), ((8, 8),), {"0": {"array": "f", "number": False}}
        )
        reuse.observe(call, {(0, 0): wrong})
        assert reuse.is_withdrawn(basis)
        after = np.negative(t.array("last", rng.random((8, 8))))
    labels = [one.lineage.backward([(0, 0)], to=f"a{n}").label for n, one in enumerate(predicted)]
    assert labels.count(Quality.ESTIMATED) >= 2
    assert after.lineage.backward([(0, 0)], to="last").label is Quality.PRECISE


def test_what_was_learnt_is_kept_in_a_folder(tmp_path: Path) -> None:
    for number in range(5):
        reuse: Any = tmp_path / "store" if number < 4 else Reuse(tmp_path / "store", seed=0)
        with arrays.tracking(tmp_path / "store", reuse=reuse) as t:
            np.flip(t.array(f"a{number}", np.ones((40, 50))))
    flips = [one for one in t.store.catalogue.operations if one.name == "flip"]
    assert not flips[0].reused
    assert flips[-1].reused
