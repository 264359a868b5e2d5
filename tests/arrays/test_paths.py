"""Questions along all paths, against single cells that are followed one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predtrace.arrays import ArrayStore
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import CellRelation
from predtrace.errors import ArrayLineageError

SHAPES = [(3,), (2, 2), (), (4,), (2, 3), (1,)]
Cell = tuple[int, tuple[int, ...]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[ArrayStore, dict[Cell, set[Cell]], dict[Any, Quality]]:
    """A store of six arrays, each from earlier ones; per cell those it came from; labels."""
    store, came_from, labels = ArrayStore(), {}, {}
    for number, shape in enumerate(SHAPES):
        store.array(str(number), shape)
        for cell in np.ndindex(*shape):
            came_from[number, cell] = set()
        for earlier in range(number):
            if not draw(st.booleans()):
                continue
            every = [(o, i) for o in np.ndindex(*shape) for i in np.ndindex(*SHAPES[earlier])]
            pairs = draw(st.lists(st.sampled_from(every), max_size=4))
            columns = np.array([[*o, *i] for o, i in pairs], np.int64)
            width = len(shape) + len(SHAPES[earlier])
            relation = CellRelation(shape, SHAPES[earlier], columns.reshape(len(pairs), width))
            labels[number, earlier] = draw(st.sampled_from(Quality))
            store.lineage(
                str(number), str(earlier), relation, labels[number, earlier], f"{number}{earlier}"
            )
            for o, i in pairs:
                came_from[number, o].add((earlier, i))
    return store, came_from, labels


def closure(steps: dict[Cell, set[Cell]], start: set[Cell]) -> set[Cell]:
    found, pending = set(start), list(start)
    while pending:
        for cell in steps[pending.pop()] - found:
            found.add(cell)
            pending.append(cell)
    return found


@given(graphs(), st.data())
@settings(max_examples=60, deadline=None)
def test_every_path_counts(graph: Any, data: st.DataObject) -> None:
    store, came_from, labels = graph
    went_into: dict[Cell, set[Cell]] = {cell: set() for cell in came_from}
    for cell, sources in came_from.items():
        for source in sources:
            went_into[source].add(cell)
    late, early = sorted(data.draw(st.permutations(range(len(SHAPES))))[:2], reverse=True)
    for start, end, steps in ((late, early, came_from), (early, late, went_into)):
        cells = data.draw(st.sets(st.sampled_from(list(np.ndindex(*SHAPES[start]))), min_size=1))
        answer = store.trace(str(start), str(end), [list(cell) for cell in cells])
        expected = {c for n, c in closure(steps, {(start, c) for c in cells}) if n == end}
        assert set(map(tuple, answer.cells().tolist())) == expected
        # as weak as any table that leads from cells that were reached towards the end
        reached = {n for n, _ in closure(steps, {(start, c) for c in cells})}
        used = [
            label
            for pair, label in labels.items()
            for near, far in (pair if start > end else pair[::-1],)
            if near in reached and end in beyond(labels, far, start > end)
        ]
        worst = max((label.rank for label in used), default=0)
        assert answer.label.rank == worst


def beyond(labels: Any, node: int, backward: bool) -> set[int]:
    """The arrays that can be reached from one, itself included."""
    found, pending = {node}, [node]
    while pending:
        here = pending.pop()
        for out, into in labels:
            near, far = (out, into) if backward else (into, out)
            if near == here and far not in found:
                found.add(far)
                pending.append(far)
    return found


def test_without_a_path_no_cell_is_related() -> None:
    store = ArrayStore()
    for name in "abc":
        store.array(name, (2,))
    store.lineage("c", "b", lambda cell: [cell])
    assert store.trace("c", "a", [0]).count() == 0
    assert store.trace("c", "a", [0]).label is Quality.PRECISE


def test_arrays_that_came_from_each_other_are_refused() -> None:
    store = ArrayStore()
    for name in "abc":
        store.array(name, (1,))
    for output, into in ("ab", "bc", "ca"):
        store.lineage(output, into, lambda cell: [cell])
    with pytest.raises(ArrayLineageError, match="each other"):
        store.trace("a", "b", [0])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((1, 2), [[1, 2]]),
        ((np.int64(-1), 0), [[1, 0]]),
        ([(1, 2), (0, 0)], [[0, 0], [1, 2]]),
        (np.s_[0, 1:], [[0, 1], [0, 2]]),
        (np.s_[..., 2], [[0, 2], [1, 2]]),
        (np.s_[1:], [[1, 0], [1, 1], [1, 2]]),
        (np.eye(2, 3) > 0, [[0, 0], [1, 1]]),
        (..., [[i, j] for i in range(2) for j in range(3)]),
    ],
)
def test_ways_to_name_cells(cells: Any, expected: list[list[int]]) -> None:
    store = ArrayStore()
    store.array("a", (2, 3))
    answer = store.trace("a", "a", cells)
    assert answer.cells().tolist() == expected
    assert np.argwhere(answer.mask()).tolist() == expected
    assert expected[0] in answer


@pytest.mark.parametrize("cells", [(1, 5), np.ones((3, 2), bool), [(1, 2, 3)], np.s_[..., ..., 1]])
def test_what_is_no_cell_is_refused(cells: Any) -> None:
    store = ArrayStore()
    store.array("a", (2, 3))
    with pytest.raises(ArrayLineageError):
        store.trace("a", "a", cells)
