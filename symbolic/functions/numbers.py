"""Arithmetic and other functions of numbers."""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import DOUBLE

_PROPAGATES = Nulls.PROPAGATES
_EQUAL, _APART = Zeros.EQUAL, Zeros.APART

_spark = partial(Function, semantics=Semantics.SPARK, encoding=Encoding.UNINTERPRETED)

ROWS = (
    _spark("add", None, _PROPAGATES, "a + b in the result type", _EQUAL),
    _spark("subtract", None, _PROPAGATES, "a - b in the result type", _EQUAL),
    _spark("multiply", None, _PROPAGATES, "a * b in the result type", _EQUAL),
    _spark("try_add", None, _PROPAGATES, "a + b, NULL where that wraps", _APART, try_of="add"),
    _spark(
        "try_subtract", None, _PROPAGATES, "a - b, NULL where that wraps", _APART, try_of="subtract"
    ),
    _spark(
        "try_multiply", None, _PROPAGATES, "a * b, NULL where that wraps", _APART, try_of="multiply"
    ),
    _spark("divide", None, _PROPAGATES, "a / b in the result type", _EQUAL),
    _spark("integer_divide", None, _PROPAGATES, "a DIV b", _APART),
    _spark("remainder", None, _PROPAGATES, "a % b, sign of a", _EQUAL),
    _spark("pmod", None, _PROPAGATES, "positive modulus", _APART),
    _spark("negate", None, _PROPAGATES, "-a", _EQUAL),
    _spark("abs", None, _PROPAGATES, "absolute value", _EQUAL),
    _spark("round", None, _PROPAGATES, "round half up to n digits", _EQUAL),
    _spark("bround", None, _PROPAGATES, "round half even to n digits", _EQUAL),
    _spark("floor", None, _PROPAGATES, "largest whole number not above", _EQUAL),
    _spark("ceil", None, _PROPAGATES, "smallest whole number not below", _EQUAL),
    _spark("sqrt", DOUBLE, _PROPAGATES, "square root", _EQUAL),
    _spark("power", DOUBLE, _PROPAGATES, "a to the power of b", _APART),
    _spark("exp", DOUBLE, _PROPAGATES, "e to the power of a", _EQUAL),
    _spark("ln", DOUBLE, _PROPAGATES, "natural logarithm", _EQUAL),
    _spark("log10", DOUBLE, _PROPAGATES, "logarithm to base 10", _EQUAL),
    _spark("sign", DOUBLE, _PROPAGATES, "-1, 0 or 1", _EQUAL),
    _spark("bit_and", None, _PROPAGATES, "bitwise and", _APART),
    _spark("bit_or", None, _PROPAGATES, "bitwise or", _APART),
    _spark("bit_xor", None, _PROPAGATES, "bitwise exclusive or", _APART),
    _spark("shift_right", None, _PROPAGATES, "bits shifted right, the sign kept", _APART),
    _spark("normalize_float", None, _PROPAGATES, "-0.0 as 0.0 and one NaN", _EQUAL),
)
"""All are Spark's, and uninterpreted."""
