"""Conversions between types."""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import LONG

_PROPAGATES = Nulls.PROPAGATES
_EQUAL, _APART = Zeros.EQUAL, Zeros.APART

_spark = partial(Function, semantics=Semantics.SPARK, encoding=Encoding.UNINTERPRETED)

ROWS = (
    _spark("unscaled", LONG, _PROPAGATES, "the decimal's digits as a bigint", _APART),
    _spark("decimal_of", None, _PROPAGATES, "a bigint of digits as a decimal", _APART),
    _spark("check_overflow", None, _PROPAGATES, "the decimal in the result type, or NULL", _EQUAL),
    _spark("cast", None, _PROPAGATES, "convert to the result type (NULL where it fails)", _APART),
    _spark(
        "try_cast",
        None,
        _PROPAGATES,
        "convert as in ANSI mode, NULL where that fails",
        _APART,
        try_of="cast",
    ),
    _spark(
        "to_number",
        None,
        _PROPAGATES,
        "number from text by a pattern, NULL where it does not match",
        _APART,
    ),
)
"""All are Spark's, and uninterpreted."""
