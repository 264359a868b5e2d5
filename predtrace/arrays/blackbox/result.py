"""The results of running a function, and their lineage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predtrace.arrays.capture.call import Array, arrays_of
from predtrace.arrays.quality import Quality
from predtrace.arrays.recording import Flow
from predtrace.arrays.relation import LineageTable
from predtrace.arrays.tracked.decorator import tracked_arrays
from predtrace.errors import ArrayLineageError

Run = Callable[..., Any]
"""The function with everything but its arrays filled in: arrays in their order to a result."""


@dataclass(frozen=True, eq=False)
class Found:
    """A result as the function gave it, its arrays, and their lineage from every argument."""

    result: Any
    outputs: tuple[Array, ...]
    flows: tuple[Flow, ...]


def run_once(name: str, run: Run, arrays: Sequence[Array]) -> tuple[Any, tuple[Array, ...]]:
    """A result and its arrays.

    Raises ArrayLineageError if the function writes into its arguments, uses other tracked arrays,
    or returns anything but arrays, numbers, and tuples and lists of them.
    """
    copies = [array.copy() for array in arrays]
    result = run(*copies)
    if next(tracked_arrays(result), None) is not None:
        raise ArrayLineageError(
            f"{name} uses a tracked array that it was not given; make it an argument"
        )
    for number, (array, copy) in enumerate(zip(arrays, copies, strict=True)):
        if not np.array_equal(array, copy, equal_nan=array.dtype.kind in "fcmM"):
            raise ArrayLineageError(
                f"{name} writes into its array {number}; have it return a new one"
            )
    outputs = tuple(array.copy() for array in arrays_of(result))
    for output in outputs:
        if output.dtype.kind not in "biufcmMSU":
            raise ArrayLineageError(
                f"{name} gave cells of type {output.dtype}; arrays and numbers are tracked"
            )
    return result, outputs


def check_size(name: str, arrays: Sequence[Array], limit: int, how: str) -> int:
    """The number of cells. Raises ArrayLineageError if it exceeds `limit`."""
    count = sum(array.size for array in arrays)
    if count > limit:
        raise ArrayLineageError(
            f"{name} has {count} input cells, and is only {how} up to {limit}: give limit={count} "
            'if there is time, or how="everything"'
        )
    return count


def flows_between(
    outputs: Sequence[Array],
    inputs: Sequence[Array],
    related: Callable[[int, int], LineageTable],
    quality: Quality,
    reason: str,
) -> Iterator[Flow]:
    """A flow for each output and input, also if no cells are related: the label counts."""
    for o in range(len(outputs)):
        for i in range(len(inputs)):
            yield Flow(o, i, related(o, i), quality, reason)


def unravelled(numbers: Array, shape: tuple[int, ...]) -> list[Array]:
    """Index columns of cell numbers."""
    return list(np.unravel_index(numbers, shape)) if math.prod(shape) and shape else []
