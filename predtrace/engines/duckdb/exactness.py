"""The calls on which DuckDB is exact: conditions on types and constants, with names for the table.

Each condition is a claim about the spelling beside it in `functions`.
`tests/engines/test_exactness.py` measures every claim against Spark on boundary values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from predtrace.engines.duckdb.exact_types import compared_alike
from predtrace.engines.sql.exact_division import always_exact, divisible
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.predicates import family
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call, Expr, Literal, walk
from symbolic.types import (
    Array,
    Decimal,
    Float,
    Integer,
    Null,
    Record,
    String,
    parts,
    type_name,
)

_Inexactness = Callable[[Call, EngineSettings], "str | None"]

_WIDEST = 38
_NEGATED_EXACTLY = 34
_FEWEST_PLACES = 6


def _compared(exprs: Sequence[Expr]) -> str | None:
    """Judge comparisons: both engines agree on values of one kind of type that has an order."""
    types = [expr.type for expr in exprs if not isinstance(expr.type, Null)]
    for data_type in types:
        if not compared_alike(data_type):
            return f"{type_name(data_type)} values are compared otherwise"
    if len({family(data_type) for data_type in types}) > 1:
        names = " and ".join(dict.fromkeys(map(type_name, types)))
        return f"{names} are compared through other conversions"
    decimals = [data_type for data_type in types if isinstance(data_type, Decimal)]
    if decimals and _common_width(decimals) > _WIDEST:
        return "the decimals have no common type"
    return None


def _common_width(types: Sequence[Decimal]) -> int:
    return max(t.precision - t.scale for t in types) + max(t.scale for t in types)


_RESTATED = frozenset({"upper", "lower", "initcap"})


def _comparison(call: Call, settings: EngineSettings) -> str | None:
    return _compared(call.args)


def _arithmetic(call: Call, settings: EngineSettings) -> str | None:
    result = call.type
    if isinstance(result, Integer):
        same = all(arg.type == result for arg in call.args)
        return None if same else "operands differ in type"
    if any(_division_is_checked(node) for node in walk(call)):
        return "a quotient in it may need more digits than can be computed exactly"
    if any(may_fail_on_purpose(node) for node in walk(call)):
        return "a value in it may be one that DuckDB does not have"
    if isinstance(result, Decimal) and all(isinstance(arg.type, Decimal) for arg in call.args):
        expected = _decimal_result(call)
        if expected == result:
            return None
        return f"the result {type_name(result)} is rounded"
    return f"{type_name(result)} arithmetic may round otherwise"


def _decimal_result(call: Call) -> Decimal | None:
    """The exact result type; None if it does not fit and Spark would reduce it."""
    operands = [arg.type for arg in call.args if isinstance(arg.type, Decimal)]
    if len(operands) == 1:
        # Spark negates through a BigDecimal of 34 digits.
        return operands[0] if operands[0].precision <= _NEGATED_EXACTLY else None
    left, right = operands
    if call.function == "multiply":
        found = Decimal(left.precision + right.precision + 1, left.scale + right.scale)
    else:
        found = Decimal(_common_width(operands) + 1, max(left.scale, right.scale))
    if found.precision <= _WIDEST:
        return found
    # Spark takes digits after the point, as far as there are more than six.
    whole = found.precision - found.scale
    kept = max(_WIDEST - whole, min(found.scale, _FEWEST_PLACES))
    return Decimal(_WIDEST, found.scale) if kept == found.scale else None


def _division_is_checked(expr: Expr) -> bool:
    """Judge quotients that may fail: arithmetic is wrapped in a TRY, which must not contain
    them."""
    if not (isinstance(expr, Call) and expr.function == "divide"):
        return False
    match (*(arg.type for arg in expr.args), expr.type):
        case (Decimal() as dividend, Decimal() as divisor, Decimal() as result):
            return not always_exact(dividend, divisor, result)
    return False


def may_fail_on_purpose(expr: Expr) -> bool:
    """Judge calls that fail for values that only Spark tells, such as new letters in upper case."""
    return isinstance(expr, Call) and expr.function in _RESTATED


def _division(call: Call, settings: EngineSettings) -> str | None:
    match (*(arg.type for arg in call.args), call.type):
        case (Decimal() as dividend, Decimal() as divisor, Decimal() as result):
            exact = divisible(dividend, divisor, result)
            return None if exact else "there are too many digits to compute it exactly"
    return "it is exact on decimals only"


def _bits(call: Call, settings: EngineSettings) -> str | None:
    return None if {arg.type for arg in call.args} == {call.type} else "operands differ in type"


def _shift(call: Call, settings: EngineSettings) -> str | None:
    value, places = call.args
    width = value.type.bits if isinstance(value.type, Integer) else 0
    if isinstance(places, Literal) and places.value is not None and 0 <= places.value < width:
        return None
    return "Spark takes the number of places modulo the width"


def _like(call: Call, settings: EngineSettings) -> str | None:
    if not all(isinstance(arg.type, String) and compared_alike(arg.type) for arg in call.args):
        return "only binary text is matched alike"
    pattern = call.args[1]
    escape = call.args[2] if len(call.args) > 2 else Literal("\\", String())
    if not (isinstance(pattern, Literal) and isinstance(escape, Literal)):
        return "the pattern is not constant and may have escapes"
    if pattern.value is None or escape.value is None:
        return None
    return "the pattern has an escape" if escape.value in pattern.value else None


def _text(call: Call, settings: EngineSettings) -> str | None:
    if all(isinstance(arg.type, String) and compared_alike(arg.type) for arg in call.args):
        return None
    return "it is exact on binary text only"


def _substring(call: Call, settings: EngineSettings) -> str | None:
    if not isinstance(call.args[0].type, String):
        return "it is exact on text only"
    for argument in call.args[1:]:
        constant = isinstance(argument, Literal) and isinstance(argument.value, int)
        if not constant or argument.value < 0:  # type: ignore[union-attr]
            return "it is exact with constant positions and lengths from 0 only"
    return None


def _replace(call: Call, settings: EngineSettings) -> str | None:
    return _text(call, settings) or (None if len(call.args) == 3 else "it needs three arguments")


def _trimmed(call: Call, settings: EngineSettings) -> str | None:
    if len(call.args) > 1 and not isinstance(call.args[1], Literal):
        return "it is exact with constant characters only"
    return _text(call, settings)


def _padded(call: Call, settings: EngineSettings) -> str | None:
    return None if isinstance(call.args[1], Literal) else "the length is not constant"


def _of_float(call: Call, settings: EngineSettings) -> str | None:
    return None if isinstance(call.args[0].type, Float) else "it is exact on floats only"


def _case(call: Call, settings: EngineSettings) -> str | None:
    values = (*call.args[1:-1:2], call.args[-1])
    types = {expr.type for expr in values if not isinstance(expr.type, Null)}
    # Spark has cast the branches to one type by then.
    return None if len(types) <= 1 else "its branches differ in type"


def _coalesce(call: Call, settings: EngineSettings) -> str | None:
    types = {expr.type for expr in call.args if not isinstance(expr.type, Null)}
    return None if len(types) <= 1 else "its arguments differ in type"


def _equal(call: Call, settings: EngineSettings) -> str | None:
    """Judge tests of equality: of arrays and structs, too, whose parts are compared alike."""
    first, second = (arg.type for arg in call.args)
    if first != second or not isinstance(first, (Array, Record)):
        return _compared(call.args)
    for part in parts(first):
        # 0.0 and -0.0 inside of values are not measured.
        nested = isinstance(part, (Array, Record))
        if not nested and (isinstance(part, Float) or not compared_alike(part)):
            return f"{type_name(first)} values are compared otherwise"
    return None


def _whole(call: Call, settings: EngineSettings) -> str | None:
    exact = all(isinstance(each.type, Integer) for each in (call, *call.args))
    return None if exact else "it is exact on integers only"


def _rounded(call: Call, settings: EngineSettings) -> str | None:
    if not isinstance(call.args[0].type, Decimal):
        return "it is exact on decimals only"
    places = [arg.value if isinstance(arg, Literal) else None for arg in call.args[1:]]
    known = all(isinstance(each, int) and each >= 0 for each in places)
    return None if known else "the number of places is not constant, or below zero"


def _cut(call: Call, settings: EngineSettings) -> str | None:
    exact = isinstance(call.args[0].type, (Decimal, Float)) and len(call.args) == 1
    return None if exact else "it is exact on decimals and floats only"


COMPARED = Exactness("where the values are compared alike", _comparison)
BRANCHES = Exactness("where the branches have one type", _case)
ARGUMENTS = Exactness("where the arguments have one type", _coalesce)
EQUAL = Exactness("where the values, and their parts, are compared alike", _equal)
ARITHMETIC = Exactness("on decimals that are not rounded, and on integers", _arithmetic)
WHOLE = Exactness("on integers", _whole)
ROUNDED = Exactness("on decimals, to a constant number of places", _rounded)
CUT = Exactness("on decimals and floats", _cut)
DIVISION = Exactness("on decimals that leave room for the digits", _division)
BITS = Exactness("on integers of one type", _bits)
SHIFT = Exactness("by a constant number of places", _shift)
LIKE = Exactness("on binary text, with a constant pattern without escapes", _like)
OF_TEXT = Exactness("on binary text", _text)
REPLACE = Exactness("on binary text, with three arguments", _replace)
SUBSTRING = Exactness("on text, with constant positions and lengths from 0", _substring)
TRIM = Exactness("on binary text, with constant characters", _trimmed)
PAD = Exactness("with a constant length", _padded)
OF_FLOAT = Exactness("on floats", _of_float)
