"""A table with arrays for tests: NULL ones, empty ones, with NULLs and with arrays in them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = tuple[Any, ...]
SCHEMA = pa.schema(
    {
        "k": pa.int32(),
        "a": pa.list_(pa.float64()),
        "b": pa.list_(pa.int32()),
        "n": pa.list_(pa.list_(pa.int32())),
        "f": pa.float64(),
        "s": pa.string(),
    }
)
ROWS: list[Row] = [
    (1, (1.0, 2.0, None, 4.0), (3, 1, 2), ((1, 2), (3,)), 2.0, "x"),
    (2, (3.0, 1.0, 3.0), (5,), ((), None), None, "y"),
    (3, None, (1, None, 1), None, 3.0, "z"),
    (4, (), (), (), 1.0, None),
    (5, (math.nan, -0.0, 0.0, math.nan), (2, 2, 2), ((4, 5), (), (6, 7, 8)), 0.5, "w"),
]


def write(folder: Path, rows: list[Row] = ROWS) -> Path:
    """The rows as a Parquet file."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = [
        pa.array([row[place] for row in rows], field.type) for place, field in enumerate(SCHEMA)
    ]
    pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), folder / "part.parquet")
    return folder
