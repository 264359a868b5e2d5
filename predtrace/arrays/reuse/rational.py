"""Exact linear algebra on matrices of few columns, over the rational numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = list[Fraction]


def reduced(rows: Sequence[Sequence[int]]) -> tuple[list[Row], list[int]]:
    """The reduced row echelon form without its rows of zeros, and its pivot columns.

    A column is a pivot if it does not depend on those before it; one that does is the sum of
    the pivot columns, weighted by its own entries.

    >>> form, pivots = reduced([[1, 2, 3], [1, 4, 7], [1, 5, 9]])
    >>> pivots, [int(row[2]) for row in form]
    ([0, 1], [-1, 2])
    """
    left = [[Fraction(entry) for entry in row] for row in rows]
    done: list[Row] = []
    pivots: list[int] = []
    for column in range(len(left[0]) if left else 0):
        place = next((n for n, row in enumerate(left) if row[column]), None)
        if place is None:
            continue
        chosen = left.pop(place)
        pivot = [entry / chosen[column] for entry in chosen]
        left = [_without(row, pivot, column) for row in left]
        done = [_without(row, pivot, column) for row in done]
        done.append(pivot)
        pivots.append(column)
    return done, pivots


def _without(row: Row, pivot: Row, column: int) -> Row:
    """The row minus the multiple of the pivot row that makes the column's entry zero."""
    weight = row[column]
    if not weight:
        return row
    return [entry - weight * other for entry, other in zip(row, pivot, strict=True)]
