"""Exact linear algebra on matrices of few columns, over the rational numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

Row = list[Fraction]


def row_reduced(rows: Sequence[Sequence[int]]) -> tuple[list[Row], list[int]]:
    """The row_reduced row echelon form without its rows of zeros, and its pivot columns.

    A column is a pivot if it does not depend on those before it; one that does is the sum of
    the pivot columns, weighted by its own entries. Rows stay integers, without a common
    divisor, until the end.

    >>> form, pivots = row_reduced([[1, 2, 3], [1, 4, 7], [1, 5, 9]])
    >>> pivots, [int(row[2]) for row in form]
    ([0, 1], [-1, 2])
    """
    left = [list(row) for row in rows]
    done: list[list[int]] = []
    pivots: list[int] = []
    for column in range(len(left[0]) if left else 0):
        place = next((n for n, row in enumerate(left) if row[column]), None)
        if place is None:
            continue
        pivot = left.pop(place)
        left = [other for row in left if any(other := _without(row, pivot, column))]
        done = [_without(row, pivot, column) for row in done]
        done.append(pivot)
        pivots.append(column)
    scaled = [
        [Fraction(entry, row[column]) for entry in row]
        for row, column in zip(done, pivots, strict=True)
    ]
    return scaled, pivots


def _without(row: list[int], pivot: list[int], column: int) -> list[int]:
    """A multiple of the row plus one of the pivot row, such that the column's entry is zero."""
    weight, lead = row[column], pivot[column]
    if not weight:
        return row
    mixed = [lead * entry - weight * other for entry, other in zip(row, pivot, strict=True)]
    common = math.gcd(*mixed)
    return [entry // common for entry in mixed] if common > 1 else mixed
