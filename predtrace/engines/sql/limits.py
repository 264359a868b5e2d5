"""Checks whether a plan's limits can be repeated: no different rows may tie at a cut.

A limit takes the rows between two places in the sort order. Rows with equal sort keys come in an
order that depends on the run. If a cut goes through such rows, and they are not all equal in the
limit's output, the job's choice cannot be repeated. Without a sort order all rows tie.
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
    """A Limit node, and a query with one Boolean: whether the limit had a choice of rows."""

    node: int
    query: exp.Query


def limit_ties(
    graph: OperatorGraph, node: int, dialect: Dialect, scans: Mapping[int, exp.Expr]
) -> tuple[LimitTies, ...]:
    """A query for each Limit at or under a node that can cut rows off, lower ones first.

    Each query uses the results that the limits below give this time. If a lower limit had a choice,
    the results for the limits above it mean nothing.

    `scans` is as for `relational.plan_query`, and so are the EngineErrors. The relations must have
    all rows that the pipeline read, or all rows that its limits depend on.
    """
    limits = (graph[inner] for inner in graph.bottom_up(node))
    return tuple(
        LimitTies(limit.id, _ties(planner(graph, dialect, scans), limit))
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
    """Raise NonDeterministicError if rows of the node depend on the run; `value` runs a query."""
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
    """The number of rows before each place where the limit cuts its input, if that is long
    enough."""
    end = () if limit.count is None else (limit.offset + limit.count,)
    if limit.count == 0:
        return ()
    return tuple(cut for cut in (limit.offset, *end) if cut > 0)


def _ties(plan: Planner, limit: Limit) -> exp.Query:
    """Whether rows that tie across a cut differ.

    Let ``first`` and ``last`` be the places, from 1, of the first and last row that tie with a row.
    A cut after n rows goes through the tie if ``first <= n < last``.
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
    return plan.finished(exp.select(differ).from_(groups.subquery("groups")))


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
    # The default frame ends with the last row that ties with this one.
    last = exp.Window(this=exp.Count(this=exp.Star()), order=order.copy())
    return exp.alias_(first, _FIRST), exp.alias_(last, _LAST)
