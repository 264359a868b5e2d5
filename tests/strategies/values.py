"""Typed values from small domains, so that NULLs, ties and duplicates are common."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

from hypothesis import strategies as st

from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    Boolean,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    String,
)

MONEY = Decimal(5, 2)
COLUMN_TYPES: tuple[DataType, ...] = (INTEGER, INTEGER, STRING, MONEY, DOUBLE, DATE, BOOLEAN)
"""Types of source columns, the more frequent ones repeated."""

COLUMN_NAMES = ("a", "b", "b.c", 'd"e', "f`g", "it's", "select", "A", "h i")
"""Names that a careless SQL writer gets wrong."""

_DATES = (dt.date(1995, 1, 31), dt.date(1996, 2, 29), dt.date(1996, 3, 1), dt.date(1970, 1, 1))
_MONEY = tuple(decimal.Decimal(text) for text in ("0.00", "1.50", "-1.50", "0.01", "999.99"))


def present_values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values of the type, without NULL."""
    match data_type:
        case Boolean():
            return st.booleans()
        case Integer():
            return st.integers(-1, 3)
        case Decimal(scale=scale):
            step = decimal.Decimal(1).scaleb(-scale)
            return st.sampled_from(_MONEY).map(lambda value: value.quantize(step))
        case Float():
            return st.sampled_from((0.0, -0.0, 1.5, -2.0, math.nan, math.inf))
        case String():
            return st.sampled_from(("", "a", "b", "ab", "A", "a%", "a_b", "it's", "b "))
        case Date():
            return st.sampled_from(_DATES)
        case _:
            raise ValueError(f"no values of type {data_type}")


def values(data_type: DataType, nullable: bool = True) -> st.SearchStrategy[Any]:
    """Values of the type; a quarter of them NULL if `nullable`."""
    present = present_values(data_type)
    if not nullable:
        return present
    return st.sampled_from((True, False, False, False)).flatmap(
        lambda null: st.none() if null else present
    )


__all__ = ["COLUMN_NAMES", "COLUMN_TYPES", "LONG", "MONEY", "present_values", "values"]
