"""Division of decimals in DuckDB exactly as Spark divides them, or an error.

DuckDB divides decimals as doubles. Spark divides exactly to 39 places and rounds half up,
then rounds half up to the result type. Here the quotient is computed with whole numbers
of 128 bits (HUGEINT): with the sizes ``a`` of the dividend and ``b`` of the divisor as
digits, shifted so that one unit is the last place of the result, it is ``(2a + b) // 2b``,
which is ``a / b + 1/2`` cut off; then comes the sign.

Rounding once instead of twice gives the same result. A quotient that is not half-way between two
results is at least ``1 / 2b`` units away from the half-way point, and rounding at the 39th place
moves it by at most ``0.5e-39``. With the result's scale ``s`` this is safe while
``b * 10**s < 10**39``.

Operands whose types leave room for all digits need no further check. Other operands are compared
with the available room, and the query fails if they are larger: it never gives another quotient.
"""

from __future__ import annotations

from sqlglot import exp

from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.literals import cast_to, number, sql_type, text_literal
from predtrace.errors import EngineError
from symbolic.types import Decimal

_DIGITS = 38
_SUMMED_DIGITS = 37
"""Three numbers of so many digits have a sum that fits 128 bits."""
_SPARK_PLACES = 39
_TOO_LONG = "a quotient of decimals has more digits than can be computed exactly"


def always_exact(dividend: Decimal, divisor: Decimal, result: Decimal) -> bool:
    """Whether no values of the types need more digits than are available."""
    rooms = _room(dividend, divisor, result)
    return all(
        operand.precision - operand.scale <= room
        for operand, room in zip((dividend, divisor), rooms, strict=True)
    )


def divisible(dividend: Decimal, divisor: Decimal, result: Decimal) -> bool:
    """Whether at least values with one digit before the point fit."""
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

    It is also NULL if the quotient does not fit the result type. Values that need more digits than
    are available make the query fail. No TRY can hide that: DuckDB does not allow a deliberate
    failure in a TRY, and does not move one into it.

    Raises EngineError if the types are not `divisible`.
    """
    if not divisible(dividend_type, divisor_type, result):
        raise EngineError(f"DuckDB cannot divide here: {_TOO_LONG}; use engine='spark'")
    up, down = _shifts(dividend_type, divisor_type, result)
    size = _half_up(
        named("abs", _digits(dividend, dividend_type.scale, up)),
        named("abs", _digits(divisor, divisor_type.scale, down)),
    )
    quotient = cast_to(_scaled(_signed(size, dividend, divisor), result), result, "duckdb")
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
    """The number of zeros to append to the digits of each operand."""
    shift = result.scale + divisor.scale - dividend.scale
    return max(shift, 0), max(-shift, 0)


def _room(dividend: Decimal, divisor: Decimal, result: Decimal) -> tuple[int, int]:
    """The number of digits that each operand may have before the point."""
    up, down = _shifts(dividend, divisor, result)
    single_rounding = _SPARK_PLACES - result.scale - divisor.scale - down
    return (
        _room_for_digits(dividend.scale, up),
        min(_room_for_digits(divisor.scale, down), single_rounding),
    )


def _room_for_digits(scale: int, shift: int) -> int:
    """The digits that sums and `_digits` allow; the latter also passes through a decimal with the
    scale."""
    return min(_DIGITS - scale, _SUMMED_DIGITS) - scale - shift


def _digits(value: exp.Expr, scale: int, shift: int) -> exp.Expr:
    """The decimal's digits, followed by `shift` zeros, as a HUGEINT."""
    if scale + shift:
        widened = _cast(value.copy(), Decimal(_DIGITS, scale))
        factor = _cast(number(10 ** (scale + shift)), Decimal(scale + shift + 1, 0))
        value = exp.paren(exp.Mul(this=widened, expression=factor), copy=False)
    return exp.Cast(this=value.copy(), to=exp.DataType.build("HUGEINT", dialect="duckdb"))


def _half_up(above: exp.Expr, below: exp.Expr) -> exp.Expr:
    """The whole number nearest to the quotient of two sizes; the larger of two equally near
    ones."""
    size = _infix(exp.Add, _infix(exp.Mul, number(2), above), below)
    # Division by zero fails, even in a folded constant that no row would divide by.
    twice = named("nullif", _infix(exp.Mul, number(2), below), number(0))
    return _infix(exp.IntDiv, size, twice)


def _signed(size: exp.Expr, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
    below_zero = [_infix(exp.LT, exp.paren(value), number(0)) for value in (dividend, divisor)]
    alike = exp.EQ(this=below_zero[0], expression=below_zero[1])
    return exp.Case(ifs=[exp.If(this=alike, true=size)], default=exp.Neg(this=size.copy()))


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
