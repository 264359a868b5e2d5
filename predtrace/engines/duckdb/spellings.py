"""DuckDB's spellings of functions that are more than a name with arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb.whole_numbers import of_float
from predtrace.engines.sql.compiler import build_like, literal_argument, named
from predtrace.engines.sql.exact_division import exact_quotient
from predtrace.engines.sql.literals import cast_to, number, sql_type
from predtrace.errors import EngineError
from symbolic.expr import Call, Literal
from symbolic.types import Decimal, Float, Integer

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder

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


def is_nan(call: Call, args: Args) -> exp.Expr:
    """isnan, false for NULL."""
    return named("coalesce", named("isnan", *args), exp.Boolean(this=False))


def of_result(integers: Builder, others: Builder) -> Builder:
    """One spelling where the result is an integer, another one else."""
    return lambda call, args: (integers if isinstance(call.type, Integer) else others)(call, args)


def negative(call: Call, args: Args) -> exp.Expr:
    """The number with the other sign, NULL where that overflows."""
    return exp.paren(null_for_failure(exp.Neg(this=exp.paren(args[0], copy=False))), copy=False)


def absolute(call: Call, args: Args) -> exp.Expr:
    """The number without its sign, NULL where that overflows."""
    return null_for_failure(named("abs", *args))


def rounded(call: Call, args: Args) -> exp.Expr:
    """ROUND of a decimal, halves away from zero."""
    return cast_to(named("round", *args), call.type, "duckdb")


def whole(name: str) -> Builder:
    """FLOOR and CEIL; of NaN 0, and NULL out of the range of the result."""

    def build(call: Call, args: Args) -> exp.Expr:
        found = cast_to(named(name, *args), call.type, "duckdb")
        if not isinstance(call.args[0].type, Float):
            return found
        of_nan = exp.If(this=named("isnan", args[0].copy()), true=number(0))
        return exp.Case(ifs=[of_nan], default=found)

    return build


def whole_or_nearest(name: str) -> Builder:
    """FLOOR and CEIL without ANSI mode: of floats out of range the nearest whole number."""

    def build(call: Call, args: Args) -> exp.Expr:
        if isinstance(call.args[0].type, Float) and isinstance(call.type, Integer):
            return of_float(named(name, *args), call.type)
        return whole(name)(call, args)

    return build
