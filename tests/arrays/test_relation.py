"""Relations and tables: their meaning, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from predtrace.arrays.relation import CellRelation, End, LineageTable, follow
from predtrace.errors import ArrayLineageError


def test_ends_move_independently() -> None:
    band = LineageTable.build((4,), (4,), [([(1, 2)], [(End(-1, 0, 1), 3)])])
    assert band.decompress().pairs.tolist() == [
        [1, 0],
        [1, 1],
        [1, 2],
        [1, 3],
        [2, 1],
        [2, 2],
        [2, 3],
    ]
    assert band.pair_count() == 7


def test_two_axes_that_follow_one_are_a_diagonal() -> None:
    table = LineageTable.build((3,), (3, 3), [([(0, 2)], [follow(0), follow(0)])])
    assert table.decompress().pairs.tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]


def test_arrays_without_axes_have_one_cell() -> None:
    assert len(LineageTable.build((), (), [([], [])]).decompress()) == 1
    assert len(LineageTable.build((), (5,), [([], [(0, 4)])]).decompress()) == 5
    assert len(LineageTable.empty((0, 3), (2,)).decompress()) == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (([(0, 5)], [(0, 0)]), "output box"),
        (([(3, 2)], [(0, 0)]), "output box"),
        (([(0, 4)], [follow(0, 1)]), "input interval leaves"),
        (([(0, 4)], [(End(0, 0, 1), 3)]), "empty"),
        (([(0, 1), (0, 1)], [(0, 0)]), "2 output"),
        (([(0, 4)], [(End(0, 1, 1), 4)]), "follow one of"),
        (([(0, 4)], [(End(0, 0, 2), 4)]), "slope"),
        (([(0, 4)], [(End(0, -1, 1), 4)]), "slope"),
    ],
)
def test_rows_without_meaning_are_refused(row: object, message: str) -> None:
    with pytest.raises(ArrayLineageError, match=message):
        LineageTable.build((5,), (5,), [row])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.zeros((1, 3), np.int64), "2 columns"),
        (np.zeros((1, 2), np.int32), "int64"),
        (np.array([[0, 2]]), "outside"),
        (np.array([[-1, 0]]), "outside"),
    ],
)
def test_pairs_that_fit_no_arrays_are_refused(pairs: np.ndarray, message: str) -> None:
    with pytest.raises(ArrayLineageError, match=message):
        CellRelation((2,), (2,), pairs)


def test_huge_shapes_need_no_key() -> None:
    huge = (2**40, 2**40)
    pairs = np.array([[2**39, 7], [5, 2**39], [2**39, 7]])
    relation = CellRelation(huge, (), pairs)
    assert relation.normalized().pairs.tolist() == [[5, 2**39], [2**39, 7]]
    assert relation.same_as(relation.normalized())
    assert not relation.same_as(CellRelation(huge, (), pairs[:1]))
