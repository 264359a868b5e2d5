"""Tables of Parquet files, and output rows found among those that a text gives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tpch.truth.expressions import Traced
from tpch.truth.queries import Table

_TOLERANCE = 1e-5
"""Engines round quotients and averages; here they are exact."""


def read_tables(files: Mapping[str, Path]) -> dict[str, Table]:
    """The rows of each file, in order."""
    import pyarrow.parquet as pq

    found = {}
    for name, file in files.items():
        table = pq.read_table(file)
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        found[name] = Table([column.lower() for column in table.column_names], rows)
    return found


def alike(rows: Sequence[Traced], target: Sequence[Any]) -> list[int]:
    """The numbers of the rows with the target's values, up to rounding."""
    return [n for n, (row, _) in enumerate(rows) if all(map(_close, row, target))]


def _close(one: Any, other: Any) -> bool:
    numbers = (int, float, Decimal)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(one == other)
