"""The table of how the cells of a function's result depend on the cells of its arguments.

For one call in one row of data, a row of `RULES` gives tables of `predtrace.arrays`, from the cells
of the result to the cells of each expression that it is made of. It also names the witnesses that
this needs: expressions whose values the engine computes. Lineage is defined as for captured numpy
programs (docs/arrays-capture.md, section 7): a moved cell comes from its old place, with the index
or condition that chose it, not from the cells that it was compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from predtrace.cells import relations
from predtrace.cells.elements import CHOOSING, READ_WHOLE, filtered, transformed, zipped
from predtrace.cells.given import Given, Source, each, inputs, is_array, layout_of, mask
from predtrace.cells.layouts import depth
from symbolic.expr import FALSE, TRUE, Call, Expr, Lambda, Literal
from symbolic.types import BOOLEAN, INTEGER, LONG, STRING, Array, Field, Record

Tables = Callable[[Call, Given], Iterator[Source]]
Witnesses = Callable[[Call], Iterable[Expr]]


class CellRule(NamedTuple):
    """The rule of a function: `says` is for people; `tables` gives the tables for one row of data.

    `witnesses` are the expressions that `tables` needs in addition to the layouts of arrays.
    """

    says: str
    tables: Tables
    witnesses: Witnesses = lambda call: ()


def rule_of(call: Call) -> CellRule:
    """The rule for a call. Functions of arrays without a rule depend on all of their arguments."""
    arrays = is_array(call.type) or any(is_array(arg.type) for arg in call.args)
    if call.function in _OF_ONE_CELL and not is_array(call.args[0].type):
        return EACH
    if call.function in CHOOSING or (arrays and call.function in RULES):
        return RULES[call.function]
    return UNKNOWN if arrays else EACH


def witnesses(expr: Expr) -> Iterator[Expr]:
    """All expressions that the engine computes to trace the cells of an expression."""
    if is_array(expr.type):
        yield layout_of(expr)
    if isinstance(expr, Call):
        yield from rule_of(expr).witnesses(expr)
        for part in inputs(expr):
            yield from witnesses(part)


# -- whole values


def _everything(call: Call, given: Given) -> Iterator[Source]:
    out = given.shape(call)
    for part in inputs(call):
        yield _whole(part, out, given)


def _whole(expr: Expr, out: tuple[int, ...], given: Given) -> Source:
    axes = depth(expr.type)
    return Source(expr, relations.whole(out, given.layout(expr) if axes else None, axes))


def _unknown(call: Call, given: Given) -> Iterator[Source]:
    given.reasons[f"no rule says which cells {call.function} depends on"] = None
    return _everything(call, given)


def _nothing(call: Call, given: Given) -> Iterator[Source]:
    return iter(())


def _controls(call: Call, given: Given, first: int) -> Iterator[Source]:
    """The arguments from `first` on, which all cells of the result depend on."""
    out = given.shape(call)
    return (_whole(arg, out, given) for arg in call.args[first:] if not isinstance(arg, Lambda))


# -- movements


def _reverse(call: Call, given: Given) -> Iterator[Source]:
    (array,) = call.args
    zero, count = np.zeros(1, np.int64), np.array([given.count(call)])
    out, into = given.shape(call), given.shape(array)
    yield Source(array, relations.moved(out, into, zero, zero, count, slope=-1))


def _concat(call: Call, given: Given) -> Iterator[Source]:
    out, start = given.shape(call), 0
    whole = given.count(call)
    for array in call.args:
        # If one is NULL, so is the result.
        count = min(given.count(array), whole - start)
        yield Source(array, relations.chained(out, given.shape(array), start, count))
        start += count


def _slice(call: Call, given: Given) -> Iterator[Source]:
    array, start, _ = call.args
    first = given.value(start) or 0
    origin = first - 1 if first > 0 else given.count(array) + first
    places = origin + np.arange(given.count(call))
    yield Source(array, relations.picked(given.shape(call), given.shape(array), places))
    yield from _controls(call, given, 1)


def _item(base: int) -> Tables:
    """The element at an index that counts from `base`; from 1 on, negative ones from the end."""

    def tables(call: Call, given: Given) -> Iterator[Source]:
        array, index = call.args
        count, place = given.count(array), given.value(index)
        if place is not None:
            place = count + place if base and place < 0 else place - base
            if 0 <= place < count:
                out, into = given.shape(call), given.shape(array)
                yield Source(array, relations.entered(out, into, place))
        yield from _controls(call, given, 1)

    return tables


def _flatten(call: Call, given: Given) -> Iterator[Source]:
    (array,) = call.args
    layout = given.layout(array)
    if given.count(call) and layout is not None and not isinstance(layout, int):
        out, into = given.shape(call), given.shape(array)
        yield Source(array, relations.flattened(out, into, layout))


def _repeat(call: Call, given: Given) -> Iterator[Source]:
    value, _ = call.args
    out = given.shape(call)
    yield Source(value, relations.inserted(out, given.shape(value), 0, given.count(call) - 1))
    yield from _controls(call, given, 1)


def _make_array(call: Call, given: Given) -> Iterator[Source]:
    out = given.shape(call)
    for place, value in enumerate(call.args):
        yield Source(value, relations.inserted(out, given.shape(value), place, place))


def _same_place(call: Call, given: Given) -> Iterator[Source]:
    (array,) = call.args
    if depth(array.type) != depth(call.type):
        yield from _unknown(call, given)
    else:
        yield Source(array, relations.same(given.shape(call), given.shape(array)))


# -- choices by value


def _conditions(call: Call) -> Iterator[Expr]:
    yield from call.args[:-1:2]


def _case(call: Call, given: Given) -> Iterator[Source]:
    conditions = call.args[:-1:2]
    values = [given.value(condition) for condition in conditions]
    chosen = values.index(True) if True in values else len(conditions)
    out = given.shape(call)
    yield from (_whole(condition, out, given) for condition in conditions[: chosen + 1])
    value = call.args[2 * chosen + 1] if chosen < len(conditions) else call.args[-1]
    yield Source(value, relations.same(out, given.shape(value)))


def _presence(call: Call) -> Iterator[Expr]:
    yield from (Call("is_not_null", (arg,), BOOLEAN, nullable=False) for arg in call.args)


def _coalesce(call: Call, given: Given) -> Iterator[Source]:
    out = given.shape(call)
    for arg, present in zip(call.args, _presence(call), strict=True):
        yield Source(arg, relations.same(out, given.shape(arg)))
        if given.value(present):
            return


def _order(call: Call) -> Iterator[Expr]:
    """The positions of the elements in their order: sorted with them."""
    array, *ascending = call.args
    if ascending not in ([], [TRUE], [FALSE]):
        return
    assert isinstance(array.type, Array)
    pair = Record((Field("x", array.type.element), Field("i", INTEGER)))
    backward = ascending == [FALSE]

    def paired(element: Expr, place: Expr) -> Expr:
        # Among equal elements the first comes first, in either order.
        key = Call("negate", (place,), INTEGER) if backward else place
        return Call("make_struct", (element, key), pair, nullable=False)

    numbered = each(array, paired, numbered=True)
    ordered = Call("sort_array", (numbered, *ascending), numbered.type)
    name = Literal("i", STRING)
    yield each(ordered, lambda both: Call("get_field", (both, name), INTEGER))


def _sorted(call: Call, given: Given) -> Iterator[Source]:
    witness = next(iter(_order(call)), None)
    if witness is None:
        yield from _unknown(call, given)
        return
    places = np.abs(np.array(given.value(witness) or (), np.int64))
    array = call.args[0]
    yield Source(array, relations.picked(given.shape(call), given.shape(array), places))
    yield from _controls(call, given, 1)


def _numbers(call: Call) -> Iterator[Expr]:
    """For each element its number among the distinct elements (0 for NULL), and whether it is
    NULL."""
    (array,) = call.args
    yield each(array, lambda x: Call("array_position", (call, x), LONG))
    yield each(call, lambda x: Call("is_null", (x,), BOOLEAN, nullable=False))


def _distinct(call: Call, given: Given) -> Iterator[Source]:
    (array,) = call.args
    positions, nulls = _numbers(call)
    null = next(iter(given.true_at(nulls).tolist()), -1)
    found = [null if n is None else n - 1 for n in given.value(positions) or ()]
    # Values equal to SQL may differ for the function (0.0 and -0.0): then no rule fits.
    if given.count(call) and {*found} != {*range(given.count(call))}:
        yield from _unknown(call, given)
        return
    starts = np.array(found if given.count(call) else (), np.int64)
    places = np.arange(len(starts))
    into = given.shape(array)
    table = relations.moved(given.shape(call), into, starts, places, np.ones_like(starts))
    yield Source(array, table)


def _kept(call: Call) -> Iterator[Expr]:
    array, value = call.args

    def stays(element: Expr) -> Expr:
        equal = Call("eq", (element, value), BOOLEAN)
        known = Call("coalesce", (equal, FALSE), BOOLEAN, nullable=False)
        return Call("not", (known,), BOOLEAN, nullable=False)

    yield each(array, stays)


def _removed(call: Call, given: Given) -> Iterator[Source]:
    (witness,) = _kept(call)
    array = call.args[0]
    places = given.true_at(witness)
    if given.count(call) and len(places) != given.count(call):
        yield from _unknown(call, given)
        return
    places = places[: given.count(call)]
    yield Source(array, relations.picked(given.shape(call), given.shape(array), places))
    yield from _controls(call, given, 1)


EACH = CellRule("all arguments", _everything)
UNKNOWN = CellRule("all cells of all arguments (`superset`)", _unknown)
_OF_ONE_CELL = frozenset({"get_field", "get_item"})
"""Functions that take arrays out of structs and maps, which are one cell each."""
_WHOLE = CellRule("all cells of the array, and the other arguments", _everything)

RULES: dict[str, CellRule] = {
    "transform": CellRule(
        "the element in the same place, and what the function captures", transformed
    ),
    "zip_with": CellRule("the elements in the same place, and what the function captures", zipped),
    **dict.fromkeys(("cast", "try_cast"), CellRule("the cell in the same place", _same_place)),
    "reverse": CellRule("the cell that was moved there", _reverse),
    "concat": CellRule("the cell that was copied", _concat),
    "slice": CellRule(
        "the cell that was copied, the start and the length", _slice, lambda call: (call.args[1],)
    ),
    "get_item": CellRule("the element, and its index", _item(0), lambda call: (call.args[1],)),
    "element_at": CellRule("the element, and its index", _item(1), lambda call: (call.args[1],)),
    "flatten": CellRule("the cell that was copied", _flatten),
    "array_repeat": CellRule("the cell that was copied, and the count", _repeat),
    "make_array": CellRule("the cell that was copied", _make_array),
    "case": CellRule(
        "the value that was chosen, and the conditions up to its own", _case, _conditions
    ),
    "coalesce": CellRule("the value that was chosen, and those before it", _coalesce, _presence),
    "filter": CellRule(
        "the cell that was chosen, and what its condition reads",
        filtered,
        lambda call: (mask(call.args[0], call.args[1]),),  # type: ignore[arg-type]
    ),
    "sort_array": CellRule("the cell that was moved there", _sorted, _order),
    "array_distinct": CellRule("the cells that are equal to it", _distinct, _numbers),
    "array_remove": CellRule("the cell that was copied, and the value removed", _removed, _kept),
    "array_size": CellRule("no cell", _nothing),
    **dict.fromkeys(READ_WHOLE, _WHOLE),
}
"""Function id: its rule, for functions with arrays among the arguments or as the result."""
