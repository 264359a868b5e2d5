"""Expansions as SQL: several rows of each input row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.sql import trees
from predtrace.engines.sql.blocks import Block, Planner, filler, named, read
from predtrace.engines.sql.literals import number
from predtrace.engines.sql.trees import joined
from predtrace.errors import EngineError
from predtrace.text.spark_calls import spark_call
from pushdown.operators import Expand, Generate, Operator
from symbolic.expr import Call, Expr, Variable
from symbolic.functions import carried

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


def _function(plan: Planner, operator: Generate) -> exp.Expr:
    """What makes the rows: the elements of an array, or a generator of Spark's by its name."""
    if not operator.opaque:
        return plan.dialect.elements(plan.compile(operator.rows))
    assert isinstance(operator.rows, Call)
    function = carried(operator.rows.function)
    assert function is not None
    if not plan.dialect.lateral_views:
        raise EngineError(
            f"the {plan.dialect.name} engine does not generate rows by {function.name}"
        )
    return spark_call(function, [plan.compile(arg) for arg in operator.rows.args])


def _generate(plan: Planner, operator: Generate) -> Block:
    """The input joined with the elements of its array, as the dialect writes that."""
    name = f"e{operator.id}"
    element = Variable(0, "row", operator.element)
    if operator.opaque:
        names = [physical_name(column.id) for column in operator.columns]
        values = [read(column) for column in operator.columns]
    else:
        names = [plan.compile(element).name]
        values = [plan.compile(value) for value in operator.values(element)]
    alias = exp.TableAlias(
        this=exp.to_identifier(name), columns=[exp.to_identifier(each) for each in names]
    )
    function = _function(plan, operator)
    body = plan.joinable(operator.input)
    if plan.dialect.lateral_views:
        view = exp.Lateral(this=function, view=True, outer=operator.outer, alias=alias)
        body.append("laterals", view)
    else:
        function.set("alias", alias)
        kind, condition = ("left", exp.true()) if operator.outer else ("cross", None)
        body = joined(body, function, kind, condition)
    made = zip(values, operator.columns, strict=True)
    passed = map(read, plan.graph.output(operator.input))
    selected = (*passed, *(named(value, column) for value, column in made))
    return Block(body, selected or (filler(),))


EXPANSIONS: dict[type[Operator], Callable[[Planner, Any], Block]] = {
    Expand: _expand,
    Generate: _generate,
}
"""Operator class: the builder of its query."""
