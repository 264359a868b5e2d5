"""Values of a target, checked and converted to a column's type without loss."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Callable, Iterator, Mapping, Set
from fractions import Fraction
from typing import Any

from predtrace.errors import TargetError
from predtrace.targets.foreign_values import NOT_PLAIN, plain_value
from symbolic.types import (
    Array,
    Binary,
    Boolean,
    DataType,
    Date,
    DayTimeInterval,
    Decimal,
    Float,
    Integer,
    Map,
    Null,
    Record,
    String,
    Timestamp,
    TypeBase,
    YearMonthInterval,
    type_name,
)

_SHOWN = 100
_NANOSECONDS = re.compile(r"[.,]\d{6}0*[1-9]")
_NO_ARRAYS = (str, bytes, bytearray, memoryview, Mapping, Set, Iterator)
"""Types that are iterable but are not sequences of elements."""


class _NoFitError(Exception):
    """The value is not a value of the type."""


def convert(value: Any, data_type: DataType, column: str) -> Any:
    """The value as an exact value of the type. Raises a TargetError that says what is accepted.

    Dates and timestamps are also read from ISO text, decimals from int and text. Zoned timestamps
    become aware timestamps in UTC. A naive timestamp must not be passed: its zone is the job's (see
    `checking`).
    """
    try:
        return _convert(value, data_type)
    except _NoFitError:
        hint = _HINTS.get(type(data_type), "")
        raise TargetError(
            f"column {column} is {type_name(data_type)}; {_shown(value)} "
            f"({type(value).__name__}) is not such a value{hint}"
        ) from None


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to print integers of thousands of digits
        return "a number"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _convert(value: Any, data_type: DataType) -> Any:
    value = plain_value(value)
    if value is None:
        return None
    if value is NOT_PLAIN:
        raise _NoFitError
    converter = _CONVERTERS.get(type(data_type))
    if converter is None:
        raise _NoFitError
    return converter(value, data_type)


def _boolean(value: Any, data_type: DataType) -> bool:
    if not isinstance(value, bool):
        raise _NoFitError
    return value


def _integer(value: Any, data_type: DataType) -> int:
    assert isinstance(data_type, Integer)
    whole = _exact_number(value)
    # The range comes first, so that the digits of 1E+999999 are never written out.
    if not _fits(whole, data_type.bits) or whole != int(whole):
        raise _NoFitError
    return int(whole)


def _exact_number(value: Any) -> decimal.Decimal:
    """A finite number, exactly; also from text that is a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal, str)):
        raise _NoFitError
    try:
        number = decimal.Decimal(value)
    except decimal.InvalidOperation:
        raise _NoFitError from None
    if not number.is_finite():
        raise _NoFitError
    return number


def _decimal(value: Any, data_type: DataType) -> decimal.Decimal:
    assert isinstance(data_type, Decimal)
    # A float stands for the number that it prints as: 0.1 means 0.1.
    number = _exact_number(repr(value) if isinstance(value, float) else value)
    # The place of the first digit comes before any arithmetic that could leave its range.
    if number and not 0 <= number.adjusted() + data_type.scale < data_type.precision:
        raise _NoFitError
    if number and (Fraction(number) * 10**data_type.scale).denominator != 1:
        raise _NoFitError
    with decimal.localcontext(prec=80):
        return number.quantize(decimal.Decimal(1).scaleb(-data_type.scale))


def _float(value: Any, data_type: DataType) -> float:
    assert isinstance(data_type, Float)
    if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal)):
        raise _NoFitError
    try:
        number = float(value)
    except (OverflowError, ValueError):  # beyond its range; a signaling NaN
        raise _NoFitError from None
    if isinstance(value, int) and int(number) != value:
        raise _NoFitError
    if isinstance(value, decimal.Decimal) and value.is_finite() and _leaves_range(value, number):
        raise _NoFitError
    if data_type.bits == 32 and math.isfinite(number):
        return _single(number)
    return number


def _leaves_range(exact: decimal.Decimal, number: float) -> bool:
    return math.isinf(number) or (exact != 0 and number == 0)


def _single(number: float) -> float:
    """A float column's value: the nearest single, if it prints as the number given."""
    import numpy as np

    with np.errstate(all="ignore"):
        nearest = np.float32(number)
    if float(nearest) != number and float(str(nearest)) != number:
        raise _NoFitError
    return float(nearest)


def _string(value: Any, data_type: DataType) -> str:
    if not isinstance(value, str):
        raise _NoFitError
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        raise _NoFitError from None
    return value


def _binary(value: Any, data_type: DataType) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _NoFitError
    return bytes(value)


def _date(value: Any, data_type: DataType) -> dt.date:
    if isinstance(value, dt.datetime):
        if value.time() != dt.time() or value.tzinfo is not None:
            raise _NoFitError
        return value.date()
    if isinstance(value, dt.date):
        return value
    parsed: dt.date = _parsed(value, dt.date.fromisoformat)
    return parsed


def _timestamp(value: Any, data_type: DataType) -> dt.datetime:
    assert isinstance(data_type, Timestamp)
    read = _wall_or_instant(value)
    if data_type.zoned:
        return _in_utc(read) if read.tzinfo else read
    if read.tzinfo is not None:
        raise _NoFitError
    return read


def _in_utc(instant: dt.datetime) -> dt.datetime:
    try:
        return instant.astimezone(dt.UTC)
    except OverflowError:
        raise _NoFitError from None


def _wall_or_instant(value: Any) -> dt.datetime:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, str) and _NANOSECONDS.search(value):  # which Python would drop
        raise _NoFitError
    parsed: dt.datetime = _parsed(value, dt.datetime.fromisoformat)
    return parsed


def _parsed(value: Any, parse: Callable[[str], Any]) -> Any:
    if not isinstance(value, str):
        raise _NoFitError
    try:
        return parse(value)
    except ValueError:
        raise _NoFitError from None


def _day_time(value: Any, data_type: DataType) -> dt.timedelta:
    if not isinstance(value, dt.timedelta):
        raise _NoFitError
    if not _fits(value // dt.timedelta(microseconds=1), 64):
        raise _NoFitError
    return value


def _months(value: Any, data_type: DataType) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not _fits(value, 32):
        raise _NoFitError
    return value


def _fits(value: int | decimal.Decimal, bits: int) -> bool:
    limit = 1 << (bits - 1)
    return -limit <= value < limit


def _array(value: Any, data_type: DataType) -> list[Any]:
    assert isinstance(data_type, Array)
    if isinstance(value, _NO_ARRAYS) or not hasattr(value, "__iter__"):
        raise _NoFitError
    return [_convert(item, data_type.element) for item in value]


def _record(value: Any, data_type: DataType) -> dict[str, Any]:
    assert isinstance(data_type, Record)
    names = [field.name for field in data_type.fields]
    given = getattr(value, "__fields__", names)
    if given != names:  # a Row with its fields in another order
        value = dict(zip(given, value, strict=True))
    if isinstance(value, dict):
        if value.keys() != set(names):
            raise _NoFitError
        value = [value[name] for name in names]
    if not isinstance(value, (tuple, list)) or len(value) != len(data_type.fields):
        raise _NoFitError
    return {
        field.name: _convert(item, field.type)
        for field, item in zip(data_type.fields, value, strict=True)
    }


_CONVERTERS: dict[type[TypeBase], Callable[[Any, Any], Any]] = {
    Boolean: _boolean,
    Integer: _integer,
    Decimal: _decimal,
    Float: _float,
    String: _string,
    Binary: _binary,
    Date: _date,
    Timestamp: _timestamp,
    DayTimeInterval: _day_time,
    YearMonthInterval: _months,
    Array: _array,
    Record: _record,
}
_HINTS: dict[type[TypeBase], str] = {
    Date: "; give a date or text such as '1995-03-15', or None for NULL",
    Timestamp: "; give a datetime or text such as '1995-03-15 12:30:00', or None for NULL",
    Decimal: "; give a Decimal, int or text that fits exactly",
    Map: "; maps are not compared: leave the column out",
    Null: "; the column is always NULL",
}
