"""Lineage by experiment: change one input cell at a time and see which output cells change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from predtrace.arrays.capture.call import arrays_of

Run = Callable[[list[np.ndarray]], Any]


def changed_cells(run: Run, arrays: list[np.ndarray], rng: np.random.Generator) -> list[set[Any]]:
    """For every array, the pairs (output, output cell, input cell) that an experiment showed.

    A cell is drawn anew, moved a little, and made large, small and zero; arrays of numbers.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = [np.array(array) for array in arrays_of(run([a.copy() for a in arrays]))]
        found: list[set[Any]] = []
        for number, array in enumerate(arrays):
            seen: set[Any] = set()
            for cell in np.ndindex(array.shape) if array.dtype.kind in "fc" else ():
                for value in _others(array[cell], rng):
                    copies = [a.copy() for a in arrays]
                    copies[number][cell] = value
                    try:
                        after = arrays_of(run(copies))
                    except (ValueError, np.linalg.LinAlgError):
                        continue
                    seen |= _differences(before, after, cell)
            found.append(seen)
    return found


def _others(value: Any, rng: np.random.Generator) -> list[Any]:
    imaginary = [value + 0.3j * rng.random(), 0.2 - 30j] if isinstance(value, complex) else []
    return [*imaginary, value + 1e-4, value - 0.01, *rng.random(3), 30.0, -30.0, 0.0]


def _differences(before: list[np.ndarray], after: list[np.ndarray], cell: Any) -> set[Any]:
    seen = set()
    for output, (old, new) in enumerate(zip(before, after, strict=False)):
        if old.shape != new.shape:
            continue
        numeric = old.dtype.kind in "fc"
        same = (
            np.isclose(old, new, rtol=1e-9, atol=1e-11, equal_nan=True) if numeric else old == new
        )
        seen |= {(output, tuple(map(int, out)), cell) for out in np.argwhere(~same)}
    return seen


def changed_by(run: Run, arrays: list[np.ndarray], number: int) -> set[Any]:
    """The pairs (output, output cell, input cell) of one array, by few changes: NaN first."""
    before = [np.array(array) for array in arrays_of(run([a.copy(order="K") for a in arrays]))]
    seen: set[Any] = set()
    for cell in np.ndindex(arrays[number].shape):
        for value in (np.nan, 30.0, 0.017, arrays[number][cell] - 0.01):
            copies = [a.copy(order="K") for a in arrays]
            copies[number][cell] = value
            try:
                after = arrays_of(run(copies))
            except (ValueError, np.linalg.LinAlgError):
                continue
            seen |= _differences(before, after, cell)
    return seen
