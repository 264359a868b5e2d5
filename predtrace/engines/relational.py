"""Operators as SQL: the subtree under a node of a graph as one query.

Columns go by their physical names ``c<id>``, which are unique in a graph, so that nothing
needs qualifying. Each operator extends the query below it where SQL's order of clauses
allows, else it reads it as a subquery; nothing is a CTE, and FROM lists stay flat, so that
the engine's optimizer moves filters, drops columns and orders joins as it does for a query
written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.dialects import Dialect
from predtrace.engines.literals import number
from predtrace.engines.matching import Alternative, alternatives, divided
from predtrace.engines.sql import Compiler
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Distinct,
    Except,
    Filter,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    OneRow,
    Operator,
    OuterJoin,
    RowTransform,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    Union_,
)
from symbolic.expr import TRUE, Column, Expr, conjunction, conjuncts

FILLER = "filler"
"""The only column of a query for a node without columns: SQL has no rows of nothing."""


def plan_query(
    graph: OperatorGraph, node: int, dialect: Dialect, scans: Mapping[int, exp.Expr]
) -> exp.Query:
    """The rows of a node: a query with the physical columns of ``graph.output(node)``.

    `scans` gives per Scan node the relation to read (a table or a subquery) with physical
    column names; other columns it has are left alone. A node without columns gives the
    right number of rows with the column `FILLER`. Order means nothing in the result.

    Raises EngineError for a function or type that the dialect has no spelling for.
    """
    return Planner(graph, dialect, scans).query(node)


class Block(msgspec.Struct, frozen=True):
    """A SELECT in the making.

    `body` has FROM, JOIN, WHERE, GROUP BY; `values` is what it selects (None: all columns,
    and clauses may still be added), `order` the sort order that its rows come in, of which
    the rows from `offset` on, at most `count`, are taken. Nothing changes a `body` in place.
    """

    body: exp.Select
    values: tuple[exp.Expr, ...] | None = None
    order: tuple[exp.Ordered, ...] = ()
    count: int | None = None
    offset: int = 0

    @property
    def cut(self) -> bool:
        """Whether it takes some of the rows only."""
        return self.count is not None or self.offset > 0


class Planner:
    """Builds the queries of one graph for a dialect; a function per operator (`BUILDERS`)."""

    def __init__(
        self, graph: OperatorGraph, dialect: Dialect, scans: Mapping[int, exp.Expr]
    ) -> None:
        self.graph = graph
        self.dialect = dialect
        self.scans = scans
        columns = {c.id: read(c) for node in graph.top_down() for c in graph.output(node)}
        self.compile = Compiler(dialect.name, dialect.functions, columns)

    def query(self, node: int) -> exp.Select:
        """The node's rows."""
        return self.closed(self.block(node), self.graph.output(node))

    def block(self, node: int) -> Block:
        """The node's rows as a query that may be extended."""
        operator = self.graph[node]
        return BUILDERS[type(operator)](self, operator)

    def closed(
        self, block: Block, columns: Sequence[Column], extra: Sequence[exp.Expr] = ()
    ) -> exp.Select:
        """The finished query; `columns` are the block's, `extra` is selected beside them."""
        values = [read(column) for column in columns] if block.values is None else block.values
        selected = [*(value.copy() for value in values), *extra]
        query = block.body.select(*(selected or [_filler()]))
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
            return block.body.args["from_"].this.copy()  # type: ignore[no-any-return]
        return self.closed(block, self.graph.output(node)).subquery(f"n{node}")

    def wrapped(self, block: Block, node: int) -> Block:
        """The block as a subquery. Its order is given up."""
        return Block(exp.Select().from_(self.item(block, node)))

    def open(self, node: int) -> Block:
        """The node's rows in a block that takes a WHERE, and keeps a sort order."""
        block = self.block(node)
        return block if block.values is None and not block.cut else self.wrapped(block, node)

    def joinable(self, node: int) -> exp.Select:
        """A FROM clause with the node's rows, and a WHERE that commutes with joins to the right.

        It does where the joined relation adds columns or takes rows away, but not where it
        adds rows: there `relation` is to be used.
        """
        return self.open(node).body

    def condition(self, expr: Expr) -> exp.Expr | None:
        """The condition in SQL; None for TRUE."""
        terms = [self.compile(term) for term in conjuncts(expr)]
        return exp.and_(*terms, copy=False) if terms else None


def read(column: Column) -> exp.Expr:
    """The column's value."""
    return exp.column(physical_name(column.id))


def named(value: exp.Expr, column: Column) -> exp.Expr:
    """The value under the column's name."""
    name = physical_name(column.id)
    plain = isinstance(value, exp.Column) and value.name == name
    return value if plain else exp.alias_(value, name)


def _filler() -> exp.Expr:
    return exp.alias_(exp.true(), FILLER)


# -- rows


def _scan(plan: Planner, operator: Scan) -> Block:
    table = exp.alias_(plan.scans[operator.id].copy(), f"n{operator.id}", table=True)
    return Block(exp.Select().from_(table))


def _one_row(plan: Planner, operator: OneRow) -> Block:
    return Block(exp.Select().from_(exp.select(_filler()).subquery(f"n{operator.id}")))


def _filter(plan: Planner, operator: Filter) -> Block:
    block = plan.open(operator.input)
    condition = plan.condition(operator.condition)
    if condition is None:
        return block
    return msgspec.structs.replace(block, body=block.body.where(condition))


def _row_transform(plan: Planner, operator: RowTransform) -> Block:
    block = plan.block(operator.input)
    if block.values is not None:
        block = plan.wrapped(block, operator.input)
    values = tuple(named(plan.compile(a.value), a.column) for a in operator.assignments)
    return msgspec.structs.replace(block, values=values)


def _sort(plan: Planner, operator: Sort) -> Block:
    block = plan.open(operator.input)
    order = tuple(
        exp.Ordered(
            this=plan.compile(key.value), desc=not key.ascending, nulls_first=key.nulls_first
        )
        for key in operator.keys
    )
    return msgspec.structs.replace(block, order=order)


def _limit(plan: Planner, operator: Limit) -> Block:
    """A limit of a limit is one limit: of the rows that the lower leaves, some."""
    block = plan.block(operator.input)
    counts = [] if operator.count is None else [operator.count]
    if block.count is not None:
        counts.append(max(block.count - operator.offset, 0))
    return msgspec.structs.replace(
        block, count=min(counts, default=None), offset=block.offset + operator.offset
    )


# -- joins


def _inner_join(plan: Planner, operator: InnerJoin) -> Block:
    condition = plan.condition(operator.condition)
    return Block(_joined(plan, operator.left, plan.relation(operator.right), "inner", condition))


def _joined(
    plan: Planner, left: int, right: exp.Expr, kind: str, condition: exp.Expr | None
) -> exp.Select:
    if condition is None:
        kind, condition = ("cross", None) if kind == "inner" else (kind, exp.true())
    return plan.joinable(left).join(right, on=condition, join_type=kind)


def _outer_join(plan: Planner, operator: OuterJoin) -> Block:
    condition = plan.condition(operator.condition) or exp.true()
    right = plan.relation(operator.right)
    if operator.kind == "left":
        return Block(plan.joinable(operator.left).join(right, on=condition, join_type="left"))
    body = exp.Select().from_(plan.relation(operator.left))
    return Block(body.join(right, on=condition, join_type=operator.kind))


def _semi_join(plan: Planner, operator: SemiJoin) -> Block:
    whole = divided(operator.condition, plan.graph.output(operator.right))
    return Block(_matched(plan, plan.joinable(operator.left), operator.right, whole, "semi"))


def _anti_join(plan: Planner, operator: AntiJoin) -> Block:
    """One anti join after the other, for each alternative of the condition."""
    body = plan.joinable(operator.left)
    for alternative in alternatives(operator.condition, plan.graph.output(operator.right)):
        body = _matched(plan, body, operator.right, alternative, "anti")
    return Block(body)


def _matched(
    plan: Planner, body: exp.Select, right: int, alternative: Alternative, kind: str
) -> exp.Select:
    """A semi or anti join: with one row of the right side if no term reads both sides."""
    source = plan.open(right)
    kept = plan.condition(alternative.right)
    if kept is not None:
        source = msgspec.structs.replace(source, body=source.body.where(kept))
    if alternative.both == TRUE:
        source = msgspec.structs.replace(source, values=(_filler(),), count=1)
    condition = plan.condition(conjunction(alternative.left, alternative.both)) or exp.true()
    return body.join(plan.item(source, right), on=condition, join_type=kind)


def _mark_join(plan: Planner, operator: MarkJoin) -> Block:
    left = plan.graph.output(operator.left)
    if plan.dialect.exists_as_value:
        inner = plan.open(operator.right).body.select(_filler())
        condition = plan.condition(operator.condition)
        inner = inner if condition is None else inner.where(condition)
        mark = exp.alias_(exp.Exists(this=inner), physical_name(operator.mark.id))
        return Block(plan.joinable(operator.left), (*map(read, left), mark))
    with_partner = divided(operator.condition, plan.graph.output(operator.right))
    marked = []
    for kind, value in (("semi", exp.true()), ("anti", exp.false())):
        body = _matched(plan, plan.joinable(operator.left), operator.right, with_partner, kind)
        marked.append(body.select(*map(read, left), named(value, operator.mark)))
    return _of_query(exp.union(*marked, distinct=False), operator)


def _scalar_subquery(plan: Planner, operator: ScalarSubquery) -> Block:
    """Every left row with the one value, NULL if there is none."""
    (value,) = plan.graph.output(operator.right)
    inner = Block(
        exp.Select().from_(plan.relation(operator.right)), (named(read(value), operator.column),)
    )
    right = plan.closed(inner, (operator.column,)).subquery(f"n{operator.id}")
    certain = _has_one_row(plan.graph, operator.right)
    return Block(_joined(plan, operator.left, right, "inner" if certain else "left", None))


def _has_one_row(graph: OperatorGraph, node: int) -> bool:
    """Whether the node gives exactly one row, whatever the data."""
    operator = graph[node]
    while isinstance(operator, (RowTransform, Sort)):
        operator = graph[operator.input]
    return isinstance(operator, OneRow) or (isinstance(operator, GroupBy) and not operator.keys)


# -- groups and sets


def _group_by(plan: Planner, operator: GroupBy) -> Block:
    block = plan.open(operator.input)
    if any(key.value != key.column for key in operator.keys):
        block = _with_keys(plan, operator, block)
    keys = [read(key.column) for key in operator.keys]
    values = [
        named(plan.dialect.aggregate(aggregation.call, plan.compile), aggregation.column)
        for aggregation in operator.aggregations
    ]
    if not keys:
        # One row, also where there is no aggregate that would say so.
        return Block(block.body, tuple(values) or (exp.alias_(exp.Count(this=exp.Star()), FILLER),))
    return Block(block.body.group_by(*keys), (*keys, *values))


def _with_keys(plan: Planner, operator: GroupBy, block: Block) -> Block:
    """The input with the computed keys as columns, so that no constant is taken for a position."""
    columns = plan.graph.output(operator.input)
    taken = {column.id for column in columns}
    keys = [
        named(plan.compile(key.value), key.column)
        for key in operator.keys
        if key.column.id not in taken
    ]
    query = block.body.select(*map(read, columns), *keys)
    return Block(exp.Select().from_(query.subquery(f"n{operator.input}")))


def _distinct(plan: Planner, operator: Distinct) -> Block:
    block = plan.block(operator.input)
    if block.cut:
        block = plan.wrapped(block, operator.input)
    values = block.values
    if values is None:
        values = tuple(map(read, plan.graph.output(operator.id)))
    return Block(block.body.distinct(), values or (_filler(),))


def _union(plan: Planner, operator: Union_) -> Block:
    queries = [
        _branch(plan, node, branch, operator.columns)
        for node, branch in zip(operator.inputs, operator.branches, strict=True)
    ]
    return _of_query(exp.union(*queries, distinct=False), operator)


def _set_operation(
    combine: Callable[..., exp.Query],
) -> Callable[[Planner, Any], Block]:
    def build(plan: Planner, operator: Intersect | Except) -> Block:
        left, right = (
            _branch(plan, node, branch, operator.columns)
            for node, branch in zip((operator.left, operator.right), operator.branches, strict=True)
        )
        return _of_query(combine(left, right, distinct=not operator.all), operator)

    return build


def _branch(
    plan: Planner, node: int, branch: Sequence[Column], columns: Sequence[Column]
) -> exp.Select:
    """An input's rows under the names of the set operation."""
    values = tuple(named(read(a), b) for a, b in zip(branch, columns, strict=True))
    return plan.closed(msgspec.structs.replace(plan.open(node), values=values), columns)


def _of_query(query: exp.Query, operator: Operator) -> Block:
    return Block(exp.Select().from_(query.subquery(f"n{operator.id}")))


BUILDERS: dict[type[Operator], Callable[[Planner, Any], Block]] = {
    Scan: _scan,
    OneRow: _one_row,
    Filter: _filter,
    RowTransform: _row_transform,
    InnerJoin: _inner_join,
    OuterJoin: _outer_join,
    SemiJoin: _semi_join,
    AntiJoin: _anti_join,
    MarkJoin: _mark_join,
    ScalarSubquery: _scalar_subquery,
    GroupBy: _group_by,
    Distinct: _distinct,
    Union_: _union,
    Intersect: _set_operation(exp.intersect),
    Except: _set_operation(exp.except_),
    Sort: _sort,
    Limit: _limit,
}
"""Operator class to what builds its query."""
