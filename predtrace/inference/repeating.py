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
from pushdown.operators import AggregateCall, GroupBy, Limit, Operator
from symbolic.expr import Call, Expr
from symbolic.functions import AGGREGATES
from symbolic.types import LONG, Float, Integer

EXACT_INTEGERS = 2**53
"""Doubles hold every integer up to here."""
GREATEST = 2**63 - 1
"""The greatest bigint."""
_ADDING = ("sum", "avg", "try_sum")
_OF_SORTED = ("median", "percentile")
"""Aggregates of the sorted values: no order of rows matters to them."""


def is_unrepeatable(operator: Operator) -> bool:
    """Whether another run of the operator may give other rows: a limit, a sum of floats."""
    if isinstance(operator, GroupBy):
        return any(_depends_on_order(aggregation.call) for aggregation in operator.aggregations)
    return isinstance(operator, Limit)


def unrepeatable(graph: OperatorGraph, top: int, *, for_sure: bool = False) -> tuple[Operator, ...]:
    """The operators under `top` whose results another run need not repeat.

    With `for_sure` only those of which that is known; of the others the data say.
    """
    found = (op for node in graph.top_down(top) if is_unrepeatable(op := graph[node]))
    return tuple(op for op in found if not (for_sure and _may_repeat(op)))


def summed_integers(operator: GroupBy) -> Iterator[tuple[AggregateCall, Expr, int]]:
    """The aggregates that add integers in a way that their order may matter to.

    With each the expression of these integers, and what their absolute values may add up to.
    """
    for aggregation in operator.aggregations:
        call = aggregation.call
        if _depends_on_order(call) and (value := _added_integer(call)) is not None:
            yield call, value, EXACT_INTEGERS if isinstance(call.type, Float) else GREATEST


def _may_repeat(operator: Operator) -> bool:
    if not isinstance(operator, GroupBy):
        return True
    calls = (aggregation.call for aggregation in operator.aggregations)
    return all(_added_integer(call) is not None for call in calls if _depends_on_order(call))


def _depends_on_order(call: AggregateCall) -> bool:
    if call.function == "try_sum":
        return call.args[0].type == LONG
    if not isinstance(call.type, Float) or AGGREGATES[call.function].attained:
        return False
    of_floats = any(isinstance(arg.type, Float) for arg in call.args)
    return of_floats or call.function not in _OF_SORTED


def _added_integer(call: AggregateCall) -> Expr | None:
    """The integer that an aggregate adds as a double: ``avg(n)``, ``sum(CAST(n AS DOUBLE))``."""
    if call.function not in _ADDING:
        return None
    (value,) = call.args
    match value:
        case Call(function="cast", args=(inner,), type=Float(64)):
            value = inner
    return value if isinstance(value.type, Integer) else None
