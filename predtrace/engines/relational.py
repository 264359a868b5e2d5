"""Operators as SQL: the subtree under a node of a graph as one query (see `blocks`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.blocks import FILLER, Block, Planner, filler, named, of_query, read
from predtrace.engines.dialects import Dialect
from predtrace.engines.joins_sql import JOINS
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Limit,
    OneRow,
    Operator,
    RowTransform,
    Scan,
    Sort,
    Union_,
)
from symbolic.expr import Column

__all__ = ["BUILDERS", "FILLER", "plan_query", "planner"]


def plan_query(
    graph: OperatorGraph, node: int, dialect: Dialect, scans: Mapping[int, exp.Expr]
) -> exp.Query:
    """The rows of a node: a query with the physical columns of ``graph.output(node)``.

    `scans` gives per Scan node the relation to read (a table or a subquery) with physical
    column names; other columns it has are left alone. A node without columns gives the
    right number of rows with the column `FILLER`. Order means nothing in the result.

    Raises EngineError for a function or type that the dialect has no spelling for.
    """
    return planner(graph, dialect, scans).query(node)


def planner(graph: OperatorGraph, dialect: Dialect, scans: Mapping[int, exp.Expr]) -> Planner:
    """What builds the queries of the graph's nodes."""
    return Planner(graph, dialect, scans, BUILDERS)


# -- rows


def _scan(plan: Planner, operator: Scan) -> Block:
    table = exp.alias_(plan.scans[operator.id].copy(), f"n{operator.id}", table=True, copy=False)
    return Block(exp.Select().from_(table, copy=False))


def _one_row(plan: Planner, operator: OneRow) -> Block:
    return Block(exp.Select().from_(exp.select(filler()).subquery(f"n{operator.id}")))


def _filter(plan: Planner, operator: Filter) -> Block:
    block = plan.open(operator.input)
    condition = plan.condition(operator.condition)
    if condition is None:
        return block
    return msgspec.structs.replace(block, body=block.body.where(condition, copy=False))


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
    return Block(block.body.group_by(*keys, copy=False), (*keys, *values))


def _with_keys(plan: Planner, operator: GroupBy, block: Block) -> Block:
    """The input with the computed keys as columns, so that no constant is taken for a position."""
    columns = plan.graph.output(operator.input)
    taken = {column.id for column in columns}
    keys = [
        named(plan.compile(key.value), key.column)
        for key in operator.keys
        if key.column.id not in taken
    ]
    query = block.body.select(*map(read, columns), *keys, copy=False)
    return Block(exp.Select().from_(query.subquery(f"n{operator.input}", copy=False), copy=False))


def _distinct(plan: Planner, operator: Distinct) -> Block:
    block = plan.block(operator.input)
    if block.cut:
        block = plan.wrapped(block, operator.input)
    values = block.values
    if values is None:
        values = tuple(map(read, plan.graph.output(operator.id)))
    return Block(block.body.distinct(copy=False), values or (filler(),))


def _union(plan: Planner, operator: Union_) -> Block:
    queries = [
        _branch(plan, node, branch, operator.columns)
        for node, branch in zip(operator.inputs, operator.branches, strict=True)
    ]
    return of_query(exp.union(*queries, distinct=False, copy=False), operator)


def _set_operation(
    combine: Callable[..., exp.Query],
) -> Callable[[Planner, Any], Block]:
    def build(plan: Planner, operator: Intersect | Except) -> Block:
        left, right = (
            _branch(plan, node, branch, operator.columns)
            for node, branch in zip((operator.left, operator.right), operator.branches, strict=True)
        )
        return of_query(combine(left, right, distinct=not operator.all, copy=False), operator)

    return build


def _branch(
    plan: Planner, node: int, branch: Sequence[Column], columns: Sequence[Column]
) -> exp.Select:
    """An input's rows under the names of the set operation."""
    values = tuple(named(read(a), b) for a, b in zip(branch, columns, strict=True))
    return plan.closed(msgspec.structs.replace(plan.open(node), values=values), columns)


BUILDERS: dict[type[Operator], Callable[[Planner, Any], Block]] = {
    Scan: _scan,
    OneRow: _one_row,
    Filter: _filter,
    RowTransform: _row_transform,
    **JOINS,
    GroupBy: _group_by,
    Distinct: _distinct,
    Union_: _union,
    Intersect: _set_operation(exp.intersect),
    Except: _set_operation(exp.except_),
    Sort: _sort,
    Limit: _limit,
}
"""Operator class to what builds its query."""
