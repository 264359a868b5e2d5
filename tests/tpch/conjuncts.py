"""Drops one condition of a query at a time: which of them matter on a data set?"""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import expressions as exp


def weakened(sql: str) -> Iterator[tuple[str, str]]:
    """The query without one of its conditions, for each of them: (condition, query).

    The conditions are those of WHERE, HAVING and ON, of the query and all its subqueries,
    split at AND and OR. One that is ANDed is replaced by TRUE, one that is ORed by FALSE.
    """
    query = sqlglot.parse_one(sql, read="duckdb")
    for number, (condition, neutral) in enumerate(_conditions(query)):
        text = condition.sql(dialect="duckdb")
        copy = query.copy()
        same, _ = list(_conditions(copy))[number]
        same.replace(exp.Boolean(this=neutral))
        yield text, copy.sql(dialect="duckdb")


def _conditions(query: exp.Expression) -> Iterator[tuple[exp.Expression, bool]]:
    for clause in query.find_all(exp.Where, exp.Having):
        yield from _parts(clause.this, neutral=True)
    for join in query.find_all(exp.Join):
        if join.args.get("on"):
            yield from _parts(join.args["on"], neutral=True)


def _parts(condition: exp.Expression, neutral: bool) -> Iterator[tuple[exp.Expression, bool]]:
    """The ANDed or ORed parts of a condition, with the value that takes each one out."""
    if isinstance(condition, exp.Paren):
        yield from _parts(condition.this, neutral)
    elif isinstance(condition, exp.And | exp.Or):
        inner = isinstance(condition, exp.And)
        if inner != neutral:
            yield condition, neutral
        yield from _parts(condition.this, inner)
        yield from _parts(condition.expression, inner)
    else:
        yield condition, neutral
