"""Probing: changes every input cell; the output cells that change with it are its lineage.

If the function is deterministic, an output cell that changes depends on the input cell. An output
cell that changes in no experiment may still depend on it: probing observes, it proves nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predtrace.arrays.blackbox.result import Found, Run, check_size, flows_between, run_once
from predtrace.arrays.capture.call import Array, arrays_of
from predtrace.arrays.provrc import compress
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Flags, Ints

LIMIT = 2_000
"""The most input cells: each takes some ten runs of the function."""

_SEED = 11
_OTHERS = 2
"""The number of other cells' values that a cell takes on."""


@dataclass(eq=False)
class _Log:
    """The number of experiments, and of experiments that showed nothing."""

    runs: int = 0
    failed: int = 0
    reshaped: int = 0

    def said(self, name: str) -> str:
        """The text about the experiments in an answer."""
        parts = [f"{name}: seen in {self.runs} experiments"]
        if self.failed:
            parts.append(f"{self.failed} of which failed")
        if self.reshaped:
            parts.append(f"{self.reshaped} of which gave another shape")
        return ", ".join(parts)


def probed(name: str, run: Run, arrays: Sequence[Array], limit: int = LIMIT) -> Found:
    """Lineage by changing one cell at a time.

    A float is replaced by NaN, by values near and far, by zero and by values of other cells;
    numbers by neighbours, zero and values of other cells; truth values by the other one. Runs
    that raise an error, or give another shape, show nothing. Raises ArrayLineageError if
    there are more than `limit` input cells, if their type has no other values to try, or if
    two equal runs differ.
    """
    check_size(name, arrays, limit, "probed")
    for array in arrays:
        if array.dtype.kind not in "biufc":
            raise ArrayLineageError(f"{name} is probed with numbers, not with {array.dtype}")
    result, outputs = run_once(name, run, arrays)
    _, again = run_once(name, run, arrays)
    if not all(map(_same_cells, outputs, again)):
        raise ArrayLineageError(
            f"{name} gives different results for the same arrays, so experiments show nothing: fix "
            "its seed"
        )
    log, found = _Log(), dict[tuple[int, int], list[Ints]]()
    rng = np.random.default_rng(_SEED)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number, array in enumerate(arrays):
            for place in np.ndindex(array.shape):
                values = _others(array, place, rng)
                masks = _changed_with(log, run, arrays, outputs, number, place, values)
                for output, mask in enumerate(masks):
                    cells = np.argwhere(mask)
                    rows = np.hstack([cells, np.broadcast_to(place, (len(cells), array.ndim))])
                    found.setdefault((output, number), []).append(rows.astype(np.int64))
    if log.failed == log.runs > 0:
        raise ArrayLineageError(f"{name} failed in all {log.runs} experiments")

    def related(output: int, into: int) -> LineageTable:
        shapes = outputs[output].shape, arrays[into].shape
        none = np.empty((0, len(shapes[0]) + len(shapes[1])), np.int64)
        pairs = np.concatenate([none, *found.get((output, into), [])])
        return compress(CellRelation(*shapes, pairs))

    flows = flows_between(outputs, arrays, related, Quality.OBSERVED, log.said(name))
    return Found(result, outputs, tuple(flows))


def _changed_with(
    log: _Log,
    run: Run,
    arrays: Sequence[Array],
    before: Sequence[Array],
    number: int,
    place: tuple[int, ...],
    values: Iterator[Any],
) -> list[Flags]:
    """For each output, the cells that changed in any run with another value in one place."""
    masks = [np.zeros(output.shape, np.bool_) for output in before]
    for value in values:
        changed = [array.copy() for array in arrays]
        changed[number][place] = value
        log.runs += 1
        try:
            after = arrays_of(run(*changed))
        except Exception:
            log.failed += 1
            continue
        if [array.shape for array in after] != [array.shape for array in before]:
            log.reshaped += 1
            continue
        for mask, old, new in zip(masks, before, after, strict=True):
            mask |= _differ(old, new)
    return masks


def _others(array: Array, place: tuple[int, ...], rng: np.random.Generator) -> Iterator[Any]:
    """Other values for a cell, each once."""
    value = array[place]
    if array.dtype.kind == "b":
        yield not value
        return
    others = [*rng.choice(array.ravel(), _OTHERS), array.dtype.type(0)]
    with np.errstate(all="ignore"):
        if array.dtype.kind in "fc":
            near = abs(value) * 1e-3 + 1e-6
            others += [np.nan, value + near, value - near, -value, 100 * value + 1]
        else:
            limits = np.iinfo(array.dtype)
            others += [value + 1 if value < limits.max else value, limits.min]
            others += [value - 1 if value > limits.min else value, limits.max]
    tried: list[Any] = [value]
    for other in map(array.dtype.type, others):
        if not any(other == known for known in tried):
            tried.append(other)
            yield other


def _differ(one: Array, other: Array) -> Flags:
    """The places where values differ; NaN is the same as NaN."""
    differ: Flags = np.asarray((one != other) & ~(_is_nan(one) & _is_nan(other)))
    return differ


def _same_cells(one: Array, other: Array) -> bool:
    return one.shape == other.shape and not _differ(one, other).any()


def _is_nan(array: Array) -> Any:
    return np.isnan(array) if array.dtype.kind in "fcmM" else np.zeros(array.shape, np.bool_)
