"""Splitting predicates for joins."""

from __future__ import annotations

import pytest

from predtrace.engines.sql.predicates import Key, filter_form, may_be_null, split
from symbolic.expr import (
    FALSE,
    TRUE,
    Column,
    Expr,
    Literal,
    Param,
    call,
    conjunction,
    disjunction,
    same,
)
from symbolic.types import BOOLEAN, DOUBLE, LONG, STRING

A, B = Column(1, "a", LONG), Column(2, "b", LONG)
FLAG = Column(3, "flag", BOOLEAN)
P, Q = Param(0, 10, "p", LONG), Param(0, 11, "q", LONG)
ONE, NONE = Literal(1, LONG), Literal(None, LONG)
NAME, NO_FLAG = Column(4, "name", STRING), Literal(None, BOOLEAN)
YES, NO = Literal(True, BOOLEAN), Literal(False, BOOLEAN)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (same(A, ONE), call("eq", A, ONE)),
        (same(ONE, A), call("eq", A, ONE)),
        (same(A, NONE), call("is_null", A)),
        (same(NONE, NONE), TRUE),
        (same(FLAG, YES), FLAG),
        (same(FLAG, NO), call("not", FLAG)),
        (call("eq", A, NONE), FALSE),
        (call("lt", NONE, A), FALSE),
        (call("starts_with", NAME, Literal(None, STRING)), FALSE),
        (call("nullif", FLAG, NO_FLAG), call("nullif", FLAG, NO_FLAG)),
        (call("is_null", NONE), TRUE),
        (call("is_not_null", NONE), FALSE),
        (call("not", call("is_null", ONE)), TRUE),
        (call("not", FALSE), TRUE),
        (Literal(None, BOOLEAN), FALSE),
        (disjunction(call("eq", A, NONE), call("lt", A, ONE)), call("lt", A, ONE)),
        (
            disjunction(
                conjunction(call("eq", A, P), call("lt", B, ONE)),
                conjunction(call("gt", B, ONE), call("eq", A, P)),
            ),
            conjunction(call("eq", A, P), disjunction(call("lt", B, ONE), call("gt", B, ONE))),
        ),
        # Under NOT, NULL and false differ: nothing may be rewritten there.
        (call("not", same(A, ONE)), call("not", same(A, ONE))),
    ],
)
def test_filter_form(predicate: Expr, expected: Expr) -> None:
    assert filter_form(predicate) == expected


def test_split_sorts_terms_by_what_they_read() -> None:
    between = call("lt", call("add", A, P, type=LONG), ONE)
    parts = split(
        conjunction(same(A, P), call("lt", B, ONE), call("is_not_null", Q), between, TRUE)
    )
    assert parts.keys == (Key(A, P, True),)
    assert parts.scanned == (call("lt", B, ONE),)
    assert parts.bound == (call("is_not_null", Q),)
    assert parts.residual == (between,)
    assert not parts.unique


def test_sides_of_keys_are_found_either_way_round() -> None:
    computed = call("add", P, ONE, type=LONG)
    assert split(call("eq", computed, A)).keys == (Key(A, computed, False),)
    assert split(call("eq", call("add", A, B, type=LONG), P)).keys[0].bound == P
    assert split(call("eq", call("add", A, P, type=LONG), Q)).residual


def test_keys_of_unlike_types_are_not_unique() -> None:
    assert split(same(A, P)).unique
    assert not split(call("eq", A, Param(0, 12, "d", DOUBLE))).unique


def test_may_be_null() -> None:
    assert may_be_null(A)
    assert not may_be_null(A, frozenset({1}))
    assert not may_be_null(Column(1, "a", LONG, nullable=False))
    assert not may_be_null(same(A, B))
    assert may_be_null(NONE)
    assert not may_be_null(ONE)
