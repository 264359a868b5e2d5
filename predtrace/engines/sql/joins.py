"""Joins and subqueries as SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.sql.blocks import Block, Planner, filler, named, of_query, read
from predtrace.engines.sql.matching import Alternative, alternatives, divided
from predtrace.engines.sql.trees import joined
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    GroupBy,
    InnerJoin,
    MarkJoin,
    OneRow,
    Operator,
    OuterJoin,
    RowTransform,
    ScalarSubquery,
    SemiJoin,
    Sort,
)
from symbolic.expr import TRUE, conjunction


def _inner_join(plan: Planner, operator: InnerJoin) -> Block:
    condition = plan.condition(operator.condition)
    return Block(_joined(plan, operator.left, plan.relation(operator.right), "inner", condition))


def _joined(
    plan: Planner, left: int, right: exp.Expr, kind: str, condition: exp.Expr | None
) -> exp.Select:
    if condition is None:
        kind, condition = ("cross", None) if kind == "inner" else (kind, exp.true())
    return joined(plan.joinable(left), right, kind, condition)


def _outer_join(plan: Planner, operator: OuterJoin) -> Block:
    condition = plan.condition(operator.condition) or exp.true()
    right = plan.relation(operator.right)
    if operator.kind == "left":
        return Block(joined(plan.joinable(operator.left), right, "left", condition))
    body = exp.Select().from_(plan.relation(operator.left), copy=False)
    return Block(joined(body, right, operator.kind, condition))


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
        source = msgspec.structs.replace(source, body=source.body.where(kept, copy=False))
    if alternative.both == TRUE:
        source = msgspec.structs.replace(source, values=(filler(),), count=1)
    condition = plan.condition(conjunction(alternative.left, alternative.both)) or exp.true()
    return joined(body, plan.item(source, right), kind, condition)


def _mark_join(plan: Planner, operator: MarkJoin) -> Block:
    left = plan.graph.output(operator.left)
    if plan.dialect.exists_as_value:
        inner = plan.open(operator.right).body.select(filler(), copy=False)
        condition = plan.condition(operator.condition)
        inner = inner if condition is None else inner.where(condition, copy=False)
        mark = exp.alias_(exp.Exists(this=inner), physical_name(operator.mark.id))
        return Block(plan.joinable(operator.left), (*map(read, left), mark))
    with_partner = divided(operator.condition, plan.graph.output(operator.right))
    marked = []
    for kind, value in (("semi", exp.true()), ("anti", exp.false())):
        body = _matched(plan, plan.joinable(operator.left), operator.right, with_partner, kind)
        marked.append(body.select(*map(read, left), named(value, operator.mark), copy=False))
    return of_query(exp.union(*marked, distinct=False, copy=False), operator)


def _scalar_subquery(plan: Planner, operator: ScalarSubquery) -> Block:
    """Every left row with the one value, NULL if there is none."""
    (value,) = plan.graph.output(operator.right)
    inner = Block(
        exp.Select().from_(plan.relation(operator.right), copy=False),
        (named(read(value), operator.column),),
    )
    right = plan.closed(inner, (operator.column,)).subquery(f"n{operator.id}", copy=False)
    certain = _has_one_row(plan.graph, operator.right)
    return Block(_joined(plan, operator.left, right, "inner" if certain else "left", None))


def _has_one_row(graph: OperatorGraph, node: int) -> bool:
    """Whether the node gives exactly one row, whatever the data."""
    operator = graph[node]
    while isinstance(operator, (RowTransform, Sort)):
        operator = graph[operator.input]
    return isinstance(operator, OneRow) or (isinstance(operator, GroupBy) and not operator.keys)


JOINS: dict[type[Operator], Callable[[Planner, Any], Block]] = {
    InnerJoin: _inner_join,
    OuterJoin: _outer_join,
    SemiJoin: _semi_join,
    AntiJoin: _anti_join,
    MarkJoin: _mark_join,
    ScalarSubquery: _scalar_subquery,
}
"""Operator class: the builder of its query."""
