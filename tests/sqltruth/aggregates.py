"""Aggregate functions on lists of values, and which rows of a group count."""

from __future__ import annotations

import functools
import math
import operator
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from tests.sqltruth.syntax import Aggregate
from tests.sqltruth.values import RaisesError, Settings, key

EXTREMES = {"min": min, "max": max}
LEVELS = ("grouping", "grouping_id")
"""Functions of a group's level, not of its rows."""
_LONGEST = 2**63


def aggregated(aggregate: Aggregate, values: Sequence[Any], settings: Settings) -> Any:
    """The aggregate of the values of one group that its FILTER keeps, NULLs left out."""
    if aggregate.distinct:
        values = list({key(value): value for value in values}.values())
    return AGGREGATES[aggregate.name](values, settings)


def attaining(columns: Sequence[tuple[Aggregate, Sequence[Any]]], rows: int) -> Sequence[int]:
    """The rows of a group that count where min and max count for the rows that attain them."""
    everything = range(rows)
    columns = [pair for pair in columns if pair[0].name not in LEVELS]
    if not columns or any(a.name not in EXTREMES or a.filter for a, _ in columns):
        return everything
    chosen: set[int] = set()
    for aggregate, column in columns:
        keys = [None if value is None else key(value) for _, value in column]
        known = [found for found in keys if found is not None]
        if known:
            best = EXTREMES[aggregate.name](known)
            chosen |= {number for number, found in enumerate(keys) if found == best}
    return sorted(chosen) or everything


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda values, settings: choose(values, key=key) if values else None


def _sum(values: Sequence[Any], settings: Settings) -> Any:
    if not values:
        return None
    if isinstance(values[0], float):
        return math.nan if any(map(math.isnan, values)) else _floats(values)
    total = sum(values, type(values[0])(0))
    if isinstance(total, int) and not -_LONGEST <= total < _LONGEST:
        if settings.ansi:
            raise RaisesError("overflow")
        return (total + _LONGEST) % (2 * _LONGEST) - _LONGEST
    return total


def _try_sum(values: Sequence[Any], settings: Settings) -> Any:
    total = _sum(values, Settings(settings.zone, False)) if values else None
    whole = isinstance(total, int)
    return None if whole and sum(values) != total else total


def _floats(values: Sequence[float]) -> float:
    if math.inf in values and -math.inf in values:
        return math.nan
    return sum(values) + 0.0


def _average(values: Sequence[Any], settings: Settings) -> Any:
    return sum(values) / len(values) if values else None


def _bits(combine: Callable[[int, int], int]) -> Callable[..., Any]:
    return lambda values, settings: functools.reduce(combine, values) if values else None


def _by(choose: Callable[..., Any]) -> Callable[..., Any]:
    """The value whose pair of the other argument and itself is extreme; NULL comes first there."""

    def placed(pair: tuple[Any, Any]) -> Any:
        return [(part is not None, 0 if part is None else key(part)) for part in reversed(pair)]

    return lambda pairs, settings: choose(pairs, key=placed)[0] if pairs else None


def _lower_half(values: Sequence[Any], settings: Settings) -> Any:
    return float(sorted(values)[(len(values) - 1) // 2]) if values else None


AGGREGATES: dict[str, Callable[[Sequence[Any], Settings], Any]] = {
    "count": lambda values, settings: len(values),
    "min": _extreme(min),
    "max": _extreme(max),
    "sum": _sum,
    "try_sum": _try_sum,
    "avg": _average,
    "bool_and": lambda values, settings: all(values) if values else None,
    "bool_or": lambda values, settings: any(values) if values else None,
    "count_if": lambda values, settings: sum(value is True for value in values),
    "bit_and": _bits(operator.and_),
    "bit_or": _bits(operator.or_),
    "bit_xor": _bits(operator.xor),
    "sizes of lists": lambda values, settings: len(values),
    "sizes of sets": lambda values, settings: len({key(value) for value in values}),
    "sorted lists": lambda values, settings: ";".join(map(str, sorted(values))),
    "max by itself": _extreme(max),
    "halves": lambda values, settings: float(statistics.median(values)) if values else None,
    "largest by": _by(max),
    "least by": _by(min),
    "lower halves": _lower_half,
    "median": lambda values, settings: float(statistics.median(values)) if values else None,
    "texts together": lambda values, settings: ",".join(sorted(map(str, values))) or None,
}
"""By name; arguments are the values that are not NULL."""
