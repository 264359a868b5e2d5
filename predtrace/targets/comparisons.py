"""Comparisons in target predicates: the types that Spark compares two values in.

Spark finds a common type for both sides and casts both to it. ANSI mode changes the rules (Spark's
``TypeCoercion`` and ``AnsiTypeCoercion``). This module refuses comparisons that Spark refuses, and
comparisons that would cast a text column.
"""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from predtrace.errors import TargetError
from predtrace.targets.values import convert
from symbolic.expr import Call, Column, Expr, Literal
from symbolic.types import (
    DOUBLE,
    TIMESTAMP,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    Null,
    String,
    Timestamp,
    comparable,
    is_numeric,
    type_name,
)

_FLOAT = Float(32)
_PRECISION = 38
_EXACT_IN_DOUBLE = 15
"""Doubles distinguish numbers of up to so many digits as decimals do."""
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""The digits of the decimal that an integer column of so many bits is cast to."""

_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    rf"{_DATE.pattern}([ T]([01]\d|2[0-3]):\d{{2}}:\d{{2}}(\.\d{{1,6}})?(Z|[+-]\d{{2}}:\d{{2}})?)?",
    re.ASCII,
)
_NOT_FINITE = {"nan": "nan", "infinity": "inf", "+infinity": "inf", "-infinity": "-inf"}


def alike(sides: Sequence[Expr], *, ansi: bool, listed: bool = False) -> list[Expr]:
    """The values, columns and constants, as Spark compares them: all in one type.

    `listed` says that they stand in an IN. There, without ANSI mode, Spark reads a mix of texts and
    other values as texts. Raises TargetError, naming the values, if they are not compared.
    """
    columns = [side for side in sides if isinstance(side, Column)]
    if not columns:
        raise TargetError(
            "the target predicate compares constants with each other; names with dots or blanks "
            "go in backticks, and double quotes make a text"
        )
    read = [_constant_for(side, columns[0], ansi=ansi, listed=listed) for side in sides]
    types = {side.type: None for side in read if not isinstance(side.type, Null)}
    if all(map(is_numeric, types)):
        return _as_numbers(read, ansi=ansi)
    if len({_kind(each) for each in types}) > 1:
        names = " with ".join(map(type_name, types))
        raise TargetError(f"the target predicate compares {names}, which have no common type here")
    return [Literal(None, columns[0].type) if isinstance(s.type, Null) else s for s in read]


def whole_bound(function: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """An integer column's decimal bound as the whole number that Spark makes of it.

    A bound beyond BIGINT is refused: Spark reads it as a condition that every row satisfies, NULLs
    too, or none.
    """
    for column, bound, up in ((left, right, ("lt", "ge")), (right, left, ("gt", "le"))):
        if not (isinstance(column, Column) and isinstance(column.type, Integer)):
            continue
        if isinstance(bound, Literal) and isinstance(bound.value, decimal.Decimal):
            value = math.ceil(bound.value) if function in up else math.floor(bound.value)
            if not -(2**63) <= bound.value < 2**63:
                raise TargetError(
                    f"{bound.value} is not a bound for column {column.name}: it is not a BIGINT"
                )
            whole = Literal(value, Integer(64))
            return (column, whole) if column is left else (whole, column)
    return left, right


def is_time(text: str, data_type: DataType) -> bool:
    """Whether a text is a date, or a timestamp, in a form that Spark and Python read alike."""
    return bool((_DATE if isinstance(data_type, Date) else _TIME).fullmatch(text))


def _kind(data_type: DataType) -> object:
    return data_type if comparable(data_type) else object()


def _constant_for(side: Expr, column: Column, *, ansi: bool, listed: bool) -> Expr:
    """A constant compared with a column: of the column's kind, if Spark casts it to that."""
    if not isinstance(side, Literal) or isinstance(side.type, Null):
        return side
    if is_numeric(side.type) and is_numeric(column.type):
        return side
    if isinstance(side.type, String) and not isinstance(column.type, String):
        return _text_for(side.value, column, ansi=ansi, listed=listed)
    if side.type == TIMESTAMP and column.type == Timestamp(zoned=False):
        # Spark casts the column to an instant; several wall times may be the same instant.
        raise TargetError(f"column {column.name} has no time zone; write TIMESTAMP_NTZ '…'")
    return Literal(convert(side.value, column.type, column.name), column.type)


def _text_for(text: str, column: Column, *, ansi: bool, listed: bool) -> Literal:
    """A text compared with a column of another type: Spark casts it to that type or a wider one."""
    shown = f"column {column.name} is {type_name(column.type)}; the text {text!r}"
    as_text = listed and not ansi
    match column.type:
        case Integer(bits) if not as_text and _WHOLE.fullmatch(text):
            limit = 1 << (63 if ansi else bits - 1)
            if -limit <= int(text) < limit:
                return Literal(int(text), Integer(64))
        case Decimal(precision) if not as_text and precision <= _EXACT_IN_DOUBLE:
            if _NUMBER.fullmatch(text) and len(text) <= _EXACT_IN_DOUBLE:
                return _decimal(decimal.Decimal(text))
        case Float(bits) if not as_text and (ansi or bits == 64):
            if _NUMBER.fullmatch(text) or text.lower() in _NOT_FINITE:
                return Literal(float(_NOT_FINITE.get(text.lower(), text)), DOUBLE)
        case Date() if is_time(text, column.type):
            return Literal(convert(text, column.type, column.name), column.type)
        case Timestamp() if not as_text and is_time(text, column.type):
            return Literal(convert(text, column.type, column.name), column.type)
    if is_numeric(column.type):
        raise TargetError(f"{shown} is not compared with it here; write a number without quotes")
    raise TargetError(f"{shown} is no such value, or is not compared as one by Spark")


def _as_numbers(sides: Sequence[Expr], *, ansi: bool) -> list[Expr]:
    """Numbers in their common type; exact numbers are unchanged if that type loses no digit of
    them."""
    numbers = [_Number.of(side) for side in sides if not isinstance(side.type, Null)]
    common = functools.reduce(lambda one, other: one.with_(other, ansi=ansi), numbers)
    if isinstance(common.type, Float) or common.loses:
        return [_converted(side, common.type) for side in sides]
    if all(map(_is_whole, sides)):
        return [_converted(side, Integer(64)) for side in sides]
    return [side if _is_decimal(side) else _converted(side, common.digits) for side in sides]


class _Number(msgspec.Struct, frozen=True):
    """The type of a number and, if it is exact, the decimal type that has its digits.

    `loses` says that this decimal has fewer digits than its parts.
    """

    type: DataType
    digits: Decimal = Decimal(1, 0)
    loses: bool = False

    @classmethod
    def of(cls, side: Expr) -> _Number:
        match side:
            case Literal(value=int(value), type=data_type):
                return cls(data_type, Decimal(len(str(abs(value))), 0))
            case Column(type=Integer(bits)):
                return cls(side.type, Decimal(_DIGITS[bits], 0))
        return cls(side.type, side.type) if isinstance(side.type, Decimal) else cls(side.type)

    def with_(self, other: _Number, *, ansi: bool) -> _Number:
        """The common type of both."""
        floats = [each.type for each in (self, other) if isinstance(each.type, Float)]
        if floats:
            decimals = any(isinstance(each.type, Decimal) for each in (self, other))
            single = all(each.bits == 32 for each in floats) and not decimals
            return _Number(_FLOAT if single and (len(floats) == 2 or not ansi) else DOUBLE)
        scale = max(self.digits.scale, other.digits.scale)
        whole = max(each.digits.precision - each.digits.scale for each in (self, other))
        both = all(isinstance(each.type, Integer) for each in (self, other))
        # Beyond 38 digits Spark drops digits after the point.
        digits = Decimal(min(whole + scale, _PRECISION), min(scale, _PRECISION - whole))
        loses = self.loses or other.loses or whole + scale > _PRECISION
        return _Number(Integer(64) if both else digits, digits, loses)


def _is_whole(side: Expr) -> bool:
    if isinstance(side, Literal) and isinstance(side.value, decimal.Decimal):
        whole = side.value == side.value.to_integral_value()
        return whole and -(2**63) <= side.value < 2**63
    return isinstance(side.type, (Integer, Null))


def _is_decimal(side: Expr) -> bool:
    return isinstance(side, Column) and isinstance(side.type, Decimal)


def _converted(side: Expr, data_type: DataType) -> Expr:
    """A number cast to the type, constants as Spark's cast would."""
    if not isinstance(side, Literal):
        # The width of integers does not matter to a comparison.
        same = side.type == data_type or isinstance(data_type, Integer)
        return side if same else Call("cast", (side,), data_type)
    value = side.value
    match data_type:
        case _ if value is None:
            pass
        case Integer():
            value = int(value)
        case Float(64):
            value = float(value)
        case Float():
            value = _single(value)
        case Decimal(_, scale):
            value = _rounded(decimal.Decimal(value), scale)
    return Literal(value, data_type)


def _single(value: Any) -> float:
    """A whole number or a single as the nearest single, rounded once."""
    import numpy as np

    return float(np.float32(np.int64(value) if isinstance(value, int) else value))


def _rounded(value: decimal.Decimal, scale: int) -> decimal.Decimal:
    with decimal.localcontext(prec=2 * _PRECISION):
        return value.quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_HALF_UP)


def _decimal(value: decimal.Decimal) -> Literal:
    """A decimal constant in the smallest type that has its digits."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    with decimal.localcontext(prec=2 * _PRECISION):
        plain = value.quantize(decimal.Decimal(1)) if exponent > 0 else value
    scale = max(-exponent, 0)
    digits = max(len(plain.as_tuple().digits), scale)
    if digits > _PRECISION:
        raise TargetError(f"the number {value} has more than {_PRECISION} digits")
    return Literal(plain, Decimal(digits, scale))


def number(text: str) -> Literal:
    """A number as Spark reads it: INT, BIGINT or DECIMAL, and DOUBLE with an exponent."""
    if not _NUMBER.fullmatch(text):
        raise TargetError(f"{text} is not a number as Spark writes it")
    if "e" in text.lower():
        if not math.isfinite(float(text)):
            raise TargetError(f"the number {text} is too large for a DOUBLE")
        return Literal(float(text), DOUBLE)
    if "." not in text and -(2**63) <= int(text) < 2**63:
        return Literal(int(text), Integer(32 if -(2**31) <= int(text) < 2**31 else 64))
    return _decimal(decimal.Decimal(text))
