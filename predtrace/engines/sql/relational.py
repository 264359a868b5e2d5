"""Operators as SQL: the subtree under a node of a graph as one query (see `blocks`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.sql import trees
from predtrace.engines.sql.blocks import FILLER, Block, Planner, filler, named, of_query, read
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.expansion import EXPANSIONS
from predtrace.engines.sql.joins import JOINS
from predtrace.engines.sql.literals import number
from predtrace.engines.sql.windows import window
from predtrace.engines.sql.zeros import normalized
from predtrace.errors import NonDeterministicError
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Limit,
    OneRow,
    Opaque,
    OpaqueColumns,
    Operator,
    RowTransform,
    Sample,
    Scan,
    Sort,
    Union_,
    Window,
)
from symbolic.expr import Column
from symbolic.types import has_floats

__all__ = ["BUILDERS", "FILLER", "plan_query", "planner"]


def plan_query(
    graph: OperatorGraph, node: int, dialect: Dialect, scans: Mapping[int, exp.Expr]
) -> exp.Query:
    """The rows of a node: a query with the physical columns of ``graph.output(node)``.

    `scans` has the relation (a table or a subquery) for each Scan node, with physical column names;
    its other columns are ignored. A node without columns gives the right number of rows with the
    column `FILLER`. The order of the result means nothing.

    Raises EngineError for a function or type that the dialect has no spelling for.
    """
    return planner(graph, dialect, scans).query(node)


def planner(graph: OperatorGraph, dialect: Dialect, scans: Mapping[int, exp.Expr]) -> Planner:
    """The builder of queries for the graph's nodes."""
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
    """A limit of a limit is one limit: it takes some of the rows that the lower limit leaves."""
    block = plan.block(operator.input)
    counts = [] if operator.count is None else [operator.count]
    if block.count is not None:
        counts.append(max(block.count - operator.offset, 0))
    return msgspec.structs.replace(
        block, count=min(counts, default=None), offset=block.offset + operator.offset
    )


def _sample(plan: Planner, operator: Sample) -> Block:
    """Rows are drawn only once: requests to draw again are refused before they come here."""
    raise NonDeterministicError(
        f"operator {operator.id}, Sample, would draw other rows; the job has to have stored them"
    )


def _opaque(plan: Planner, operator: Opaque) -> Block:
    """Programs run only once: requests to run them again are refused before they come here."""
    raise NonDeterministicError(
        f"operator {operator.id}, {operator.name}, is a program that no question runs again; the "
        "job has to have stored its rows"
    )


def _opaque_columns(plan: Planner, operator: OpaqueColumns) -> Block:
    """Requests to compute them are refused before they come here."""
    raise NonDeterministicError(
        f"operator {operator.id}, OpaqueColumns, has values that only the run knows; the job has "
        "to have stored them"
    )


# -- groups and sets


def _group_by(plan: Planner, operator: GroupBy) -> Block:
    block = plan.open(operator.input)
    if any(key.value != key.column or has_floats(key.column.type) for key in operator.keys):
        block = _with_keys(plan, operator, block)
    grouped = [trees.column(_key_name(key.column)) for key in operator.keys]
    keys = [named(read, key.column) for read, key in zip(grouped, operator.keys, strict=True)]
    values = [
        named(plan.dialect.aggregate(aggregation.call, plan.compile), aggregation.column)
        for aggregation in operator.aggregations
    ]
    if not keys:
        # One row, even without an aggregate in the query.
        return Block(block.body, tuple(values) or (exp.alias_(exp.Count(this=exp.Star()), FILLER),))
    return Block(block.body.group_by(*grouped, copy=False), (*keys, *values))


def _with_keys(plan: Planner, operator: GroupBy, block: Block) -> Block:
    """The input with the computed keys as columns, so that no constant is taken for a position.

    A key with floats has a name of its own: the arguments of aggregates are as they were.
    """
    columns = plan.graph.output(operator.input)
    taken = {physical_name(column.id) for column in columns}
    keys = [
        exp.alias_(_normalized(plan, plan.compile(key.value), key.column), name, copy=False)
        for key in operator.keys
        if (name := _key_name(key.column)) not in taken
    ]
    query = block.body.select(*map(read, columns), *keys, copy=False)
    return Block(exp.Select().from_(query.subquery(f"n{operator.input}", copy=False), copy=False))


def _key_name(column: Column) -> str:
    return f"g{column.id}" if has_floats(column.type) else physical_name(column.id)


def _normalized(plan: Planner, value: exp.Expr, column: Column) -> exp.Expr:
    """The value as grouping and DISTINCT give it: 0.0 for -0.0, also inside nested values.

    The query spells this out, since optimizers move filters on grouped values below the grouping,
    where ``CAST(x AS STRING) = '0.0'`` is false of the row with -0.0.
    """
    return normalized(value, column.type, plan.dialect.name)


def _distinct(plan: Planner, operator: Distinct) -> Block:
    block = plan.block(operator.input)
    if block.cut:
        block = plan.wrapped(block, operator.input)
    columns = plan.graph.output(operator.id)
    given = tuple(map(read, columns)) if block.values is None else block.values
    values = tuple(
        named(_normalized(plan, value.unalias(), column), column)
        for value, column in zip(given, columns, strict=True)
    )
    return Block(block.body.distinct(copy=False), values or (filler(),))


def _domain(plan: Planner, operator: Domain) -> Block:
    values = tuple(
        named(_normalized(plan, plan.compile(a.value), a.column), a.column)
        for a in operator.assignments
    )
    return Block(plan.open(operator.input).body.distinct(copy=False), values)


def _drop_duplicates(plan: Planner, operator: DropDuplicates) -> Block:
    """Any row of each set: a replay is refused before if different rows have equal keys."""
    columns = plan.graph.output(operator.id)
    keys = {key.id: _normalized(plan, read(key), key) for key in operator.keys}
    numbers = exp.Window(
        this=exp.Anonymous(this="row_number"),
        partition_by=[value.copy() for value in keys.values()],
        order=exp.Order(expressions=[exp.Ordered(this=exp.null())]),
    )
    values = [named(keys.get(column.id, read(column)), column) for column in columns]
    place = f"place{operator.id}"
    rows = plan.open(operator.input).body.select(
        *values, exp.alias_(numbers, place, copy=False), copy=False
    )
    first = exp.EQ(this=trees.column(place), expression=number(1))
    block = of_query(rows, operator)
    return msgspec.structs.replace(
        block,
        body=block.body.where(first, copy=False),
        values=tuple(map(read, columns)) or (filler(),),
    )


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
            _branch(plan, node, branch, operator.columns, normalizing=True)
            for node, branch in zip((operator.left, operator.right), operator.branches, strict=True)
        )
        return of_query(combine(left, right, distinct=not operator.all, copy=False), operator)

    return build


def _branch(
    plan: Planner,
    node: int,
    branch: Sequence[Column],
    columns: Sequence[Column],
    *,
    normalizing: bool = False,
) -> exp.Select:
    """An input's rows under the names of the set operation; compared ones are normalised."""
    values = tuple(
        named(_normalized(plan, read(a), a) if normalizing else read(a), b)
        for a, b in zip(branch, columns, strict=True)
    )
    return plan.closed(msgspec.structs.replace(plan.open(node), values=values), columns)


BUILDERS: dict[type[Operator], Callable[[Planner, Any], Block]] = {
    Scan: _scan,
    OneRow: _one_row,
    Filter: _filter,
    RowTransform: _row_transform,
    **JOINS,
    **EXPANSIONS,
    GroupBy: _group_by,
    Distinct: _distinct,
    Domain: _domain,
    DropDuplicates: _drop_duplicates,
    Union_: _union,
    Intersect: _set_operation(exp.intersect),
    Except: _set_operation(exp.except_),
    Sort: _sort,
    Limit: _limit,
    Sample: _sample,
    Window: window,
    Opaque: _opaque,
    OpaqueColumns: _opaque_columns,
}
"""Operator class: the builder of its query."""
