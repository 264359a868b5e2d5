"""What tracking costs: ``python -m tests.arrays.bench.tracking``.

The best of some rounds of each operation on numpy's arrays and on tracked ones, then black
boxes, and a question over a long path; and operations with reuse, once their lineage is
predicted. Milliseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from predtrace.arrays.blackbox.box import black_box
from predtrace.arrays.reuse.predictor import Reuse
from predtrace.arrays.tracked.session import Tracking
from tests.arrays.bench.operations import SEED

SIDES = (10, 1000)
CELLS = 1000
STEPS = 1000
_ROUNDS = 5


def _zeroed(a: Any) -> None:
    a[1:3] = 0.0


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "a + 1": lambda a: a + 1,
    "a.sum(axis=0)": lambda a: a.sum(axis=0),
    "a @ a": lambda a: a @ a,
    "a[1:5]": lambda a: a[1:5],
    "a.reshape(-1)": lambda a: a.reshape(-1),
    "a[1:3] = 0": _zeroed,
    "a[a > 0.5]": lambda a: a[a > 0.5],
    "np.sort(a, axis=1)": lambda a: np.sort(a, axis=1),
}


def averaged(a: Any) -> Any:
    """Exponential averages, as a loop over cells."""
    averages, average = np.zeros(len(a)), 0.0
    for place in range(len(a)):
        average = 0.9 * average + 0.1 * a[place]
        averages[place] = average
    return averages


def costs(sides: tuple[int, ...], cells: int, steps: int, rounds: int) -> Iterator[tuple[str, ...]]:
    """Rows: what, on how many cells, milliseconds without and with tracking."""
    rng = np.random.default_rng(SEED)
    for side in sides:
        plain = rng.random((side, side))
        tracked = Tracking().array("a", plain)
        for name, operation in OPERATIONS.items():
            times = (_best(operation, array, rounds) for array in (plain.copy(), tracked))
            yield name, f"{side * side:,}", *map(_shown, times)
    plain = rng.random(cells)
    tracked = Tracking().array("a", plain)
    loops = {
        "a loop, annotated": (black_box(averaged), rounds),
        "a loop, probed": (black_box(averaged, how="probe"), 1),
    }
    for name, (loop, repeats) in loops.items():
        times = (_best(loop, array, repeats) for array in (plain, tracked))
        yield name, f"{cells:,}", *map(_shown, times)
    last = tracked
    for _ in range(steps):
        last = last + 1
    seconds = _best(lambda array: array.lineage.backward((1,), to="a"), last, rounds)
    yield f"a question over {steps:,} operations", f"{cells:,}", "", _shown(seconds)


MOVES: dict[str, Callable[[Any], Any]] = {
    "a + 1": lambda a: a + 1,
    "np.roll(a, 3, axis=1)": lambda a: np.roll(a, 3, axis=1),
    "np.repeat(a, 2, axis=1)": lambda a: np.repeat(a, 2, axis=1),
    "a.reshape(-1)": lambda a: a.reshape(-1),
    "np.tril(a)": np.tril,
}
_LEARNT_FROM = 4


def reuse_costs(sides: tuple[int, ...], rounds: int) -> Iterator[tuple[str, ...]]:
    """Rows: an operation, on how many cells, milliseconds captured and with lineage predicted."""
    rng = np.random.default_rng(SEED)
    for side in sides:
        plain = rng.random((side, side))
        captured = Tracking().array("a", plain)
        for name, operation in MOVES.items():
            reuse = Reuse(verify_every=sys.maxsize)
            for _ in range(_LEARNT_FROM):
                operation(Tracking(reuse=reuse).array("a", plain))
            known = Tracking(reuse=reuse).array("a", plain)
            times = [_best(operation, array, rounds) for array in (captured, known)]
            yield name, f"{side * side:,}", *map(_shown, times)


def _best(operation: Callable[[Any], Any], array: Any, rounds: int) -> float:
    def once() -> float:
        start = time.perf_counter()
        operation(array)
        return time.perf_counter() - start

    return min(once() for _ in range(rounds))


def _shown(seconds: float) -> str:
    return f"{1000 * seconds:,.3f}"


if __name__ == "__main__":
    table = Table("operation", "cells", "numpy, ms", "tracked, ms")
    for row in costs(SIDES, CELLS, STEPS, _ROUNDS):
        table.add_row(*map(escape, row))
    Console().print(table)
    table = Table("operation", "cells", "captured, ms", "predicted, ms")
    for row in reuse_costs(SIDES, _ROUNDS):
        table.add_row(*map(escape, row))
    Console().print(table)
