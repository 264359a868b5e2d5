"""The operators that another run repeats, and the conditions under which it does.

A limit repeats if no different rows tie at its cut. A sum of floating-point numbers depends on the
order of the rows. It does not if they are integers whose absolute values add up to at most
`EXACT_INTEGERS`: every partial sum is then an integer that a double holds exactly. `try_sum` of
bigints is NULL if a partial sum leaves their range; none does if the absolute values add up to at
most `GREATEST`. All of this depends on the data: engines check it before they replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pushdown.graph import OperatorGraph
from pushdown.operators import AggregateCall, Operator, Repeats
from symbolic.expr import Expr
from symbolic.functions import WINDOW_ONLY
from symbolic.types import Float

EXACT_INTEGERS = 2**53
"""Doubles hold every integer up to here."""
GREATEST = 2**63 - 1
"""The greatest bigint."""


def unrepeatable(graph: OperatorGraph, top: int, *, for_sure: bool = False) -> tuple[Operator, ...]:
    """The operators under `top` whose results another run may not repeat.

    With `for_sure` only the operators for which this is certain; for the others it depends on the
    data.
    """
    found = (graph[node] for node in graph.top_down(top))
    wanted = (Repeats.NEVER,) if for_sure else (Repeats.NEVER, Repeats.BY_DATA)
    return tuple(operator for operator in found if operator.repeats in wanted)


def summed_integers(
    calls: Iterable[AggregateCall],
) -> Iterator[tuple[AggregateCall, Expr, int]]:
    """The aggregates that add integers in a way in which their order may matter.

    Each comes with the expression of these integers, and the bound on the sum of their absolute
    values.
    """
    for call in calls:
        if call.function in WINDOW_ONLY:
            continue
        if call.repeats is Repeats.BY_DATA and (value := call.added_integer) is not None:
            yield call, value, EXACT_INTEGERS if isinstance(call.type, Float) else GREATEST
