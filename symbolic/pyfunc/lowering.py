"""Python's meaning in functions of Spark, where these mean exactly the same.

Where the Python function raises, the result may have any value: the pipeline ran, so its rows are
others. But a call stands for "it raises" where it is NULL, so each translation of a call is NULL
exactly where the call is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symbolic.expr import Call, Column, Expr, Literal
from symbolic.functions import FUNCTIONS, Semantics
from symbolic.pyfunc.values import both, is_none, negated
from symbolic.types import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    Boolean,
    DataType,
    Date,
    Float,
    Integer,
    String,
)

BLANKS = "".join(chr(code) for code in range(0x110000) if chr(code).isspace())
"""What Python strips."""
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


class NotLowered(Exception):
    """A part that no function of Spark means exactly."""


def lowered(expr: Expr, returns: DataType, *, checked: bool) -> Expr:
    """The expression in Spark's functions, as a value of the type that the function returns.

    `checked` says that whole numbers outside of that type make the pipeline fail. Raises
    NotLowered.
    """
    if isinstance(expr, Literal) and expr.value is None:
        return Literal(None, returns)
    if isinstance(expr.type, Integer) and isinstance(returns, Integer):
        low, high = bounds(expr)
        most = 2 ** (returns.bits - 1)
        if not checked and not (-most <= low and high < most):
            raise NotLowered("a whole number that may leave its type")
        found = _result(expr)
        return found if found.type == returns else Call("try_cast", (found,), returns)
    if expr.type != returns:
        raise NotLowered("a result of another type than the function's")
    return _value(expr)


def _result(expr: Expr) -> Expr:
    """A whole number that is the function's result, perhaps out of bounds: then anything."""
    if isinstance(expr, Call) and expr.function == "case":
        condition, then, otherwise = expr.args
        args = (_value(condition), _wide(_result(then)), _wide(_result(otherwise)))
        return Call("case", args, LONG)
    inner = expr.args if isinstance(expr, Call) else ()
    if isinstance(expr, Call) and expr.function in _SUMS and all(map(_fits, inner)):
        left, right = (_wide(_value(arg)) for arg in inner)
        return Call(_SUMS[expr.function], (left, right), LONG)
    return _value(expr)


_SUMS = {
    "python.add": "try_add",
    "python.subtract": "try_subtract",
    "python.multiply": "try_multiply",
}


def _value(expr: Expr) -> Expr:
    """The expression, exactly."""
    if not isinstance(expr, Call):
        return expr
    row = FUNCTIONS.get(expr.function)
    if row is None or row.semantics is not Semantics.PYTHON:
        args = tuple(map(_value, expr.args))
        if expr.function == "case" and isinstance(expr.type, Integer):
            args = (args[0], _wide(args[1]), _wide(args[2]))
        return Call(expr.function, args, expr.type, expr.nullable)
    made = _LOWERED.get(expr.function.removeprefix("python."))
    if made is None or not all(map(_fits, (expr, *expr.args))):
        raise NotLowered(expr.function)
    return made(expr, tuple(map(_value, expr.args)))


def _fits(expr: Expr) -> bool:
    if not isinstance(expr.type, Integer):
        return True
    low, high = bounds(expr)
    return low >= _SMALLEST and high <= _LARGEST


def bounds(expr: Expr) -> tuple[int, int]:
    """Between which numbers a whole number lies; far apart if that is not known."""
    match expr:
        case Literal(value=int(value)):
            return value, value
        case Literal(value=None):
            return 0, 0
        case Column(type=Integer(bits)):
            return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        case Call(function="case", args=(_, then, otherwise)):
            return _hull(bounds(then), bounds(otherwise))
        case Call(function="python.add", args=(left, right)):
            (a, b), (c, d) = bounds(left), bounds(right)
            return a + c, b + d
        case Call(function="python.subtract", args=(left, right)):
            (a, b), (c, d) = bounds(left), bounds(right)
            return a - d, b - c
        case Call(function="python.multiply", args=(left, right)):
            (a, b), (c, d) = bounds(left), bounds(right)
            products = (a * c, a * d, b * c, b * d)
            return min(products), max(products)
        case Call(function="python.modulo", args=(_, Literal(value=int(by)))) if by > 0:
            return 0, by - 1
        case Call(function="python.floor_divide", args=(left, Literal(value=int(by)))) if by > 0:
            low, high = bounds(left)
            return low // by, high // by
        case Call(function="python.negate", args=(only,)):
            low, high = bounds(only)
            return -high, -low
        case Call(function="python.absolute", args=(only,)):
            low, high = bounds(only)
            return 0, max(abs(low), abs(high))
        case Call(function=function) if function in _SMALL:
            return 0, 2**31 - 1
    return -(2**200), 2**200


_SMALL = {f"python.{name}" for name in ("length", "year", "month", "day", "weekday", "isoweekday")}


def _hull(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return min(one[0], other[0]), max(one[1], other[1])


def _wide(value: Expr) -> Expr:
    """A whole number as a bigint."""
    if value.type == LONG or not isinstance(value.type, Integer):
        return value
    if isinstance(value, Literal):
        return Literal(value.value, LONG)
    return Call("cast", (value,), LONG)


Args = Sequence[Expr]
Lowering = Callable[[Call, Args], Expr]


def _plain(function: str, kind: DataType) -> Lowering:
    return lambda call, args: Call(function, tuple(args), kind)


def _same_kind(*kinds: type) -> Callable[[Call], None]:
    def check(call: Call) -> None:
        if not all(isinstance(arg.type, kinds) for arg in call.args):
            raise NotLowered(call.function)
        if len({type(arg.type) for arg in call.args}) > 1:
            raise NotLowered(call.function)

    return check


_ORDERED = _same_kind(String, Integer, Date, Boolean)


def _equal(call: Call, args: Args) -> Expr:
    floats = _floats(args)
    if floats is not None:
        found = Call("nullsafe_eq", tuple(floats), BOOLEAN, nullable=False)
        return both(found, *(negated(_is_nan(arg)) for arg in floats))
    _ORDERED(call)
    return Call("nullsafe_eq", tuple(map(_wide, args)), BOOLEAN, nullable=False)


def _is_nan(value: Expr) -> Expr:
    return Call("is_nan", (value,), BOOLEAN, nullable=False)


def _compared(function: str) -> Lowering:
    def made(call: Call, args: Args) -> Expr:
        floats = _floats(args)
        if floats is not None:
            found = Call(function, floats, BOOLEAN)
            ordered = Call("and", (found, *(negated(_is_nan(arg)) for arg in floats)), BOOLEAN)
            return Call("case", (is_none(found), Literal(None, BOOLEAN), ordered), BOOLEAN)
        _same_kind(String, Integer, Date)(call)
        return Call(function, tuple(map(_wide, args)), BOOLEAN)

    return made


def _truth(call: Call, args: Args) -> Expr:
    (value,) = args
    there = negated(is_none(value))
    match value.type:
        case Boolean():
            return Call("coalesce", (value, Literal(False, BOOLEAN)), BOOLEAN, nullable=False)
        case String():
            zero = Literal("", STRING)
        case Integer() | Float():
            zero = Literal(0.0 if isinstance(value.type, Float) else 0, value.type)
        case Date():
            return there
        case _:
            raise NotLowered(call.function)
    return both(there, negated(Call("nullsafe_eq", (value, zero), BOOLEAN, nullable=False)))


def _added(call: Call, args: Args) -> Expr:
    if isinstance(call.type, String):
        return Call("concat", tuple(args), STRING)
    return _whole("add")(call, args)


def _whole(function: str) -> Lowering:
    """Arithmetic of whole numbers within bounds, or of floating-point numbers."""

    def made(call: Call, args: Args) -> Expr:
        floats = _floats(args)
        if floats is not None:
            return Call(function, floats, DOUBLE)
        _same_kind(Integer)(call)
        return Call(function, tuple(map(_wide, args)), LONG)

    return made


def _floats(args: Args) -> tuple[Expr, ...] | None:
    """The arguments as doubles, if all are, or are constants that are doubles exactly."""
    if not any(isinstance(arg.type, Float) for arg in args):
        return None
    found = tuple(map(_as_double, args))
    return found if all(arg.type == DOUBLE for arg in found) else None


def _as_double(value: Expr) -> Expr:
    match value:
        case Literal(value=int(number), type=Integer()) if abs(number) <= 2**53:
            return Literal(float(number), DOUBLE)
    if isinstance(value.type, Float) and value.type != DOUBLE:
        return Call("cast", (value,), DOUBLE)
    return value


def _modulo(call: Call, args: Args) -> Expr:
    _by_positive(call)
    return Call("pmod", (_wide(args[0]), _wide(args[1])), LONG)


def _absolute(call: Call, args: Args) -> Expr:
    (value,) = args
    _same_kind(Integer, Float)(call)
    return Call("abs", (_wide(_as_double(value) if call.type == DOUBLE else value),), call.type)


def _floor_divide(call: Call, args: Args) -> Expr:
    _by_positive(call)
    low, _ = bounds(call.args[0])
    if low - 2**31 < _SMALLEST:
        raise NotLowered(call.function)
    value, by = _wide(args[0]), _wide(args[1])
    rest = Call("pmod", (value, by), LONG)
    return Call("integer_divide", (Call("subtract", (value, rest), LONG), by), LONG)


def _by_positive(call: Call) -> None:
    match call.args:
        case (Call() | Column() as value, Literal(value=int(by))) if 0 < by < 2**31:
            if isinstance(value.type, Integer) and isinstance(call.type, Integer):
                return
    raise NotLowered(call.function)


def _text(call: Call, args: Args) -> Expr:
    (value,) = args
    nothing = Literal("None", STRING)
    match value.type:
        case String():
            shown = value
        case Integer():
            shown = Call("cast", (value,), STRING)
        case Boolean():
            words = (value, Literal("True", STRING), Literal("False", STRING))
            shown = Call("case", words, STRING)
            return Call("case", (is_none(value), nothing, shown), STRING, nullable=False)
        case _:
            raise NotLowered(call.function)
    return Call("coalesce", (shown, nothing), STRING, nullable=False)


def _stripped(function: str) -> Lowering:
    def made(call: Call, args: Args) -> Expr:
        if len(args) == 1:
            args = (*args, Literal(BLANKS, STRING))
        match args[1]:
            case Literal(value=str(characters)) if characters:
                return Call(function, tuple(args), STRING)
        raise NotLowered(call.function)

    return made


def _length(call: Call, args: Args) -> Expr:
    return _wide(Call("length", tuple(args), INTEGER))


def _replaced(call: Call, args: Args) -> Expr:
    match args:
        case (_, Literal(value=str(searched)), Literal(value=str())) if searched:
            return Call("replace", tuple(args), STRING)
    raise NotLowered(call.function)


def _sliced(call: Call, args: Args) -> Expr:
    value, first, last = args
    match first, last:
        case Literal(value=None | int() as begin), Literal(value=None | int() as end):
            begin = begin or 0
            if begin < 0 and end is None:
                return _substring(value, begin)
            if begin >= 0 and end is None:
                return _substring(value, begin + 1)
            if begin >= 0 and end is not None and end >= 0:
                return _substring(value, begin + 1, max(end - begin, 0))
    raise NotLowered(call.function)


def _substring(value: Expr, *places: int) -> Expr:
    return Call("substring", (value, *(Literal(place, INTEGER) for place in places)), STRING)


def _item(call: Call, args: Args) -> Expr:
    match args:
        case (value, Literal(value=int(place))) if 0 <= place < 2**31 - 2:
            size = Call("length", (value,), INTEGER)
            there = Call("gt", (size, Literal(place, INTEGER)), BOOLEAN)
            return Call(
                "case", (there, _substring(value, place + 1, 1), Literal(None, STRING)), STRING
            )
    raise NotLowered(call.function)


def _without_prefix(call: Call, args: Args) -> Expr:
    match args:
        case (value, Literal(value=str(prefix))):
            there = Call("starts_with", tuple(args), BOOLEAN)
            return Call("case", (there, _substring(value, len(prefix) + 1), value), STRING)
    raise NotLowered(call.function)


def _date_part(function: str, more: int = 0) -> Lowering:
    def made(call: Call, args: Args) -> Expr:
        _same_kind(Date)(call)
        found = _wide(Call(function, tuple(args), INTEGER))
        return Call("add", (found, Literal(more, LONG)), LONG) if more else found

    return made


def _nan_test(call: Call, args: Args) -> Expr:
    (value,) = args
    _same_kind(Float)(call)
    return Call("case", (is_none(value), Literal(None, BOOLEAN), _is_nan(value)), BOOLEAN)


_LOWERED: dict[str, Lowering] = {
    "eq": _equal,
    "lt": _compared("lt"),
    "le": _compared("le"),
    "gt": _compared("gt"),
    "ge": _compared("ge"),
    "truth": _truth,
    "add": _added,
    "subtract": _whole("subtract"),
    "multiply": _whole("multiply"),
    "modulo": _modulo,
    "absolute": _absolute,
    "floor_divide": _floor_divide,
    "str": _text,
    "strip": _stripped("trim"),
    "lstrip": _stripped("ltrim"),
    "rstrip": _stripped("rtrim"),
    "length": _length,
    "startswith": _plain("starts_with", BOOLEAN),
    "endswith": _plain("ends_with", BOOLEAN),
    "contains": _plain("contains", BOOLEAN),
    "replace": _replaced,
    "slice": _sliced,
    "item": _item,
    "removeprefix": _without_prefix,
    "year": _date_part("year"),
    "month": _date_part("month"),
    "day": _date_part("day"),
    "weekday": _date_part("weekday"),
    "isoweekday": _date_part("weekday", 1),
    "isnan": _nan_test,
}
"""Functions with Python's meaning: how Spark says the same."""

__all__ = ["NotLowered", "bounds", "lowered"]
