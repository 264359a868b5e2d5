"""Arguments that numpy functions are tried with, at any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from predtrace.arrays.capture.registry import RULES, find_rule
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.errors import PredTraceError

MISFITS = (
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    PredTraceError,
    MemoryError,
    np.linalg.LinAlgError,
)
"""What numpy and the capture raise for arguments that a function does not take."""


def functions() -> Iterator[tuple[str, CaptureRule, Callable[..., Any]]]:
    """The functions of the registry, without universal ones: name, rule, function."""
    for rule in RULES:
        for name, function in rule.functions().items():
            yield name, rule, function


def universal_functions() -> Iterator[tuple[str, CaptureRule, Callable[..., Any]]]:
    """numpy's universal functions that work cell by cell, each once."""
    seen = set()
    for name in sorted(vars(np)):
        function = getattr(np, name)
        if isinstance(function, np.ufunc) and function not in seen:
            seen.add(function)
            found = find_rule(function)
            if found is not None and found[1].family is Family.ELEMENTWISE:
                yield name, found[1], function


def attempts(rows: int, columns: int, seed: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Arguments by numpy's habits: arrays, their lists, numbers."""
    rng = np.random.default_rng(seed)
    matrix, vector = rng.random((rows, columns)), rng.random(rows)
    square = rng.random((rows, rows))
    near = square @ square.T + rows * np.eye(rows)
    yield from ((matrix,), (vector,), (near,), (matrix, rng.random((rows, columns))))
    yield from ((vector, rng.random(rows)), (near, vector), ([matrix, matrix.copy()],))
    yield from ((vector, rng.random(3)), (rng.random((rows, 3)), rng.random((rows, 3))))
    yield from ((matrix, 1), (matrix, 0, 1), (matrix, (2, 2)), (matrix, (rows * columns,)))
    yield from ((matrix, matrix > 0.5), (matrix > 0.5, matrix), (matrix, np.arange(3), 0))
    yield from ((matrix > 0.5, matrix, matrix.copy()), (matrix, 0.2, 0.8), (vector, np.arange(3)))
    yield from ((matrix, np.arange(3), 9.0), ("ij,jk->ik", matrix, rng.random((columns, rows))))
    yield from ((matrix, rng.random((columns, rows))), ([matrix, rng.random((columns, rows))],))
