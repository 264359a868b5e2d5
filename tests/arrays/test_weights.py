"""Lineage from weights, against a loop over all pairs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy

from predtrace import arrays
from predtrace.arrays import Quality, significant
from predtrace.errors import ArrayLineageError

SHAPES = st.sampled_from([(), (1,), (4,), (2, 3), (0,), (2, 1, 2)])
VALUES = st.sampled_from([0.0, 0.5, -0.5, 1.0, -2.0, 3.0])


def expected(weights: np.ndarray, threshold: float | None, top: int | None) -> set[tuple[int, int]]:
    found = set()
    for out, row in enumerate(weights):
        ranked = sorted(range(len(row)), key=lambda cell: (-abs(row[cell]), cell))
        for cell in ranked if top is None else ranked[:top]:
            if row[cell] != 0 and (threshold is None or abs(row[cell]) >= threshold):
                found.add((out, cell))
    return found


def numbered(relation: arrays.CellRelation) -> set[tuple[int, int]]:
    out, into = relation.out_shape, relation.in_shape
    p = len(out)
    return {
        (
            int(np.ravel_multi_index(tuple(row[:p]), out)) if out else 0,
            int(np.ravel_multi_index(tuple(row[p:]), into)) if into else 0,
        )
        for row in relation.pairs
    }


class Coo:
    """The part of scipy's sparse matrices that is used."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def tocoo(self) -> Any:
        row, col = np.nonzero(self.matrix)
        return SimpleNamespace(
            row=row, col=col, data=self.matrix[row, col], shape=self.matrix.shape
        )


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_significant_weights(data: st.DataObject) -> None:
    out, into = data.draw(SHAPES), data.draw(SHAPES)
    sizes = int(np.prod(out)), int(np.prod(into))
    weights = data.draw(hypothesis_numpy.arrays(np.float64, sizes, elements=VALUES))
    top = data.draw(st.none() | st.integers(1, 4))
    threshold = data.draw(st.sampled_from([0.0, 0.5, 0.7, 2.0] + [None] * (top is not None)))
    limits = {"threshold": threshold, "top": top}
    wanted = expected(weights, threshold, top)
    row, col = np.nonzero(weights)
    halves = np.concatenate([weights[row, col] / 4, weights[row, col] * 0.75])
    for form in (
        weights,
        weights.reshape(out + into),
        Coo(weights),
        (np.tile(row, 2), np.tile(col, 2), halves),
    ):
        relation = significant(form, out, into, **limits)
        assert (relation.out_shape, relation.in_shape) == (out, into)
        assert numbered(relation) == wanted
        assert len(relation) == len(wanted)


def test_answers_are_labelled() -> None:
    store = arrays.ArrayStore()
    store.array("frame", (2, 2))
    store.array("car", ())
    store.explanation("car", "frame", [[0.1, -0.8, 0.3, 0.0]], threshold=0.2)
    answer = store.trace("car", "frame", ())
    assert answer.cells().tolist() == [[0, 1], [1, 0]]
    assert answer.label is Quality.ESTIMATED
    assert answer.reasons == ("an explanation's weights, at least 0.2",)


def test_explanations_among_tracked_arrays() -> None:
    with arrays.tracking() as t:
        frame = t.array("frame", np.arange(6.0)) * 2
        score = t.explained("score", [1.0, 2.0], [(frame, np.eye(2, 6) + 0.1)], top=1) + 1
    answer = score.lineage.backward((1,), to="frame")
    assert (answer.cells().tolist(), answer.label) == ([[1]], Quality.ESTIMATED)
    assert answer.reasons == ("score: an explanation's weights, the 1 greatest",)
    assert score.values.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("weights", "limits", "message"),
    [
        (np.ones((2, 3)), {}, "threshold"),
        (np.ones((3, 2)), {"top": 1}, "do not fit"),
        (np.full((2, 3), np.nan), {"top": 1}, "NaN"),
        (np.array([["a"]]), {"top": 1}, "numbers"),
        (np.ones((2, 3)), {"top": 0}, "at least 1"),
        (np.ones((2, 3)), {"threshold": -1.0}, "from 0"),
        (([0], [0, 1], [1.0]), {"top": 1}, "equally many"),
        (([0], [3], [1.0]), {"top": 1}, "from 0 to 2"),
        (([0.5], [1], [1.0]), {"top": 1}, "numbered"),
        (Coo(np.ones((3, 2))), {"top": 1}, "do not fit"),
    ],
)
def test_what_is_refused(weights: Any, limits: Any, message: str) -> None:
    with pytest.raises(ArrayLineageError, match=message):
        significant(weights, (2,), (3,), **limits)
