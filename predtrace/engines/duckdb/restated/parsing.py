"""Text read as numbers, truth values and dates, as Spark's casts read it; None if it is none."""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation

_BLANK = "".join(map(chr, [*range(0x21), 0x7F]))
"""What Spark strips from texts: blanks and control characters of ASCII."""
_JAVA_BLANK = "".join(map(chr, range(0x21)))
_WHOLE = re.compile(r"([+-]?)([0-9]*)(\.[0-9]*)?", re.ASCII)
_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?", re.ASCII)
_SPECIAL = {
    "nan": float("nan"), "inf": float("inf"), "+inf": float("inf"), "infinity": float("inf"),
    "+infinity": float("inf"), "-inf": float("-inf"), "-infinity": float("-inf"),
}  # fmt: skip
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""Java takes the digits of all scripts here, if they are one UTF-16 unit."""
_LAST_UNIT = "\uffff"
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_DATE = re.compile(
    r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL
)
_EPOCH = dt.date(1970, 1, 1).toordinal()
_ERA_YEARS, _ERA_DAYS = 400, 146_097


def whole(text: str, bits: int, strict: bool) -> int | None:
    """A whole number of so many bits; unless `strict`, digits after a point are left out."""
    match = _WHOLE.fullmatch(text.strip(_BLANK))
    if match is None:
        return None
    sign, digits, fraction = match.groups()
    if (strict and fraction is not None) or not (digits or fraction):
        return None
    found = int(sign + (digits or "0"))
    return found if -(1 << bits - 1) <= found < 1 << bits - 1 else None


def double(text: str) -> float | None:
    """The nearest double."""
    stripped = text.strip(_JAVA_BLANK)
    if _DOUBLE.fullmatch(stripped):
        return float(stripped.rstrip("dDfF"))
    return _SPECIAL.get(stripped.lower())


def decimal(text: str, precision: int, scale: int) -> str | None:
    """A decimal of the type, as digits; halves are rounded away from zero."""
    stripped = text.strip(_BLANK)
    if not _DECIMAL.fullmatch(stripped) or any(letter > _LAST_UNIT for letter in stripped):
        return None
    exact = Context(prec=1000, rounding=ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))
    exact.traps[Inexact] = False
    try:
        found = exact.create_decimal(stripped).quantize(Decimal(1).scaleb(-scale), context=exact)
    except InvalidOperation:
        return None
    return format(found, "f") if len(found.as_tuple().digits) <= precision else None


def boolean(text: str) -> bool | None:
    """A truth value, by its words."""
    word = text.strip(_BLANK).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def days(text: str) -> int | None:
    """The days from 1970-01-01 to a date of the proleptic Gregorian calendar."""
    match = _DATE.fullmatch(text.strip(_BLANK))
    if match is None:
        return None
    sign, year_digits, month, day = match.groups()
    year = int(sign + year_digits)
    eras, within = divmod(year - 1, _ERA_YEARS)
    try:
        found = dt.date(within + 1, int(month or 1), int(day or 1))
    except ValueError:
        return None
    since = found.toordinal() - _EPOCH + eras * _ERA_DAYS
    return since if -(1 << 31) <= since < 1 << 31 else None
