"""DuckDB's spellings of functions that are more than a name with arguments."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.sql.compiler import build_like, literal_argument, named
from predtrace.engines.sql.exact_division import exact_quotient
from predtrace.engines.sql.literals import cast_to, number, sql_literal, sql_type, text_literal
from predtrace.errors import EngineError
from symbolic.expr import Call, Literal
from symbolic.types import Date, Decimal, String, YearMonthInterval

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder

_MICROSECONDS_PER_DAY = 86_400_000_000
_WIDEST = 38


def null_for_failure(value: exp.Expr) -> exp.Expr:
    """NULL instead of an error (an overflow)."""
    return named("try", value)


def arithmetic(kind: type[exp.Binary]) -> Builder:
    """Sums and differences, in the result's type.

    DuckDB keeps DECIMAL(18, s) for the sum of two such decimals, which overflows where Spark has a
    wider type. The operands are therefore widened first, which is exact.
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

    A decimal type below the widest precision is the exact type by Spark's rules (see `exactness`).
    A TRY is not free: it evaluates its rows separately.
    """
    roomy = isinstance(call.type, Decimal) and call.type.precision < _WIDEST
    return exp.paren(value, copy=False) if roomy else null_for_failure(value)


def cast(call: Call, args: Args) -> exp.Expr:
    """CAST to the call's type, with the text of dates and fractions as Spark writes it."""
    source = args[0]
    match call.args[0].type, call.type:
        case Date(), String():
            return _date_text(source, cast_to(source, call.type, "duckdb"))
        case Decimal(precision, scale), String() if precision == scale:
            # A decimal without a digit before the point is written '.5'.
            source = cast_to(source, Decimal(precision + 1, scale), "duckdb")
    return cast_to(source, call.type, "duckdb")


def _date_text(date: exp.Expr, usual: exp.Expr) -> exp.Expr:
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


def multiply(call: Call, args: Args) -> exp.Expr:
    """Products, in the result's type."""
    left, right = args
    if isinstance(call.type, Decimal):
        scale = call.args[0].type.scale if isinstance(call.args[0].type, Decimal) else 0
        left = exp.Cast(this=left, to=sql_type(Decimal(_WIDEST, scale), "duckdb"))
        product = _fitting(exp.Mul(this=left, expression=right), call)
        return cast_to(product, call.type, "duckdb")
    return null_for_failure(exp.Mul(this=left, expression=right))


def divide(call: Call, args: Args) -> exp.Expr:
    """Quotients of decimals; raises EngineError for other types."""
    left, right = (arg.type for arg in call.args)
    if not (
        isinstance(left, Decimal) and isinstance(right, Decimal) and isinstance(call.type, Decimal)
    ):
        raise EngineError("DuckDB divides exactly as Spark on decimals only; use engine='spark'")
    return exact_quotient(args[0], left, args[1], right, call.type)


def substring(call: Call, args: Args) -> exp.Expr:
    """SUBSTRING from a constant position."""
    # Spark reads position 0 as 1; SQL (and DuckDB) reads it as the place before the first.
    position = literal_argument(call, 1)
    return named("substring", args[0], args[1] if position else number(1), *args[2:])


def trimmed(name: str) -> Builder:
    """TRIM, LTRIM and RTRIM, of blanks unless characters are given."""
    # Without characters DuckDB strips every kind of Unicode space, but Spark only blanks.
    return lambda call, args: named(
        name, args[0], args[1] if len(args) > 1 else exp.Literal.string(" ")
    )


def like(call: Call, args: Args) -> exp.Expr:
    """LIKE with a constant pattern."""
    # Without ESCAPE no character escapes in DuckDB, and common patterns have fast code.
    match call.args[1:]:
        case (Literal(value=str() as pattern), Literal(value=str() as escape)) if (
            escape not in pattern
        ):
            args = args[:2]
    return build_like(exp.Like)(call, args)


def char_pad(call: Call, args: Args) -> exp.Expr:
    """Text padded with blanks, if it is shorter."""
    text, length = args
    short = exp.LT(this=named("length", text), expression=length.copy())
    padded = named("rpad", text.copy(), length.copy(), exp.Literal.string(" "))
    return exp.Case(ifs=[exp.If(this=short, true=padded)], default=text.copy())


def concat(call: Call, args: Args) -> exp.Expr:
    """Concatenated texts; NULL if one is NULL."""
    # DuckDB's concat() skips NULLs.
    whole = args[0]
    for arg in args[1:]:
        whole = exp.DPipe(this=whole, expression=arg)
    return exp.paren(whole, copy=False)


def typed(name: str, plus: int = 0) -> Builder:
    """A function, cast to the type of the call and shifted if the engines count differently."""

    def build(call: Call, args: Args) -> exp.Expr:
        value = named(name, *args)
        if plus:
            value = exp.paren(exp.Add(this=value, expression=number(plus)), copy=False)
        return exp.Cast(this=value, to=sql_type(call.type, "duckdb"))

    return build


def date_shift(kind: type[exp.Binary]) -> Builder:
    """A date plus or minus days, NULL where that overflows."""

    def build(call: Call, args: Args) -> exp.Expr:
        days = exp.Cast(this=args[1], to=exp.DataType.build("INT"))
        return null_for_failure(kind(this=args[0], expression=days))

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


def is_nan(call: Call, args: Args) -> exp.Expr:
    """isnan, false for NULL."""
    return named("coalesce", named("isnan", *args), exp.Boolean(this=False))


def negative(call: Call, args: Args) -> exp.Expr:
    """The number with the other sign, NULL where that overflows."""
    return exp.paren(null_for_failure(exp.Neg(this=exp.paren(args[0], copy=False))), copy=False)


def absolute(call: Call, args: Args) -> exp.Expr:
    """The number without its sign, NULL where that overflows."""
    return null_for_failure(named("abs", *args))
