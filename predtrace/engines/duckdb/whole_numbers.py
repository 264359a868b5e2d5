"""Whole numbers in DuckDB: computed in a wider type, where the result fits.

In ANSI mode a result out of range is NULL. Without ANSI mode integers wrap as in Java, and so do
casts to a narrower type: with ``h`` half the number of values of a type, and ``l`` the low bits of
`x`, ``(l xor h) - h`` is the value of `x` in that type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.literals import cast_to, number, sql_type
from symbolic.expr import Call
from symbolic.types import Integer

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder

_MACHINE_BITS = 32
"""Java computes with so many bits, or with 64."""
_LONG = 64


def _wide(value: exp.Expr, bits: int) -> exp.Expr:
    """The value in a type that holds all products of two values of so many bits."""
    name = "BIGINT" if bits <= _MACHINE_BITS else "HUGEINT"
    return exp.Cast(this=value, to=exp.DataType.build(name, dialect="duckdb"))


def _infix(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.paren(kind(this=left, expression=right), copy=False)


def wrapped(value: exp.Expr, bits: int) -> exp.Expr:
    """A whole number (BIGINT up to 32 bits, else HUGEINT) brought into the range of a type."""
    half = 1 << (bits - 1)
    low = _infix(exp.BitwiseAnd, value, _wide(number(2 * half - 1), bits))
    swapped = named("xor", low, _wide(number(half), bits))
    back = _infix(exp.Sub, swapped, _wide(number(half), bits))
    return exp.Cast(this=back, to=sql_type(Integer(bits), "duckdb"))


def _bits(call: Call) -> int:
    assert isinstance(call.type, Integer)
    return call.type.bits


Fit = Callable[[exp.Expr, int], exp.Expr]
"""Brings a whole number into the range of a type of so many bits."""


def in_range(value: exp.Expr, bits: int) -> exp.Expr:
    """A whole number, NULL if it is out of the range of the type."""
    return cast_to(value, Integer(bits), "duckdb")


def arithmetic(kind: type[exp.Binary], fit: Fit) -> Builder:
    """Sums, differences and products."""

    def build(call: Call, args: Args) -> exp.Expr:
        bits = _bits(call)
        return fit(_infix(kind, *(_wide(arg, bits) for arg in args)), bits)

    return build


def negative(fit: Fit) -> Builder:
    """The number with the other sign."""

    def build(call: Call, args: Args) -> exp.Expr:
        bits = _bits(call)
        return fit(exp.paren(exp.Neg(this=_wide(args[0], bits)), copy=False), bits)

    return build


def absolute(fit: Fit) -> Builder:
    """The number without its sign."""
    return lambda call, args: fit(named("abs", _wide(args[0], _bits(call))), _bits(call))


def _divisor(value: exp.Expr, bits: int) -> exp.Expr:
    return named("nullif", _wide(value, bits), number(0))


def integer_divide(fit: Fit) -> Builder:
    """Quotients without a remainder, cut off towards zero; NULL for a divisor of zero."""

    def build(call: Call, args: Args) -> exp.Expr:
        left, right = _wide(args[0], _LONG), _divisor(args[1], _LONG)
        return fit(_infix(exp.IntDiv, left, right), _bits(call))

    return build


def remainder(call: Call, args: Args) -> exp.Expr:
    """Remainders with the sign of the dividend; NULL for a divisor of zero."""
    bits = _bits(call)
    left = _infix(exp.Mod, _wide(args[0], bits), _divisor(args[1], bits))
    return exp.Cast(this=left, to=sql_type(call.type, "duckdb"))


def positive_modulus(call: Call, args: Args) -> exp.Expr:
    """pmod: a remainder below zero is added to the divisor, and divided once more."""
    bits = _bits(call)
    left = _infix(exp.Mod, _wide(args[0], bits), _divisor(args[1], bits))
    sum_ = wrapped(
        _infix(exp.Add, left.copy(), _wide(args[1].copy(), bits)), max(bits, _MACHINE_BITS)
    )
    again = _infix(exp.Mod, _wide(sum_, bits), _divisor(args[1].copy(), bits))
    below = exp.LT(this=left, expression=number(0))
    value = exp.Case(ifs=[exp.If(this=below, true=again)], default=left.copy())
    return exp.Cast(this=value, to=sql_type(call.type, "duckdb"))


def of_whole(value: exp.Expr, result: Integer) -> exp.Expr:
    """An integer of any type as an integer of a narrower type: its low bits."""
    return wrapped(_wide(value, _MACHINE_BITS), result.bits)


def of_decimal(value: exp.Expr, result: Integer) -> exp.Expr:
    """A decimal as an integer: without its fraction, and of the rest the low bits."""
    whole = wrapped(_wide(named("trunc", value), _LONG), _LONG)
    return whole if result.bits > _MACHINE_BITS else of_whole(whole, result)


def of_float(value: exp.Expr, result: Integer) -> exp.Expr:
    """A float as an integer: without its fraction, NaN as 0.

    What does not fit is the nearest number of 32 bits, or of 64 for a bigint; then come the low
    bits.
    """
    machine = Integer(max(result.bits, _MACHINE_BITS))
    half = 1 << (machine.bits - 1)
    limit = exp.Cast(this=number(half), to=exp.DataType.build("DOUBLE"))
    least, greatest = (cast_to(number(n), machine, "duckdb") for n in (-half, half - 1))
    double = exp.Cast(this=value, to=exp.DataType.build("DOUBLE"))
    branches = [
        exp.If(this=named("isnan", double), true=cast_to(number(0), machine, "duckdb")),
        exp.If(this=exp.GTE(this=double, expression=limit), true=greatest),
        exp.If(this=exp.LT(this=double, expression=exp.Neg(this=limit)), true=least),
    ]
    whole = cast_to(named("trunc", double.copy()), machine, "duckdb")
    fitting = exp.Case(ifs=branches, default=whole)
    return fitting if machine == result else of_whole(fitting, result)
