"""Cells of expressions against brute force: a source cell is changed, and what changes is seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from predtrace.cells.functions import RULES
from predtrace.cells.layouts import depth
from symbolic.expr import FALSE, TRUE, Call, Expr, Lambda, Literal, Variable, call
from symbolic.functions import FUNCTIONS
from symbolic.types import BOOLEAN, DOUBLE, INTEGER, STRING, Array, DataType, Field, Record
from tests.cells.rows import (
    COLUMNS,
    NUMBERS,
    A,
    B,
    Behind,
    Cell,
    F,
    N,
    P,
    Row,
    at,
    cells_of,
    evaluated,
    replaced,
    traced,
)
from tests.reference.values import value_key
from tests.strategies import count

X, Y = Variable(0, "x", DOUBLE), Variable(1, "y", DOUBLE)
PLACE = Variable(1, "i", INTEGER)
NESTED = Array(NUMBERS)


def number(value: int) -> Literal:
    return Literal(value, INTEGER)


def array(function: str, *args: Expr, type: DataType = NUMBERS) -> Call:
    return Call(function, args, type)


def add(left: Expr, right: Expr) -> Call:
    """A sum that a NULL does not hide the other part of."""
    zero = Literal(0.0, DOUBLE)
    known = [Call("coalesce", (term, zero), DOUBLE) for term in (left, right)]
    return Call("add", tuple(known), DOUBLE)


def each(source: Expr, body: Expr, *parameters: Variable) -> Call:
    return array("transform", source, Lambda(parameters or (X,), body))


places = st.integers(-4, 5).filter(bool).map(number)
sizes = st.integers(0, 4).map(number)

Wrapped = st.SearchStrategy[Expr]


def moving(inner: Wrapped) -> Wrapped:
    """What looks at lengths alone."""
    scalars = st.one_of(st.just(F), st.builds(lambda a, n: Call("element_at", (a, n), DOUBLE),
                                              inner, places))  # fmt: skip
    return st.one_of(
        inner.map(lambda a: array("reverse", a)),
        st.builds(lambda a, n, m: array("slice", a, n, m), inner, places, sizes),
        st.builds(lambda a, b: array("concat", a, b), inner, inner),
        st.builds(lambda a, s: each(a, add(X, s)), inner, scalars),
        inner.map(lambda a: each(a, Literal(1.0, DOUBLE))),
        st.builds(
            lambda a, b: each(a, add(X, Call("get_item", (b, PLACE), DOUBLE)), X, PLACE),
            inner, inner,
        ),
        st.builds(lambda a, b: array("zip_with", a, b, Lambda((X, Y), add(X, Y))), inner, inner),
        st.builds(lambda s, n: array("array_repeat", s, n), scalars, sizes),
        st.builds(lambda s, t: array("make_array", s, t), scalars, scalars),
        st.builds(
            lambda a, b: array("flatten", array("reverse", array("make_array", a, b, type=NESTED),
                                                type=NESTED)), inner, inner,
        ),
        st.builds(
            lambda a, n: Call("element_at", (array("array_repeat", a, number(2), type=NESTED), n),
                              NUMBERS), inner, st.sampled_from([number(1), number(-1)]),
        ),
    )  # fmt: skip


def choosing(inner: Wrapped) -> Wrapped:
    """What looks at values, too."""
    bounds = st.one_of(st.just(F), st.just(Literal(4.2, DOUBLE)))
    return st.one_of(
        moving(inner),
        st.builds(
            lambda a, s: array("filter", a, Lambda((X,), call("gt", X, s))), inner, bounds
        ),
        inner.map(lambda a: array("filter", a, Lambda((X, PLACE), call("gt", PLACE, number(0))))),
        st.builds(lambda a, up: array("sort_array", a, up), inner, st.sampled_from([TRUE, FALSE])),
        inner.map(lambda a: array("array_distinct", a)),
        st.builds(lambda a, s: array("array_remove", a, s), inner, bounds),
        st.builds(lambda a, b: array("coalesce", a, b), inner, inner),
        st.builds(lambda a, b, s: array("case", call("gt", s, Literal(5.1, DOUBLE)), a, b),
                  inner, inner, bounds),
        inner.map(lambda a: each(a, Call("case", (call("gt", X, F), X, F), DOUBLE))),
    )  # fmt: skip


leaves = st.sampled_from([A, B, array("flatten", N)])


@st.composite
def programs(draw: Any, wrapped: Callable[[Wrapped], Wrapped]) -> Expr:
    """One to three functions around each other; other arguments are simple."""
    expr: Expr = draw(leaves)
    for _ in range(draw(st.integers(1, 3))):
        expr = draw(wrapped(st.one_of(st.just(expr), st.just(expr), leaves)))
    return expr


lengths = st.one_of(st.none(), st.integers(0, 4))


@st.composite
def rows(draw: Any, *, nulls: bool) -> Row:
    """Arrays of numbers of which no sum is like another."""
    numbers = (math.sqrt(n) for n in itertools.count(2) if math.isqrt(n) ** 2 != n)

    def some(size: int | None) -> Any:
        if size is None:
            return None
        return tuple(
            None if nulls and draw(st.integers(0, 3)) == 0 else next(numbers) for _ in range(size)
        )

    nested = draw(st.one_of(st.none(), st.lists(lengths if nulls else st.integers(0, 3))))
    deep = None if nested is None else tuple(map(some, nested[:3]))
    return (some(draw(lengths)), some(draw(lengths)), next(numbers), deep, draw(st.integers(-2, 3)))


def changed(expr: Expr, row: Row, change: Callable[[float], Any]) -> Behind:
    """Behind each cell of the value those whose change changes it; all lengths must stay."""
    axes = depth(expr.type)
    before = evaluated(expr, row)
    found: Behind = {cell: set() for cell in cells_of(before, axes)}
    for place, column in enumerate(COLUMNS[:4]):
        for cell in cells_of(row[place], depth(column.type)):
            value = at(row[place], cell)
            if value is None:
                continue
            new = (*row[:place], replaced(row[place], cell, change(value)), *row[place + 1 :])
            after = evaluated(expr, new)
            assert cells_of(after, axes) == list(found)
            for result, behind in found.items():
                if value_key(at(before, result)) != value_key(at(after, result)):
                    behind.add((column.name, cell))
    return found


@given(expr=programs(moving), row=rows(nulls=False))
@settings(max_examples=count(60))
def test_moved_cells_are_those_that_brute_force_finds(expr: Expr, row: Row) -> None:
    found, reasons = traced(expr, row)
    assert found == changed(expr, row, lambda value: value + 1000.0)
    assert not reasons
    assume(found)


@given(expr=programs(choosing), row=rows(nulls=True))
@settings(max_examples=count(45))
def test_no_cell_is_missing_where_values_decide(expr: Expr, row: Row) -> None:
    """Changes are too small to decide otherwise; what decided counts as well."""
    found, _ = traced(expr, row)
    expected = changed(expr, row, lambda value: value + 1e-9)
    for cell, behind in expected.items():
        assert behind <= found[cell], cell
    assume(expected)


ROW: Row = ((4.0, 1.0, None, 4.0), (2.0, 8.0), 2.5, ((1.0,), (), (6.0, 7.0)), 1)
POSITIONS = {
    "reverse": (array("reverse", B), [{"b1"}, {"b0"}]),
    "concat": (array("concat", B, B, array("flatten", N)),
               [{"b0"}, {"b1"}, {"b0"}, {"b1"}, {"n00"}, {"n20"}, {"n21"}]),
    "slice": (array("slice", A, call("add", P, number(1), type=INTEGER), number(2)),
              [{"a1", "p"}, {"a2", "p"}]),
    "slice from the end": (array("slice", A, number(-3), number(9)), [{"a1"}, {"a2"}, {"a3"}]),
    "slice from before the start": (array("slice", B, number(-3), number(2)), []),
    "first that is there": (
        array("coalesce", Call("get_item", (N, number(7)), NUMBERS), B, A), [{"b0"}, {"b1"}],
    ),
    "repeated": (array("array_repeat", F, P), [{"f", "p"}]),
    "in their order": (array("make_array", F, Call("get_item", (B, P), DOUBLE)),
                       [{"f"}, {"b1", "p"}]),
    "filter": (
        array("filter", A, Lambda((X,), call("gt", X, F))),
        [{"a0", "f"}, {"a3", "f"}],
    ),
    "filter by another array": (
        array("filter", A, Lambda((X, PLACE), call("gt", Call("get_item", (B, PLACE), DOUBLE), F))),
        [{"a1", "b1"} | {"f"}],
    ),
    "sort": (array("sort_array", A), [{"a2"}, {"a1"}, {"a0"}, {"a3"}]),
    "sort down": (array("sort_array", A, FALSE), [{"a0"}, {"a3"}, {"a1"}, {"a2"}]),
    "distinct": (array("array_distinct", A), [{"a0", "a3"}, {"a1"}, {"a2"}]),
    "remove": (array("array_remove", A, Literal(4.0, DOUBLE)), [{"a1"}, {"a2"}]),
    "nested": (array("reverse", N, type=NESTED), [{"n20"}, {"n21"}, {"n00"}]),
    "by index": (Call("get_item", (A, P), DOUBLE), [{"a1", "p"}]),
    "out of range": (Call("get_item", (B, Literal(5, INTEGER)), DOUBLE), [set()]),
    "out of range, with its index": (
        Call("element_at", (B, call("multiply", P, number(7), type=INTEGER)), DOUBLE), [{"p"}],
    ),
    "from the end": (Call("element_at", (B, number(-2)), DOUBLE), [{"b0"}]),
    "shorter": (
        array("zip_with", A, B, Lambda((X, Y), add(X, Y))),
        [{"a0", "b0"}, {"a1", "b1"}, {"a2"}, {"a3"}],
    ),
    "inner array": (Call("get_item", (N, number(2)), NUMBERS), [{"n20"}, {"n21"}]),
    "size": (Call("array_size", (A,), INTEGER), [set()]),
    "contains": (call("array_contains", B, F), [{"b0", "b1", "f"}]),
    "fold": (
        Call("array_aggregate", (B, F, Lambda((X, Y), add(X, Y)), Lambda((X,), X)), DOUBLE),
        [{"b0", "b1", "f"}],
    ),
    "choice": (
        array("case", call("gt", F, Literal(9.0, DOUBLE)), A, B), [{"b0", "f"}, {"b1", "f"}],
    ),
    "cast": (array("cast", B, type=Array(INTEGER)), [{"b0"}, {"b1"}]),
    "no parameter read": (each(B, F), [{"f"}, {"f"}]),
}  # fmt: skip


def name(source: tuple[str, Cell]) -> str:
    return source[0] + "".join(map(str, source[1]))


@pytest.mark.parametrize("case", POSITIONS)
def test_positions(case: str) -> None:
    expr, expected = POSITIONS[case]
    found, reasons = traced(expr, ROW)
    assert [set(map(name, behind)) for behind in found.values()] == expected
    assert not reasons


EXCESS = {
    "no rule": (
        call("lt", A, A), [{"a0", "a1", "a2", "a3"}], "no rule says which cells lt",
    ),
    "an order that is not constant": (
        array("sort_array", B, call("gt", F, Literal(1.0, DOUBLE))),
        [{"b0", "b1", "f"}, {"b0", "b1", "f"}], "no rule says which cells sort_array",
    ),
    "an index in a function": (
        each(B, Call("get_item", (A, call("add", PLACE, number(1), type=INTEGER)), DOUBLE), X,
             PLACE),
        [{"a0", "a1", "a2", "a3"}] * 2, "get_item in a function of elements",
    ),
    "a branch in a function": (
        each(B, Call("case", (call("gt", X, Literal(3.0, DOUBLE)), X, F), DOUBLE)),
        [{"b0", "f"}, {"b1", "f"}], "case in a function of elements",
    ),
    "arrays of a function": (
        array("transform", N, Lambda((Variable(0, "x", NUMBERS),),
              array("reverse", Variable(0, "x", NUMBERS))), type=NESTED),
        [{"n00"}, {"n20", "n21"}, {"n20", "n21"}], "reverse in a function of elements",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EXCESS)
def test_what_no_rule_fits_depends_on_all_that_it_reads(case: str) -> None:
    expr, expected, reason = EXCESS[case]
    found, reasons = traced(expr, ROW)
    assert [set(map(name, behind)) for behind in found.values()] == expected
    assert len(reasons) == 1
    assert reasons[0].startswith(reason)


def test_structs_and_maps_are_one_cell() -> None:
    """Their parts come from the whole: a table of columns, not of fields."""
    kind = Record((Field("a", NUMBERS), Field("f", DOUBLE)))
    both = Call("make_struct", (A, F), kind)
    part = Call("get_field", (both, Literal("a", STRING)), NUMBERS)
    found, reasons = traced(array("reverse", part), ROW)
    assert [set(map(name, behind)) for behind in found.values()] == [
        {"a0", "a1", "a2", "a3", "f"}
    ] * 4
    assert reasons == ["no rule says which cells make_struct depends on"]


def test_every_rule_is_of_a_function() -> None:
    assert RULES.keys() <= FUNCTIONS.keys()


def test_null_and_empty_arrays_have_no_cells() -> None:
    nothing: Row = (None, (), None, None, None)
    for expr in (A, B, array("concat", A, B), array("reverse", B), array("flatten", N)):
        assert traced(expr, nothing) == ({}, [])
    item = Call("element_at", (A, number(1)), DOUBLE)
    assert traced(item, nothing) == ({(): set()}, [])
    assert traced(call("is_null", F, type=BOOLEAN), nothing)[0] == {(): {("f", ())}}
