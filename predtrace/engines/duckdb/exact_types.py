"""The types whose values DuckDB reads and compares as Spark does."""

from __future__ import annotations

from symbolic.types import (
    Binary,
    Boolean,
    DataType,
    Date,
    DayTimeInterval,
    Decimal,
    Float,
    Integer,
    Opaque,
    String,
    Timestamp,
    YearMonthInterval,
    parts,
)

_COMPARABLE = (Boolean, Integer, Float, Decimal, Binary, Date, Timestamp)


def compared_alike(data_type: DataType) -> bool:
    """Whether two values of the type are compared, and ordered, as in Spark."""
    if isinstance(data_type, String):
        return data_type.collation == "UTF8_BINARY"
    return isinstance(data_type, _COMPARABLE)


UNREADABLE = (YearMonthInterval, DayTimeInterval, Opaque)
"""Types of values that DuckDB does not read as Spark does."""


def readable(data_type: DataType) -> bool:
    """Whether DuckDB reads stored values of the type as Spark does."""
    return not any(isinstance(part, UNREADABLE) for part in parts(data_type))
