"""Numbers: exact decimals in the call's result type, Java's integer division, DOUBLEs."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any

from symbolic.expr import Call
from symbolic.types import INTEGER, DataType, Decimal, Float, Integer
from tests.reference.functions.base import Builder, Settings, plain
from tests.reference.values import EXACT, fit_decimal, fit_integer

_QUOTIENT_STEP = decimal.Decimal(1).scaleb(-39, EXACT)
"""Spark divides decimals to 39 places (half up) before it rounds to the result type."""


def fitted(result: DataType) -> Callable[[Any], Any]:
    """What puts a computed number into the result type; None where it overflows."""
    match result:
        case Decimal():
            return lambda value: fit_decimal(_decimal(value), result)
        case Integer():
            return lambda value: fit_integer(int(value), result)
        case Float():
            return float
        case _:
            return lambda value: value


def _decimal(value: Any) -> decimal.Decimal:
    return value if isinstance(value, decimal.Decimal) else decimal.Decimal(str(value))


def divide_decimals(left: decimal.Decimal, right: decimal.Decimal) -> decimal.Decimal:
    """The quotient as Spark's Decimal gives it, before it takes the result type."""
    exact = EXACT.divide(left, right)
    return EXACT.quantize(exact, _QUOTIENT_STEP)


def _is_exact(value: Any) -> bool:
    return isinstance(value, decimal.Decimal)


_EXACT_OPERATIONS = {
    "add": EXACT.add,
    "subtract": EXACT.subtract,
    "multiply": EXACT.multiply,
}
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
}


def _arithmetic(expr: Call, settings: Settings) -> Callable[..., Any]:
    fit, function = fitted(expr.type), expr.function.removeprefix("try_")
    if isinstance(expr.type, Decimal):
        exact = _EXACT_OPERATIONS[function]
        return lambda left, right: fit(exact(_decimal(left), _decimal(right)))
    operation = _OPERATIONS[function]
    return lambda left, right: fit(operation(left, right))


def _divide(expr: Call, settings: Settings) -> Callable[..., Any]:
    fit = fitted(expr.type)
    if isinstance(expr.type, Decimal):
        return lambda left, right: (
            None if right == 0 else fit(divide_decimals(_decimal(left), _decimal(right)))
        )
    return lambda left, right: None if right == 0 else left / right


def _truncated(left: Any, right: Any) -> int:
    """The quotient rounded towards zero, exact."""
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return int(EXACT.divide_int(_decimal(left), _decimal(right)))


def _integer_divide(expr: Call, settings: Settings) -> Callable[..., Any]:
    fit = fitted(expr.type)
    return lambda left, right: None if right == 0 else fit(_truncated(left, right))


def _modulus(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return math.fmod(left, right) if math.isfinite(left) else math.nan
    if isinstance(left, int):
        return left - right * _truncated(left, right)
    return EXACT.remainder(left, right)


def _remainder(expr: Call, settings: Settings) -> Callable[..., Any]:
    fit = fitted(expr.type)
    return lambda left, right: None if right == 0 else fit(_modulus(left, right))


def _pmod(expr: Call, settings: Settings) -> Callable[..., Any]:
    fit = fitted(expr.type)

    def apply(left: Any, right: Any) -> Any:
        if right == 0:
            return None
        first = _modulus(left, right)
        return fit(_modulus(first + right, right) if first < 0 else first)

    return apply


def _rounding(mode: str) -> Builder:
    def build(expr: Call, settings: Settings) -> Callable[..., Any]:
        fit = fitted(expr.type)

        def apply(value: Any, digits: int = 0) -> Any:
            if isinstance(value, float) and not math.isfinite(value):
                return value
            step = decimal.Decimal(1).scaleb(-digits, EXACT)
            rounded = _decimal(value).quantize(step, rounding=mode, context=EXACT)
            return fit(rounded)

        return apply

    return build


def _whole(mode: str) -> Builder:
    def build(expr: Call, settings: Settings) -> Callable[..., Any]:
        fit = fitted(expr.type)

        def apply(value: Any, digits: int = 0) -> Any:
            if isinstance(value, float) and not math.isfinite(value):
                return None
            exact = decimal.Decimal(value)
            step = decimal.Decimal(1).scaleb(-digits, EXACT)
            return fit(exact.quantize(step, rounding=mode, context=EXACT))

        return apply

    return build


def _changed(operation: Callable[[Any], Any]) -> Builder:
    def build(expr: Call, settings: Settings) -> Callable[..., Any]:
        fit = fitted(expr.type)
        return lambda value: fit(operation(value))

    return build


def _sqrt(value: float) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float | None]:
    # Spark: NULL where the argument is not positive.
    return lambda value: None if value <= 0 else function(value)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except (ValueError, OverflowError):
        return math.nan if base < 0 else math.inf


def _sign(value: Any) -> Any:
    return type(value)((value > 0) - (value < 0))


def _shift_right(expr: Call, settings: Settings) -> Callable[..., Any]:
    """Java shifts by the number of places modulo the width."""
    width = 32 if expr.type == INTEGER else 64
    return lambda value, places: value >> (places % width)


def _check_overflow(expr: Call, settings: Settings) -> Callable[..., Any]:
    return fitted(expr.type)


def _unscaled_of(expr: Call, settings: Settings) -> Callable[..., Any]:
    source = expr.args[0].type
    scale = source.scale if isinstance(source, Decimal) else 0
    return lambda value: int(value.scaleb(scale, EXACT))


def _decimal_of(expr: Call, settings: Settings) -> Callable[..., Any]:
    assert isinstance(expr.type, Decimal)
    scale, fit = expr.type.scale, fitted(expr.type)
    return lambda value: fit(decimal.Decimal(value).scaleb(-scale, EXACT))


def _normalize_float(value: float) -> float:
    return math.nan if math.isnan(value) else value + 0.0


NUMBERS: dict[str, Builder] = {
    "add": _arithmetic,
    "subtract": _arithmetic,
    "multiply": _arithmetic,
    "try_add": _arithmetic,
    "try_subtract": _arithmetic,
    "try_multiply": _arithmetic,
    "divide": _divide,
    "integer_divide": _integer_divide,
    "remainder": _remainder,
    "pmod": _pmod,
    "negate": _changed(lambda value: EXACT.minus(value) if _is_exact(value) else -value),
    "abs": _changed(lambda value: EXACT.abs(value) if _is_exact(value) else abs(value)),
    "round": _rounding(decimal.ROUND_HALF_UP),
    "bround": _rounding(decimal.ROUND_HALF_EVEN),
    "floor": _whole(decimal.ROUND_FLOOR),
    "ceil": _whole(decimal.ROUND_CEILING),
    "sqrt": plain(_sqrt),
    "power": plain(_power),
    "exp": plain(math.exp),
    "ln": plain(_logarithm(math.log)),
    "log10": plain(_logarithm(math.log10)),
    "sign": plain(_sign),
    "bit_and": plain(lambda left, right: left & right),
    "bit_or": plain(lambda left, right: left | right),
    "bit_xor": plain(lambda left, right: left ^ right),
    "shift_right": _shift_right,
    "unscaled": _unscaled_of,
    "decimal_of": _decimal_of,
    "check_overflow": _check_overflow,
    "normalize_float": plain(_normalize_float),
    "is_nan": plain(lambda value: value is not None and math.isnan(value)),
}
