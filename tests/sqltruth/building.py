"""Short names for syntax trees made by hand."""

from __future__ import annotations

from typing import Any

from tests.sqltruth import functions
from tests.sqltruth.spelling import text
from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Expr,
    Grouping,
    Item,
    Ref,
    Select,
    Table,
)
from tests.sqltruth.tables import TABLES

COUNT = Aggregate("count", None, functions.LONG)


def table(number: int, name: str) -> Table:
    """A scan of a table."""
    return Table(number, name, f"t{number}", len(TABLES[name]))


def col(item: Table, name: str) -> Ref:
    """A column of a scan."""
    columns = TABLES[item.name]
    written = f"{item.alias}.`{name}`"
    return Ref(item.relation, list(columns).index(name), columns[name], written)


def number(value: int) -> Constant:
    """An int."""
    return Constant(value, functions.INT, str(value))


def eq(left: Expr, right: Expr) -> Call:
    """``left = right``."""
    return Call(functions.comparison("=", left.type), (left, right))


def coalesce(left: Expr, right: Expr) -> Call:
    """``coalesce(left, right)``."""
    return Call(functions.generic(left.type)[0], (left, right))


def either(left: Expr, right: Expr) -> Call:
    """``left OR right``."""
    return Call(functions.OR, (left, right))


def calling(written: str, argument: Expr) -> Call:
    """A function of one argument, by its text."""
    known = (*functions.SCALARS, *functions.ZERO_TELLING)
    (found,) = (f for f in known if f.text == written and f.arguments == (argument.type,))
    return Call(found, (argument,))


def select(*items: Expr, source: Item, **clauses: Any) -> Select:
    """A SELECT."""
    return Select(items, tuple(f"k{place}" for place in range(len(items))), source, **clauses)


def grouped(
    relation: int, keys: tuple[Expr, ...], *aggregates: Aggregate
) -> tuple[Grouping, list[Ref]]:
    """A GROUP BY, and its columns."""
    parts = [*keys, *aggregates]
    columns = [Ref(relation, place, part.type, of=part) for place, part in enumerate(parts)]
    return Grouping(relation, keys, aggregates, tuple(map(text, keys))), columns
