"""Division of decimals in DuckDB exactly as Spark divides them, or an error.

DuckDB divides decimals as doubles. Spark divides exactly to 39 places and rounds half up,
then rounds half up to the result type. Here the quotient is computed with whole numbers
of 128 bits (HUGEINT): with the dividend ``a`` and the divisor ``b`` as digits, shifted so
that one unit is the last place of the result, ``q = a // b`` cut off towards zero, plus
one away from zero if twice the remainder reaches ``b``.

Rounding once, not twice, gives the same: a quotient that is not half-way between two
results is at least ``1 / 2b`` units away from that, and rounding at the 39th place moves
it by ``0.5e-39`` at most. With the result's scale ``s`` that is no obstacle while
``b * 10**s < 10**39``.

Operands whose types leave room for all digits need no more than that. Others are compared
with what there is room for, and the query fails where they are larger: it never gives
another quotient.
"""

from __future__ import annotations

from sqlglot import exp

from predtrace.engines.literals import cast_to, number, sql_type, text_literal
from predtrace.engines.sql import named
from predtrace.errors import EngineError
from symbolic.types import Decimal

_DIGITS = 38
_SPARK_PLACES = 39
_TOO_LONG = "a quotient of decimals has more digits than can be computed exactly"


def always_exact(dividend: Decimal, divisor: Decimal, result: Decimal) -> bool:
    """Whether no values of the types need more digits than there are."""
    rooms = _room(dividend, divisor, result)
    return all(
        operand.precision - operand.scale <= room
        for operand, room in zip((dividend, divisor), rooms, strict=True)
    )


def divisible(dividend: Decimal, divisor: Decimal, result: Decimal) -> bool:
    """Whether there is room for some values at least: those with a digit before the point."""
    roomy = min(_room(dividend, divisor, result)) >= 1
    return roomy or always_exact(dividend, divisor, result)


def exact_quotient(
    dividend: exp.Expr,
    dividend_type: Decimal,
    divisor: exp.Expr,
    divisor_type: Decimal,
    result: Decimal,
) -> exp.Expr:
    """``dividend / divisor`` in the result type; NULL for NULLs and for a divisor of zero.

    Also NULL where the quotient does not fit the result type. Values that need more digits
    than there are make the query fail. No TRY can hide that: DuckDB allows nothing in one
    that fails on purpose, and moves it into none.

    Raises EngineError if the types are not `divisible`.
    """
    if not divisible(dividend_type, divisor_type, result):
        raise EngineError(f"DuckDB cannot divide here: {_TOO_LONG}; use engine='spark'")
    up, down = _shifts(dividend_type, divisor_type, result)
    above = _digits(dividend, dividend_type.scale, up)
    below = _digits(divisor, divisor_type.scale, down)
    quotient = cast_to(_scaled(_half_up(above, below), result), result, "duckdb")
    defined = exp.and_(
        exp.Not(this=exp.Is(this=exp.paren(dividend), expression=exp.Null())),
        exp.NEQ(this=exp.paren(divisor), expression=number(0)),
    )
    if always_exact(dividend_type, divisor_type, result):
        return exp.Case(ifs=[exp.If(this=defined, true=quotient)])
    rooms = _room(dividend_type, divisor_type, result)
    fits = exp.and_(
        _below(dividend, dividend_type.scale, rooms[0]),
        _below(divisor, divisor_type.scale, rooms[1]),
    )
    checked = exp.Case(
        ifs=[exp.If(this=fits, true=quotient)], default=named("error", text_literal(_TOO_LONG))
    )
    return exp.Case(ifs=[exp.If(this=defined, true=checked)])


def _below(value: exp.Expr, scale: int, room: int) -> exp.Expr:
    bound = _cast(number(10**room), Decimal(_DIGITS, scale))
    return exp.LT(this=named("abs", value.copy()), expression=bound)


_WHOLE = Decimal(_DIGITS, 0)


def _shifts(dividend: Decimal, divisor: Decimal, result: Decimal) -> tuple[int, int]:
    """How many zeros go behind the digits of each operand."""
    shift = result.scale + divisor.scale - dividend.scale
    return max(shift, 0), max(-shift, 0)


def _room(dividend: Decimal, divisor: Decimal, result: Decimal) -> tuple[int, int]:
    """How many digits before the point each operand may have.

    `_digits` goes through a decimal with the zeros and with the operand's scale besides.
    """
    up, down = _shifts(dividend, divisor, result)
    return (
        _DIGITS - 2 * dividend.scale - up,
        min(_DIGITS - 2 * divisor.scale, _SPARK_PLACES - result.scale - divisor.scale) - down,
    )


def _digits(value: exp.Expr, scale: int, shift: int) -> exp.Expr:
    """The decimal's digits with `shift` zeros behind them, as a HUGEINT."""
    if scale + shift:
        widened = _cast(value.copy(), Decimal(_DIGITS, scale))
        factor = _cast(number(10 ** (scale + shift)), Decimal(scale + shift + 1, 0))
        value = exp.paren(exp.Mul(this=widened, expression=factor), copy=False)
    return exp.Cast(this=value.copy(), to=exp.DataType.build("HUGEINT", dialect="duckdb"))


def _half_up(above: exp.Expr, below: exp.Expr) -> exp.Expr:
    """The whole quotient nearest to the exact one; the one farther from zero of two."""
    size, left = named("abs", below.copy()), named("abs", _infix(exp.Mod, above, below))
    up = exp.GTE(this=left, expression=exp.paren(exp.Sub(this=size, expression=left.copy())))
    negative = [
        exp.paren(exp.LT(this=part.copy(), expression=number(0))) for part in (above, below)
    ]
    positive = exp.EQ(this=negative[0], expression=negative[1])
    step = exp.Case(ifs=[exp.If(this=positive, true=number(1))], default=number(-1))
    away = exp.Case(ifs=[exp.If(this=up, true=step)], default=number(0))
    return exp.paren(exp.Add(this=_infix(exp.IntDiv, above, below), expression=away), copy=False)


def _scaled(digits: exp.Expr, result: Decimal) -> exp.Expr:
    """The number of these digits, with the result's scale and every digit that fits."""
    whole = _cast(digits, _WHOLE)
    if not result.scale:
        return whole
    unit = text_literal(f"0.{'1':0>{result.scale}}")
    return exp.Mul(this=whole, expression=_cast(unit, Decimal(result.scale, result.scale)))


def _infix(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.paren(kind(this=left.copy(), expression=right.copy()), copy=False)


def _cast(value: exp.Expr, data_type: Decimal) -> exp.Expr:
    return exp.Cast(this=value, to=sql_type(data_type, "duckdb"))
