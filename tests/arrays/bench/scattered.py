"""Lineage without structure: nothing to compress, which should not take long to find out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from predtrace.arrays.relation import CellRelation
from tests.arrays.bench.operations import SEED, groups, relation, sort

SIZES = (1_000, 30_000, 1_000_000)
"""Pairs of the relations that are compressed."""


def permutation(pairs: int) -> CellRelation:
    """A vector in any other order."""
    order = np.random.default_rng(SEED).permutation(pairs)
    return relation((pairs,), (pairs,), np.arange(pairs), order)


def matrix(pairs: int) -> CellRelation:
    """A matrix with its cells in any other order."""
    side = math.isqrt(pairs)
    return sort(side, side)


def shuffled(pairs: int) -> CellRelation:
    """The same, captured in no order."""
    ordered = matrix(pairs)
    order = np.random.default_rng(SEED).permutation(len(ordered))
    return CellRelation(ordered.out_shape, ordered.in_shape, ordered.pairs[order])


def lookup(pairs: int) -> CellRelation:
    """Every output cell from some input cell, as in a join by key."""
    found = np.random.default_rng(SEED).integers(0, pairs, pairs)
    return relation((pairs,), (pairs,), np.arange(pairs), found)


def cloud(pairs: int) -> CellRelation:
    """Any cells of one matrix from any of another."""
    side = math.isqrt(pairs)
    columns = np.random.default_rng(SEED).integers(0, side, (4, pairs))
    return relation((side, side), (side, side), *columns)


WORKLOADS: Mapping[str, Callable[[int], CellRelation]] = {
    "permuted vector": permutation,
    "permuted matrix": matrix,
    "permuted matrix, unsorted": shuffled,
    "look-up": lookup,
    "random pairs of two matrices": cloud,
    "scattered groups": groups,
}
"""What is compressed, by name; functions of the number of pairs."""
