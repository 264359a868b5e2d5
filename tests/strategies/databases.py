"""Small fixed databases for random SQL: NULL-heavy, with duplicates and empty tables."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from typing import Any

from symbolic.expr import Column
from symbolic.types import DATE, DOUBLE, INTEGER, STRING, DataType, Decimal
from tests.strategies.sql import COLUMNS, TABLES

Row = tuple[Any, ...]

_TYPES: dict[str, DataType] = {
    "int": INTEGER,
    "string": STRING,
    "decimal(5,2)": Decimal(5, 2),
    "double": DOUBLE,
    "date": DATE,
}
_VALUES: dict[str, tuple[Any, ...]] = {
    "int": (None, 0, 1, 1, 1, 2, 2, 3),
    "string": (None, "", "a", "a", "a", "ab", "ab", "it's"),
    "decimal(5,2)": tuple(
        None if text is None else decimal.Decimal(text)
        for text in (None, "0.00", "1.50", "1.50", "1.50", "-1.50")
    ),
    "double": (None, 0.0, -0.0, 1.5, 1.5, 1.5, math.nan),
    "date": (None, dt.date(1996, 2, 29), dt.date(1996, 2, 29), dt.date(1996, 3, 29)),
}
_SIZES: dict[str, tuple[int, int, int]] = {
    "0": (6, 5, 4),
    "1": (6, 4, 5),
    "2": (5, 0, 4),
    "3": (2, 6, 0),
    "4": (8, 8, 5),
}
"""Rows of each table, per database."""
SUFFIXES = tuple(_SIZES)


def source_columns() -> tuple[Column, ...]:
    """The columns of every table."""
    return tuple(
        Column(place, name, _TYPES[data_type])
        for place, (name, data_type) in enumerate(COLUMNS.items(), start=1)
    )


def database(suffix: str) -> dict[str, list[Row]]:
    """The rows of one database's tables, by table name with the suffix; always the same."""
    source = random.Random(int(suffix) + 7)
    tables: dict[str, list[Row]] = {}
    for table, size in zip(TABLES, _SIZES[suffix], strict=True):
        rows = [
            tuple(source.choice(_VALUES[data_type]) for data_type in COLUMNS.values())
            for _ in range(size)
        ]
        # An exact duplicate: lineage is of physical rows.
        tables[table + suffix] = rows + rows[:1]
    return tables
