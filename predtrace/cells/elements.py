"""Functions of array elements: the elements that their lambdas read, and the values they capture.

In a lambda's body plain functions read their arguments. Anything else (an index other than the
element's own position, a branch that another row may not take, an array made of an element) counts
as depending on all that the body reads, which is a superset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from predtrace.cells import relations
from predtrace.cells.given import (
    Captured,
    Given,
    Source,
    captured,
    free_variables,
    is_array,
    mask,
    position_variable,
)
from predtrace.cells.layouts import depth
from predtrace.packed.boxes import Ints
from symbolic.expr import Call, Expr, Lambda

READ_WHOLE = (
    "array_contains",
    "array_position",
    "array_exists",
    "array_forall",
    "array_aggregate",
)
"""Functions whose result depends on every cell of an array."""
CHOOSING = ("case", "coalesce")
"""Functions that return one of their arguments."""


def transformed(call: Call, given: Given) -> Iterator[Source]:
    """``transform(array, function)``."""
    places = np.arange(given.count(call))
    yield from _from_elements(call, call.args[:1], places, given)


def zipped(call: Call, given: Given) -> Iterator[Source]:
    """``zip_with(left, right, function)``."""
    places = np.arange(given.count(call))
    yield from _from_elements(call, call.args[:2], places, given)


def filtered(call: Call, given: Given) -> Iterator[Source]:
    """``filter(array, test)``: the elements for which the test is true, and what it reads."""
    array, test = call.args
    assert isinstance(test, Lambda)
    places = given.true_at(mask(array, test))
    yield Source(array, relations.picked(given.shape(call), given.shape(array), places))
    yield from _from_elements(call, call.args[:1], places, given)


def _from_elements(
    call: Call, arrays: Sequence[Expr], places: Ints, given: Given
) -> Iterator[Source]:
    """The sources of element o of the result: the elements `places[o]`, and what else the body
    reads."""
    function, out = call.args[-1], given.shape(call)
    assert isinstance(function, Lambda)
    index = position_variable(call)
    reason = _excess(function.body, index)
    if reason is None and call.function != "filter" and is_array(function.body.type):
        reason = "a function of elements gives arrays"
    if reason is not None:
        given.reasons[f"{reason}: all that it reads counts"] = None
    read = free_variables(function.body)
    for array, parameter in zip(arrays, function.parameters, strict=False):
        if parameter.id in read:
            yield _at(array, out, places, given)
    for part in dict.fromkeys(captured(function.body, index)):
        if part.aligned:
            yield _at(part.expr, out, places, given)
        else:
            axes = depth(part.expr.type)
            layout = given.layout(part.expr) if axes else None
            yield Source(part.expr, relations.whole(out, layout, axes))


def _at(array: Expr, out: tuple[int, ...], places: Ints, given: Given) -> Source:
    layout, axes = given.layout(array), depth(array.type)
    return Source(array, relations.of_elements(out, layout, axes, places))


def _excess(body: Expr, index: int | None) -> str | None:
    """The reason why a body may read more cells than its value depends on; None if it does not."""
    if not free_variables(body):
        return None
    match body:
        case Lambda(body=inner):
            return _excess(inner, index)
        case Call(function=function, args=args):
            if [*captured(body, index)] == [Captured(args[0], True)]:
                return None
            if function in CHOOSING:
                plain = _leaves(body, index) == _leaves(args[0], index)
            else:
                arrays = is_array(body.type) or any(is_array(arg.type) for arg in args)
                plain = function in READ_WHOLE or not arrays
            if not plain:
                return f"{function} in a function of elements"
            found = (_excess(arg, index) for arg in args)
            return next((reason for reason in found if reason is not None), None)
    return None


def _leaves(expr: Expr, index: int | None) -> tuple[frozenset[int], frozenset[Captured]]:
    return free_variables(expr), frozenset(captured(expr, index))
