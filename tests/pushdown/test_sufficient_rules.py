"""Every rule for replays: the influencing rows, and the sufficient predicates below a predicate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from pushdown.obligations import SUFFICIENT, Obligation
from pushdown.operators import (
    AggregateCall,
    AntiJoin,
    Assignment,
    Bound,
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    Expand,
    Filter,
    Frame,
    Generate,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    Operator,
    RowTransform,
    Sample,
    ScalarSubquery,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
    Window,
    WindowFunction,
)
from pushdown.operators.windows import PARTITION
from pushdown.readings import MINIMAL, WHOLE
from pushdown.rules import RULES
from pushdown.rules.base import Context, Rule
from pushdown.verify import SolverQuestion, push
from symbolic.expr import (
    FALSE,
    TRUE,
    Column,
    Expr,
    Literal,
    Param,
    call,
    conjunction,
    render,
    same,
)
from symbolic.functions import WINDOW_ONLY, Draws
from symbolic.solver import Verdict
from symbolic.types import DOUBLE, LONG, STRING
from tests.pushdown.test_rules import (
    A_IS_C,
    BY_KEY,
    GENERATE,
    LEFT,
    LIST,
    LISTED,
    ONE,
    PROGRAM,
    RANDOM,
    ROLLUP,
    SET,
    TWO,
    UNIQUE,
    VALUES,
    A,
    B,
    C,
    D,
    F,
    M,
    X,
    Y,
    group,
    join,
    pin,
)

G = Column(11, "g", DOUBLE)
Inputs = tuple[tuple[Column, ...], ...]

OVER_3 = call("gt", A, Literal(3, LONG))
NOT_MARKED = conjunction(pin(A), call("not", M))
GROUPED, SCALAR = ((A, C),), (LEFT, (C,))
INNER = InnerJoin(id=0, left=1, right=2, condition=A_IS_C)
SEMI = SemiJoin(id=0, left=1, right=2, condition=A_IS_C)
ANTI = AntiJoin(id=0, left=1, right=2, condition=A_IS_C)
MARK = MarkJoin(id=0, left=1, right=2, condition=A_IS_C, mark=M)
SUBQUERY = ScalarSubquery(id=0, left=1, right=2, column=X)
FILTER = Filter(id=0, input=1, condition=OVER_3)
SORT = Sort(id=0, input=1, keys=(SortKey(A),))
LIMIT, DISTINCT = Limit(id=0, input=1, count=3), Distinct(id=0, input=1)
SAMPLE = Sample(id=0, input=1, lower=0.0, upper=0.5, with_replacement=False, seed=7)
TWICE = RowTransform(id=0, input=1, assignments=(Assignment(X, call("add", A, A, type=LONG)),))
UNION = Union_(id=0, inputs=(1, 2), **SET)
INTERSECT = Intersect(id=0, left=1, right=2, **SET)
EXCEPT = Except(id=0, left=1, right=2, **SET)


def window(function: str, *, frame: Frame = PARTITION, **how: Any) -> Window:
    """A function of `c` over the rows with equal `a`, in the order of `b`."""
    row = WINDOW_ONLY.get(function)
    args = () if row is not None and row.draws is not Draws.GIVER else (C,)
    made = WindowFunction(X, AggregateCall(function, args, LONG), (A,), (SortKey(B),), frame, **how)
    return Window(id=0, input=1, functions=(made,))


ABC = ((A, B, C),)
UP_TO_ROW, FROM_ROW = Frame(None, Bound((B,))), Frame(Bound((B,)), None)


def bound(column: Column) -> Param:
    """The target's value of a column."""
    return Param(0, column.id, column.name, column.type)


# -- completeness

OWN_MEANING_SAYS = {
    Filter: "a row is there, with its values, by itself",
    RowTransform: "a row is there, with its values, by itself",
    Sort: "a row is there, with its values, by itself",
    InnerJoin: "a pair is there by itself; more rows only add pairs",
    SemiJoin: "a row stays by any of its matches, all of which are its lineage",
    Generate: "a row is there, with its values, by itself",
    Expand: "a row is there, with its values, by itself",
    Distinct: "a value is there by the rows equal to it, all of which are its lineage",
    Union_: "a row is there by itself, and counts as its equals, all of which are its lineage",
    Intersect: "a value is there by its equals on both sides, all of which are its lineage",
}
"""Rules without `influence`: why nothing but lineage has a say in the output."""

SAME_PROPOSALS = {*OWN_MEANING_SAYS, ScalarSubquery}
"""Rules without `propose_sufficient`: what is proposed for lineage is to be tried for replays."""


def unsaid(rules: Mapping[type[Operator], Rule]) -> set[type[Operator]]:
    """The operators of which neither the rule nor a reason says what a replay of them needs."""
    return {
        kind
        for kind, rule in rules.items()
        if (rule.influence is None) != (kind in OWN_MEANING_SAYS)
        or (rule.propose_sufficient is None) != (kind in SAME_PROPOSALS)
    }


def test_every_rule_says_what_replays_need() -> None:
    assert unsaid(RULES) == set()
    assert OWN_MEANING_SAYS.keys() | SAME_PROPOSALS <= RULES.keys()


def test_an_operator_without_a_word_on_replays_is_noticed() -> None:
    new = type("Toy", (Limit,), {})
    silent = msgspec.structs.replace(RULES[Limit], influence=None)
    assert unsaid({**RULES, new: RULES[Filter]}) == {new}
    assert unsaid({**RULES, Limit: silent}) == {Limit}


def test_every_rule_has_examples() -> None:
    for table in (SUFFICIENT_CASES, WRONG_SUFFICIENT):
        assert {type(case[0]) for case in table.values()} == RULES.keys()


# -- what is sufficient

SUFFICIENT_CASES: dict[str, tuple[Operator, Expr, Inputs, list[str]]] = {
    "filter": (FILTER, pin(B), ONE, ["b <=> :b AND a > 3"]),
    "projection": (TWICE, pin(X), ONE, ["(a + a) <=> :x"]),
    "expand": (ROLLUP, pin(Y), ONE, ["b <=> :y OR :y IS NULL"]),
    "generate": (GENERATE, pin(Y), LISTED, ["array_exists(l, row -> row <=> :y)"]),
    "sort": (SORT, pin(B), ONE, ["b <=> :b"]),
    "limit: all rows decide which ones are taken": (LIMIT, pin(A, B), ONE, ["TRUE"]),
    "sample: all rows decide which ones are drawn": (SAMPLE, pin(A, B), ONE, ["TRUE"]),
    "program: all rows": (PROGRAM, pin(X), TWO, ["TRUE", "TRUE"]),
    "grouped program: the group": (BY_KEY, pin(X, Y), TWO, ["a <=> :x", "c <=> :x"]),
    "outer values": (VALUES, pin(X), ONE, ["a <=> :x"]),
    "outer values, a function of a float": (
        Domain(id=0, input=1, assignments=(Assignment(G, F),)),
        same(call("cast", G, type=STRING), bound(B)),
        ((F, A),),
        ["TRUE"],
    ),
    "duplicates: their keys alone": (UNIQUE, pin(A, B), ONE, ["a <=> :a"]),
    "duplicates, the other columns": (UNIQUE, pin(B), ONE, ["TRUE"]),
    "duplicates, a function of a float": (
        DropDuplicates(id=0, input=1, keys=(F,)),
        same(call("cast", F, type=STRING), bound(B)),
        ((F, A),),
        ["TRUE"],
    ),
    "opaque columns: all rows may have a say": (RANDOM, pin(A, B), ONE, ["TRUE"]),
    "distinct": (DISTINCT, pin(A), ONE, ["a <=> :a"]),
    "distinct, a function of a float": (
        DISTINCT,
        same(call("cast", F, type=STRING), bound(B)),
        ((F,),),
        ["TRUE"],
    ),
    "inner join, key pinned": (INNER, pin(A), TWO, ["a = :a", "c = :a"]),
    "inner join, key open": (
        INNER,
        pin(B),
        TWO,
        ["b <=> :b AND a IS NOT NULL", "c IS NOT NULL"],
    ),
    "semi join": (SEMI, pin(A), TWO, ["a = :a", "c = :a"]),
    "anti join: inner rows by the match": (ANTI, pin(A), TWO, ["a <=> :a", "c = :a"]),
    "anti join, key open": (ANTI, pin(B), TWO, ["b <=> :b", "c IS NOT NULL"]),
    "anti join, condition on the inner side": (
        AntiJoin(
            id=0,
            left=1,
            right=2,
            condition=conjunction(A_IS_C, call("eq", D, Literal("x", STRING))),
        ),
        pin(A),
        TWO,
        ["a <=> :a", "c = :a AND d = 'x'"],
    ),
    "mark join": (
        MARK,
        conjunction(pin(A), call("or", M, OVER_3)),
        TWO,
        ["a <=> :a", "c = :a"],
    ),
    "mark join: no mark is known by its inner rows, too": (
        MARK,
        NOT_MARKED,
        TWO,
        ["a <=> :a", "c = :a"],
    ),
    "left join": (join("left"), pin(A), TWO, ["a <=> :a", "c = :a"]),
    "left join, padding: partners that F does not select": (
        join("left"),
        pin(C, D),
        TWO,
        ["TRUE", "TRUE"],
    ),
    "left join, padding ruled out": (
        join("left"),
        call("gt", C, Literal(3, LONG)),
        TWO,
        ["TRUE", "c > 3 AND c IS NOT NULL"],
    ),
    "right join": (join("right"), pin(C), TWO, ["a = :c", "c <=> :c"]),
    "full join: either side may be padding": (
        join("full"),
        pin(A, B, C, D),
        TWO,
        ["TRUE", "TRUE"],
    ),
    "scalar subquery: the whole inner side": (
        SUBQUERY,
        conjunction(pin(A), call("gt", A, X)),
        SCALAR,
        ["a <=> :a", "TRUE"],
    ),
    "group by": (group("sum", A), pin(A, X), GROUPED, ["a <=> :a"]),
    "group by, HAVING": (group("sum", A), conjunction(OVER_3, pin(X)), GROUPED, ["a > 3"]),
    "max: its value is never sufficient": (group("max", A), pin(A, X), GROUPED, ["a <=> :a"]),
    "max alone": (group("max", A), pin(X), GROUPED, ["TRUE"]),
    "max without keys": (group("max"), pin(X), GROUPED, ["TRUE"]),
    "union": (UNION, pin(X), TWO, ["a <=> :x", "c <=> :x"]),
    "intersect": (INTERSECT, pin(X), TWO, ["a <=> :x", "c <=> :x"]),
    "except: equal rows of the right, too": (EXCEPT, pin(X), TWO, ["a <=> :x", "c <=> :x"]),
    "rank": (window("rank"), pin(A, B, X), ABC, ["a <=> :a AND (b <= :b OR b IS NULL)"]),
    "lead": (window("lead"), pin(A, B), ABC, ["a <=> :a AND (b >= :b OR :b IS NULL)"]),
    "ntile": (window("ntile"), pin(A, B), ABC, ["a <=> :a"]),
    "a running sum": (
        window("sum", frame=UP_TO_ROW),
        pin(A, B, X),
        ABC,
        ["a <=> :a AND (b <= :b OR b IS NULL)"],
    ),
    "max: its value is never sufficient in a window": (
        window("max", frame=FROM_ROW),
        pin(A, B, X),
        ABC,
        ["a <=> :a AND (b >= :b OR :b IS NULL)"],
    ),
    "rank of an unknown partition": (window("rank"), pin(C, X), ABC, ["TRUE"]),
    "except all": (
        msgspec.structs.replace(EXCEPT, all=True),
        pin(X, Y),
        TWO,
        ["a <=> :x AND b <=> :y", "c <=> :x AND d <=> :y"],
    ),
}


@pytest.mark.parametrize("aggregates", [MINIMAL, WHOLE])
@pytest.mark.parametrize("name", SUFFICIENT_CASES)
def test_sufficient(name: str, aggregates: str) -> None:
    operator, above, inputs, below = SUFFICIENT_CASES[name]
    context = Context(inputs, aggregates)
    pushed = push(operator, above, context, witnessed=False, goal=SUFFICIENT)
    assert [render(predicate) for predicate in pushed.below] == below


WRONG_SUFFICIENT: dict[str, tuple[Operator, Expr, Inputs, int, Expr]] = {
    "filter: another condition": (FILTER, pin(B), ONE, 0, call("gt", A, Literal(4, LONG))),
    "projection: nothing": (TWICE, pin(X), ONE, 0, FALSE),
    "expand: one projection": (ROLLUP, pin(Y), ONE, 0, same(B, bound(Y))),
    "generate: another array": (
        GENERATE,
        pin(Y),
        LISTED,
        0,
        same(LIST, Param(0, 99, "other", LIST.type)),
    ),
    "sort: another column": (SORT, pin(B), ONE, 0, pin(A)),
    "limit: the lineage": (LIMIT, pin(A, B), ONE, 0, pin(A, B)),
    "sample: the lineage": (SAMPLE, pin(A, B), ONE, 0, pin(A, B)),
    "program: the lineage": (PROGRAM, pin(X), TWO, 0, pin(A)),
    "grouped program: a part of the group": (BY_KEY, pin(X, Y), TWO, 0, pin(A, B)),
    "outer values: the lineage": (VALUES, pin(X), ONE, 0, FALSE),
    "duplicates: the lineage": (UNIQUE, pin(A, B), ONE, 0, pin(A, B)),
    "duplicates: another column": (UNIQUE, pin(B), ONE, 0, pin(B)),
    "opaque columns: the lineage": (RANDOM, pin(A, B), ONE, 0, pin(A, B)),
    "distinct: another column": (DISTINCT, pin(A), ONE, 0, pin(A, B)),
    "inner join: a condition of the other side's": (INNER, pin(A, B), TWO, 1, pin(D)),
    "semi join: no inner rows": (SEMI, pin(A), TWO, 1, FALSE),
    "anti join: the lineage": (ANTI, pin(A), TWO, 1, FALSE),
    "anti join: some of the matches": (ANTI, pin(A, B), TWO, 1, conjunction(pin(C), pin(D))),
    "mark join: the lineage of no mark": (MARK, NOT_MARKED, TWO, 1, FALSE),
    "left join: partners that F selects": (join("left"), pin(C, D), TWO, 1, pin(D)),
    "right join: partners that F selects": (join("right"), pin(A, B), TWO, 0, pin(B)),
    "scalar subquery: the values that F selects": (
        SUBQUERY,
        conjunction(pin(A), call("gt", A, X)),
        SCALAR,
        1,
        call("gt", bound(A), C),
    ),
    "max: the rows that attain it": (group("max", A), pin(A, X), GROUPED, 0, same(C, bound(X))),
    "sum: its value": (group("sum", A), pin(A, X), GROUPED, 0, same(C, bound(X))),
    "rank: the row itself": (window("rank"), pin(A, B), ABC, 0, pin(A, B)),
    "max: the rows that attain it, in a window": (
        window("max", frame=UP_TO_ROW),
        pin(A, B, X),
        ABC,
        0,
        conjunction(pin(A), same(C, bound(X))),
    ),
    "lead: the rows before": (
        window("lead"),
        pin(A, B),
        ABC,
        0,
        conjunction(pin(A), call("le", B, bound(B))),
    ),
    "union: one branch": (UNION, pin(X), TWO, 1, FALSE),
    "intersect: one side": (INTERSECT, pin(X), TWO, 1, FALSE),
    "except: the lineage": (EXCEPT, pin(X), TWO, 1, FALSE),
}


@pytest.mark.parametrize("name", WRONG_SUFFICIENT)
def test_what_is_not_sufficient_is_refused(name: str) -> None:
    operator, above, inputs, index, wrong = WRONG_SUFFICIENT[name]
    proposals = tuple((TRUE,) for _ in inputs)
    question = SolverQuestion(
        Obligation(operator, above, proposals, Context(inputs, WHOLE), False, SUFFICIENT)
    )
    assert question.complete(index, wrong) is Verdict.REFUTED
    right = push(operator, above, Context(inputs, WHOLE), witnessed=False, goal=SUFFICIENT)
    assert question.complete(index, right.below[index]) is Verdict.PROVED
