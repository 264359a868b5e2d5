"""Expressions compiled once to closures over rows: Spark's semantics, three-valued logic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from symbolic.expr import Call, Column, Expr, Lambda, Literal, Param, Variable
from symbolic.functions import FUNCTIONS
from tests.reference.functions import SCALARS, Settings
from tests.reference.values import Row, load, needs_key, order_key, value_key

Evaluator = Callable[[Row], Any]


class UnsupportedInReference(Exception):
    """The reference tracer does not know a function; the test cannot judge the query."""


def compile_expr(expr: Expr, columns: Sequence[Column], settings: Settings) -> Evaluator:
    """The expression as a function of rows laid out as `columns`.

    Raises `UnsupportedInReference` for a function without a meaning here, and KeyError
    for a column that the row does not have.
    """
    positions: dict[Hashable, int] = {column.id: index for index, column in enumerate(columns)}
    return _compile(expr, {**positions, _WIDTH: len(columns)}, settings)


_WIDTH = "width"
"""The place of the row's length among the positions; elements of arrays go behind the row."""


def _compile(expr: Expr, positions: Mapping[Hashable, int], settings: Settings) -> Evaluator:
    match expr:
        case Column(id=column):
            position = positions[column]
            return lambda row: row[position]
        case Variable(id=variable):
            position = positions["variable", variable]
            return lambda row: row[position]
        case Lambda(parameters=parameters, body=body):
            width = positions[_WIDTH]
            places = {("variable", p.id): width + place for place, p in enumerate(parameters)}
            inner = {**positions, **places, _WIDTH: width + len(parameters)}
            compiled = _compile(body, inner, settings)
            return lambda row: lambda *elements: compiled((*row, *elements))
        case Literal(value=value, type=data_type):
            constant = load(value, data_type)
            return lambda row: constant
        case Param(name=name):
            raise ValueError(f"parameter {name} is not bound")
        case Call(function=function):
            args = [_compile(arg, positions, settings) for arg in expr.args]
            if function in _OWN:
                return _OWN[function](expr, args)
            if function not in SCALARS:
                raise UnsupportedInReference(function)
            apply = SCALARS[function](expr, settings)
            if FUNCTIONS[function].nulls.propagates:
                return _propagating(apply, args)
            return lambda row: apply(*[arg(row) for arg in args])


def _propagating(apply: Callable[..., Any], args: list[Evaluator]) -> Evaluator:
    """The function on the arguments' values; NULL if any of them is."""
    if len(args) == 1:
        (only,) = args

        def unary(row: Row) -> Any:
            value = only(row)
            return None if value is None else apply(value)

        return unary
    if len(args) == 2:
        first, second = args

        def binary(row: Row) -> Any:
            left = first(row)
            if left is None:
                return None
            right = second(row)
            return None if right is None else apply(left, right)

        return binary

    def general(row: Row) -> Any:
        values = [arg(row) for arg in args]
        return None if any(value is None for value in values) else apply(*values)

    return general


def _and(expr: Call, args: list[Evaluator]) -> Evaluator:
    def evaluate(row: Row) -> Any:
        result: bool | None = True
        for arg in args:
            value = arg(row)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return evaluate


def _or(expr: Call, args: list[Evaluator]) -> Evaluator:
    def evaluate(row: Row) -> Any:
        result: bool | None = False
        for arg in args:
            value = arg(row)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return evaluate


def _not(expr: Call, args: list[Evaluator]) -> Evaluator:
    (only,) = args

    def evaluate(row: Row) -> Any:
        value = only(row)
        return None if value is None else not value

    return evaluate


def _in(expr: Call, args: list[Evaluator]) -> Evaluator:
    value, *items = args

    if all(isinstance(item, Literal) for item in expr.args[1:]):
        constants = [item(()) for item in items]
        known = {value_key(constant) for constant in constants if constant is not None}
        otherwise = None if None in constants else False

        def lookup(row: Row) -> Any:
            wanted = value(row)
            if wanted is None:
                return None
            return True if value_key(wanted) in known else otherwise

        return lookup

    def evaluate(row: Row) -> Any:
        wanted = value(row)
        if wanted is None:
            return None
        found = [item(row) for item in items]
        if any(item is not None and value_key(item) == value_key(wanted) for item in found):
            return True
        return None if None in found else False

    return evaluate


def _case(expr: Call, args: list[Evaluator]) -> Evaluator:
    branches = list(zip(args[:-1:2], args[1:-1:2], strict=True))
    otherwise = args[-1]

    def evaluate(row: Row) -> Any:
        for condition, value in branches:
            if condition(row) is True:
                return value(row)
        return otherwise(row)

    return evaluate


def _coalesce(expr: Call, args: list[Evaluator]) -> Evaluator:
    def evaluate(row: Row) -> Any:
        for arg in args:
            value = arg(row)
            if value is not None:
                return value
        return None

    return evaluate


def _plain(expr: Call) -> bool:
    """Whether Python compares the call's arguments as SQL does."""
    return not any(needs_key(arg.type) for arg in expr.args)


def _eq(expr: Call, args: list[Evaluator]) -> Evaluator:
    if _plain(expr):
        return _propagating(lambda left, right: left == right, args)
    return _propagating(lambda left, right: value_key(left) == value_key(right), args)


def _nullsafe_eq(expr: Call, args: list[Evaluator]) -> Evaluator:
    first, second = args
    return lambda row: value_key(first(row)) == value_key(second(row))


def _ordering(plain: Callable[[Any, Any], bool]) -> Callable[[Call, list[Evaluator]], Evaluator]:
    def build(expr: Call, args: list[Evaluator]) -> Evaluator:
        if _plain(expr):
            return _propagating(plain, args)
        return _propagating(lambda left, right: plain(order_key(left), order_key(right)), args)

    return build


def _is_null(expr: Call, args: list[Evaluator]) -> Evaluator:
    (only,) = args
    return lambda row: only(row) is None


def _is_not_null(expr: Call, args: list[Evaluator]) -> Evaluator:
    (only,) = args
    return lambda row: only(row) is not None


def _extreme(largest: bool) -> Callable[[Call, list[Evaluator]], Evaluator]:
    pick = max if largest else min

    def build(expr: Call, args: list[Evaluator]) -> Evaluator:
        def evaluate(row: Row) -> Any:
            values = [value for arg in args if (value := arg(row)) is not None]
            return pick(values, key=order_key) if values else None

        return evaluate

    return build


def _nullif(expr: Call, args: list[Evaluator]) -> Evaluator:
    first, second = args

    def evaluate(row: Row) -> Any:
        left, right = first(row), second(row)
        equal = left is not None and right is not None and value_key(left) == value_key(right)
        return None if equal else left

    return evaluate


def _concat_ws(expr: Call, args: list[Evaluator]) -> Evaluator:
    def evaluate(row: Row) -> Any:
        separator, *parts = (arg(row) for arg in args)
        if separator is None:
            return None
        flat: list[str] = []
        for part in parts:
            flat.extend(part if isinstance(part, tuple) else [part])
        return separator.join(part for part in flat if part is not None)

    return evaluate


def _tuple(expr: Call, args: list[Evaluator]) -> Evaluator:
    return lambda row: tuple(arg(row) for arg in args)


def _array_repeat(expr: Call, args: list[Evaluator]) -> Evaluator:
    value, times = args

    def evaluate(row: Row) -> Any:
        count = times(row)
        return None if count is None else (value(row),) * max(count, 0)

    return evaluate


def _array_aggregate(expr: Call, args: list[Evaluator]) -> Evaluator:
    array, start, merge, finish = args

    def evaluate(row: Row) -> Any:
        values = array(row)
        if values is None:
            return None
        return finish(row)(functools.reduce(merge(row), values, start(row)))

    return evaluate


_OWN: dict[str, Callable[[Call, list[Evaluator]], Evaluator]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "in": _in,
    "case": _case,
    "coalesce": _coalesce,
    "eq": _eq,
    "nullsafe_eq": _nullsafe_eq,
    "lt": _ordering(lambda left, right: left < right),
    "le": _ordering(lambda left, right: left <= right),
    "gt": _ordering(lambda left, right: left > right),
    "ge": _ordering(lambda left, right: left >= right),
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "greatest": _extreme(True),
    "least": _extreme(False),
    "nullif": _nullif,
    "concat_ws": _concat_ws,
    "make_array": _tuple,
    "array_repeat": _array_repeat,
    "array_aggregate": _array_aggregate,
    "make_struct": _tuple,
}
"""Functions with their own treatment of NULL, or that look at their arguments' types."""
