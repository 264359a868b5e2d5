"""Aggregates of traced rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.pipelines.rows import Agg, Column, Row, get, key


def agg(function: Callable[[Sequence[Row]], Any]) -> Agg:
    """Any function of the rows of a group."""
    return Agg(function)


def over(function: Callable[[list[Any]], Any], column: Column) -> Agg:
    """A function of the values that are not NULL; NULL if there are none."""
    return Agg(lambda rows: function(values) if (values := present(rows, column)) else None)


def count(column: Column | None = None) -> Agg:
    """The number of rows, or of values that are not NULL."""
    return Agg(lambda rows: len(rows) if column is None else len(present(rows, column)))


def count_if(condition: Callable[[Row], Any]) -> Agg:
    """The number of rows for which the condition is true."""
    return Agg(lambda rows: sum(1 for row in rows if condition(row)))


def distinct(column: Column) -> Agg:
    """The number of different values."""
    return Agg(lambda rows: len({key(value) for value in present(rows, column)}))


def total(column: Column) -> Agg:
    """The sum."""
    return over(sum, column)


def mean(column: Column) -> Agg:
    """The average, as a double."""
    return over(lambda values: float(sum(values)) / len(values), column)


def low(column: Column) -> Agg:
    """The least value, and the rows that attain it."""
    return Agg(over(min, column).value, _having(column))


def high(column: Column) -> Agg:
    """The greatest value, and the rows that attain it."""
    return Agg(over(max, column).value, _having(column))


def ordered(column: Column) -> Agg:
    """The sorted list of the values, as sort_array(collect_list(...)) gives it."""
    return Agg(lambda rows: sorted(present(rows, column)))


def ordered_set(column: Column) -> Agg:
    """The sorted list of the different values."""
    return Agg(lambda rows: sorted(set(present(rows, column))))


def present(rows: Sequence[Row], column: Column) -> list[Any]:
    """The values that are not NULL."""
    return [value for value in map(get(column), rows) if value is not None]


def _having(column: Column) -> Callable[[Sequence[Row], Any], list[Row]]:
    def attaining(rows: Sequence[Row], value: Any) -> list[Row]:
        return [r for r in rows if (v := get(column)(r)) is not None and key(v) == key(value)]

    return attaining
