"""The scalar functions that random queries call: text, and what Spark makes of it."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from tests.sqltruth.syntax import Function
from tests.sqltruth.values import (
    RaisesError,
    Settings,
    conjunction,
    disjunction,
    equal,
    key,
    negation,
)

INT, LONG, DOUBLE, TEXT = "int", "bigint", "double", "string"
DECIMAL, TINY = "decimal(5,2)", "decimal(10,8)"
DATE, MOMENT, LOCAL, BOOL = "date", "timestamp", "timestamp_ntz", "boolean"
TYPES = (INT, LONG, DOUBLE, TEXT, DECIMAL, TINY, DATE, MOMENT, LOCAL, BOOL)

_BITS = {INT: 32, LONG: 64}
_WHOLE = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"([+-]?)(\d*)(\.\d*)?")


def wrapped(value: int, bits: int) -> int:
    """The value as a two's complement number."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def fits(value: int, bits: int) -> bool:
    """Whether so many bits hold the value."""
    return wrapped(value, bits) == value


def _arithmetic(compute: Callable[..., int], bits: int) -> Callable[..., Any]:
    def value(settings: Settings, *given: int) -> int:
        exact = compute(*given)
        if settings.ansi and not fits(exact, bits):
            raise RaisesError("overflow")
        return wrapped(exact, bits)

    return value


def _tried(compute: Callable[..., int], bits: int) -> Callable[..., Any]:
    def value(settings: Settings, *given: int) -> int | None:
        exact = compute(*given)
        return exact if fits(exact, bits) else None

    return value


def _try_whole(bits: int) -> Callable[..., Any]:
    def value(settings: Settings, given: str) -> int | None:
        found = _WHOLE.fullmatch(given.strip())
        return int(given) if found and fits(int(given), bits) else None

    return value


def _whole(settings: Settings, given: str) -> int | None:
    """CAST(text AS INT) without ANSI: the fraction is cut off."""
    if settings.ansi:
        raise RaisesError("cast of text")
    found = _NUMBER.fullmatch(given.strip())
    if not found or not (found[2] or found[3]) or found[0] in ("+", "-", ".", "+.", "-."):
        return None
    number = int(found[1] + (found[2] or "0"))
    return number if fits(number, 32) else None


def _try_double_to_int(settings: Settings, given: float) -> int | None:
    return int(given) if math.isfinite(given) and fits(int(given), 32) else None


def _try_decimal(settings: Settings, given: str) -> Decimal | None:
    found = _NUMBER.fullmatch(given.strip())
    if not found or not found[0].strip("+-."):
        return None
    number = Decimal(found[0]).quantize(Decimal("0.01"), "ROUND_HALF_UP")
    return number if abs(number) < 1000 else None


def _try_date(settings: Settings, given: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(given.strip())
    except ValueError:
        return None


def decimal_text(settings: Settings, value: Decimal) -> str:
    """A decimal as text: plain under ANSI, else as Java's BigDecimal writes itself."""
    return f"{value:f}" if settings.ansi else str(value)


def _double_text(settings: Settings, value: float) -> str:
    names = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return "NaN" if math.isnan(value) else names.get(value, repr(value))


def _power(settings: Settings, base: float) -> float:
    return math.copysign(math.inf, base) if base == 0 else base**-1.0


def local(settings: Settings, moment: dt.datetime) -> dt.datetime:
    """The wall clock in the session's zone."""
    return moment.astimezone(ZoneInfo(settings.zone)).replace(tzinfo=None, fold=0)


def instant(settings: Settings, wall: dt.datetime) -> dt.datetime:
    """The (earlier) moment at which clocks showed that."""
    return wall.replace(tzinfo=ZoneInfo(settings.zone), fold=0).astimezone(dt.UTC)


def _moment_text(settings: Settings, value: dt.datetime) -> str:
    return str(value if value.tzinfo is None else local(settings, value))


def _hour_start(settings: Settings, value: dt.datetime) -> dt.datetime:
    here = value.astimezone(ZoneInfo(settings.zone))
    start = here.replace(minute=0, second=0, microsecond=0)
    return start.astimezone(dt.UTC)


def _day_start(settings: Settings, value: dt.datetime) -> dt.datetime:
    return instant(settings, dt.datetime.combine(local(settings, value).date(), dt.time()))


def _next_month(settings: Settings, value: dt.date) -> dt.date:
    return months_later(value, 1)


def months_later(value: dt.date, months: int) -> dt.date:
    """The day of another month, or that month's last one."""
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    return dt.date(year, month + 1, min(value.day, calendar.monthrange(year, month + 1)[1]))


def _last_day(settings: Settings, value: dt.date) -> dt.date:
    return value.replace(day=calendar.monthrange(value.year, value.month)[1])


def like(pattern: str) -> Callable[..., Any]:
    """LIKE with a pattern of ``%`` and ``_`` only."""
    parts = {"%": ".*", "_": "."}
    regex = re.compile("".join(parts.get(c, re.escape(c)) for c in pattern), re.DOTALL)
    return lambda settings, value: regex.fullmatch(value) is not None


def _remainder(settings: Settings, value: int) -> int:
    return int(math.fmod(value, 2))


def _padded(settings: Settings, value: str) -> str:
    return value[:3].rjust(3, "*")


SCALARS: tuple[Function, ...] = (
    Function(INT, (INT, INT), "{0} + {1}", _arithmetic(lambda a, b: a + b, 32)),
    Function(INT, (INT,), "{0} * 2", _arithmetic(lambda a: a * 2, 32)),
    Function(INT, (INT,), "-{0}", _arithmetic(lambda a: -a, 32)),
    Function(INT, (INT,), "abs({0})", _arithmetic(abs, 32)),
    Function(INT, (INT,), "{0} % 2", _remainder),
    Function(INT, (INT, INT), "try_add({0}, {1})", _tried(lambda a, b: a + b, 32)),
    Function(INT, (INT, INT), "try_subtract({0}, {1})", _tried(lambda a, b: a - b, 32)),
    Function(INT, (INT,), "try_multiply({0}, 2147483647)", _tried(lambda a: a * 2147483647, 32)),
    Function(INT, (TEXT,), "length({0})", lambda s, a: len(a)),
    Function(INT, (TEXT,), "try_cast({0} AS int)", _try_whole(32)),
    Function(INT, (TEXT,), "CAST({0} AS int)", _whole),
    Function(INT, (LONG,), "try_cast({0} AS int)", _tried(lambda a: a, 32)),
    Function(INT, (DOUBLE,), "try_cast({0} AS int)", _try_double_to_int),
    Function(INT, (DECIMAL,), "CAST({0} AS int)", lambda s, a: int(a)),
    Function(INT, (DATE,), "year({0})", lambda s, a: a.year),
    Function(INT, (DATE, DATE), "datediff({0}, {1})", lambda s, a, b: (a - b).days),
    Function(INT, (MOMENT,), "hour({0})", lambda s, a: local(s, a).hour),
    Function(INT, (LOCAL,), "minute({0})", lambda s, a: a.minute),
    Function(INT, (BOOL,), "CAST({0} AS int)", lambda s, a: int(a)),
    Function(LONG, (INT,), "CAST({0} AS bigint)", lambda s, a: a),
    Function(LONG, (LONG,), "try_add({0}, 9223372036854775807L)",
             _tried(lambda a: a + 9223372036854775807, 64)),
    Function(LONG, (TEXT,), "try_cast({0} AS bigint)", _try_whole(64)),
    Function(DOUBLE, (INT,), "CAST({0} AS double)", lambda s, a: float(a)),
    Function(DOUBLE, (DOUBLE,), "{0} + 1.5D", lambda s, a: a + 1.5),
    Function(DOUBLE, (DOUBLE,), "-{0}", lambda s, a: -a),
    Function(DOUBLE, (DOUBLE,), "nanvl({0}, 2.5D)", lambda s, a: 2.5 if math.isnan(a) else a),
    Function(DOUBLE, (DECIMAL,), "CAST({0} AS double)", lambda s, a: float(a)),
    Function(TEXT, (TEXT,), "upper({0})", lambda s, a: a.upper()),
    Function(TEXT, (TEXT,), "lower({0})", lambda s, a: a.lower()),
    Function(TEXT, (TEXT,), "trim({0})", lambda s, a: a.strip(" ")),
    Function(TEXT, (TEXT,), "reverse({0})", lambda s, a: a[::-1]),
    Function(TEXT, (TEXT, TEXT), "{0} || {1}", lambda s, a, b: a + b),
    Function(TEXT, (TEXT,), "substring({0}, 1, 1)", lambda s, a: a[:1]),
    Function(TEXT, (TEXT,), "replace({0}, 'a', 'b')", lambda s, a: a.replace("a", "b")),
    Function(TEXT, (TEXT,), "lpad({0}, 3, '*')", _padded),
    Function(TEXT, (INT,), "CAST({0} AS string)", lambda s, a: str(a)),
    Function(TEXT, (DECIMAL,), "CAST({0} AS string)", decimal_text),
    Function(TEXT, (TINY,), "CAST({0} AS string)", decimal_text),
    Function(TEXT, (DATE,), "CAST({0} AS string)", lambda s, a: str(a)),
    Function(TEXT, (MOMENT,), "CAST({0} AS string)", _moment_text),
    Function(TEXT, (LOCAL,), "CAST({0} AS string)", _moment_text),
    Function(TEXT, (BOOL,), "CAST({0} AS string)", lambda s, a: str(a).lower()),
    Function(DECIMAL, (DECIMAL,), "abs({0})", lambda s, a: abs(a)),
    Function(DECIMAL, (DECIMAL,), "-{0}", lambda s, a: -a),
    Function(DECIMAL, (INT,), "try_cast({0} AS decimal(5,2))",
             lambda s, a: Decimal(a).quantize(Decimal("0.01")) if abs(a) < 1000 else None),
    Function(DECIMAL, (TEXT,), "try_cast({0} AS decimal(5,2))", _try_decimal),
    Function(DATE, (DATE,), "date_add({0}, 1)", lambda s, a: a + dt.timedelta(1)),
    Function(DATE, (DATE,), "add_months({0}, 1)", _next_month),
    Function(DATE, (DATE,), "last_day({0})", _last_day),
    Function(DATE, (DATE,), "trunc({0}, 'MM')", lambda s, a: a.replace(day=1)),
    Function(DATE, (TEXT,), "try_cast({0} AS date)", _try_date),
    Function(DATE, (MOMENT,), "CAST({0} AS date)", lambda s, a: local(s, a).date()),
    Function(DATE, (LOCAL,), "CAST({0} AS date)", lambda s, a: a.date()),
    Function(MOMENT, (MOMENT,), "{0} + INTERVAL '1' HOUR", lambda s, a: a + dt.timedelta(hours=1)),
    Function(MOMENT, (MOMENT,), "date_trunc('HOUR', {0})", _hour_start),
    Function(MOMENT, (MOMENT,), "date_trunc('DAY', {0})", _day_start),
    Function(MOMENT, (LOCAL,), "CAST({0} AS timestamp)", instant),
    Function(MOMENT, (DATE,), "CAST({0} AS timestamp)",
             lambda s, a: instant(s, dt.datetime.combine(a, dt.time()))),
    Function(LOCAL, (MOMENT,), "CAST({0} AS timestamp_ntz)", local),
    Function(LOCAL, (LOCAL,), "{0} + INTERVAL '1' HOUR", lambda s, a: a + dt.timedelta(hours=1)),
    Function(BOOL, (TEXT,), "{0} LIKE 'a%'", like("a%")),
    Function(BOOL, (TEXT,), "{0} LIKE '%b'", like("%b")),
    Function(BOOL, (TEXT,), "{0} LIKE '_'", like("_")),
    Function(BOOL, (DOUBLE,), "isnan({0})", lambda s, a: bool(a is not None and math.isnan(a)),
             True),
)  # fmt: skip
"""Functions of fixed types."""
ABSOLUTE = next(function for function in SCALARS if function.text == "abs({0})")
ZERO_TELLING: tuple[Function, ...] = (
    Function(TEXT, (DOUBLE,), "CAST({0} AS string)", _double_text),
    Function(DOUBLE, (DOUBLE,), "power({0}, -1)", _power),
)
"""Functions that tell 0.0 from -0.0: called only where it is known which of them it is."""


def _case(settings: Settings, condition: bool | None, yes: Any, no: Any) -> Any:
    return yes if condition is True else no


def _coalesce(settings: Settings, *given: Any) -> Any:
    return next((value for value in given if value is not None), None)


def _nullif(settings: Settings, left: Any, right: Any) -> Any:
    return None if equal(left, right) is True else left


def _greatest(settings: Settings, *given: Any) -> Any:
    return max((value for value in given if value is not None), key=key, default=None)


def _least(settings: Settings, *given: Any) -> Any:
    return min((value for value in given if value is not None), key=key, default=None)


def generic(data_type: str) -> tuple[Function, ...]:
    """Functions of all types, for one of them."""
    pair = (data_type, data_type)
    found = [
        Function(data_type, pair, "coalesce({0}, {1})", _coalesce, True),
        Function(data_type, pair, "nullif({0}, {1})", _nullif, True),
        Function(data_type, (BOOL, *pair), "CASE WHEN {0} THEN {1} ELSE {2} END", _case, True),
        Function(data_type, (BOOL, *pair), "if({0}, {1}, {2})", _case, True),
    ]
    if data_type not in (BOOL, DOUBLE):
        found.append(Function(data_type, pair, "greatest({0}, {1})", _greatest, True))
        found.append(Function(data_type, pair, "least({0}, {1})", _least, True))
    return tuple(found)


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    return lambda settings, a, b: test(key(a), key(b))


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "=": _ordered(lambda a, b: a == b),
    "<>": _ordered(lambda a, b: a != b),
    "<": _ordered(lambda a, b: a < b),
    "<=": _ordered(lambda a, b: a <= b),
    ">": _ordered(lambda a, b: a > b),
    ">=": _ordered(lambda a, b: a >= b),
}


def comparison(operator: str, data_type: str) -> Function:
    """A comparison of two values of a type."""
    pair = (data_type, data_type)
    if operator == "<=>":
        return Function(BOOL, pair, "{0} <=> {1}", lambda s, a, b: key(a) == key(b), True)
    return Function(BOOL, pair, f"{{0}} {operator} {{1}}", _COMPARISONS[operator])


def membership(data_type: str, count: int, negated: bool) -> Function:
    """IN with a list of values, NULLs among them perhaps."""

    def value(settings: Settings, given: Any, *options: Any) -> bool | None:
        found = disjunction([equal(given, option) for option in options])
        return negation(found) if negated else found

    options = ", ".join(f"{{{number}}}" for number in range(1, count + 1))
    text = f"{{0}} {'NOT ' * negated}IN ({options})"
    return Function(BOOL, (data_type,) * (count + 1), text, value, True)


def between(data_type: str) -> Function:
    """BETWEEN."""
    return Function(
        BOOL,
        (data_type,) * 3,
        "{0} BETWEEN {1} AND {2}",
        lambda s, a, low, high: conjunction(
            [
                None if a is None or low is None else key(low) <= key(a),
                None if a is None or high is None else key(a) <= key(high),
            ]
        ),
        True,
    )


def is_null(data_type: str, negated: bool) -> Function:
    """IS NULL and IS NOT NULL."""
    text = f"{{0}} IS {'NOT ' * negated}NULL"
    return Function(BOOL, (data_type,), text, lambda s, a: (a is None) != negated, True)


AND = Function(BOOL, (BOOL, BOOL), "{0} AND {1}", lambda s, a, b: conjunction([a, b]), True)
OR = Function(BOOL, (BOOL, BOOL), "{0} OR {1}", lambda s, a, b: disjunction([a, b]), True)
NOT = Function(BOOL, (BOOL,), "NOT {0}", lambda s, a: negation(a), True)
IS_TRUE = Function(BOOL, (BOOL,), "{0} IS TRUE", lambda s, a: a is True, True)
IS_NOT_TRUE = Function(BOOL, (BOOL,), "{0} IS NOT TRUE", lambda s, a: a is not True, True)


def _itself(settings: Settings, given: Any) -> Any:
    return given


UNSTEADY = (
    Function(BOOL, (BOOL,), "{0} AND rand() >= 0", _itself),
    Function(BOOL, (BOOL,), "{0} AND monotonically_increasing_id() >= 0", _itself),
    Function(INT, (INT,), "{0} + CAST(rand(3) * 0 AS INT)", _itself),
    Function(LONG, (LONG,), "{0} | spark_partition_id() * 0", _itself),
    Function(TEXT, (TEXT,), "concat({0}, repeat(uuid(), 0))", _itself),
)
"""The argument itself, in a way that Spark calls non-deterministic: only the run evaluates it."""
