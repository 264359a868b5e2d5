"""Checks whether a plan's choices of rows can be repeated: no different rows may tie.

A limit takes the rows between two places in the sort order. Rows with equal sort keys come in an
order that depends on the run. If a cut goes through such rows, and they are not all equal in the
limit's output, the job's choice cannot be repeated. Without a sort order all rows tie. Of rows with
equal keys, `DropDuplicates` takes any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlglot import exp

from predtrace.engines.sql.blocks import Block, Planner, filler, named, read
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.literals import number
from predtrace.engines.sql.relational import planner
from predtrace.engines.sql.zeros import normalized
from predtrace.errors import STORED_INLINE, NonDeterministicError
from pushdown.graph import OperatorGraph
from pushdown.operators import DropDuplicates, Limit, Operator
from symbolic.expr import Column
from symbolic.types import comparable

_FIRST, _LAST = "first_place", "last_place"


class Choice(msgspec.Struct, frozen=True):
    """A node that takes some of its rows, and a query with one Boolean: whether it had a choice."""

    node: int
    query: exp.Query


def choices(
    graph: OperatorGraph, node: int, dialect: Dialect, scans: Mapping[int, exp.Expr]
) -> tuple[Choice, ...]:
    """A query for each operator at or under a node that may have had a choice, lower ones first.

    Each query uses the results that those below give this time. If a lower operator had a choice,
    the results for the operators above it mean nothing.

    `scans` is as for `relational.plan_query`, and so are the EngineErrors. The relations must have
    all rows that the pipeline read, or all rows that its choices depend on.
    """
    found = []
    for inner in graph.bottom_up(node):
        operator = graph[inner]
        query = _QUERIES.get(type(operator))
        differ = query(planner(graph, dialect, scans), operator) if query else None
        if differ is not None:
            found.append(Choice(inner, differ))
    return tuple(found)


def refuse_choices(
    graph: OperatorGraph,
    node: int,
    dialect: Dialect,
    scans: Mapping[int, exp.Expr],
    value: Callable[[exp.Query], Any],
) -> None:
    """Raise NonDeterministicError if rows of the node depend on the run; `value` runs a query."""
    for choice in choices(graph, node, dialect, scans):
        if value(choice.query):
            operator = graph[choice.node]
            name = type(operator).__name__
            where = f" ({operator.origin.text})" if operator.origin else ""
            raise NonDeterministicError(
                f"operator {choice.node}, {name}{where}, had a choice among rows that come in no "
                f"order, and a replay need not take the same; {STORED_INLINE}"
            )


def _cuts(limit: Limit) -> tuple[int, ...]:
    """The number of rows before each place where the limit cuts its input, if that is long
    enough."""
    end = () if limit.count is None else (limit.offset + limit.count,)
    if limit.count == 0:
        return ()
    return tuple(cut for cut in (limit.offset, *end) if cut > 0)


def _ties(plan: Planner, limit: Limit) -> exp.Query | None:
    """Whether rows that tie across a cut differ; None if nothing is cut off.

    Let ``first`` and ``last`` be the places, from 1, of the first and last row that tie with a row.
    A cut after n rows goes through the tie if ``first <= n < last``.
    """
    if not _cuts(limit):
        return None
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
    return _several(plan, tied, [exp.column(_FIRST)])


def _agreeing(plan: Planner, operator: DropDuplicates) -> exp.Query:
    """Whether different rows have equal keys; rows that SQL does not compare count as different."""
    columns = plan.graph.output(operator.input)
    values = [_comparable(plan, column) for column in columns]
    names = [f"key{place}" for place, _ in enumerate(operator.keys)]
    keys = [
        exp.alias_(normalized(read(key), key.type, plan.dialect.name), name)
        for key, name in zip(operator.keys, names, strict=True)
    ]
    selected = [*values, *keys] or [filler()]
    rows = plan.open(operator.input).body.select(*selected, copy=False)
    if all(comparable(column.type) for column in columns):
        rows = rows.distinct(copy=False)
    return _several(plan, rows, [exp.column(name) for name in names])


def _comparable(plan: Planner, column: Column) -> exp.Expr:
    return named(normalized(read(column), column.type, plan.dialect.name), column)


def _several(plan: Planner, rows: exp.Select, keys: Sequence[exp.Expr]) -> exp.Query:
    """Whether some of the rows have equal keys."""
    counted = exp.alias_(exp.Count(this=exp.Star()), "n")
    groups = exp.select(counted).from_(rows.subquery("rows")).group_by(*keys)
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


_QUERIES: dict[type[Operator], Callable[[Planner, Any], exp.Query | None]] = {
    Limit: _ties,
    DropDuplicates: _agreeing,
}
"""Operators that take some of their rows: the query whether they had a choice."""
