"""Checks whether sums of integers can be repeated: no partial sum may be rounded or overflow.

``avg(n)`` adds integers as doubles. A double holds every integer up to `EXACT_INTEGERS`. If the
absolute values of a group's integers add up to at most that, all partial sums are exact. So are the
whole sum and the mean's dividend, in whatever order and parts they are added. ``try_sum(n)`` of
bigints is NULL if any partial sum overflows. None does if the absolute values add up to at most the
greatest bigint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.literals import number
from predtrace.engines.sql.relational import plan_query
from predtrace.errors import STORED_INLINE, NonDeterministicError
from predtrace.inference.repeating import summed_integers
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    GroupBy,
    Window,
    WindowFunction,
)
from symbolic.expr import Call, Column, Expr
from symbolic.types import Decimal

_WIDE = Decimal(38, 0)
"""Sums of more 64-bit integers than there will ever be rows."""


def refuse_rounding(
    graph: OperatorGraph,
    node: int,
    dialect: Dialect,
    scans: Mapping[int, exp.Expr],
    value: Callable[[exp.Query], Any],
) -> None:
    """Raise NonDeterministicError if sums under the node depend on order; `value` runs a query.

    `scans` is as for `relational.plan_query`. The relations must have all rows of the groups that
    matter; other groups may lack rows.
    """
    for inner in graph.bottom_up(node):
        operator = graph[inner]
        summed = _summed(graph, operator) if isinstance(operator, (GroupBy, Window)) else ()
        if any(value(_exceeding(graph, each, dialect, scans)) for each in summed):
            where = f" ({operator.origin.text})" if operator.origin else ""
            raise NonDeterministicError(
                f"operator {inner}, {type(operator).__name__}{where}, adds integers beyond 2^53 as "
                "floating-point numbers, or beyond 2^63 with try_sum, which depends on the order "
                f"of the rows, and a replay need not give the same; {STORED_INLINE}"
            )


class _Summed(msgspec.Struct, frozen=True):
    """Groups, or partitions, with sums of absolute values; `most` are the bounds of the sums."""

    groups: GroupBy
    most: tuple[int, ...]


def _summed(graph: OperatorGraph, operator: GroupBy | Window) -> Iterator[_Summed]:
    if isinstance(operator, GroupBy):
        sums = tuple(_sums(graph, operator.aggregations))
        if sums:
            kept = msgspec.structs.replace(operator, aggregations=tuple(each for each, _ in sums))
            yield _Summed(kept, tuple(most for _, most in sums))
        return
    for function in operator.functions:
        for total, most in _sums(graph, (function,)):
            keys = tuple(
                Assignment(Column(_free(graph) + 1 + place, "key", key.type), key)
                for place, key in enumerate(function.partition)
            )
            groups = GroupBy(id=operator.id, input=operator.input, keys=keys, aggregations=(total,))
            yield _Summed(groups, (most,))


def _sums(
    graph: OperatorGraph, made: Sequence[Aggregation | WindowFunction]
) -> Iterator[tuple[Aggregation, int]]:
    """For each such aggregate, the sum of the absolute values and its bound."""
    calls = (each.call for each in made)
    for place, (call, integer, most) in enumerate(summed_integers(calls)):
        size: Expr = Call("abs", (Call("cast", (integer,), _WIDE),), _WIDE)
        total = AggregateCall("sum", (size,), _WIDE, filter=call.filter)
        yield Aggregation(Column(_free(graph) + place, "size", _WIDE), total), most


def _free(graph: OperatorGraph) -> int:
    """A column id from which on all are free."""
    return 1 + max(column.id for node in graph.top_down() for column in graph.output(node))


def _exceeding(
    graph: OperatorGraph, summed: _Summed, dialect: Dialect, scans: Mapping[int, exp.Expr]
) -> exp.Query:
    """Whether a sum exceeds its bound in some group, or partition."""
    sized = summed.groups
    below = (graph[node] for node in graph.top_down(sized.input))
    groups = plan_query(OperatorGraph((sized, *below), sized.id), sized.id, dialect, scans)
    greatest = (
        exp.GT(
            this=exp.Max(this=exp.column(physical_name(aggregation.column.id))),
            expression=number(most),
        )
        for aggregation, most in zip(sized.aggregations, summed.most, strict=True)
    )
    exceeding = exp.Coalesce(this=exp.or_(*greatest), expressions=[exp.false()])
    return exp.select(exp.alias_(exceeding, "exceeding")).from_(groups.subquery("groups"))
