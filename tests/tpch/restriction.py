"""Runs a query with each of its scans reading other rows: the oracle's own test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import sqlglot
from sqlglot import expressions as exp

from tpch.oracle import ScanName


def with_scans(sql: str, relation: Callable[[ScanName], str]) -> str:
    """The query with scan s reading the relation named `relation(s)`.

    Scans are numbered in plan order: FROM items left to right, then subqueries in the
    order of the text; each use of a CTE has scans of its own.
    """
    query = _without_ctes(sqlglot.parse_one(sql, read="duckdb"))
    seen: Counter[str] = Counter()
    for table in list(_scans(query)):
        seen[table.name] += 1
        alias = table.alias_or_name
        name = relation(ScanName(table.name, seen[table.name]))
        table.replace(exp.to_table(name).as_(alias, table=True))
    return query.sql(dialect="duckdb")


def _without_ctes(query: exp.Expression) -> exp.Expression:
    with_ = query.find(exp.With)
    if with_ is None:
        return query
    bodies = {cte.alias: cte for cte in with_.expressions}
    with_.pop()
    for table in list(query.find_all(exp.Table)):
        if table.name in bodies:
            cte = bodies[table.name]
            alias = exp.TableAlias(
                this=exp.to_identifier(table.alias_or_name),
                columns=[column.copy() for column in cte.args["alias"].columns],
            )
            table.replace(exp.Subquery(this=cte.this.copy(), alias=alias))
    return query


def _scans(node: exp.Expression) -> Iterator[exp.Table]:
    if isinstance(node, exp.Table):
        yield node
        return
    clauses = [value for key, value in node.args.items() if key not in ("from_", "from", "joins")]
    sources = [node.args.get("from_") or node.args.get("from"), node.args.get("joins")]
    for clause in (*sources, *clauses):
        for child in clause if isinstance(clause, list) else [clause]:
            if isinstance(child, exp.Expression):
                yield from _scans(child)
