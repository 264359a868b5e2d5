"""Boxes of cells: products of closed index intervals, as two integer matrices `lo` and `hi`.

Row r of `lo` and `hi` (both of shape (boxes, axes)) is the box of all index tuples c with
``lo[r] <= c <= hi[r]`` on every axis. Arrays without axes have one cell, the empty tuple,
so a box of shape (0,) holds one cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Shape: TypeAlias = tuple[int, ...]
Columns: TypeAlias = list[Ints]

KEY_LIMIT = 2**63


def volumes(lo: Ints, hi: Ints) -> Ints:
    """The number of cells in each box; shape (boxes,)."""
    volume: Ints = np.prod(hi - lo + 1, axis=1, dtype=np.int64)
    return volume


def expand(lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """All cells of all boxes, box by box in row-major order.

    Returns the number of the box that each cell comes from, shape (cells,), and the cells,
    shape (cells, axes).
    """
    counts = volumes(lo, hi)
    total = int(counts.sum())
    box = np.repeat(np.arange(len(lo)), counts)
    rest = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    cells = np.empty((total, lo.shape[1]), np.int64)
    for axis in reversed(range(lo.shape[1])):
        sizes = (hi[:, axis] - lo[:, axis] + 1)[box]
        rest, within = np.divmod(rest, sizes)
        cells[:, axis] = lo[:, axis][box] + within
    return box, cells


def ravel(columns: Sequence[Ints], sizes: Sequence[int]) -> Ints:
    """The row-major number of each cell, given its index on every axis; there is at least one axis.

    The product of `sizes` must fit a key.
    """
    key = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        key = key * size + column
    return key


def distinct(values: Ints) -> Ints:
    """The distinct values, sorted; faster on many values than numpy.unique, which hashes."""
    values = np.sort(values)
    if len(values) < 2:
        return values
    fresh = np.append(True, values[1:] != values[:-1])
    found: Ints = values[fresh]
    return found


def sorted_unique(cells: Ints, sizes: Shape) -> Ints:
    """The distinct rows of `cells` in lexicographic order; `cells` itself if it already is."""
    if len(cells) < 2:
        return cells
    if not sizes:
        return cells[:1]
    if math.prod(sizes) < KEY_LIMIT:
        key = ravel(list(cells.T), sizes)
        if bool((key[1:] > key[:-1]).all()):
            return cells
        key = distinct(key)
        found = np.empty((len(key), cells.shape[1]), np.int64)
        for axis in reversed(range(len(sizes))):
            key, found[:, axis] = np.divmod(key, sizes[axis])
        return found
    ordered = cells[np.lexsort(cells.T[::-1])]
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[fresh]


def as_columns(matrix: Ints) -> Columns:
    """The columns of a matrix, each contiguous in memory."""
    return [np.ascontiguousarray(column) for column in matrix.T]


def as_matrix(columns: Columns, count: int) -> Ints:
    """The matrix of these columns, each of length `count`."""
    matrix = np.empty((count, len(columns)), np.int64)
    for axis, column in enumerate(columns):
        matrix[:, axis] = column
    return matrix
