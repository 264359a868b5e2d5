"""Functions with Python's meaning: Python's own operators and methods, NULL where they raise."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

from tests.reference.functions.base import Builder


def _split(text: str, separator: str | None) -> list[str]:
    return text.split(separator)


def _searched(text: str, pattern: str, flags: int, how: str) -> re.Match[str] | None:
    found: re.Match[str] | None = getattr(re, how)(pattern, text, flags)
    return found


MEANINGS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "modulo": operator.mod,
    "power": operator.pow,
    "negate": operator.neg,
    "absolute": abs,
    "round": round,
    "least": min,
    "greatest": max,
    "eq": operator.eq,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "truth": bool,
    "str": str,
    "int": int,
    "float": float,
    "sqrt": math.sqrt,
    "isnan": math.isnan,
    "floor": math.floor,
    "ceil": math.ceil,
    "length": len,
    "contains": lambda text, part: part in text,
    "slice": lambda text, first, last: text[first:last],
    "item": lambda text, place: text[place],
    "re_found": lambda *args: _searched(*args) is not None,
    "re_group": lambda *args: _searched(*args[:4]).group(args[4]),  # type: ignore[union-attr]
    "re_sub": lambda text, pattern, flags, by: re.sub(pattern, by, text, flags=flags),
    "split_item": lambda text, separator, place: _split(text, separator)[place],
    "join_split": lambda text, separator, by: by.join(_split(text, separator)),
    "days_between": lambda one, other: (one - other).days,
    "ordinal": lambda day: day.toordinal(),
    **{
        name: operator.attrgetter(name)
        for name in ("year", "month", "day", "hour", "minute", "second")
    },
}
_METHODS = (
    "strip lstrip rstrip lower upper title capitalize casefold swapcase replace zfill ljust rjust "
    "center removeprefix removesuffix isoformat strftime count find rfind weekday isoweekday "
    "startswith endswith isdigit isalpha isalnum isnumeric isdecimal isspace isupper islower"
)


def _method(name: str) -> Callable[..., Any]:
    return lambda value, *args: getattr(value, name)(*args)


def _total(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, None where it raises."""

    def apply(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception:
            return None

    return apply


def _builder(function: Callable[..., Any]) -> Builder:
    total = _total(function)
    return lambda call, settings: total


_ALL = {**MEANINGS, **{name: _method(name) for name in _METHODS.split()}}
PYTHONIC: dict[str, Builder] = {f"python.{name}": _builder(each) for name, each in _ALL.items()}
