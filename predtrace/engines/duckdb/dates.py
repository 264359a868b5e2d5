"""Dates in DuckDB: moved by days, months and intervals, and as text; and where that is exact."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb.whole_numbers import wrapped
from predtrace.engines.sql.compiler import literal_argument, named
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import number, sql_literal, sql_type, text_literal
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call, Literal
from symbolic.types import (
    DATE,
    Date,
    DayTimeInterval,
    Integer,
    YearMonthInterval,
    type_name,
)

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder

_MICROSECONDS_PER_DAY = 86_400_000_000
_EPOCH = Literal(dt.date(1970, 1, 1), DATE)
_DAYS_BITS = 32
_INFINITE = 2**31 - 1


def null_for_failure(value: exp.Expr) -> exp.Expr:
    """NULL instead of an error (an overflow)."""
    return named("try", value)


def days_of(date: exp.Expr) -> exp.Expr:
    """The days from 1970-01-01 to a date, a BIGINT."""
    days = exp.Sub(this=date, expression=sql_literal(_EPOCH, "duckdb"))
    return exp.paren(days, copy=False)


def date_of(days: exp.Expr) -> exp.Expr:
    """The date so many days (of 32 bits) after 1970-01-01.

    DuckDB has infinities for the outermost days, as it has when it reads such dates.
    """
    branches = [
        exp.If(this=exp.GTE(this=days, expression=number(_INFINITE)), true=_date("infinity")),
        exp.If(this=exp.LTE(this=days.copy(), expression=number(-_INFINITE)),
               true=_date("-infinity")),
    ]  # fmt: skip
    moved = exp.Add(this=sql_literal(_EPOCH, "duckdb"), expression=days.copy())
    return exp.Case(ifs=branches, default=moved)


def _date(text: str) -> exp.Expr:
    return exp.Cast(this=text_literal(text), to=sql_type(DATE, "duckdb"))


def date_text(date: exp.Expr, usual: exp.Expr) -> exp.Expr:
    """A date as Spark writes it: years of more than four digits have a sign; year 0 comes before
    1."""
    year = named("year", date.copy())
    within = exp.Between(
        this=date.copy(),
        low=sql_literal(Literal(dt.date.min, Date()), "duckdb"),
        high=sql_literal(Literal(dt.date.max, Date()), "duckdb"),
    )
    sign = exp.Case(
        ifs=[
            exp.If(this=exp.GT(this=year, expression=number(dt.MAXYEAR)), true=text_literal("+")),
            exp.If(this=exp.LT(this=year.copy(), expression=number(0)), true=text_literal("-")),
        ],
        default=text_literal(""),
    )
    digits = named("format", text_literal("{:04d}"), named("abs", year.copy()))
    rest = named("strftime", date.copy(), text_literal("-%m-%d"))
    text = exp.DPipe(this=exp.DPipe(this=sign, expression=digits), expression=rest)
    return exp.paren(exp.Case(ifs=[exp.If(this=within, true=usual)], default=text), copy=False)


def date_shift(kind: type[exp.Binary]) -> Builder:
    """A date plus or minus days. After the last of all dates comes the first."""

    def build(call: Call, args: Args) -> exp.Expr:
        days = exp.Cast(this=args[1], to=exp.DataType.build("BIGINT"))
        moved = exp.paren(kind(this=days_of(args[0]), expression=days), copy=False)
        return date_of(wrapped(moved, _DAYS_BITS))

    return build


def date_diff(call: Call, args: Args) -> exp.Expr:
    """Days between two dates."""
    days = exp.paren(exp.Sub(this=args[0], expression=args[1]), copy=False)
    return exp.Cast(this=days, to=exp.DataType.build("INT"))


def _months_later(date: exp.Expr, months: exp.Expr) -> exp.Expr:
    moved = null_for_failure(exp.Add(this=date, expression=months))
    return exp.Cast(this=moved, to=exp.DataType.build("DATE"))


def add_months(call: Call, args: Args) -> exp.Expr:
    """A date plus months, NULL where that overflows."""
    months = exp.Cast(this=args[1], to=exp.DataType.build("INT"))
    return _months_later(args[0], named("to_months", months))


def date_add_interval(call: Call, args: Args) -> exp.Expr:
    """A date plus a constant interval, NULL where that overflows."""
    amount = literal_argument(call, 1)
    if not isinstance(amount, int):
        return exp.Cast(this=exp.Null(), to=sql_type(call.type, "duckdb"))
    if isinstance(call.args[1].type, YearMonthInterval):
        return _months_later(args[0], named("to_months", number(amount)))
    return null_for_failure(
        exp.Add(this=args[0], expression=number(amount // _MICROSECONDS_PER_DAY))
    )


def _of_date(call: Call, settings: EngineSettings) -> str | None:
    if isinstance(call.args[0].type, Date):
        return None
    return f"it is exact on dates only, not on {type_name(call.args[0].type)}"


def _of_dates(call: Call, settings: EngineSettings) -> str | None:
    exact = all(isinstance(arg.type, Date) for arg in call.args)
    return None if exact else "it is exact on dates only"


def _date_and_months(call: Call, settings: EngineSettings) -> str | None:
    exact = isinstance(call.args[0].type, Date) and isinstance(call.args[1].type, Integer)
    return None if exact else "it is exact on a date and whole months only"


def _date_and_interval(call: Call, settings: EngineSettings) -> str | None:
    date, interval = call.args
    kinds = (YearMonthInterval, DayTimeInterval)
    if not (isinstance(date.type, Date) and isinstance(call.type, Date)):
        return "it is exact on dates only"
    if not (isinstance(interval, Literal) and isinstance(interval.type, kinds)):
        return "the interval is not constant"
    return None


def _date_and_days(call: Call, settings: EngineSettings) -> str | None:
    exact = isinstance(call.args[0].type, Date) and isinstance(call.args[1].type, Integer)
    return None if exact else "it is exact on a date and whole days only"


OF_DATE = Exactness("on dates", _of_date)
OF_DATES = Exactness("on dates", _of_dates)
DATE_AND_DAYS = Exactness("on a date and whole days", _date_and_days)
DATE_AND_MONTHS = Exactness("on a date and whole months", _date_and_months)
DATE_AND_INTERVAL = Exactness("on a date and a constant interval", _date_and_interval)
