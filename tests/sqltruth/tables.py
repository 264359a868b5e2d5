"""The tables that queries read: few rows, with NULL, NaN, both zeros, duplicates, odd names."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.sqltruth.functions import (
    BOOL,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    LOCAL,
    LONG,
    MOMENT,
    TEXT,
    TINY,
)
from tests.sqltruth.syntax import Constant

Rows = list[tuple[Any, ...]]

TABLES: dict[str, dict[str, str]] = {
    "r": {"a": INT, "b": TEXT, "d": DECIMAL, "f": DOUBLE, "odd.name": INT},
    "s": {"a": INT, "c": LONG, "f": DOUBLE, 'say "hi"': TEXT, "day": DATE},
    "u": {"a": INT, "B": TEXT, "ts": MOMENT, "n": LOCAL, "Two Words": INT},
    "v": {"a": INT, "b": TEXT},
    "w": {"tick`s": INT, "tiny": TINY, "ok": BOOL, "day": DATE, "ts": MOMENT},
    "z": {"a": INT, "b": TEXT},
}
"""Columns and types by table; z is empty."""

_MOMENTS = [
    dt.datetime(2021, 10, 30, 23, 30, tzinfo=dt.UTC),
    dt.datetime(2021, 10, 31, 0, 30, tzinfo=dt.UTC),
    dt.datetime(2021, 10, 31, 1, 30, tzinfo=dt.UTC),
    dt.datetime(2021, 3, 28, 1, 0, tzinfo=dt.UTC),
    dt.datetime(2021, 11, 7, 4, 31, tzinfo=dt.UTC),
]
_WALLS = [
    dt.datetime(2021, 10, 31, 2, 30),
    dt.datetime(2021, 3, 28, 2, 30),
    dt.datetime(2021, 10, 31),
    dt.datetime(2021, 7, 1, 12, 15),
]
_DAYS = [dt.date(2021, 10, 31), dt.date(2021, 11, 1), dt.date(2020, 2, 29), dt.date(2021, 3, 28)]

VALUES: dict[str, list[Any]] = {
    INT: [0, 1, 2, 3, 1, 2],
    LONG: [0, 1, 10, 20, 3_000_000_000],
    DOUBLE: [0.0, -0.0, 1.5, 1.5, -2.0, math.nan, math.inf],
    TEXT: ["a", "a", "ab", "A", "", "1", "1.5", " 2 ", "it's", "2021-10-31", "é%"],
    DECIMAL: [Decimal("0.00"), Decimal("1.50"), Decimal("1.50"), Decimal("-1.50"), Decimal("9.99")],
    TINY: [Decimal("0.00000001"), Decimal("0.00000000"), Decimal("1.50000000")],
    DATE: _DAYS,
    MOMENT: _MOMENTS,
    LOCAL: _WALLS,
    BOOL: [True, False],
}
CONSTANTS: dict[str, dict[str, Any]] = {
    INT: {"0": 0, "1": 1, "2": 2, "3": 3, "2147483647": 2147483647},
    LONG: {"0L": 0, "1L": 1, "10L": 10, "3000000000L": 3_000_000_000},
    DOUBLE: {"1.5D": 1.5, "0.0D": 0.0, "double('NaN')": math.nan, "-2.0D": -2.0},
    TEXT: {"'a'": "a", "''": "", "'ab'": "ab", "'1'": "1", "'it\\'s'": "it's"},
    DECIMAL: {"1.50": Decimal("1.50"), "0.00": Decimal("0.00")},
    TINY: {"0.00000001": Decimal("0.00000001"), "0.00000000": Decimal("0.00000000")},
    DATE: {f"DATE '{day}'": day for day in _DAYS},
    MOMENT: {f"TIMESTAMP '{m:%Y-%m-%d %H:%M:%S}Z'": m for m in _MOMENTS},
    LOCAL: {f"TIMESTAMP_NTZ '{wall}'": wall for wall in _WALLS},
    BOOL: {"true": True, "false": False},
}


def constants(data_type: str) -> list[Constant]:
    """Literals of a type, NULL last."""
    known = [Constant(value, data_type, text) for text, value in CONSTANTS[data_type].items()]
    return [*known, Constant(None, data_type, f"CAST(NULL AS {data_type})")]


def random_tables(rng: random.Random) -> dict[str, Rows]:
    """Rows for every table, of the same few values, so that joins find partners; some twice."""
    pools = {t: [*rng.sample(pool, min(4, len(pool))), None] for t, pool in VALUES.items()}
    return {
        name: _rows(rng, [pools[data_type] for data_type in columns.values()], name)
        for name, columns in TABLES.items()
    }


def _rows(rng: random.Random, pools: list[list[Any]], name: str) -> Rows:
    if name == "z":
        return []
    rows: Rows = [tuple(map(rng.choice, pools)) for _ in range(rng.randint(3, 6))]
    if rng.random() < 0.5:
        rows.append(rng.choice(rows))
    return rows


def write_tables(folder: Path, tables: Mapping[str, Rows]) -> dict[str, Path]:
    """The tables as one Parquet file each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        INT: pa.int32(),
        LONG: pa.int64(),
        DOUBLE: pa.float64(),
        TEXT: pa.string(),
        DECIMAL: pa.decimal128(5, 2),
        TINY: pa.decimal128(10, 8),
        DATE: pa.date32(),
        MOMENT: pa.timestamp("us", tz="UTC"),
        LOCAL: pa.timestamp("us"),
        BOOL: pa.bool_(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, rows in tables.items():
        columns = TABLES[name]
        arrays = [
            pa.array([row[place] for row in rows], types[data_type])
            for place, data_type in enumerate(columns.values())
        ]
        paths[name] = folder / f"{name}.parquet"
        pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), paths[name])
    return paths
