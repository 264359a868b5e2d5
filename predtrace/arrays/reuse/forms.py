"""Numbers of a table as linear functions of sizes ("index reshaping").

DSLog replaces intervals [1, d] by [1, D] for the size d of an axis. Here every number of a table
may be any integer combination of 1 and the sizes of all axes of all arrays. A form is used only for
sizes at which the observed calls determine it. It says nothing about sizes at which two rational
combinations that fit all observations could differ. These are the sizes outside the affine hull of
the observed sizes; if, for example, an axis always had size 3, all sizes except 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from predtrace.arrays.reuse.rational import row_reduced
from predtrace.packed.boxes import Ints, Shape


@dataclass(frozen=True, eq=False)
class Form:
    """An array of integers as the only linear function of sizes that fits some calls.

    `basis` are places in (1, *sizes); `coefficients`, of shape (basis, *array), belong to them.
    `ties` express other places as combinations of these; the form applies to sizes that satisfy
    them. `least` are the smallest observed sizes, `varying` the places of sizes that took several
    values.
    """

    basis: tuple[int, ...]
    coefficients: Ints
    ties: tuple[tuple[int, tuple[Fraction, ...]], ...]
    least: Shape
    varying: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The number of calls that determine the form; every further call tests it."""
        return len(self.basis)

    def at(self, sizes: Shape) -> Ints | None:
        """The integers for these sizes; None if they are not determined.

        They are also undetermined below the smallest observed sizes, where windows stop fitting.
        """
        if any(size < least for size, least in zip(sizes, self.least, strict=True)):
            return None
        places = (1, *sizes)
        known = [places[place] for place in self.basis]
        for place, weights in self.ties:
            if sum(w * size for w, size in zip(weights, known, strict=True)) != places[place]:
                return None
        values: Ints = np.tensordot(np.array(known, np.int64), self.coefficients, axes=1)
        return values


def fit(sizes: Sequence[Shape], values: Sequence[Ints]) -> Form | None:
    """The form through these observations; None if no integer combination fits them.

    Shapes of all `values` are alike, or nothing fits. Small sizes are taken into the basis
    first, so that the others are their multiples rather than their fractions.
    """
    if len({value.shape for value in values}) != 1:
        return None
    flat = np.stack([value.ravel() for value in values])
    distinct, which = _distinct_columns(flat)
    places = [(1, *row) for row in sizes]
    order = sorted(range(len(places[0])), key=lambda place: sum(row[place] for row in places))
    rows = [
        [*(row[place] for place in order), *numbers]
        for row, numbers in zip(places, distinct.tolist(), strict=True)
    ]
    solved, pivots = row_reduced(rows)
    if pivots[-1] >= len(order):
        return None
    wanted = [row[len(order) :] for row in solved]
    if any(entry.denominator != 1 for row in wanted for entry in row):
        return None
    coefficients = np.array([[int(entry) for entry in row] for row in wanted], np.int64)
    coefficients = coefficients.reshape(len(pivots), distinct.shape[1])[:, which]
    taken = set(pivots)
    return Form(
        basis=tuple(order[pivot] for pivot in pivots),
        coefficients=coefficients.reshape(len(pivots), *values[0].shape),
        ties=tuple(
            (place, tuple(row[number] for row in solved))
            for number, place in enumerate(order)
            if number not in taken
        ),
        least=tuple(min(column) for column in zip(*sizes, strict=True)),
        varying=tuple(n for n, column in enumerate(zip(*sizes, strict=True)) if len({*column}) > 1),
    )


def _distinct_columns(matrix: Ints) -> tuple[Ints, Ints]:
    """The distinct columns, and the distinct column that each column equals."""
    if not matrix.shape[1]:
        return matrix, np.empty(0, np.int64)
    distinct, which = np.unique(matrix, axis=1, return_inverse=True)
    return distinct, which.ravel()
