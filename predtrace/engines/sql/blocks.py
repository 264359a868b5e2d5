"""Queries under construction: the SQL below an operator, and how the operator may extend it.

Columns have their physical names ``c<id>``, which are unique in a graph, so nothing needs
qualifying. Each operator extends the query below it if SQL's order of clauses allows; otherwise it
reads that query as a subquery. FROM lists stay flat. The engine's optimizer can thus move filters,
drop columns and order joins as for a query written by hand. An operator that several others read is
a CTE, which is computed once. Scans are not: each of their readers reads the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.sql import trees
from predtrace.engines.sql.compiler import Compiler
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.literals import number
from predtrace.errors import EngineError
from pushdown.graph import OperatorGraph
from pushdown.operators import Operator, Scan
from symbolic.expr import Column, Expr, conjuncts

MOST_UNFOLDED = 5_000
"""The most operators of a query in an engine that copies CTEs to every place that reads them."""
FILLER = "filler"
"""The only column of a query for a node without columns: rows in SQL need a column."""


class Block(msgspec.Struct, frozen=True):
    """A SELECT under construction.

    `body` has FROM, JOIN, WHERE, GROUP BY. `values` are the selected values (None: all columns, and
    clauses may still be added). `order` is the sort order of its rows; from these it takes at most
    `count` rows, starting at `offset`. A block is used once: its user may take over its `body`.
    """

    body: exp.Select
    values: tuple[exp.Expr, ...] | None = None
    order: tuple[exp.Ordered, ...] = ()
    count: int | None = None
    offset: int = 0

    @property
    def cut(self) -> bool:
        """Whether it takes only some of the rows."""
        return self.count is not None or self.offset > 0


class _Common(msgspec.Struct, frozen=True):
    """A node with several consumers: its query, and the sort order of its rows."""

    query: exp.Select
    order: tuple[exp.Ordered, ...]


class Planner:
    """Builds the queries of one graph for a dialect, with a function per operator class.

    `scans` has the relation to read for each Scan node.
    """

    def __init__(
        self,
        graph: OperatorGraph,
        dialect: Dialect,
        scans: Mapping[int, exp.Expr],
        builders: Mapping[type[Operator], Callable[[Planner, Any], Block]],
    ) -> None:
        self.graph = graph
        self.dialect = dialect
        self.scans = scans
        self._builders = builders
        self._common: dict[int, _Common] = {}
        columns = {c.id: read(c) for node in graph.top_down() for c in graph.output(node)}
        self.compile = Compiler(dialect.name, dialect.functions, columns)

    def query(self, node: int) -> exp.Select:
        """The node's rows.

        Raises EngineError if the engine would compute what several operators read too often.
        """
        if not self.dialect.materializes and self.graph.unfolded(node) > MOST_UNFOLDED:
            raise EngineError(
                f"the {self.dialect.name} engine computes rows again for each operator that reads "
                f"them, with more than {MOST_UNFOLDED} operators in all; use engine='duckdb'"
            )
        return self.finished(self.closed(self.block(node), self.graph.output(node)))

    def finished(self, query: exp.Select) -> exp.Select:
        """The query with the CTEs that it reads; no other is built with this planner."""
        for node, common in self._common.items():
            query = query.with_(
                _common_name(node),
                as_=common.query,
                materialized=self.dialect.materializes or None,
                copy=False,
            )
        return query

    def block(self, node: int) -> Block:
        """The node's rows as a query that may be extended."""
        operator = self.graph[node]
        build = self._builders[type(operator)]
        if node not in self.graph.shared or isinstance(operator, Scan):
            return build(self, operator)
        if node not in self._common:
            self._common[node] = self._made_common(node, build(self, operator))
        table = exp.alias_(trees.table(_common_name(node)), f"n{node}", table=True, copy=False)
        order = tuple(key.copy() for key in self._common[node].order)
        return Block(exp.Select().from_(table, copy=False), order=order)

    def _made_common(self, node: int, block: Block) -> _Common:
        """A block as a CTE; besides its columns it has the values by which its rows are sorted."""
        names = [f"o{node}_{place}" for place in range(len(block.order))]
        keys = zip(block.order, names, strict=True)
        values = [exp.alias_(key.this.copy(), name, copy=False) for key, name in keys]
        query = self.closed(block, self.graph.output(node), extra=values)
        order = []
        for key, name in zip(block.order, names, strict=True):
            order.append(key.copy())
            order[-1].set("this", trees.column(name))
        return _Common(query, tuple(order))

    def closed(
        self, block: Block, columns: Sequence[Column], extra: Sequence[exp.Expr] = ()
    ) -> exp.Select:
        """The finished query; `columns` are the block's columns, `extra` are selected in
        addition."""
        values = [read(column) for column in columns] if block.values is None else block.values
        selected = [*(value.copy() for value in values), *extra]
        query = block.body.select(*(selected or [filler()]), copy=False)
        if block.cut and block.order:
            query = query.order_by(*(key.copy() for key in block.order), copy=False)
        if block.count is not None:
            query = query.limit(number(block.count), copy=False)
        return query.offset(number(block.offset), copy=False) if block.offset else query

    # -- what operators build on

    def relation(self, node: int) -> exp.Expr:
        """The node's rows as an item of a FROM list."""
        return self.item(self.block(node), node)

    def item(self, block: Block, node: int) -> exp.Expr:
        """A block as an item of a FROM list: the table itself if that is all it reads."""
        clauses = {name for name, clause in block.body.args.items() if clause}
        if block.values is None and not block.cut and clauses == {"from_"}:
            return block.body.args["from_"].this  # type: ignore[no-any-return]
        return self.closed(block, self.graph.output(node)).subquery(f"n{node}", copy=False)

    def wrapped(self, block: Block, node: int) -> Block:
        """The block as a subquery, without its order."""
        return Block(exp.Select().from_(self.item(block, node), copy=False))

    def open(self, node: int) -> Block:
        """The node's rows in a block that takes a WHERE, and keeps a sort order."""
        block = self.block(node)
        return block if block.values is None and not block.cut else self.wrapped(block, node)

    def joinable(self, node: int) -> exp.Select:
        """A FROM clause with the node's rows, and a WHERE that commutes with joins to the right.

        It commutes if the joined relation only adds columns or removes rows. For joins that add
        rows use `relation`.
        """
        return self.open(node).body

    def condition(self, expr: Expr) -> exp.Expr | None:
        """The condition in SQL; None for TRUE."""
        terms = [self.compile(term) for term in conjuncts(expr)]
        return exp.and_(*terms, copy=False) if terms else None


def _common_name(node: int) -> str:
    return f"shared{node}"


def read(column: Column) -> exp.Expr:
    """The column's value."""
    return trees.column(physical_name(column.id))


def named(value: exp.Expr, column: Column) -> exp.Expr:
    """The value under the column's name."""
    name = physical_name(column.id)
    plain = isinstance(value, exp.Column) and value.name == name
    return value if plain else trees.alias(value, name)


def filler() -> exp.Expr:
    """The value to select if there is no column."""
    return trees.alias(exp.true(), FILLER)


def of_query(query: exp.Query, operator: Operator) -> Block:
    """A block over a whole query, which becomes a subquery."""
    return Block(exp.Select().from_(query.subquery(f"n{operator.id}", copy=False), copy=False))
