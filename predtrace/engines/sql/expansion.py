"""Expansions as SQL: several rows of each input row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from predtrace.engines.sql import trees
from predtrace.engines.sql.blocks import Block, Planner, filler, named
from predtrace.engines.sql.literals import number
from predtrace.engines.sql.trees import joined
from pushdown.operators import Expand, Operator
from symbolic.expr import Expr

_PLACE = "place"
"""The column with a projection's number."""


def _expand(plan: Planner, operator: Expand) -> Block:
    """Each row joined with the numbers of the projections, so that the input is read once."""
    name = f"e{operator.id}"
    places = [exp.Tuple(expressions=[number(p)]) for p in range(len(operator.projections))]
    numbers = exp.Values(
        expressions=places,
        alias=exp.TableAlias(this=exp.to_identifier(name), columns=[exp.to_identifier(_PLACE)]),
    )
    body = joined(plan.joinable(operator.input), numbers, "cross")
    values = tuple(
        named(_chosen(plan, operator.values(place), name), column)
        for place, column in enumerate(operator.columns)
    )
    return Block(body, values or (filler(),))


def _chosen(plan: Planner, values: tuple[Expr, ...], numbers: str) -> exp.Expr:
    """The value of the projection at hand."""
    if len(set(values)) == 1:
        return plan.compile(values[0])
    *branches, (_, last) = enumerate(values)
    ifs = [
        exp.If(
            this=exp.EQ(this=trees.column(_PLACE, numbers), expression=number(place)),
            true=plan.compile(value),
        )
        for place, value in branches
    ]
    return exp.Case(ifs=ifs, default=plan.compile(last))


EXPANSIONS: dict[type[Operator], Callable[[Planner, Any], Block]] = {Expand: _expand}
"""Operator class: the builder of its query."""
