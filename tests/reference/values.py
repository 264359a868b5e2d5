"""Values: when they are equal, how they are ordered, and exact decimal arithmetic.

NULL is None. DOUBLEs follow Spark: NaN equals NaN and is larger than all else, -0.0
equals 0.0. Arrays and structs are tuples, maps are not compared. Zoned timestamps are
aware datetimes (naive ones are taken as UTC).
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from symbolic.types import (
    Array,
    DataType,
    Decimal,
    Float,
    Integer,
    Record,
    Timestamp,
)

Row = tuple[Any, ...]
EXACT = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)
"""Wide enough for every product, quotient and rescaling of DECIMAL(38) values."""

_NAN_KEY = ("NaN",)


def needs_key(data_type: DataType) -> bool:
    """Whether Python's own equality differs from SQL's grouping equality for the type."""
    match data_type:
        case Float():
            return True
        case Array(element):
            return needs_key(element)
        case Record(fields):
            return any(needs_key(field.type) for field in fields)
        case _:
            return False


def value_key(value: Any) -> Hashable:
    """What stands for the value in dictionaries: equal keys for equal values, NULL included."""
    if isinstance(value, float):
        return _NAN_KEY if math.isnan(value) else value + 0.0
    if isinstance(value, (tuple, list)):
        return tuple(value_key(item) for item in value)
    if isinstance(value, dict):
        return frozenset((value_key(k), value_key(v)) for k, v in value.items())
    return value  # type: ignore[no-any-return]


def row_key(row: Sequence[Any]) -> Row:
    """What stands for the row in dictionaries (see `value_key`)."""
    return tuple(value_key(value) for value in row)


def key_maker(types: Sequence[DataType]) -> Callable[[Row], Row]:
    """`row_key` for rows of these types, doing nothing where Python's equality will do."""
    return row_key if any(map(needs_key, types)) else tuple


def order_key(value: Any) -> Any:
    """A sortable stand-in of a value that is not NULL."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, (tuple, list)):
        return tuple(
            (item is not None, None if item is None else order_key(item)) for item in value
        )
    return value


def load(value: Any, data_type: DataType) -> Any:
    """A source value in the interpreter's own form."""
    if value is None:
        return None
    match data_type:
        case Decimal():
            return value if isinstance(value, decimal.Decimal) else decimal.Decimal(value)
        case Float():
            return float(value)
        case Timestamp(zoned=True):
            return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        case Array(element):
            return tuple(load(item, element) for item in value)
        case _:
            return value


def needs_load(data_type: DataType) -> bool:
    """Whether `load` may change a value of the type."""
    return isinstance(data_type, (Decimal, Float, Array)) or (
        isinstance(data_type, Timestamp) and data_type.zoned
    )


def fit_decimal(value: decimal.Decimal, target: Decimal) -> decimal.Decimal | None:
    """The value in the type, rounded half up; None where its digits do not fit."""
    fitted = EXACT.quantize(value, decimal.Decimal(1).scaleb(-target.scale, EXACT))
    limit = decimal.Decimal(1).scaleb(target.precision - target.scale, EXACT)
    return None if abs(fitted) >= limit else fitted


def fit_integer(value: int, target: Integer) -> int | None:
    """The value, or None where it does not fit the type's bits."""
    bound = 1 << (target.bits - 1)
    return value if -bound <= value < bound else None
