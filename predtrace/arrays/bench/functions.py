"""Table IX: how the lineage of numpy's functions compresses, over all that are tracked."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from predtrace.arrays.bench.figures import Covered
from predtrace.arrays.bench.operations import SEED, side
from predtrace.arrays.capture.capture import Captured, capture
from predtrace.arrays.capture.registry import RULES
from predtrace.arrays.format import encode
from predtrace.arrays.provrc import compress
from predtrace.arrays.relation import CellRelation
from predtrace.errors import PredTraceError

_LIMIT = 2_000_000
"""Cells of a result, and pairs of its lineage, that are unpacked at most."""

_MISFITS = (
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    PredTraceError,
    MemoryError,
    np.linalg.LinAlgError,
)
"""What numpy and the capture raise for arguments that a function does not take."""


def covered(scale: float) -> Iterator[Covered | str]:
    """The figures of each function, or the name of one that no arguments at hand fit.

    Functions are called with one array, then with other common arguments, until numpy
    takes them. The lineage that is compressed is the pairs, not what the capture gave.
    """
    for rule in RULES:
        for name, function in rule.functions().items():
            captured = _captured(function, scale)
            if captured is None:
                yield name
                continue
            relation = captured.lineage().decompress()
            table = compress(relation)
            yield Covered(
                function=name,
                family=rule.family.value,
                pairs=len(relation),
                rows=len(table),
                bytes=len(encode(table, relation)),
                raw=_csv_size(relation),
            )


def _captured(function: Callable[..., Any], scale: float) -> Captured | None:
    for arguments in _attempts(scale):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                captured = capture(function, *arguments)
            if _unpackable(captured):
                return captured
        except _MISFITS:
            continue
    return None


def _unpackable(captured: Captured) -> bool:
    """Whether there is lineage, and not too much of it."""
    if not captured.outputs or captured.outputs[0].size > _LIMIT:
        return False
    return 0 < captured.lineage().pair_count() <= _LIMIT


def _attempts(scale: float) -> Iterator[tuple[Any, ...]]:
    """Arguments by numpy's habits: arrays, their lists, numbers."""
    rng = np.random.default_rng(SEED)
    length = side(100, scale)
    matrix, vector = rng.random((length, length)), rng.random(length)
    near = matrix @ matrix.T + length * np.eye(length)
    yield from ((matrix,), (vector,), (near,), (matrix, rng.random((length, length))))
    yield from ((vector, rng.random(length)), (near, vector), ([matrix, matrix.copy()],))
    yield from ((vector, rng.random(3)), (rng.random((length, 3)), rng.random((length, 3))))
    yield from ((matrix, 1), (matrix, 0, 1), (matrix, (2, 2)), (matrix, (length**2,)))
    yield from ((matrix, matrix > 0.5), (matrix > 0.5, matrix), (matrix, np.arange(3), 0))
    yield from ((matrix > 0.5, matrix, matrix.copy()), (matrix, 0.2, 0.8), (vector, np.arange(3)))
    yield from ((matrix, np.arange(3), 9.0), ("ij,jk->ik", matrix, matrix.copy()))


def _csv_size(relation: CellRelation) -> int:
    """Bytes of the pairs as text, which the paper measures against."""
    sink = io.BytesIO()
    from pyarrow import csv

    from predtrace.arrays.bench.baselines import as_arrow

    csv.write_csv(as_arrow(relation), sink)
    return sink.tell()
