"""Random aggregate calls with Spark's result types."""

from __future__ import annotations

from collections.abc import Sequence

from pushdown.operators import AggregateCall
from symbolic.expr import Column
from symbolic.types import BOOLEAN, DOUBLE, LONG, Boolean, DataType, Decimal, is_numeric
from tests.strategies.expressions import Draw, likely, one_of, predicate


def result_type(function: str, argument: DataType) -> DataType:
    """The type that Spark gives the aggregate of an argument of the type."""
    match function, argument:
        case ("min" | "max", _):
            return argument
        case ("sum" | "try_sum", Decimal(precision, scale)):
            return Decimal(min(precision + 10, 38), scale)
        case ("avg", Decimal(precision, scale)):
            return Decimal(min(precision + 4, 38), min(scale + 4, 38))
        case ("avg", _):
            return DOUBLE
        case ("sum" | "try_sum", _):
            return argument if argument == DOUBLE else LONG
        case ("bool_and" | "bool_or", _):
            return BOOLEAN
        case _:
            return LONG


def _functions(argument: DataType) -> tuple[str, ...]:
    if is_numeric(argument):
        return ("sum", "avg", "count", "min", "max")
    if isinstance(argument, Boolean):
        return ("bool_and", "bool_or", "count_if", "min", "max")
    return ("count", "min", "max")


def aggregate_call(draw: Draw, columns: Sequence[Column], extremes: bool) -> AggregateCall:
    """An aggregate over the columns; only min and max if `extremes`."""
    if not columns or (not extremes and likely(draw, 4)):
        return AggregateCall("count", (), LONG)
    column = one_of(draw, columns)
    function = one_of(draw, ("min", "max") if extremes else _functions(column.type))
    distinct = function in ("count", "sum") and likely(draw, 4)
    keep = predicate(draw, columns, depth=0) if likely(draw, 6) else None
    return AggregateCall(function, (column,), result_type(function, column.type), distinct, keep)
