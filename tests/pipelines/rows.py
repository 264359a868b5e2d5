"""Traced rows: values with the source rows behind them, and when values are equal."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

Origin = tuple[str, int, int]
"""A source row: table, number of the scan from 1, number of the row from 0."""


class Row:
    """A row's values by column name, and the source rows behind it."""

    __slots__ = ("sources", "values")

    def __init__(self, values: Mapping[str, Any], sources: frozenset[Origin]) -> None:
        self.values = values
        self.sources = sources

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None


class Agg(NamedTuple):
    """An aggregate: its value of rows; for min and max also which rows attain it."""

    value: Callable[[Sequence[Row]], Any]
    attaining: Callable[[Sequence[Row], Any], Iterable[Row]] | None = None


Column = str | Callable[[Row], Any]


def get(column: Column) -> Callable[[Row], Any]:
    """A column as a function of a row."""
    return column if callable(column) else lambda row: row[column]


def null(function: Callable[..., Any], *values: Any) -> Any:
    """The function's value, or None if an argument is None."""
    return None if any(value is None for value in values) else function(*values)


def grouped(rows: Iterable[Row], keys: Sequence[str], empty: bool = False) -> list[list[Row]]:
    """The rows by equal keys; with `empty` there is a group of no rows if there are none."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key_of(row, keys), []).append(row)
    return list(groups.values()) or ([[]] if empty else [])


def key(value: Any, exact: bool = True) -> Any:
    """A value such that equal ones are equal: NaN, zeros, points in time, decimals, arrays.

    Not `exact`: floating-point numbers by nine digits.
    """
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return value + 0.0 if exact else float(f"{value + 0.0:.9g}")
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, Mapping):
        return tuple(key(one, exact) for one in value.values())
    if isinstance(value, list | tuple):
        return tuple(key(one, exact) for one in value)
    return Decimal(value) if isinstance(value, Decimal) else value


def key_of(row: Row, columns: Iterable[str]) -> Any:
    """A key of the row's values in some columns."""
    return tuple(key(row[name]) for name in columns)


def behind(rows: Iterable[Row]) -> frozenset[Origin]:
    """The source rows behind any of the rows."""
    return frozenset().union(*(row.sources for row in rows))
