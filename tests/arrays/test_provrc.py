"""Compression loses nothing, and finds the structure that is there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from predtrace.arrays.neighbours import share_with_neighbours
from predtrace.arrays.provrc import SAMPLE, compress
from predtrace.arrays.relation import CellRelation
from predtrace.arrays.runs import joined_links
from tests.arrays.bench.plain import compress_plainly
from tests.arrays.relations import STRUCTURED, of, permuted, relations, scattered, tile


@given(relations)
@settings(max_examples=300)
def test_lossless(relation: CellRelation) -> None:
    table = compress(relation).checked()
    assert table.decompress().same_as(relation)
    assert len(table) <= len(relation.normalized())
    # The rows of a compressed table are disjoint.
    assert table.pair_count() == len(relation.normalized())


@given(relations)
@settings(max_examples=200)
def test_the_plain_passes_lose_nothing(relation: CellRelation) -> None:
    assume(relation.shape)
    table = compress_plainly(relation).checked()
    assert table.decompress().same_as(relation)
    assert len(table) <= len(relation.normalized())


def with_neighbours(relation: CellRelation) -> int:
    """Pairs that another pair could be joined to, by looking at all of them."""
    p = len(relation.out_shape)
    pairs = [tuple(pair) for pair in relation.normalized().pairs.tolist()]
    count = 0
    for pair in pairs:
        apart = [np.subtract(other, pair) for other in pairs]
        count += any(
            (step[:p] == 0).all() and sorted(step[p:])[::-1] == [1] + [0] * (len(step) - p - 1)
            if not step[:p].any()
            else sorted(step[:p])[::-1] == [1] + [0] * (p - 1) and abs(step[p:]).max(initial=0) <= 1
            for step in apart
        )
    return count


@given(scattered())
@settings(max_examples=150)
def test_no_more_is_saved_than_has_neighbours(relation: CellRelation) -> None:
    relation = relation.normalized()
    assume(len(relation) and relation.shape)
    count = with_neighbours(relation)
    assert len(relation) - len(compress(relation)) <= count
    assert share_with_neighbours(relation) == pytest.approx(count / len(relation))


@pytest.mark.parametrize("name", [*STRUCTURED])
def test_structure_has_neighbours(name: str) -> None:
    assert share_with_neighbours(STRUCTURED[name][0].normalized()) > 0.5


def test_pairs_without_structure_stay_as_they_are() -> None:
    relation = permuted(3000)
    table = compress(relation)
    assert table.decompress().same_as(relation)
    assert len(table) == len(relation)


@given(scattered())
def test_one_table_per_set(relation: CellRelation) -> None:
    shuffled = relation.pairs[np.random.default_rng(0).permutation(len(relation))]
    again = compress(CellRelation(relation.out_shape, relation.in_shape, shuffled))
    for ours, theirs in zip(compress(relation).columns(), again.columns(), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", STRUCTURED)
def test_structure_is_found(name: str) -> None:
    relation, rows = STRUCTURED[name]
    table = compress(relation)
    assert table.decompress().same_as(relation)
    assert len(table) == rows


def test_gaps_stay_gaps() -> None:
    table = compress(of((1,), (6,), np.array([[0, 0], [0, 5]])))
    assert table.decompress().pairs.tolist() == [[0, 0], [0, 5]]


def test_axes_may_be_swapped() -> None:
    plain = tile(300, 200, (2, 2))
    swapped = of((400, 600), (200, 300), plain.pairs[:, [1, 0, 3, 2]])
    assert len(compress(plain)) == len(compress(swapped)) == 4


def test_large_relations_use_a_sample() -> None:
    group = np.random.default_rng(1).integers(0, 50, SAMPLE)
    out, row, column = (
        np.repeat(group, 3),
        np.repeat(np.arange(SAMPLE), 3),
        np.tile(range(3), SAMPLE),
    )
    relation = of((50, 3), (SAMPLE, 3), np.stack([out, column, row, column], axis=1))
    table = compress(relation)
    assert table.decompress().same_as(relation)
    assert len(table) <= SAMPLE


def test_shapes_beyond_the_range_of_a_key() -> None:
    base = np.arange(6)
    huge = (2**40, 2**40)
    pairs = np.stack([base + 2**39, base * 2**36, base + 5, base * 2**35], axis=1)
    relation = CellRelation(huge, huge, pairs)
    assert compress(relation).decompress().same_as(relation)


def test_a_row_between_two_runs_belongs_to_the_earlier() -> None:
    linked = np.ones(6, np.bool_)
    step = np.array([1, 1, 0, 1, 0, 0])
    # rows 0-2 | 3 and 4 step by 1 | 5 and 6 stand still
    assert joined_links(linked, [step]).tolist() == [True, True, False, True, False, True]
