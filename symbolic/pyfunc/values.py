"""Values of a Python function while it is read: constants, and expressions over its parameters."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec

from symbolic.expr import FALSE, TRUE, Call, Expr, Literal, conjunction, disjunction
from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    LONG,
    NULL,
    STRING,
    Boolean,
    DataType,
    Float,
    Integer,
    Null,
    String,
)


class Unread(Exception):
    """A part of a function that is not read; says which."""


class Const(msgspec.Struct, frozen=True):
    """A value that is known: of any type, also a function or a module."""

    value: Any


class Match(msgspec.Struct, frozen=True):
    """What a search by a regular expression gave: a match if `found`, None if not.

    The search was made only `when` a condition holds.
    """

    found: Call
    when: Expr = TRUE


class Pieces(msgspec.Struct, frozen=True):
    """The parts of a text, split; `separator` is None for blanks."""

    text: Expr
    separator: str | None


Value = Const | Match | Pieces | Expr

_TYPES: dict[type, DataType] = {
    type(None): NULL, bool: BOOLEAN, int: LONG, float: DOUBLE, str: STRING, datetime.date: DATE,
}  # fmt: skip


def expr(value: Value) -> Expr:
    """The value as an expression. Raises Unread for a constant without a type of SQL."""
    if isinstance(value, (Match, Pieces)):
        raise Unread("a list or a match as a value")
    if not isinstance(value, Const):
        return value
    kind = _TYPES.get(type(value.value))
    if kind is None or (kind == LONG and not -(2**63) <= value.value < 2**63):
        raise Unread(f"a constant of type {type(value.value).__name__}")
    return Literal(value.value, kind)


def python(function: str, kind: DataType, *args: Value) -> Call:
    """A call with Python's meaning."""
    never = function in ("eq", "truth", "str")
    return Call(f"python.{function}", tuple(map(expr, args)), kind, nullable=not never)


def truth(value: Value) -> Expr:
    """Whether a value counts as true: never NULL."""
    if isinstance(value, Const):
        return Literal(bool(value.value), BOOLEAN)
    if isinstance(value, Match):
        return both(value.when, python("truth", BOOLEAN, value.found))
    value = expr(value)
    if isinstance(value.type, Boolean) and not getattr(value, "nullable", True):
        return value
    return python("truth", BOOLEAN, value)


def negated(condition: Expr) -> Expr:
    """The opposite of a condition that is never NULL."""
    if isinstance(condition, Literal):
        return Literal(not condition.value, BOOLEAN)
    if isinstance(condition, Call) and condition.function == "not":
        return condition.args[0]
    return Call("not", (condition,), BOOLEAN, nullable=False)


def both(*conditions: Expr) -> Expr:
    """All of the conditions, none of which is NULL."""
    return _sure(conjunction(*conditions))


def either(*conditions: Expr) -> Expr:
    """One of the conditions, none of which is NULL."""
    return _sure(disjunction(*conditions))


def _sure(found: Expr) -> Expr:
    if isinstance(found, Call) and found.function in ("and", "or"):
        return Call(found.function, found.args, BOOLEAN, nullable=False)
    return found


def choice(condition: Expr, then: Value, otherwise: Value) -> Value:
    """One value or the other. Raises Unread if they are of types that do not go together."""
    if isinstance(condition, Literal):
        return then if condition.value else otherwise
    if _identical(then, otherwise):
        return then
    if isinstance(then, Match) and isinstance(otherwise, Const) and otherwise.value is None:
        return Match(then.found, both(condition, then.when))
    first, second = expr(then), expr(otherwise)
    kind = common_type(first.type, second.type)
    first, second = _as(first, kind), _as(second, kind)
    return Call("case", (condition, first, second), kind, nullable=True)


def _identical(one: Value, other: Value) -> bool:
    if isinstance(one, Const) and isinstance(other, Const):
        # 1, 1.0 and True are equal, and so are 0.0 and -0.0.
        same_type = type(one.value) is type(other.value)
        return one.value is other.value or (same_type and repr(one.value) == repr(other.value))
    return type(one) is type(other) and one == other


def _as(value: Expr, kind: DataType) -> Expr:
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, kind)
    return value


def common_type(one: DataType, other: DataType) -> DataType:
    """The type of a value that may have either type."""
    if isinstance(one, Null) or one == other:
        return other
    if isinstance(other, Null):
        return one
    if isinstance(one, Integer) and isinstance(other, Integer):
        return LONG
    if isinstance(one, Float) and isinstance(other, Float):
        return DOUBLE
    raise Unread("a value that may be of several types")


def is_none(value: Value) -> Expr:
    """Whether a value is None."""
    if isinstance(value, Const):
        return Literal(value.value is None, BOOLEAN)
    if isinstance(value, Match):
        return negated(truth(value))
    return Call("is_null", (expr(value),), BOOLEAN, nullable=False)


def size(value: Expr) -> int:
    """The number of different nodes of an expression."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(node.args if isinstance(node, Call) else ())
    return len(seen)


def raised(value: Expr) -> Expr:
    """Whether computing an expression raises; never NULL.

    A call with Python's meaning is NULL exactly where it raises, unless it is never NULL.
    """
    if not isinstance(value, Call):
        return FALSE
    match value.function, value.args:
        case "case", (condition, then, otherwise):
            ways = both(condition, raised(then)), both(negated(condition), raised(otherwise))
            return either(raised(condition), *ways)
        case ("and" | "or") as connective, args:
            found: Expr = FALSE
            for arg in reversed(args):
                goes_on = arg if connective == "and" else negated(arg)
                found = either(raised(arg), both(goes_on, found))
            return found
        case "python.re_group", _:
            raise Unread("a group of a match inside try")
        case name, args if not name.startswith("python.") or not value.nullable:
            return either(*map(raised, args))
        case _, args:
            # What its arguments raise need not make it NULL: a test of a NULL is not NULL.
            null = Call("is_null", (value,), BOOLEAN, nullable=False)
            return either(null, *map(raised, args))


def failing(kind: DataType) -> Expr:
    """A value of a type whose computation raises."""
    match kind:
        case String():
            return python("item", STRING, Const(""), Const(0))
        case Float():
            return python("float", DOUBLE, Const("?"))
        case Boolean():
            return python("lt", BOOLEAN, Const(None), Const(0))
        case Integer():
            return python("int", LONG, Const("?"))
    raise Unread("a value of this type that is not there")
