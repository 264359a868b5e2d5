"""Texts whose constants the data hold: a query without output is asked with other constants.

On small data most of TPC-DS's constants select nothing. Comparisons of a column with constants that
leave the output empty get constants from the column's own values; where none of these helps, the
comparison is left out. The query's shape stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlglot
from sqlglot import exp

if TYPE_CHECKING:
    import duckdb

_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between)
_MOST_TRIED = 12
"""So many of a column's values are tried, the most frequent first."""


class Fitted(NamedTuple):
    """A text with output: how many comparisons got other constants, and how many were left out."""

    text: str
    exchanged: int = 0
    left_out: int = 0


def fitted(text: str, database: duckdb.DuckDBPyConnection) -> Fitted | None:
    """The text with constants that give it output; None if no comparison stands in its way."""
    node = sqlglot.parse_one(text, read="spark")
    if _has_output(node, database):
        return Fitted(text)
    found: list[exp.Expr] = []
    originals: list[exp.Expr] = []
    places: list[exp.Expr] = []
    # Comparisons of other kinds only where those with constants are not all that stands in the way.
    for kind in (_with_a_constant, _with_a_factor):
        found = [each for each in _comparisons(node) if kind(each)]
        originals += [each.copy() for each in found]
        places += [each.replace(exp.true()) for each in found]
        if _has_output(node, database):
            break
    else:
        return None
    unfit: list[int] = []
    for number, original in enumerate(originals):
        places[number] = places[number].replace(original.copy())
        if not _has_output(node, database):
            places[number] = places[number].replace(exp.true())
            unfit.append(number)
    exchanged = 0
    for number in unfit:
        for other in _others(originals[number], database):
            places[number] = places[number].replace(other)
            if _has_output(node, database):
                exchanged += 1
                break
            places[number] = places[number].replace(exp.true())
    return Fitted(node.sql("spark"), exchanged, len(unfit) - exchanged)


def _has_output(node: exp.Expr, database: duckdb.DuckDBPyConnection) -> bool:
    """Whether the query has an output row with a value in it."""
    import duckdb

    try:
        rows = database.execute(node.sql("duckdb")).fetchmany(200)
    except duckdb.Error:
        return False
    return any(value not in (None, 0) for row in rows for value in row)


def _comparisons(node: exp.Expr) -> Iterator[exp.Expr]:
    """The comparisons in WHERE and HAVING, outermost first."""
    for each in list(node.find_all(*_COMPARISONS)):
        inside = each.find_ancestor(exp.Where, exp.Having, exp.Join, exp.Case, exp.Select)
        if isinstance(inside, exp.Where | exp.Having) and each.root() is node:
            yield each


def _with_a_constant(node: exp.Expr) -> bool:
    """Whether it compares a column or an aggregate with constants."""
    columns = list(node.find_all(exp.Column))
    return len(columns) <= 1 and bool(node.find(exp.Literal)) and not node.find(exp.Select)


def _with_a_factor(node: exp.Expr) -> bool:
    """Whether it compares by a constant factor or sum, or with what a subquery gives."""
    return bool(node.find(exp.Literal, exp.Select)) and not isinstance(node.this, exp.Tuple)


def _others(original: exp.Expr, database: duckdb.DuckDBPyConnection) -> Iterator[exp.Expr]:
    """The comparison with constants that its column holds."""
    column = original.find(exp.Column)
    values = _values(column.name.lower(), database) if column is not None else ()
    if not values or not _with_a_constant(original):
        return
    written = [exp.convert(value) for value in values]
    subject = original.this
    if isinstance(original, exp.In):
        yield exp.In(this=subject.copy(), expressions=written[: len(original.expressions)])
    elif isinstance(original, exp.Between):
        ends = exp.convert(min(values)), exp.convert(max(values))
        yield exp.Between(this=subject.copy(), low=ends[0], high=ends[1])
    elif isinstance(original, exp.EQ) and isinstance(subject, exp.Column):
        for value in written:
            yield exp.EQ(this=subject.copy(), expression=value)


def _values(name: str, database: duckdb.DuckDBPyConnection) -> Sequence[Any]:
    """The most frequent values of the column of that name: names are unique in TPC-DS."""
    tables = database.execute(
        "SELECT table_name FROM information_schema.columns WHERE column_name = ?", [name]
    ).fetchall()
    if len(tables) != 1:
        return ()
    column, table = exp.to_identifier(name, quoted=True), exp.to_identifier(tables[0][0])
    query = f"SELECT {column.sql()} FROM {table.sql()} WHERE {column.sql()} IS NOT NULL"
    query += f" GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {_MOST_TRIED}"
    return [value for (value,) in database.execute(query).fetchall()]
