"""Checks whether windows that number rows can be repeated: no different rows may tie.

Rows with equal partition and sort keys come in an order that depends on the run. If such rows
differ, it decides which of them gets which number, and which lie in a frame of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from predtrace.engines.sql import trees
from predtrace.engines.sql.blocks import Planner
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.literals import number
from predtrace.engines.sql.relational import planner
from predtrace.engines.sql.windows import window_key
from predtrace.errors import STORED_INLINE, NonDeterministicError
from pushdown.graph import OperatorGraph
from pushdown.operators import Window
from symbolic.expr import Expr


def refuse_ties(
    graph: OperatorGraph,
    node: int,
    dialect: Dialect,
    scans: Mapping[int, exp.Expr],
    value: Callable[[exp.Query], Any],
) -> None:
    """Raise NonDeterministicError if different rows tie where places among peers matter.

    `scans` and `value` are as for `limits.refuse_choices`. Windows below come first: where they had
    a choice, the windows above mean nothing.
    """
    for inner in graph.bottom_up(node):
        operator = graph[inner]
        if not isinstance(operator, Window):
            continue
        orders = {(e.partition, e.order): e.keys for e in operator.functions if e.by_position}
        # In several orders, equal rows are told apart: which has which pair of places is open.
        equals = len(orders) > 1
        ties = (
            _ties(planner(graph, dialect, scans), operator, keys, equals)
            for keys in orders.values()
        )
        if any(map(value, ties)):
            where = f" ({operator.origin.text})" if operator.origin else ""
            raise NonDeterministicError(
                f"operator {inner}, Window{where}, numbers rows that tie in its order, and a "
                f"replay need not get them in the same order; {STORED_INLINE}, or sort by more "
                "columns"
            )


def _ties(plan: Planner, operator: Window, compared: Sequence[Expr], equals: bool) -> exp.Query:
    """Whether two rows that differ, or with `equals` any two, have equal keys."""
    block = plan.open(operator.input)
    columns = plan.graph.output(operator.input)
    keys = [exp.alias_(window_key(plan, key), f"key{place}") for place, key in enumerate(compared)]
    given = plan.closed(block, columns, extra=keys)
    rows = (given if equals else given.distinct()).subquery("input")
    counted = exp.alias_(exp.Count(this=exp.Star()), "n")
    grouped = exp.select(counted).from_(rows)
    if keys:
        grouped = grouped.group_by(*(trees.column(key.alias) for key in keys))
    most = exp.Coalesce(this=exp.Max(this=exp.column("n")), expressions=[number(1)])
    differ = exp.alias_(exp.GT(this=most, expression=number(1)), "differ")
    return plan.finished(exp.select(differ).from_(grouped.subquery("groups")))
