"""Many columns as one: the verdicts stay what they are, and obligations of one shape are one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from pushdown import verify
from pushdown.obligations import Obligation
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Distinct,
    DropDuplicates,
    Except,
    GroupBy,
    Intersect,
    Limit,
    Operator,
    Union_,
)
from pushdown.readings import MINIMAL, WHOLE
from pushdown.rules import RULES
from pushdown.rules.base import Context
from pushdown.simplification import simplified
from symbolic.expr import Column, Expr, Literal, Param, call, conjunction, same
from symbolic.types import DOUBLE, LONG, STRING, DataType

COUNT = Column(90, "n", LONG)


def columns(start: int, types: Sequence[DataType]) -> tuple[Column, ...]:
    return tuple(Column(start + place, f"c{place}", kind) for place, kind in enumerate(types))


def pin(column: Column) -> Expr:
    return same(column, Param(0, column.id, column.name, column.type))


def as_text(column: Column) -> Expr:
    return call("eq", call("cast", column, type=STRING), Literal("0.0", STRING))


def operators(types: Sequence[DataType]) -> dict[str, tuple[Operator, Context]]:
    """Each operator that compares rows, or groups by them, over columns of the types."""
    own, one, other = (columns(start, types) for start in (0, 20, 40))
    both = {"columns": own, "branches": (one, other)}
    keys = tuple(Assignment(key, value) for key, value in zip(own, one, strict=True))
    counted = (Aggregation(COUNT, AggregateCall("count", (), LONG)),)
    return {
        "union": (Union_(id=0, inputs=(1, 2), **both), Context((one, other))),
        "intersect": (Intersect(id=0, left=1, right=2, **both), Context((one, other))),
        "except": (Except(id=0, left=1, right=2, **both), Context((one, other))),
        "distinct": (Distinct(id=0, input=1), Context((own,))),
        "duplicates": (DropDuplicates(id=0, input=1, keys=own[:1]), Context((own,))),
        "limit": (Limit(id=0, input=1, count=3), Context((own,))),
        "group": (GroupBy(id=0, input=1, keys=keys, aggregations=counted), Context((one,))),
    }


def obligation(name: str, types: Sequence[DataType], above: Expr, aggregates: str) -> Obligation:
    operator, context = operators(types)[name]
    context = Context(context.inputs, aggregates)
    proposals = RULES[type(operator)].propose(operator, above, context)
    return Obligation(operator, above, proposals, context, witnessed=True)


A, B, C = columns(0, (LONG, DOUBLE, STRING))
PREDICATES: dict[str, Expr] = {
    "all pinned": conjunction(pin(A), pin(B), pin(C)),
    "one pinned": pin(A),
    "the float pinned": pin(B),
    "not the float": conjunction(pin(A), pin(C)),
    "compared": conjunction(call("gt", A, Literal(3, LONG)), pin(C)),
    "the float's text": conjunction(pin(A), as_text(B), pin(C)),
    "the float's text, pinned": conjunction(pin(A), as_text(B), pin(B), pin(C)),
    "columns compared": conjunction(call("eq", C, call("cast", B, type=STRING)), pin(A)),
    "pinned twice": conjunction(pin(A), same(A, Param(0, 1, "c1", LONG)), pin(C)),
    "one param for two": conjunction(pin(A), same(B, Param(0, 0, "c0", LONG)), pin(C)),
    "with a count": conjunction(pin(A), pin(B), pin(C), same(COUNT, Param(0, 90, "n", LONG))),
    "a count beside one key": conjunction(pin(A), same(COUNT, Param(0, 90, "n", LONG))),
    "a count compared": conjunction(pin(A), call("gt", COUNT, Literal(3, LONG))),
    "a count compared, all pinned": conjunction(
        pin(A), pin(B), pin(C), call("gt", COUNT, Param(0, 90, "n", LONG))
    ),
    "a count that is a key": conjunction(pin(C), call("eq", COUNT, A)),
    "a count that is a pinned key": conjunction(pin(A), pin(C), call("eq", COUNT, A)),
    "a count with a key's param": conjunction(
        pin(A), pin(B), pin(C), same(COUNT, Param(0, 0, "c0", LONG))
    ),
    "a count alone": call("gt", COUNT, Literal(3, LONG)),
}
CASES = [
    (name, predicate, aggregates)
    for (name, predicate), aggregates in itertools.product(
        itertools.product(operators(()), PREDICATES), (MINIMAL, WHOLE)
    )
    if (name == "group" or aggregates == WHOLE) and (name == "group" or "count" not in predicate)
]


@pytest.mark.parametrize(("name", "predicate", "aggregates"), CASES)
def test_verdicts_are_those_of_all_columns(name: str, predicate: str, aggregates: str) -> None:
    whole = obligation(name, (LONG, DOUBLE, STRING), PREDICATES[predicate], aggregates)
    verify.forget()
    assert verify._decided(simplified(whole)) == verify._decided(whole)
    verify.forget()


@pytest.mark.parametrize("name", operators(()))
def test_the_number_of_pinned_columns_does_not_matter(name: str) -> None:
    few, many = (LONG, STRING), (LONG, STRING, LONG, STRING, LONG)
    one, other = (
        simplified(obligation(name, types, conjunction(*map(pin, columns(0, types))), WHOLE))
        for types in (few, many)
    )
    assert one == other


@pytest.mark.parametrize(
    "said",
    [
        same(COUNT, Param(0, 90, "n", LONG)),
        conjunction(
            call("gt", COUNT, Literal(3, LONG)),
            call("lt", call("add", COUNT, Param(0, 91, "m", LONG), type=LONG), COUNT),
            call("is_not_null", Param(0, 92, "o", LONG)),
        ),
    ],
)
def test_what_is_said_of_results_alone_does_not_matter(said: Expr) -> None:
    pinned = [pin(A), pin(C)]
    plain = simplified(
        obligation(
            "group",
            (LONG, DOUBLE, STRING),
            conjunction(*pinned, PREDICATES["a count alone"]),
            WHOLE,
        )
    )
    found = simplified(
        obligation("group", (LONG, DOUBLE, STRING), conjunction(*pinned, said), WHOLE)
    )
    assert found == plain
    tied = conjunction(*pinned, said, call("eq", COUNT, B))
    assert simplified(obligation("group", (LONG, DOUBLE, STRING), tied, WHOLE)) != plain


def test_a_float_that_is_read_stays_by_itself() -> None:
    """A row with -0.0 equals one with 0.0, of which the predicate is true."""
    for name in ("union", "distinct", "intersect"):
        above = conjunction(pin(A), as_text(B), pin(C))
        verdicts = verify._decided(
            simplified(obligation(name, (LONG, DOUBLE, STRING), above, WHOLE))
        )
        assert not any(verdicts.precise)
