"""How DuckDB spells the functions that it can evaluate exactly as Spark does.

A row here is a claim, under the conditions of `exactness`; `tests/engines/test_faithful.py`
measures every one against Spark on boundary values.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.sql.compiler import (
    CONNECTIVES,
    build_cast,
    build_like,
    literal_argument,
    named,
    suffix,
)
from predtrace.engines.sql.exact_division import exact_quotient
from predtrace.engines.sql.literals import cast_to, number, sql_literal, sql_type, text_literal
from predtrace.errors import EngineError
from symbolic.expr import Call, Literal
from symbolic.types import Date, Decimal, String, YearMonthInterval

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder, Spelling

_MICROSECONDS_PER_DAY = 86_400_000_000
_WIDEST = 38


def _total(value: exp.Expr) -> exp.Expr:
    """NULL instead of an error (an overflow)."""
    return named("try", value)


def _arithmetic(kind: type[exp.Binary]) -> Builder:
    """Sums and differences, in the result's type.

    DuckDB keeps DECIMAL(18, s) when it adds two such, and then overflows where Spark
    has a wider type: the operands are widened first, which is exact.
    """

    def build(call: Call, args: Args) -> exp.Expr:
        operands = [
            exp.Cast(this=arg, to=sql_type(call.type, "duckdb"))
            if isinstance(call.type, Decimal)
            else arg
            for arg in args
        ]
        return _fitting(kind(this=operands[0], expression=operands[1]), call)

    return build


def _fitting(value: exp.Expr, call: Call) -> exp.Expr:
    """NULL for an overflow, unless the result type has room for every result.

    A decimal type of less than the widest precision is the exact one of Spark's rules
    (see `exactness`). A TRY is not free: it evaluates its rows apart from others.
    """
    roomy = isinstance(call.type, Decimal) and call.type.precision < _WIDEST
    return exp.paren(value, copy=False) if roomy else _total(value)


def _cast(call: Call, args: Args) -> exp.Expr:
    source = args[0]
    match call.args[0].type, call.type:
        case Date(), String():
            return _date_text(source, cast_to(source, call.type, "duckdb"))
        case Decimal(precision, scale), String() if precision == scale:
            # A decimal without a digit before the point is written '.5'.
            source = cast_to(source, Decimal(precision + 1, scale), "duckdb")
    return cast_to(source, call.type, "duckdb")


def _date_text(date: exp.Expr, usual: exp.Expr) -> exp.Expr:
    """A date as Spark writes it: beyond four digits the year has a sign, years go on below 1."""
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


def _multiply(call: Call, args: Args) -> exp.Expr:
    left, right = args
    if isinstance(call.type, Decimal):
        scale = call.args[0].type.scale if isinstance(call.args[0].type, Decimal) else 0
        left = exp.Cast(this=left, to=sql_type(Decimal(_WIDEST, scale), "duckdb"))
        product = _fitting(exp.Mul(this=left, expression=right), call)
        return cast_to(product, call.type, "duckdb")
    return _total(exp.Mul(this=left, expression=right))


def _divide(call: Call, args: Args) -> exp.Expr:
    left, right = (arg.type for arg in call.args)
    if not (
        isinstance(left, Decimal) and isinstance(right, Decimal) and isinstance(call.type, Decimal)
    ):
        raise EngineError("DuckDB divides exactly as Spark on decimals only; use engine='spark'")
    return exact_quotient(args[0], left, args[1], right, call.type)


def _substring(call: Call, args: Args) -> exp.Expr:
    # Spark reads position 0 as 1; SQL (and DuckDB) as one before the first.
    position = literal_argument(call, 1)
    return named("substring", args[0], args[1] if position else number(1), *args[2:])


def _trim(name: str) -> Builder:
    # Without characters DuckDB strips every kind of Unicode space, Spark only blanks.
    return lambda call, args: named(
        name, args[0], args[1] if len(args) > 1 else exp.Literal.string(" ")
    )


def _like(call: Call, args: Args) -> exp.Expr:
    # Without ESCAPE no character escapes here, and common patterns have fast code.
    match call.args[1:]:
        case (Literal(value=str() as pattern), Literal(value=str() as escape)) if (
            escape not in pattern
        ):
            args = args[:2]
    return build_like(exp.Like)(call, args)


def _char_pad(call: Call, args: Args) -> exp.Expr:
    text, length = args
    short = exp.LT(this=named("length", text), expression=length.copy())
    padded = named("rpad", text.copy(), length.copy(), exp.Literal.string(" "))
    return exp.Case(ifs=[exp.If(this=short, true=padded)], default=text.copy())


def _concat(call: Call, args: Args) -> exp.Expr:
    # DuckDB's concat() skips NULLs.
    whole = args[0]
    for arg in args[1:]:
        whole = exp.DPipe(this=whole, expression=arg)
    return exp.paren(whole, copy=False)


def _field(name: str, plus: int = 0) -> Builder:
    """A part of a date, shifted where the engines count differently."""

    def build(call: Call, args: Args) -> exp.Expr:
        value = named(name, *args)
        if plus:
            value = exp.paren(exp.Add(this=value, expression=number(plus)), copy=False)
        return exp.Cast(this=value, to=sql_type(call.type, "duckdb"))

    return build


def _date_shift(kind: type[exp.Binary]) -> Builder:
    def build(call: Call, args: Args) -> exp.Expr:
        days = exp.Cast(this=args[1], to=exp.DataType.build("INT"))
        return _total(kind(this=args[0], expression=days))

    return build


def _date_diff(call: Call, args: Args) -> exp.Expr:
    days = exp.paren(exp.Sub(this=args[0], expression=args[1]), copy=False)
    return exp.Cast(this=days, to=exp.DataType.build("INT"))


def _months_later(date: exp.Expr, months: exp.Expr) -> exp.Expr:
    moved = _total(exp.Add(this=date, expression=months))
    return exp.Cast(this=moved, to=exp.DataType.build("DATE"))


def _add_months(call: Call, args: Args) -> exp.Expr:
    months = exp.Cast(this=args[1], to=exp.DataType.build("INT"))
    return _months_later(args[0], named("to_months", months))


def _date_add_interval(call: Call, args: Args) -> exp.Expr:
    amount = literal_argument(call, 1)
    if not isinstance(amount, int):
        return exp.Cast(this=exp.Null(), to=sql_type(call.type, "duckdb"))
    if isinstance(call.args[1].type, YearMonthInterval):
        return _months_later(args[0], named("to_months", number(amount)))
    return _total(exp.Add(this=args[0], expression=number(amount // _MICROSECONDS_PER_DAY)))


def _is_nan(call: Call, args: Args) -> exp.Expr:
    return named("coalesce", named("isnan", *args), exp.Boolean(this=False))


DUCKDB: dict[str, Spelling] = {
    **CONNECTIVES,
    "is_nan": _is_nan,
    "add": _arithmetic(exp.Add),
    "subtract": _arithmetic(exp.Sub),
    "multiply": _multiply,
    "try_add": _arithmetic(exp.Add),
    "try_subtract": _arithmetic(exp.Sub),
    "try_multiply": _multiply,
    "divide": _divide,
    "negate": suffix(lambda arg: _total(exp.Neg(this=exp.paren(arg, copy=False)))),
    "abs": lambda call, args: _total(named("abs", *args)),
    "check_overflow": build_cast("duckdb"),
    **dict.fromkeys(("cast", "try_cast"), _cast),
    "like": _like,
    "starts_with": "starts_with",
    "ends_with": "suffix",
    "contains": "contains",
    "substring": _substring,
    "trim": _trim("trim"),
    "ltrim": _trim("ltrim"),
    "rtrim": _trim("rtrim"),
    "char_pad": _char_pad,
    "length": lambda call, args: exp.Cast(
        this=named("length", *args), to=sql_type(call.type, "duckdb")
    ),
    "concat": _concat,
    "replace": "replace",
    "instr": lambda call, args: exp.Cast(
        this=named("instr", *args), to=sql_type(call.type, "duckdb")
    ),
    "year": _field("year"),
    "quarter": _field("quarter"),
    "month": _field("month"),
    "day": _field("day"),
    "day_of_week": _field("dayofweek", plus=1),
    "weekday": _field("isodow", plus=-1),
    "day_of_year": _field("dayofyear"),
    "week_of_year": _field("weekofyear"),
    "date_add": _date_shift(exp.Add),
    "date_sub": _date_shift(exp.Sub),
    "date_diff": _date_diff,
    "date_add_interval": _date_add_interval,
    "add_months": _add_months,
    "last_day": "last_day",
    "greatest": "greatest",
    "least": "least",
    "nullif": "nullif",
}
"""Function id to its spelling in DuckDB."""
