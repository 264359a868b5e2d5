"""Which operators give the same rows again when they are run again, and on what that depends.

A limit repeats where no rows that differ tie at its cut. Adding floating-point numbers depends
on the order of the rows, unless they are integers whose absolute values add up to at most
`EXACT_INTEGERS`: then every partial sum is an integer that a double holds exactly. `try_sum` of
bigints is NULL if a partial sum leaves their range; none does if the absolute values add up to at
most `GREATEST`. All of that is for the data to say: engines look before they replay.
"""

from __future__ import annotations

from collections.abc import Iterator

from pushdown.graph import OperatorGraph
from pushdown.operators import AggregateCall, GroupBy, Operator, Repeats
from symbolic.expr import Expr
from symbolic.types import Float

EXACT_INTEGERS = 2**53
"""Doubles hold every integer up to here."""
GREATEST = 2**63 - 1
"""The greatest bigint."""


def unrepeatable(graph: OperatorGraph, top: int, *, for_sure: bool = False) -> tuple[Operator, ...]:
    """The operators under `top` whose results another run need not repeat.

    With `for_sure` only those of which that is known; of the others the data say.
    """
    found = (graph[node] for node in graph.top_down(top))
    wanted = (Repeats.NEVER,) if for_sure else (Repeats.NEVER, Repeats.BY_DATA)
    return tuple(operator for operator in found if operator.repeats in wanted)


def summed_integers(operator: GroupBy) -> Iterator[tuple[AggregateCall, Expr, int]]:
    """The aggregates that add integers in a way that their order may matter to.

    With each the expression of these integers, and what their absolute values may add up to.
    """
    for aggregation in operator.aggregations:
        call = aggregation.call
        if call.repeats is Repeats.BY_DATA and (value := call.added_integer) is not None:
            yield call, value, EXACT_INTEGERS if isinstance(call.type, Float) else GREATEST
