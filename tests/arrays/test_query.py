"""Queries on compressed tables answer as the pairs would."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from predtrace.arrays import bitmaps, query
from predtrace.arrays.boxindex import BoxIndex
from predtrace.arrays.cells import Cells
from predtrace.arrays.provrc import compress
from predtrace.arrays.query import Direction, TableIndex, trace
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Shape
from tests.arrays.relations import (
    STRUCTURED,
    cells,
    diagonal,
    flip,
    negative,
    permuted,
    relations,
    ruled,
    sum_axis,
)


@pytest.fixture(params=[0, 64], ids=["indexed", "all rows"])
def few_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(query, "FEW_ROWS", request.param)
    monkeypatch.setattr(query, "_BLOCK", 200)
    return request.param


@st.composite
def questions(draw: st.DrawFn, shape: Shape) -> Cells:
    """Some boxes of an array, as many as none."""
    if 0 in shape:
        return Cells.nothing(shape)
    corner = st.tuples(*(st.integers(0, size - 1) for size in shape))
    corners = draw(st.lists(st.tuples(corner, corner), max_size=4))
    ends = np.array(corners, np.int64).reshape(len(corners), 2, len(shape))
    return Cells(shape, ends.min(axis=1), ends.max(axis=1))


def related(relation: CellRelation, asked: Cells, direction: Direction) -> set[tuple[int, ...]]:
    """By definition: the other side of every pair whose one side is asked for."""
    p = len(relation.out_shape)
    ends = [(tuple(pair[:p]), tuple(pair[p:])) for pair in relation.pairs.tolist()]
    if direction is Direction.forward:
        ends = [(into, out) for out, into in ends]
    wanted = set(map(tuple, asked.cells().tolist()))
    return {there for here, there in ends if here in wanted}


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_hop(few_rows: int, data: st.DataObject) -> None:
    relation = data.draw(relations)
    for table in (compress(relation), LineageTable.of_pairs(relation.normalized())):
        for direction in Direction:
            shape = relation.out_shape if direction is Direction.backward else relation.in_shape
            asked = data.draw(questions(shape))
            answer = TableIndex(table).hop(asked, direction)
            assert set(map(tuple, answer.cells().tolist())) == related(relation, asked, direction)
            assert (answer.lo <= answer.hi).all()


@given(st.data())
def test_paths_compose(data: st.DataObject) -> None:
    """Down through two tables and up again, against one hop after the other."""
    first = data.draw(ruled())
    second = data.draw(ruled(first.in_shape))
    down, up = Direction.backward, Direction.forward
    one, two = TableIndex(compress(first)), TableIndex(compress(second))
    asked = data.draw(questions(first.out_shape))
    answer = trace([(one, down), (two, down), (two, up), (one, up)], asked)
    expected = asked
    for relation, direction in ((first, down), (second, down), (second, up), (first, up)):
        there = relation.in_shape if direction is down else relation.out_shape
        found = sorted(related(relation, expected, direction))
        expected = Cells.points(there, np.array(found, np.int64).reshape(len(found), len(there)))
    assert answer.same_as(expected)


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("direction", Direction)
def test_structured(name: str, direction: Direction) -> None:
    relation, _ = STRUCTURED[name]
    index = TableIndex(compress(relation))
    shape = relation.out_shape if direction is Direction.backward else relation.in_shape
    rng = np.random.default_rng(4)
    scattered = Cells.points(shape, cells(shape).T[rng.choice(np.prod(shape, dtype=int), 5)])
    box = Cells.box(shape, *(slice(size // 3, size // 3 + 7) for size in shape))
    for asked in (scattered, box):
        answer = index.hop(asked, direction)
        assert set(map(tuple, answer.cells().tolist())) == related(relation, asked, direction)


def test_a_box_through_a_diagonal_is_no_box() -> None:
    index = TableIndex(compress(diagonal(10)))
    back = index.hop(Cells.box((10,), slice(3, 6)), Direction.backward)
    assert back.cells().tolist() == [[3, 3], [4, 4], [5, 5]]
    forth = index.hop(Cells.box((10, 10), slice(2, 5), slice(4, 9)), Direction.forward)
    assert forth.cells().tolist() == [[4]]


def test_structured_answers_stay_few_boxes() -> None:
    shape = (400, 500)
    index = TableIndex(compress(negative(*shape)))
    answer = index.hop(Cells.box(shape, slice(10, 300), slice(20, 400)), Direction.backward)
    assert len(answer) == 1
    assert answer.count() == 290 * 380
    total = TableIndex(compress(sum_axis(*shape, axis=1)))
    assert len(total.hop(Cells.points((400,), np.arange(0, 400, 2)), Direction.backward)) == 200
    assert len(total.hop(Cells.points((400,), np.arange(400)), Direction.backward)) == 1


def test_large_unstructured_tables_are_searched() -> None:
    relation = permuted(5000)
    index = TableIndex(compress(relation))
    asked = Cells.points((5000,), np.arange(0, 5000, 17))
    for direction in Direction:
        answer = index.hop(asked, direction)
        assert set(map(tuple, answer.cells().tolist())) == related(relation, asked, direction)


@given(relations, st.data())
def test_the_index_misses_no_box(relation: CellRelation, data: st.DataObject) -> None:
    table = compress(relation)
    assume(len(table) and relation.out_shape)
    asked = data.draw(questions(relation.out_shape))
    index = BoxIndex(table.out_lo, table.out_hi, table.out_shape)
    found = set()
    for rows, boxes in index.candidates(asked.lo, asked.hi):
        assert boxes is not None or len(asked) == 1
        given = np.zeros(len(rows), int) if boxes is None else boxes
        found |= set(zip(rows.tolist(), given.tolist(), strict=True))
    for row in range(len(table)):
        for box in range(len(asked)):
            lo = np.maximum(table.out_lo[row], asked.lo[box])
            hi = np.minimum(table.out_hi[row], asked.hi[box])
            assert not (lo <= hi).all() or (row, box) in found


@given(shape=st.lists(st.integers(1, 5), max_size=3).map(tuple), data=st.data())
def test_coalesced_cells_are_the_same(shape: Shape, data: st.DataObject) -> None:
    some = data.draw(questions(shape))
    fewer = some.coalesced()
    assert fewer.same_as(some)
    assert len(fewer) <= len(some)
    assert fewer.count() == len(fewer.cells())


@given(shape=st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple), data=st.data())
def test_boxes_that_are_marked_are_the_same(shape: Shape, data: st.DataObject) -> None:
    some = data.draw(questions(shape))
    assume(len(some))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitmaps, "MANY", 0)
        patch.setattr(bitmaps, "_CELLS_PER_BOX", 1000)
        patch.setattr(bitmaps, "_LINES_PER_BOX", 1000)
        found = bitmaps.runs(some.lo, some.hi, shape)
        fewer = some.coalesced()
    assert fewer.same_as(some)
    assert len(fewer) <= len(some)
    assert found is not None
    runs = [
        (*line, *cell)
        for line, cell in zip(zip(*found.lo, strict=True), zip(*found.hi, strict=True), strict=True)
    ]
    assert runs == sorted(runs)
    cells = {
        (*run[: len(shape) - 1], k) for run in runs for k in range(run[len(shape) - 1], run[-1] + 1)
    }
    assert cells == set(map(tuple, some.cells().tolist()))


def test_many_boxes_in_a_small_array_are_marked() -> None:
    rng = np.random.default_rng(4)
    for shape in ((40, 70), (5, 8, 60), (3000,)):
        lo = np.stack([rng.integers(0, size, 1500) for size in shape], axis=1)
        hi = np.minimum(lo + rng.integers(0, 3, lo.shape), np.array(shape) - 1)
        assert bitmaps.runs(lo, hi, shape) is not None
        cells = {
            cell
            for first, last in zip(lo.tolist(), hi.tolist(), strict=True)
            for cell in product(*(range(a, b + 1) for a, b in zip(first, last, strict=True)))
        }
        fewer = Cells(shape, lo, hi).coalesced()
        assert fewer.cells().tolist() == [list(cell) for cell in sorted(cells)]
    assert bitmaps.runs(lo[:5], hi[:5], (3000,)) is None
    assert bitmaps.runs(lo, hi, (10**9,)) is None


def test_places_as_numpy_reads_them() -> None:
    array = np.arange(24).reshape(4, 6)
    for places in [(1, 2), (-1,), (slice(1, 3),), (slice(-3, None), slice(None, 2)), ()]:
        chosen = Cells.box((4, 6), *places)
        values = array[tuple(chosen.cells().T)]
        assert values.tolist() == np.asarray(array[places]).reshape(-1).tolist()
    assert len(Cells.box((4, 6), slice(3, 3))) == 0
    assert [1, 2] in Cells.box((4, 6), 1)
    assert [2, 2] not in Cells.box((4, 6), 1)
    assert Cells.points((), [[]]).count() == 1
    assert Cells.everything(()).count() == 1
    assert Cells.everything((3, 0)).count() == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cells.box((4,), 4), "outside"),
        (lambda: Cells.box((4,), slice(0, 4, 2)), "step"),
        (lambda: Cells.box((4,), 0, 0), "2 axes"),
        (lambda: Cells.points((4,), [4]), "outside"),
        (lambda: Cells.points((4,), [-1]), "outside"),
        (lambda: Cells.points((4,), [[0, 0]]), "1 indices"),
        (lambda: Cells.points((4,), [0.5]), "integers"),
        (
            lambda: TableIndex(LineageTable.empty((3,), (4,))).hop(
                Cells.everything((4,)), Direction.backward
            ),
            "cannot be traced backward",
        ),
    ],
)
def test_questions_without_meaning_are_refused(make: object, message: str) -> None:
    with pytest.raises(ArrayLineageError, match=message):
        make()  # type: ignore[operator]


def test_a_flip_undone() -> None:
    index = TableIndex(compress(flip(1000)))
    asked = Cells.points((1000,), [3, 500, 997])
    assert index.hop(index.hop(asked, Direction.backward), Direction.forward).same_as(asked)
