"""Whether a plan's limits can be repeated: they can where no rows that differ tie at a cut.

A limit takes the rows from one place in the sort order to another. Rows with equal sort
keys come in an order that is up to the run; if a cut goes through such rows, and they are
not all equal in the limit's output, the job's choice cannot be known again. Without a sort
order all rows tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.sql.blocks import Block, Planner, read
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.literals import number
from predtrace.engines.sql.relational import planner
from predtrace.errors import NonDeterministicError
from pushdown.graph import OperatorGraph
from pushdown.operators import Limit

_FIRST, _LAST = "first_place", "last_place"


class LimitTies(msgspec.Struct, frozen=True):
    """A Limit node, and the query whose one value, a Boolean, says if its rows were a choice."""

    node: int
    query: exp.Query


def limit_ties(
    graph: OperatorGraph, node: int, dialect: Dialect, scans: Mapping[int, exp.Expr]
) -> tuple[LimitTies, ...]:
    """A query for each Limit under (and with) a node that can cut rows off, lower ones first.

    Each takes the limits below it as they come out this time: where one of those is a
    choice, what is said of the limits above it means nothing.

    `scans` as for `relational.plan_query`; raises EngineError like it. The relations must
    have all rows that the pipeline read, or all that its limits depend on.
    """
    plan = planner(graph, dialect, scans)
    limits = (graph[inner] for inner in graph.bottom_up(node))
    return tuple(
        LimitTies(limit.id, _ties(plan, limit))
        for limit in limits
        if isinstance(limit, Limit) and _cuts(limit)
    )


def refuse_choices(
    graph: OperatorGraph,
    node: int,
    dialect: Dialect,
    scans: Mapping[int, exp.Expr],
    value: Callable[[exp.Query], Any],
) -> None:
    """Raise NonDeterministicError if rows of the node are up to the run; `value` runs a query."""
    for ties in limit_ties(graph, node, dialect, scans):
        if value(ties.query):
            origin = graph[ties.node].origin
            where = f" ({origin.text})" if origin else ""
            raise NonDeterministicError(
                f"operator {ties.node}, Limit{where}, had a choice among rows that come in no "
                "order, and the job has not stored which it took; run the pipeline with "
                "keep='inline'"
            )


def _cuts(limit: Limit) -> tuple[int, ...]:
    """How many rows come before each place where the limit cuts its input, if it is so long."""
    end = () if limit.count is None else (limit.offset + limit.count,)
    if limit.count == 0:
        return ()
    return tuple(cut for cut in (limit.offset, *end) if cut > 0)


def _ties(plan: Planner, limit: Limit) -> exp.Query:
    """Whether, among rows that tie across a cut, there are some that differ.

    With first and last place of the rows that tie with a row, counted from 1, a cut after
    n rows goes through them if ``first <= n < last``.
    """
    block = plan.block(limit.input)
    columns = plan.graph.output(limit.input)
    keys = [exp.alias_(key.this.copy(), f"key{place}") for place, key in enumerate(block.order)]
    rows = plan.closed(block, columns, extra=keys).subquery("input")
    cut_through = exp.or_(
        *(
            exp.and_(
                exp.LTE(this=exp.column(_FIRST), expression=number(cut)),
                exp.GT(this=exp.column(_LAST), expression=number(cut)),
            )
            for cut in _cuts(limit)
        )
    )
    values = [read(column) for column in columns]
    placed = exp.select(*values, *_places(block)).from_(rows).subquery("placed")
    tied = exp.select(*(value.copy() for value in values), exp.column(_FIRST)).distinct()
    tied = tied.from_(placed).where(cut_through)
    counted = exp.alias_(exp.Count(this=exp.Star()), "n")
    groups = exp.select(counted).from_(tied.subquery("tied")).group_by(exp.column(_FIRST))
    most = exp.Coalesce(this=exp.Max(this=exp.column("n")), expressions=[number(1)])
    differ = exp.alias_(exp.GT(this=most, expression=number(1)), "differ")
    return exp.select(differ).from_(groups.subquery("groups"))


def _places(block: Block) -> tuple[exp.Expr, exp.Expr]:
    """First and last place of the rows that tie with a row."""
    if not block.order:
        everything = exp.Window(this=exp.Count(this=exp.Star()))
        return exp.alias_(number(1), _FIRST), exp.alias_(everything, _LAST)
    order = exp.Order(
        expressions=[
            exp.Ordered(
                this=exp.column(f"key{place}"),
                desc=key.args["desc"],
                nulls_first=key.args["nulls_first"],
            )
            for place, key in enumerate(block.order)
        ]
    )
    first = exp.Window(this=exp.Anonymous(this="rank"), order=order)
    # Up to the last row that ties with this one: the frame where none is given.
    last = exp.Window(this=exp.Count(this=exp.Star()), order=order.copy())
    return exp.alias_(first, _FIRST), exp.alias_(last, _LAST)
