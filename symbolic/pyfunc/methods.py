"""Built-in functions, methods and attributes that are read: their rows, as tables."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from typing import Any

from symbolic.pyfunc.values import (
    Const,
    Match,
    Pieces,
    Unread,
    Value,
    either,
    expr,
    python,
    truth,
)
from symbolic.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    DataType,
    Date,
    Float,
    Integer,
    String,
    Timestamp,
)

TEXT_METHODS: dict[str, tuple[DataType, int, int]] = {
    **dict.fromkeys(("strip", "lstrip", "rstrip"), (STRING, 0, 1)),
    **dict.fromkeys(
        ("lower", "upper", "title", "capitalize", "casefold", "swapcase"), (STRING, 0, 0)
    ),
    **dict.fromkeys(("removeprefix", "removesuffix", "zfill"), (STRING, 1, 1)),
    **dict.fromkeys(("ljust", "rjust", "center"), (STRING, 1, 2)),
    "replace": (STRING, 2, 3),
    **dict.fromkeys(("count", "find", "rfind"), (LONG, 1, 1)),
    **dict.fromkeys(
        ("isdigit", "isalpha", "isalnum", "isnumeric", "isdecimal", "isspace", "isupper",
         "islower"),
        (BOOLEAN, 0, 0),
    ),
}  # fmt: skip
"""Methods of text: the result's type, and the least and most arguments."""
DATE_PARTS = ("year", "month", "day")
TIME_PARTS = (*DATE_PARTS, "hour", "minute", "second")
DATE_METHODS: dict[str, tuple[DataType, int]] = {
    "weekday": (LONG, 0),
    "isoweekday": (LONG, 0),
    "isoformat": (STRING, 0),
    "strftime": (STRING, 1),
    "toordinal": (LONG, 0),
}


def attribute(value: Value, name: str) -> Value:
    """An attribute that is no method."""
    if isinstance(value, Const):
        return Const(getattr(value.value, name))
    kind = expr(value).type
    of_dates = isinstance(kind, Date) and name in DATE_PARTS
    if of_dates or (isinstance(kind, Timestamp) and name in TIME_PARTS):
        return python(name, LONG, value)
    raise Unread(f"the attribute {name}")


def method(value: Value, name: str, args: list[Value]) -> Value:
    """A call of a method of a value that is not known."""
    if isinstance(value, Match) and name in ("group", "__getitem__"):
        group = args[0] if args else Const(0)
        return python("re_group", STRING, *value.found.args, group)
    kind = expr(value).type
    if isinstance(kind, String):
        return _text_method(value, name, args)
    if isinstance(kind, (Date, Timestamp)) and name in DATE_METHODS:
        result, count = DATE_METHODS[name]
        if len(args) == count:
            return python("ordinal" if name == "toordinal" else name, result, value, *args)
    raise Unread(f"the method {name}")


def _text_method(value: Value, name: str, args: list[Value]) -> Value:
    if name in ("startswith", "endswith") and len(args) == 1:
        given = args[0]
        several = given.value if isinstance(given, Const) else None
        parts = [Const(each) for each in several] if isinstance(several, tuple) else [given]
        return either(*(truth(python(name, BOOLEAN, value, part)) for part in parts))
    if name == "split" and len(args) <= 1:
        separator = args[0] if args else Const(None)
        if isinstance(separator, Const) and separator.value != "":
            return Pieces(expr(value), separator.value)
    if name in TEXT_METHODS:
        kind, least, most = TEXT_METHODS[name]
        if least <= len(args) <= most:
            return python(name, kind, value, *args)
    raise Unread(f"the method {name}")


def _number(name: str) -> Callable[[list[Value]], Value]:
    def read(args: list[Value]) -> Value:
        kinds = [expr(arg).type for arg in args]
        if not kinds or not all(isinstance(kind, (Integer, Float)) for kind in kinds):
            raise Unread(f"{name} of other values than numbers")
        if len({type(kind) for kind in kinds}) > 1 and name != "round":
            raise Unread(f"{name} of whole and other numbers")
        return python(name, LONG if isinstance(kinds[0], Integer) else DOUBLE, *args)

    return read


def _round(args: list[Value]) -> Value:
    kind = expr(args[0]).type
    if not isinstance(kind, (Integer, Float)) or len(args) > 2:
        raise Unread("round of other values than numbers")
    whole = len(args) == 1 or isinstance(kind, Integer)
    return python("round", LONG if whole else DOUBLE, *args)


def _of_types(name: str, result: DataType, *kinds: type) -> Callable[[list[Value]], Value]:
    def read(args: list[Value]) -> Value:
        if len(args) == 1 and isinstance(expr(args[0]).type, kinds):
            return python(name, result, *args)
        raise Unread(f"{name} of these values")

    return read


FUNCTIONS: dict[Any, Callable[[list[Value]], Value]] = {
    len: _of_types("length", LONG, String),
    int: _of_types("int", LONG, String, Integer, Float),
    float: _of_types("float", DOUBLE, String, Integer, Float),
    str: _of_types("str", STRING, String, Integer, Float, Date, type(BOOLEAN)),
    bool: lambda args: truth(args[0]),
    abs: _number("absolute"),
    min: _number("least"),
    max: _number("greatest"),
    round: _round,
    math.isnan: _of_types("isnan", BOOLEAN, Float, Integer),
    math.floor: _of_types("floor", LONG, Float, Integer),
    math.ceil: _of_types("ceil", LONG, Float, Integer),
    math.sqrt: _of_types("sqrt", DOUBLE, Float, Integer),
}
"""Built-in and library functions that are read."""

OF_CONSTANTS = (
    datetime.date, datetime.datetime, datetime.timedelta, chr, dict, frozenset, list, ord, range,
    set, sorted, sum, tuple,
)  # fmt: skip
"""Functions that are called, of constants alone: they do nothing else than to give a value."""


def regular_expression(name: str, pattern: Any, args: list[Value]) -> Value | None:
    """A call of `re` with a constant pattern; None for what is no such call."""
    flags = pattern.flags if isinstance(pattern, re.Pattern) else 0
    text = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    if not isinstance(text, str):
        return None
    fixed = (Const(text), Const(int(flags) & ~re.UNICODE.value))
    if name == "sub" and len(args) == 2 and isinstance(args[0], Const):
        return python("re_sub", STRING, args[1], *fixed, args[0])
    if name in ("match", "search", "fullmatch") and len(args) == 1:
        return Match(python("re_found", BOOLEAN, args[0], *fixed, Const(name)))
    return None
