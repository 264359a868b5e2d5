"""Aggregate functions with Spark's result types, and which rows of a group they draw on."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from pushdown.operators import AggregateCall
from symbolic.expr import Column
from symbolic.types import Decimal, Integer
from tests.reference.expressions import compile_expr
from tests.reference.functions import Settings
from tests.reference.functions.numbers import divide_decimals
from tests.reference.values import (
    EXACT,
    Row,
    fit_decimal,
    fit_integer,
    order_key,
    row_key,
    value_key,
)

GroupEvaluator = Callable[[Sequence[Row]], Any]
ATTAINED = ("min", "max")


def compile_aggregate(
    aggregate: AggregateCall, columns: Sequence[Column], settings: Settings
) -> GroupEvaluator:
    """The aggregate as a function of a group's rows, laid out as `columns`."""
    compute = AGGREGATES[aggregate.function]
    args = [compile_expr(arg, columns, settings) for arg in aggregate.args]
    keep = None if aggregate.filter is None else compile_expr(aggregate.filter, columns, settings)

    def evaluate(rows: Sequence[Row]) -> Any:
        kept = rows if keep is None else [row for row in rows if keep(row) is True]
        if len(args) == 1:
            (only,) = args
            values = [(value,) for row in kept if (value := only(row)) is not None]
        else:
            found = (tuple(arg(row) for arg in args) for row in kept)
            values = [value for value in found if None not in value]
        if aggregate.distinct:
            values = list({row_key(value): value for value in values}.values())
        return compute(values, aggregate)

    return evaluate


def attaining(
    aggregate: AggregateCall, columns: Sequence[Column], settings: Settings
) -> Callable[[Sequence[Row], Any], list[int]]:
    """Which rows of a group have the value of its min or max; none for a NULL value."""
    argument = compile_expr(aggregate.args[0], columns, settings)

    def find(rows: Sequence[Row], result: Any) -> list[int]:
        if result is None:
            return []
        wanted = value_key(result)
        return [index for index, row in enumerate(rows) if value_key(argument(row)) == wanted]

    return find


Values = list[tuple[Any, ...]]


def _only(values: Values) -> list[Any]:
    return [value for (value,) in values]


def _sum(values: Values, aggregate: AggregateCall) -> Any:
    numbers = _only(values)
    if not numbers:
        return None
    match aggregate.type:
        case Decimal():
            total = numbers[0]
            for number in numbers[1:]:
                total = EXACT.add(total, number)
            return fit_decimal(total, aggregate.type)
        case Integer():
            return fit_integer(sum(numbers), aggregate.type)
        case _:
            return sum(numbers)


def _avg(values: Values, aggregate: AggregateCall) -> Any:
    numbers = _only(values)
    if not numbers:
        return None
    if isinstance(aggregate.type, Decimal):
        total = numbers[0]
        for number in numbers[1:]:
            total = EXACT.add(total, number)
        return fit_decimal(
            divide_decimals(total, EXACT.create_decimal(len(numbers))), aggregate.type
        )
    return float(sum(numbers)) / len(numbers)


def _extreme(pick: Callable[..., Any]) -> Callable[[Values, AggregateCall], Any]:
    return lambda values, aggregate: pick(_only(values), key=order_key) if values else None


def _variance(sample: bool, root: bool) -> Callable[[Values, AggregateCall], Any]:
    def compute(values: Values, aggregate: AggregateCall) -> Any:
        numbers = [float(value) for value in _only(values)]
        if len(numbers) <= sample:
            return None
        if not all(map(math.isfinite, numbers)):
            return math.nan
        mean = math.fsum(numbers) / len(numbers)
        variance = math.fsum((number - mean) ** 2 for number in numbers) / (len(numbers) - sample)
        return math.sqrt(variance) if root else variance

    return compute


def _covariance(values: Values, sample: bool) -> float | None:
    if len(values) <= sample:
        return None
    first_mean = math.fsum(float(first) for first, _ in values) / len(values)
    second_mean = math.fsum(float(second) for _, second in values) / len(values)
    products = ((float(a) - first_mean) * (float(b) - second_mean) for a, b in values)
    return math.fsum(products) / (len(values) - sample)


def _corr(values: Values, aggregate: AggregateCall) -> float | None:
    if not values:
        return None
    together = _covariance(values, sample=False)
    spread = _covariance([(a, a) for a, _ in values], sample=False)
    other = _covariance([(b, b) for _, b in values], sample=False)
    assert together is not None
    assert spread is not None
    assert other is not None
    return math.nan if spread == 0 or other == 0 else together / math.sqrt(spread * other)


def _percentile(values: Values, aggregate: AggregateCall) -> float | None:
    if not values:
        return None
    numbers = sorted((float(value[0]) for value in values), key=order_key)
    place = (len(numbers) - 1) * float(values[0][1])
    low, high = numbers[math.floor(place)], numbers[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


AGGREGATES: dict[str, Callable[[Values, AggregateCall], Any]] = {
    "count": lambda values, aggregate: len(values),
    "sum": _sum,
    "try_sum": _sum,
    "avg": _avg,
    "min": _extreme(min),
    "max": _extreme(max),
    "stddev_samp": _variance(sample=True, root=True),
    "stddev_pop": _variance(sample=False, root=True),
    "var_samp": _variance(sample=True, root=False),
    "var_pop": _variance(sample=False, root=False),
    "bool_and": lambda values, aggregate: all(_only(values)) if values else None,
    "bool_or": lambda values, aggregate: any(_only(values)) if values else None,
    "corr": _corr,
    "covar_pop": lambda values, aggregate: _covariance(values, sample=False),
    "covar_samp": lambda values, aggregate: _covariance(values, sample=True),
    "median": lambda values, aggregate: (
        float(statistics.median(map(float, _only(values)))) if values else None
    ),
    "percentile": _percentile,
    "count_if": lambda values, aggregate: sum(value is True for value in _only(values)),
}
"""Every aggregate, given the argument tuples without NULLs (``count(*)``: empty tuples)."""
