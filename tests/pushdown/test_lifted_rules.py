"""Every rule for refinement: what of the facts below holds above the operator."""

from __future__ import annotations

import pytest

from pushdown.obligations import Obligation
from pushdown.operators import Assignment, Operator, RowTransform
from pushdown.readings import MINIMAL, WHOLE
from pushdown.rules import RULES
from pushdown.rules.base import Context
from pushdown.verify import SolverQuestion, lift
from symbolic.expr import TRUE, Column, Expr, ParamSet, conjunction, member, render
from symbolic.solver import Verdict
from tests.pushdown.test_rules import (
    GENERATE,
    LISTED,
    ONE,
    PROGRAM,
    RANDOM,
    ROLLUP,
    TWO,
    UNIQUE,
    VALUES,
    A,
    B,
    C,
    D,
    X,
    Y,
    group,
    join,
)
from tests.pushdown.test_sufficient_rules import (
    ABC,
    ANTI,
    DISTINCT,
    EXCEPT,
    FILTER,
    GROUPED,
    INNER,
    INTERSECT,
    LIMIT,
    MARK,
    SAMPLE,
    SCALAR,
    SEMI,
    SORT,
    SUBQUERY,
    TWICE,
    UNION,
    Inputs,
    window,
)

RENAME = RowTransform(id=0, input=1, assignments=(Assignment(X, A),))


def known(column: Column) -> Expr:
    """That a column's value is in a value set, numbered as the column."""
    return member(ParamSet(column.id, (column.id,)), column)


KNOWN_A, KNOWN_C = known(A), known(C)
BOTH = (KNOWN_A, KNOWN_C)
IN_1, IN_3 = (f"IN values of scan {number} ({number})" for number in (1, 3))

LIFTED: dict[str, tuple[Operator, tuple[Expr, ...], Inputs, str]] = {
    "filter": (FILTER, (KNOWN_A,), ONE, f"(a) {IN_1} AND a > 3"),
    "projection, renamed": (RENAME, (KNOWN_A,), ONE, f"(x) {IN_1}"),
    "projection, computed": (TWICE, (KNOWN_A,), ONE, "TRUE"),
    "expand, passed on": (ROLLUP, (KNOWN_A,), ONE, f"(a) {IN_1}"),
    "expand, of one projection": (ROLLUP, (known(B),), ONE, "TRUE"),
    "generate": (GENERATE, (KNOWN_A,), LISTED, f"(a) {IN_1}"),
    "sort": (SORT, (KNOWN_A,), ONE, f"(a) {IN_1}"),
    "limit": (LIMIT, (KNOWN_A,), ONE, f"(a) {IN_1}"),
    "sample": (SAMPLE, (KNOWN_A,), ONE, f"(a) {IN_1}"),
    "program: nothing": (PROGRAM, BOTH, TWO, "TRUE"),
    "outer values": (VALUES, (KNOWN_A,), ONE, "TRUE"),
    "duplicates": (UNIQUE, (KNOWN_A,), ONE, f"(a) {IN_1}"),
    "opaque columns": (RANDOM, (KNOWN_A,), ONE, f"(a) {IN_1}"),
    "distinct": (DISTINCT, (KNOWN_A,), ONE, f"(a) {IN_1}"),
    "window: of the columns passed on": (window("rank"), (KNOWN_A,), ABC, f"(a) {IN_1}"),
    "inner join": (INNER, BOTH, TWO, f"(a) {IN_1} AND (c) {IN_3} AND a = c"),
    "semi join: the matches', too": (
        SEMI,
        BOTH,
        TWO,
        f"(a) {IN_1} AND (a) {IN_3} AND a IS NOT NULL",
    ),
    "anti join": (ANTI, BOTH, TWO, f"(a) {IN_1}"),
    "mark join": (MARK, BOTH, TWO, f"(a) {IN_1}"),
    "scalar subquery": (SUBQUERY, BOTH, SCALAR, f"(a) {IN_1}"),
    "left join": (join("left"), BOTH, TWO, f"(a) {IN_1}"),
    "right join": (join("right"), BOTH, TWO, f"(c) {IN_3}"),
    "full join: either side may be padding": (join("full"), BOTH, TWO, "TRUE"),
    "group by: of its keys": (
        group("sum", A),
        (conjunction(*BOTH),),
        GROUPED,
        f"(a) {IN_1}",
    ),
    "max: its value is a row's": (
        group("max", A),
        (conjunction(*BOTH),),
        GROUPED,
        f"(a) {IN_1} AND (x) {IN_3}",
    ),
    "union: of either branch": (UNION, BOTH, TWO, f"(x) {IN_1} OR (x) {IN_3}"),
    "intersect": (INTERSECT, BOTH, TWO, f"(x) {IN_1} AND (x) {IN_3}"),
    "except": (EXCEPT, BOTH, TWO, f"(x) {IN_1}"),
}


@pytest.mark.parametrize("name", LIFTED)
def test_lifted(name: str) -> None:
    operator, below, inputs, above = LIFTED[name]
    assert render(lift(operator, below, Context(inputs, MINIMAL))) == above


def test_a_max_of_whole_groups_says_nothing_of_its_value() -> None:
    """The rows that do not attain it are lineage, too; one that does is not singled out."""
    lifted = lift(group("max", A), (conjunction(*BOTH),), Context(GROUPED, WHOLE))
    assert render(lifted) == f"(a) {IN_1}"


def about(column: Column, other: Column) -> Expr:
    """That a column's value is in the other column's value set."""
    return member(ParamSet(other.id, (other.id,)), column)


WRONG_LIFTS: dict[str, tuple[Operator, tuple[Expr, ...], Inputs, Expr]] = {
    "filter: of another column": (FILTER, (KNOWN_A,), ONE, about(B, A)),
    "projection: of the argument": (TWICE, (KNOWN_A,), ONE, about(X, A)),
    "expand: of one projection": (ROLLUP, (known(B),), ONE, about(Y, B)),
    "generate: of what is generated": (GENERATE, (KNOWN_A,), LISTED, about(Y, A)),
    "sort: of another column": (SORT, (KNOWN_A,), ONE, about(B, A)),
    "limit: of another column": (LIMIT, (KNOWN_A,), ONE, about(B, A)),
    "sample: of another column": (SAMPLE, (KNOWN_A,), ONE, about(B, A)),
    "program: of a column": (PROGRAM, BOTH, TWO, about(X, A)),
    "outer values: of the outer rows": (VALUES, (KNOWN_A,), ONE, about(X, A)),
    "duplicates: of another column": (UNIQUE, (KNOWN_A,), ONE, about(B, A)),
    "opaque columns: of one of them": (RANDOM, (KNOWN_A,), ONE, about(X, A)),
    "distinct: of another column": (DISTINCT, (KNOWN_A,), ONE, about(B, A)),
    "window: of its value": (window("max"), (KNOWN_C,), ABC, about(X, C)),
    "inner join: of another column": (INNER, BOTH, TWO, about(D, A)),
    "semi join: of another column": (SEMI, BOTH, TWO, about(B, C)),
    "anti join: of the inner side": (ANTI, BOTH, TWO, about(A, C)),
    "mark join: of the inner side": (MARK, BOTH, TWO, about(A, C)),
    "scalar subquery: of a value that may be none": (SUBQUERY, BOTH, SCALAR, about(X, C)),
    "left join: of the padded side": (join("left"), BOTH, TWO, KNOWN_C),
    "right join: of the padded side": (join("right"), BOTH, TWO, KNOWN_A),
    "full join: of the left side": (join("full"), BOTH, TWO, KNOWN_A),
    "full join: of the right side": (join("full"), BOTH, TWO, KNOWN_C),
    "sum: of its argument": (group("sum", A), (KNOWN_C,), GROUPED, about(X, C)),
    "union: of one branch": (UNION, BOTH, TWO, about(X, A)),
    "intersect: of another column": (INTERSECT, BOTH, TWO, about(Y, A)),
    "except: of the right side": (EXCEPT, BOTH, TWO, about(X, C)),
}


@pytest.mark.parametrize("name", WRONG_LIFTS)
def test_what_does_not_hold_above_is_not_lifted(name: str) -> None:
    operator, below, inputs, wrong = WRONG_LIFTS[name]
    proposals = tuple((predicate,) for predicate in below)
    question = SolverQuestion(
        Obligation(operator, wrong, proposals, Context(inputs, MINIMAL), witnessed=False)
    )
    assert question.lifted(below, wrong) is Verdict.REFUTED
    right = RULES[type(operator)].lift(operator, below, Context(inputs, MINIMAL))
    full = getattr(operator, "kind", "") == "full"
    assert question.lifted(below, TRUE if full else right) is Verdict.PROVED


def test_every_rule_has_examples() -> None:
    for table in (LIFTED, WRONG_LIFTS):
        assert {type(case[0]) for case in table.values()} == RULES.keys()
