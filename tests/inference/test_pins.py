"""Equal columns: what a predicate that pins one of them says of the others."""

from __future__ import annotations

from predtrace.inference import infer
from predtrace.inference.pins import Pins
from predtrace.inference.precise import Pushdown, row_selection
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Assignment,
    InnerJoin,
    Operator,
    OuterJoin,
    RowTransform,
    Scan,
)
from symbolic.expr import Column, Expr, call, render
from symbolic.types import LONG

A, B, C, D, G = (Column(number, name, LONG) for number, name in enumerate("abcdg", start=1))
R = Scan(id=0, table="r", occurrence=1, columns=(A,))
S = Scan(id=1, table="s", occurrence=1, columns=(B,))
U = Scan(id=2, table="u", occurrence=1, columns=(C, D))


def graph(*operators: Operator) -> OperatorGraph:
    return OperatorGraph(operators, operators[-1].id)


def join(node: int, left: int, right: int, condition: Expr) -> InnerJoin:
    return InnerJoin(id=node, left=left, right=right, condition=condition)


def stated(of: OperatorGraph, node: int, *pinned: Column) -> str:
    return render(Pins(of, Pushdown(of, "minimal").context).stated(node, row_selection(pinned)))


CHAIN = graph(R, S, join(3, 0, 1, call("eq", A, B)), U, join(4, 3, 2, call("eq", B, C)))


def test_an_equality_from_below_is_said_above() -> None:
    assert stated(CHAIN, 4, A) == "a <=> :a AND b <=> a AND c <=> a"


def test_nothing_is_said_of_what_is_pinned_or_not_needed() -> None:
    assert stated(CHAIN, 4, A, B, C) == "a <=> :a AND b <=> :b AND c <=> :c"
    assert stated(CHAIN, 3, A, B) == "a <=> :a AND b <=> :b"


def test_what_cannot_be_proved_is_not_said() -> None:
    """A condition of an outer join holds of its pairs, not of padded rows."""
    outer = OuterJoin(id=3, left=0, right=1, condition=call("eq", A, B), kind="left")
    chain = graph(R, S, outer, U, join(4, 3, 2, call("eq", B, C)))
    assert stated(chain, 4, A) == "a <=> :a"


def test_a_target_that_pins_an_equal_column_needs_no_intermediate() -> None:
    plan = infer(
        graph(
            *(R, S, join(3, 0, 1, call("eq", A, B)), U, join(4, 3, 2, call("eq", B, C))),
            RowTransform(id=5, input=4, assignments=(Assignment(A, A), Assignment(D, D))),
        )
    )
    assert plan.intermediates == ()
    assert {scan.label for scan in plan.scans} == {PRECISE}
    assert render(plan.scans[2].predicate) == "d <=> :d AND c = :a"


def test_equal_columns_that_are_not_proved_equal_are_both_stored() -> None:
    """Under the padding of an outer join: one of them pins the other there, but who says so?"""
    inner = join(3, 1, 2, call("eq", B, C))
    outer = OuterJoin(id=4, left=0, right=3, condition=call("eq", A, D), kind="left")
    other = Scan(id=5, table="v", occurrence=1, columns=(G,))
    plan = infer(
        graph(
            *(R, S, U, inner, outer, other, join(6, 4, 5, call("eq", C, G))),
            RowTransform(id=7, input=6, assignments=(Assignment(A, A), Assignment(B, B))),
        )
    )
    assert {scan.label for scan in plan.scans} == {PRECISE}
    assert any({"b", "c"} <= {c.name for c in item.columns} for item in plan.intermediates)
