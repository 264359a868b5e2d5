"""CAST: from value and target type, NULL where the conversion fails."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct
from collections.abc import Callable
from typing import Any

from symbolic.expr import Call
from symbolic.types import (
    Boolean,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    String,
    Timestamp,
)
from tests.reference.functions.base import Builder, Settings
from tests.reference.values import fit_decimal, fit_integer

_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?(?:[ T].*)?")


def double_text(value: float) -> str:
    """A DOUBLE as Java writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    if 1e-3 <= abs(value) < 1e7:
        text = f"{decimal.Decimal(repr(value)):f}"
        return text if "." in text else text + ".0"
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    mantissa = str(digits[0]) + "." + ("".join(map(str, digits[1:])) or "0")
    return f"{'-' if sign else ''}{mantissa}E{exponent + len(digits) - 1}"


def _to_text(value: Any, settings: Settings) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case decimal.Decimal():
            return f"{value:f}"
        case dt.datetime():
            wall = settings.local(value)
            fraction = f".{wall.microsecond:06d}".rstrip("0") if wall.microsecond else ""
            return f"{wall:%Y-%m-%d %H:%M:%S}{fraction}"
        case dt.date():
            return value.isoformat()
        case bytes():
            return value.decode("utf-8", "replace")
        case _:
            return str(value)


def _to_integer(value: Any, target: Integer) -> int | None:
    if isinstance(value, str):
        text = value.strip()
        return fit_integer(int(text), target) if re.fullmatch(r"[+-]?\d+", text) else None
    if isinstance(value, dt.datetime):
        return fit_integer(math.floor(value.timestamp()), target)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return fit_integer(int(value), target)


def _to_decimal(value: Any, target: Decimal) -> decimal.Decimal | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bool):
        value = int(value)
    try:
        exact = decimal.Decimal(repr(value) if isinstance(value, float) else str(value).strip())
    except decimal.InvalidOperation:
        return None
    return fit_decimal(exact, target) if exact.is_finite() else None


def _to_float(value: Any, target: Float) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if target.bits == 32:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    return number


def _to_boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        text = value.strip().lower()
        return True if text in _TRUE else False if text in _FALSE else None
    return bool(value)


def _to_date(value: Any, settings: Settings) -> dt.date | None:
    if isinstance(value, dt.datetime):
        return settings.local(value).date()
    if isinstance(value, dt.date):
        return value
    match = _DATE.fullmatch(value.strip())
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None


def _to_timestamp(value: Any, settings: Settings, zoned: bool) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return settings.instant(settings.local(value), zoned)
    if isinstance(value, dt.date):
        return settings.instant(dt.datetime(value.year, value.month, value.day), zoned)
    if isinstance(value, str):
        try:
            wall = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return wall if wall.tzinfo else settings.instant(wall, zoned)
    return dt.datetime.fromtimestamp(float(value), dt.UTC)


def caster(source: DataType, target: DataType, settings: Settings) -> Callable[[Any], Any]:
    """The conversion of values that are not NULL."""
    if source == target:
        return lambda value: value
    match target:
        case String():
            return lambda value: _to_text(value, settings)
        case Integer():
            return lambda value: _to_integer(value, target)
        case Decimal():
            return lambda value: _to_decimal(value, target)
        case Float():
            return lambda value: _to_float(value, target)
        case Boolean():
            return _to_boolean
        case Date():
            return lambda value: _to_date(value, settings)
        case Timestamp(zoned):
            return lambda value: _to_timestamp(value, settings, zoned)
        case _:
            return lambda value: value


def _cast(expr: Call, settings: Settings) -> Callable[..., Any]:
    return caster(expr.args[0].type, expr.type, settings)


CASTS: dict[str, Builder] = {"cast": _cast, "try_cast": _cast}
