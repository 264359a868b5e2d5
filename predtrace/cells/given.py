"""The input of a rule of `functions`: a call, and the engine's values for its row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from predtrace.arrays.relation import LineageTable
from predtrace.cells.layouts import Layout, depth, length, shape
from predtrace.packed.boxes import Ints, Shape
from symbolic.expr import Call, Column, Expr, Lambda, Literal, Param, ParamSet, Variable
from symbolic.types import BOOLEAN, INTEGER, Array, DataType


class Source(NamedTuple):
    """An expression that a call's cells come from, with a table from the call's cells to its
    cells."""

    expr: Expr
    table: LineageTable


@dataclass
class Given:
    """The facts about a call in one row: values of the witnesses that its rule asked for.

    `reasons` collects the reasons why a rule's result is a superset of the lineage.
    """

    value: Callable[[Expr], Any]
    reasons: dict[str, None] = field(default_factory=dict)

    def layout(self, expr: Expr) -> Layout:
        """The lengths of an array."""
        found: Layout = self.value(layout_of(expr))
        return found

    def count(self, expr: Expr) -> int:
        """The number of elements of an array."""
        return length(self.layout(expr))

    def shape(self, expr: Expr) -> Shape:
        """The sizes that the value's cells fit in."""
        axes = depth(expr.type)
        return shape(self.layout(expr), axes) if axes else ()

    def true_at(self, mask: Expr) -> Ints:
        """The positions at which an array of Booleans is true."""
        found = self.value(mask) or ()
        return np.array([place for place, kept in enumerate(found) if kept is True], np.int64)


def layout_of(expr: Expr) -> Expr:
    """An expression for the lengths of an array and of the arrays in it (`layouts.Layout`)."""
    return _layout(expr, 0)


def _layout(expr: Expr, level: int) -> Expr:
    assert isinstance(expr.type, Array)
    element = expr.type.element
    if not isinstance(element, Array):
        return Call("array_size", (expr,), INTEGER)
    inner = Variable(level, "inner", element)
    body = _layout(inner, level + 1)
    return Call("transform", (expr, Lambda((inner,), body)), Array(body.type))


def each(array: Expr, function: Callable[..., Expr], *, numbered: bool = False) -> Call:
    """``transform(array, x -> function(x))``, or ``(x, i) -> function(x, i)`` if `numbered`."""
    assert isinstance(array.type, Array)
    parameters = [Variable(0, "x", array.type.element)]
    if numbered:
        parameters.append(Variable(1, "i", INTEGER, nullable=False))
    body = function(*parameters)
    return Call("transform", (array, Lambda(tuple(parameters), body)), Array(body.type))


def mask(array: Expr, test: Lambda) -> Call:
    """The array that says for which elements a test is true."""
    return Call("transform", (array, test), Array(BOOLEAN))


def is_array(data_type: DataType) -> bool:
    """Whether the type's values have more cells than one."""
    return isinstance(data_type, Array)


def free_variables(expr: Expr) -> frozenset[int]:
    """The parameters of enclosing lambdas that an expression reads."""
    match expr:
        case Variable(id=id):
            return frozenset({id})
        case Lambda(parameters=parameters, body=body):
            return free_variables(body) - {parameter.id for parameter in parameters}
        case Call(args=args):
            return frozenset().union(*map(free_variables, args))
        case Column() | Literal() | Param() | ParamSet():
            return frozenset()


class Captured(NamedTuple):
    """A part of a lambda's body that reads no element; `aligned`: the body takes it by index."""

    expr: Expr
    aligned: bool


def captured(body: Expr, index: int | None = None) -> Iterator[Captured]:
    """The largest such parts of a body; `index` is the variable that holds positions, if any.

    Of ``b[i]``, with the position i, the part b is aligned: element i of it is read.
    """
    if not free_variables(body):
        if not isinstance(body, Literal):
            yield Captured(body, False)
        return
    match body:
        case Call(function="get_item", args=(array, Variable(id=id))) if (
            id == index and is_array(array.type) and not free_variables(array)
        ):
            yield Captured(array, True)
        case Call(args=args):
            for arg in args:
                yield from captured(arg, index)
        case Lambda(body=inner):
            # Variables of an inner lambda are numbered on from those around it.
            yield from captured(inner, index)


def position_variable(call: Call) -> int | None:
    """The parameter of a call's lambda that is an element's position, if it has one."""
    function = call.args[-1]
    assert isinstance(function, Lambda)
    numbered = call.function in ("transform", "filter") and len(function.parameters) > 1
    return function.parameters[1].id if numbered else None


def inputs(call: Call) -> Iterator[Expr]:
    """The expressions that a call's cells may come from: its arguments, and its lambdas'
    captures."""
    for arg in call.args:
        if isinstance(arg, Lambda):
            index = position_variable(call) if arg is call.args[-1] else None
            yield from (part.expr for part in captured(arg.body, index))
        else:
            yield arg
