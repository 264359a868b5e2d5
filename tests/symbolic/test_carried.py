from __future__ import annotations

import pytest

from symbolic.encode import Encoder
from symbolic.expr import Call, Column, Expr, Literal, conjunction, render, same
from symbolic.functions import Carried, Nulls, Zeros, carried, key_of, row_of
from symbolic.logic import implies
from symbolic.solver import Verdict, prove
from symbolic.types import DOUBLE, INTEGER, LONG, STRING, DataType

PLAIN = Carried("to_json", "StructsToJson", (("timeZoneId", "UTC"),))
OTHERS = (
    Carried("to_csv", "StructsToJson", (("timeZoneId", "UTC"),)),
    Carried("to_json", "Another", (("timeZoneId", "UTC"),)),
    Carried("to_json", "StructsToJson", (("timeZoneId", "Asia/Tokyo"),)),
    Carried("to_json", "StructsToJson"),
)
A, B, WIDE, F, G = (
    Column(id, name, kind)
    for id, name, kind in [
        (0, "a", INTEGER),
        (1, "b", INTEGER),
        (2, "wide", LONG),
        (3, "f", DOUBLE),
        (4, "g", DOUBLE),
    ]
)


def follows(premise: Expr, conclusion: Expr) -> bool:
    encoder = Encoder()
    row = {column.id: encoder.fresh(column.type, column.name) for column in (A, B, WIDE, F, G)}
    formula = implies(encoder.truth(premise, row), encoder.truth(conclusion, row))
    return prove(formula, encoder.assumptions) is Verdict.PROVED


def of(function: Carried, *args: Expr, type: DataType = STRING) -> Call:
    return Call(function.id, args, type)


def test_ids_are_read_again() -> None:
    assert carried(PLAIN.id) == PLAIN
    assert len({function.id for function in (PLAIN, *OTHERS)}) == 1 + len(OTHERS)
    assert (carried("upper"), key_of("upper"), key_of(PLAIN.id)) == (None, "upper", "carried")
    assert render(of(PLAIN, A)) == "to_json(a)"


@pytest.mark.parametrize(
    "id", ["carried ", "carried {}", "carried 1", PLAIN.id + " ", PLAIN.id.replace(":", ": ", 1)]
)
def test_other_texts_are_no_ids(id: str) -> None:
    with pytest.raises(ValueError, match="carried function"):
        carried(id)


def test_nothing_but_determinism_is_known() -> None:
    row = row_of(PLAIN.id)
    assert row is not None
    assert (row.nulls, row.zeros, row.type) == (Nulls.OWN, Zeros.APART, None)


def test_equal_arguments_give_equal_results() -> None:
    assert follows(same(A, B), same(of(PLAIN, A), of(PLAIN, B)))
    # From these it is not to be known, nor that NULL gives NULL.
    assert not follows(same(of(PLAIN, A), of(PLAIN, B)), same(A, B))
    null = Literal(None, STRING)
    assert not follows(same(A, Literal(None, INTEGER)), same(of(PLAIN, A), null))


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.id)
def test_functions_that_differ_anywhere_are_others(other: Carried) -> None:
    assert not follows(same(A, B), same(of(PLAIN, A), of(other, B)))


def test_types_of_arguments_tell_functions_apart() -> None:
    five = conjunction(same(A, Literal(5, INTEGER)), same(WIDE, Literal(5, LONG)))
    assert not follows(five, same(of(PLAIN, A), of(PLAIN, WIDE)))


def test_zeros_are_told_apart() -> None:
    assert not follows(same(F, G), same(of(PLAIN, F), of(PLAIN, G)))
