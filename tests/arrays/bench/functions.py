"""Table IX: how the lineage of numpy's functions compresses, over all that are tracked."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from predtrace.arrays.capture.capture import Captured, capture
from predtrace.arrays.format import encode
from predtrace.arrays.provrc import compress
from predtrace.arrays.relation import CellRelation
from tests.arrays.bench.arguments import MISFITS, attempts, functions
from tests.arrays.bench.figures import Covered
from tests.arrays.bench.operations import SEED, side

_LIMIT = 2_000_000
"""Cells of a result, and pairs of its lineage, that are unpacked at most."""


def covered(scale: float) -> Iterator[Covered | str]:
    """The figures of each function, or the name of one that no arguments at hand fit.

    Functions are called with one array, then with other common arguments, until numpy
    takes them. The lineage that is compressed is the pairs, not what the capture gave.
    """
    for name, rule, function in functions():
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
    length = side(100, scale)
    for arguments in attempts(length, length, (SEED,)):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                captured = capture(function, *arguments)
            if _unpackable(captured):
                return captured
        except MISFITS:
            continue
    return None


def _unpackable(captured: Captured) -> bool:
    """Whether there is lineage, and not too much of it."""
    if not captured.outputs or captured.outputs[0].size > _LIMIT:
        return False
    return 0 < captured.lineage().pair_count() <= _LIMIT


def _csv_size(relation: CellRelation) -> int:
    """Bytes of the pairs as text, which the paper measures against."""
    sink = io.BytesIO()
    from pyarrow import csv

    from tests.arrays.bench.baselines import as_arrow

    csv.write_csv(as_arrow(relation), sink)
    return sink.tell()
