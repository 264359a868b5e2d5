"""The truth of one query text over tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import sqlglot
from sqlglot import exp

from tpch.oracle import ScanName
from tpch.truth.expressions import Traced
from tpch.truth.origins import Path, Places, places
from tpch.truth.queries import Ctes, Queries, Table, sources, with_ctes

Tables: TypeAlias = Mapping[str, Table]


class Truth(NamedTuple):
    """A query's rows without its last ORDER BY and LIMIT, and its scans in plan order."""

    rows: Sequence[Traced]
    scans: Mapping[Path, ScanName]

    def lineage(self, numbers: Sequence[int]) -> dict[ScanName, set[int]]:
        """The source rows behind some of the rows."""
        found: Places = places(self.rows[number][1] for number in numbers)
        return {name: found.get(path, set()) for path, name in self.scans.items()}


def read_truth(text: str, tables: Tables, reading: str = "minimal") -> Truth:
    """Compute the query's rows.

    Raises NotImplementedError for syntax that no text here has had so far.
    """
    node = sqlglot.parse_one(text, read="spark")
    queries = Queries(tables, reading)
    rows = queries.compile(node, {}, None, top=True).rows(None)
    counts: dict[str, int] = {}
    scans = {}
    for path, table in _scans(node, {}, queries):
        counts[table] = counts.get(table, 0) + 1
        scans[path] = ScanName(table, counts[table])
    return Truth(rows, scans)


def _scans(node: exp.Expr, ctes: Ctes, queries: Queries) -> Iterator[tuple[Path, str]]:
    """FROM items left to right, then subqueries in the order of the text."""
    if isinstance(node, exp.Subquery | exp.Paren):
        yield from _scans(node.this, ctes, queries)
        return
    ctes = with_ctes(node, ctes)
    if isinstance(node, exp.SetOperation):
        yield from _scans(node.left, ctes, queries)
        yield from _scans(node.right, ctes, queries)
        return
    assert isinstance(node, exp.Select)
    for item in sources(node):
        if not isinstance(item, exp.Table):
            yield from _scans(item, ctes, queries)
        elif (name := item.name.lower()) not in ctes:
            yield (queries.number(item),), name
        else:
            for path, table in _scans(ctes[name], ctes, queries):
                yield (queries.number(item), *path), table
    for clause in ("expressions", "joins", "where", "group", "having", "order"):
        for part in _listed(node.args.get(clause)):
            for query in _subqueries(part.args.get("on") if clause == "joins" else part):
                yield from _scans(query, ctes, queries)


def _listed(found: Any) -> Sequence[exp.Expr]:
    if found is None:
        return ()
    return found if isinstance(found, list) else [found]


def _subqueries(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """The outermost queries inside an expression."""
    if node is None:
        return
    if isinstance(node, exp.Select | exp.SetOperation):
        yield node
        return
    for child in node.iter_expressions():
        yield from _subqueries(child)
