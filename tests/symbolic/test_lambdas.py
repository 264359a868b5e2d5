"""Functions of array elements: what they capture, and what the solver may take them for."""

from __future__ import annotations

import pytest

from pushdown.simplification import _propagates_null
from symbolic.encode import Encoder, Value
from symbolic.expr import (
    Call,
    Column,
    Expr,
    Lambda,
    Literal,
    Param,
    Variable,
    call,
    column_ids,
    params_of,
    render,
    same,
    substitute,
)
from symbolic.logic import any_of, implies
from symbolic.solver import Verdict, prove
from symbolic.types import BOOLEAN, LONG, Array

NUMBERS = Array(LONG)
A, K, M = Column(1, "a", NUMBERS), Column(2, "k", LONG), Column(3, "m", LONG)
X = Variable(0, "x", LONG)


def filtered(bound: Expr, element: Variable = X) -> Call:
    above = Lambda((element,), call("gt", element, bound))
    return Call("filter", (A, above), NUMBERS)


def a_row(encoder: Encoder) -> dict[int, Value]:
    return {column.id: encoder.fresh(column.type, column.name) for column in (A, K, M)}


def test_what_a_lambda_captures_is_read() -> None:
    expr = filtered(Call("add", (K, Param(0, 9, "p", LONG)), LONG))
    assert column_ids(expr) == {1, 2}
    assert {param.column for param in params_of(expr)} == {9}
    assert render(expr) == "filter(a, x -> x > (k + :p))"
    assert substitute(expr, {2: M}) == filtered(Call("add", (M, Param(0, 9, "p", LONG)), LONG))
    both = Lambda((X, Variable(1, "i", LONG)), X)
    assert render(Call("transform", (A, both), NUMBERS)) == "transform(a, (x, i) -> x)"


@pytest.mark.parametrize(
    ("conclusion", "verdict"),
    [
        (same(filtered(K), filtered(M)), Verdict.PROVED),
        # Names of parameters mean nothing.
        (same(filtered(K), filtered(K, Variable(0, "y", LONG))), Verdict.PROVED),
        (same(filtered(K), filtered(Literal(3, LONG))), Verdict.REFUTED),
        (same(filtered(K), Call("transform", filtered(K).args, NUMBERS)), Verdict.REFUTED),
    ],
)
def test_the_same_body_over_equal_values_is_the_same_function(
    conclusion: Expr, verdict: Verdict
) -> None:
    encoder = Encoder()
    row = a_row(encoder)
    goal = implies(encoder.truth(same(K, M), row), encoder.truth(conclusion, row))
    assert prove(goal, encoder.assumptions) is verdict


def test_functions_outnumber_the_values_of_their_bodies() -> None:
    """A test has three results, but for each k another array may be left."""
    encoder = Encoder()
    row = a_row(encoder)
    arrays = [filtered(Literal(number, LONG)) for number in range(5)]
    pairs = [(one, other) for one in arrays for other in arrays if one is not other]
    equal = any_of(*[encoder.truth(same(one, other), row) for one, other in pairs])
    assert prove(equal, encoder.assumptions) is Verdict.REFUTED


def test_equal_arrays_need_not_be_the_same() -> None:
    """0.0 is equal to -0.0 in an array, too; the same array gives the same, and NULL gives NULL."""
    encoder = Encoder()
    row, other = a_row(encoder), a_row(encoder)
    second = Call("filter", (Column(4, "o", NUMBERS), filtered(K).args[1]), NUMBERS)
    beside = {**row, 4: other[1]}
    equal = encoder.truth(same(A, Column(4, "o", NUMBERS)), beside)
    goal = encoder.truth(same(filtered(K), second), beside)
    assert prove(implies(equal, goal), encoder.assumptions) is Verdict.REFUTED
    assert (
        prove(encoder.truth(same(filtered(K), second), {**row, 4: row[1]}), encoder.assumptions)
        is Verdict.PROVED
    )
    nothing = encoder.encode(Literal(None, NUMBERS), {})
    null = encoder.truth(call("is_null", filtered(K)), {**row, 1: nothing})
    assert prove(null, encoder.assumptions) is Verdict.PROVED


def test_a_captured_null_is_no_null() -> None:
    """exists(array(), x -> x > NULL) is false: the test may not be said to propagate NULL."""
    empty = Call("make_array", (), NUMBERS)
    above = Lambda((X,), call("gt", X, K))
    assert not _propagates_null(call("array_exists", empty, above))
    assert not _propagates_null(call("array_exists", A, above))
    assert _propagates_null(call("array_contains", A, K))


def test_what_is_known_of_nulls_makes_no_other_function() -> None:
    """Rewriting may forget that a test is never NULL; it is the same test."""
    encoder = Encoder()
    row = a_row(encoder)
    known = Lambda((X,), Call("and", (call("is_null", X), call("is_null", K)), BOOLEAN, False))
    forgotten = Lambda((X,), Call("and", (call("is_null", X), call("is_null", K)), BOOLEAN, True))
    both = same(Call("filter", (A, known), NUMBERS), Call("filter", (A, forgotten), NUMBERS))
    assert prove(encoder.truth(both, row), encoder.assumptions) is Verdict.PROVED
