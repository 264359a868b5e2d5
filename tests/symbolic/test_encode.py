"""The encoding against the reference evaluator: every SQL behaviour must be a model of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.encode import _INTERPRETED, Encoder, equal
from symbolic.expr import Call, Column, Expr, Literal, call, walk
from symbolic.functions import FUNCTIONS, Encoding
from symbolic.logic import NEVER, implies, negate
from symbolic.solver import Verdict, prove
from symbolic.types import BOOLEAN, DATE, DOUBLE, LONG, STRING, Decimal, Float
from tests.reference.expressions import compile_expr
from tests.reference.functions import Settings
from tests.strategies import compared, count
from tests.strategies.expressions import predicate
from tests.strategies.values import values

COLUMNS = tuple(
    Column(number, f"c{number}", data_type)
    for number, data_type in enumerate(
        [LONG, LONG, STRING, STRING, DOUBLE, DOUBLE, DATE, BOOLEAN, Decimal(10, 2)]
    )
)


@st.composite
def questions(draw: Any) -> tuple[Expr, tuple[Any, ...]]:
    row = tuple(draw(values(column.type)) for column in COLUMNS)
    return predicate(draw, COLUMNS, depth=3), row


@given(question=questions())
@settings(max_examples=count(150))
def test_what_sql_does_is_a_model(question: tuple[Expr, tuple[Any, ...]]) -> None:
    expr, row = question
    holds = compile_expr(expr, COLUMNS, Settings("UTC"))(row) is True
    encoder = Encoder()
    values_by_id = {
        column.id: encoder.encode(Literal(value, column.type), {})
        for column, value in zip(COLUMNS, row, strict=True)
    }
    truth = encoder.truth(expr, values_by_id)
    opposite = negate(truth) if holds else truth
    assert prove(opposite, encoder.assumptions) is not Verdict.PROVED
    compared(fully_interpreted(expr))
    if fully_interpreted(expr):
        same = truth if holds else negate(truth)
        assert prove(same, encoder.assumptions) is Verdict.PROVED


def fully_interpreted(expr: Expr) -> bool:
    """Whether the encoding says everything: no uninterpreted function, no NaN or infinity."""
    nodes = list(walk(expr))
    known = all(n.function in _INTERPRETED for n in nodes if isinstance(n, Call))
    floats = any(isinstance(n, (Column, Literal)) and isinstance(n.type, Float) for n in nodes)
    return known and not floats


def test_the_function_table_says_what_is_interpreted() -> None:
    interpreted = {f.id for f in FUNCTIONS.values() if f.encoding is Encoding.INTERPRETED}
    assert interpreted == set(_INTERPRETED)


A, B = Column(1, "a", DOUBLE), Column(2, "b", DOUBLE)


def text(column: Column) -> Expr:
    return call("cast", column, type=STRING)


def moved(column: Column, function: str = "add") -> Expr:
    return call(function, column, Literal(-2.5, DOUBLE), type=DOUBLE)


@pytest.mark.parametrize(
    ("conclusion", "verdict"),
    [
        # Equal floats need not be the same value: 0.0 and -0.0.
        (call("eq", text(A), text(B)), Verdict.REFUTED),
        (call("le", A, B), Verdict.PROVED),
        # Sums of equal floats are equal, and both NULL or none; a power may be infinite for one.
        (call("nullsafe_eq", moved(A), moved(B)), Verdict.PROVED),
        (call("eq", moved(A, "power"), moved(B, "power")), Verdict.REFUTED),
        (call("eq", text(moved(A)), text(moved(B))), Verdict.REFUTED),
    ],
)
def test_equal_floats(conclusion: Expr, verdict: Verdict) -> None:
    encoder = Encoder()
    row = {column.id: encoder.fresh(DOUBLE, column.name, nullable=False) for column in (A, B)}
    goal = implies(encoder.truth(call("eq", A, B), row), encoder.truth(conclusion, row))
    assert prove(goal, encoder.assumptions) is verdict


def test_null_is_not_equal_to_null_but_null_safe_equal() -> None:
    encoder = Encoder()
    null = encoder.encode(Literal(None, LONG), {})
    row = {1: null, 2: encoder.encode(Literal(None, LONG), {})}
    left, right = Column(1, "a", LONG), Column(2, "b", LONG)
    assert prove(negate(encoder.truth(call("eq", left, right), row)), []) is Verdict.PROVED
    assert prove(encoder.truth(call("nullsafe_eq", left, right), row), []) is Verdict.PROVED
    assert prove(equal(row[1], row[2]), []) is Verdict.PROVED


def test_decimals_keep_their_digits() -> None:
    from decimal import Decimal as Number

    encoder = Encoder()
    half = Literal(Number("0.5"), Decimal(2, 1))
    zero = Literal(Number("0.0"), Decimal(2, 1))
    assert prove(encoder.truth(call("gt", half, zero), {}), []) is Verdict.PROVED


def test_like_is_not_equality() -> None:
    encoder = Encoder()
    name = Column(1, "name", STRING)
    row = {1: encoder.fresh(STRING, "name")}
    like = encoder.truth(call("like", name, Literal("a%", STRING)), row)
    equals = encoder.truth(call("eq", name, Literal("a%", STRING)), row)
    assert prove(negate(like), encoder.assumptions) is Verdict.REFUTED
    assert prove(like == equals, encoder.assumptions) is Verdict.REFUTED


def test_unknown_is_not_a_yes() -> None:
    encoder = Encoder()
    row = {1: encoder.fresh(LONG, "a"), 2: encoder.fresh(LONG, "b")}
    left, right = Column(1, "a", LONG), Column(2, "b", LONG)
    goal = encoder.truth(call("eq", left, right), row) == NEVER
    assert prove(goal, [], limit=1) is Verdict.UNKNOWN
