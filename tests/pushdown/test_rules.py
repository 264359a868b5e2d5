"""Every rule on small examples: predicate above, predicates below, verdict."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pushdown.operators import (
    AggregateCall,
    Aggregation,
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
    GroupBy,
    GroupKey,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    Opaque,
    OpaqueColumn,
    OpaqueColumns,
    Operator,
    OuterJoin,
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
from pushdown.readings import MINIMAL, WHOLE
from pushdown.rules import LEAVES, RULES, UNSUPPORTED
from pushdown.rules.base import Context
from pushdown.verify import push
from symbolic.expr import FALSE, TRUE, Column, Expr, Literal, Param, call, conjunction, render, same
from symbolic.types import BOOLEAN, DOUBLE, INTEGER, LONG, STRING, Array

A = Column(1, "a", LONG)
B = Column(2, "b", STRING)
C = Column(3, "c", LONG)
D = Column(4, "d", STRING)
X = Column(5, "x", LONG)
Y = Column(6, "y", STRING)
M = Column(7, "m", BOOLEAN)
F = Column(8, "f", DOUBLE)
LEFT, RIGHT = (A, B), (C, D)
A_IS_C = call("eq", A, C)


def pin(*columns: Column) -> Expr:
    """The row-selection predicate over some columns."""
    return conjunction(*(same(c, Param(0, c.id, c.name, c.type)) for c in columns))


def group(function: str, *keys: Column) -> GroupBy:
    return GroupBy(
        id=0,
        input=1,
        keys=tuple(Assignment(key, key) for key in keys),
        aggregations=(Aggregation(X, AggregateCall(function, (C,), LONG)),),
    )


def join(kind: str) -> OuterJoin:
    return OuterJoin(id=0, left=1, right=2, condition=A_IS_C, kind=kind)


G = Column(9, "g", LONG)
ROLLUP = Expand(
    id=0,
    input=1,
    projections=((A, B, Literal(0, LONG)), (A, Literal(None, STRING), Literal(1, LONG))),
    columns=(A, Y, G),
)
LIST = Column(11, "l", Array(STRING))
LISTED = ((A, LIST),)
GENERATE = Generate(id=0, input=1, rows=LIST, columns=(Y,))
OUTER = msgspec.structs.replace(GENERATE, outer=True)
OPAQUE = msgspec.structs.replace(
    GENERATE, rows=call("unknown", B, type=LIST.type), fields=("y",), opaque=True
)
SAMPLE = Sample(id=0, input=1, lower=0.0, upper=0.5, with_replacement=False, seed=7)
VALUES = Domain(id=0, input=1, assignments=(Assignment(X, A),))
UNIQUE = DropDuplicates(id=0, input=1, keys=(A,))
PROGRAM = Opaque(id=0, inputs=(1, 2), name="program", columns=(X, Y))
BY_KEY = Opaque(
    id=0, inputs=(1, 2), name="program", columns=(Y,), keys=(GroupKey(X, (A, C)),), grouped=True
)
NUMBERS = Column(13, "k", DOUBLE)
BY_FLOAT = Opaque(
    id=0, inputs=(1,), name="program", columns=(X,), keys=(GroupKey(NUMBERS, (F,)),), grouped=True
)
RANDOM = OpaqueColumns(id=0, input=1, made=(OpaqueColumn(X, "rand()", (A,)),))
ONE, TWO = ((A, B),), (LEFT, RIGHT)
SET = {"branches": (LEFT, RIGHT), "columns": (X, Y)}


def window(*functions: tuple[Any, ...], order: tuple[SortKey, ...] = (SortKey(B),)) -> Window:
    """Functions over the rows with equal `a`: column, name, arguments, and further fields."""
    return Window(
        id=0,
        input=1,
        functions=tuple(
            WindowFunction(column, AggregateCall(name, args, column.type), (A,), order, **more)
            for column, name, args, more in functions
        ),
    )


NUMBER, RANK = Column(9, "n", INTEGER, False), Column(10, "r", INTEGER, False)
THERE, KEY = Column(11, "there", BOOLEAN), Column(12, "key", STRING)
UP_TO_ROW = {"frame": Frame(None, Bound((B,)))}
ROW_NUMBER = window(
    (NUMBER, "row_number", (), {"beside": (RANK,)}), (RANK, "rank", (), {"silent": True})
)
TOP = window((NUMBER, "row_number", (), {"silent": True}))
LAG = window(
    (X, "lag", (C,), {"beside": (THERE, KEY), "giver": (B,)}),
    (THERE, "lag", (C,), {"taken": TRUE, "silent": True}),
    (KEY, "lag", (C,), {"taken": B, "silent": True}),
)
ABC, OF_A = ((A, B, C),), "a <=> :a AND "
OWN, BEFORE = "(b <=> :b AND c <=> :c)", "(b < :b OR (b IS NULL AND :b IS NOT NULL))"
Case = tuple[Operator, Expr, tuple[tuple[Column, ...], ...], list[str], list[bool]]


def is_number(count: int, function: str = "eq") -> Expr:
    return call(function, NUMBER, Literal(count, INTEGER))


def window_cases() -> dict[str, Case]:
    """Examples of windows."""
    descending = window((X, "rank", (), {}), order=(SortKey(B, False, False), SortKey(C)))
    earlier = "(b > :b OR (:b IS NULL AND b IS NOT NULL))"
    then = "(c < :c OR (c IS NULL AND :c IS NOT NULL))"
    return {
        "rank": (
            window((X, "rank", (), {})),
            pin(A, B, C, X),
            ABC,
            [f"{OF_A}({OWN} OR {BEFORE})"],
            [True],
        ),
        "rank, its key open": (window((X, "rank", (), {})), pin(A, C), ABC, ["a <=> :a"], [False]),
        "rank, descending by two keys": (
            descending,
            pin(A, B, C),
            ABC,
            [f"{OF_A}({OWN} OR ({earlier} OR (b <=> :b AND {then})))"],
            [True],
        ),
        "row_number: peers, if it is greater than rank": (
            ROW_NUMBER,
            pin(A, B, C, NUMBER, RANK),
            ABC,
            [f"{OF_A}({OWN} OR ({BEFORE} OR (:n > :r AND b <=> :b)))"],
            [True],
        ),
        "row_number, its rank open": (
            ROW_NUMBER,
            pin(A, B, C, NUMBER),
            ABC,
            [f"{OF_A}({OWN} OR (b <= :b OR b IS NULL))"],
            [False],
        ),
        "row_number, the first": (
            ROW_NUMBER,
            conjunction(pin(A, B, C), is_number(1)),
            ABC,
            ["a <=> :a AND b <=> :b AND c <=> :c"],
            [True],
        ),
        "row_number, the second": (
            ROW_NUMBER,
            conjunction(pin(A, B, C), is_number(2)),
            ABC,
            [f"{OF_A}({OWN} OR (b <= :b OR b IS NULL))"],
            [False],
        ),
        "the first rows of each partition": (
            TOP,
            conjunction(pin(A, B, C), is_number(3, "le")),
            ABC,
            ["a <=> :a AND b <=> :b AND c <=> :c"],
            [True],
        ),
        "the first rows, a pinned column tested, too": (
            TOP,
            conjunction(pin(A, B, C), call("le", C, Literal(2, LONG)), is_number(3, "le")),
            ABC,
            ["a <=> :a AND b <=> :b AND c <=> :c AND c <= 2"],
            [True],
        ),
        "the first rows, part of the row": (
            TOP,
            conjunction(pin(A, B), is_number(3, "le")),
            ABC,
            ["a <=> :a AND b <=> :b"],
            [False],
        ),
        "lag: the row that gave the value, and its equals": (
            LAG,
            pin(A, B, C, X, THERE, KEY),
            ABC,
            [f"{OF_A}({OWN} OR (:there AND b <=> :key AND c <=> :x))"],
            [True],
        ),
        "sum of a partition": (
            window((X, "sum", (C,), {}), order=()),
            pin(A, B, X),
            ABC,
            ["a <=> :a"],
            [True],
        ),
        "running sum": (
            window((X, "sum", (C,), UP_TO_ROW)),
            pin(A, B, C, X),
            ABC,
            [f"{OF_A}(b <= :b OR b IS NULL)"],
            [True],
        ),
        "running max: the rows that attain it": (
            window((X, "max", (C,), UP_TO_ROW)),
            pin(A, B, C, X),
            ABC,
            [f"{OF_A}({OWN} OR ((b <= :b OR b IS NULL) AND c = :x))"],
            [True],
        ),
        "running max, its value open": (
            window((X, "max", (C,), UP_TO_ROW)),
            pin(A, B, C),
            ABC,
            [f"{OF_A}({OWN} OR (b <= :b OR b IS NULL))"],
            [False],
        ),
    }


CASES: dict[str, Case] = {
    "filter": (
        Filter(id=0, input=1, condition=call("gt", A, Literal(3, LONG))),
        pin(B),
        ONE,
        ["b <=> :b AND a > 3"],
        [True],
    ),
    "projection": (
        RowTransform(id=0, input=1, assignments=(Assignment(X, call("add", A, A, type=LONG)),)),
        pin(X),
        ONE,
        ["(a + a) <=> :x"],
        [True],
    ),
    "expand, a column that all projections pass on": (ROLLUP, pin(A), ONE, ["a <=> :a"], [True]),
    "expand, whole row": (
        ROLLUP,
        pin(A, Y, G),
        ONE,
        ["a <=> :a AND ((b <=> :y AND 0 <=> :g) OR (:y IS NULL AND 1 <=> :g))"],
        [True],
    ),
    "expand, level open": (ROLLUP, pin(Y), ONE, ["b <=> :y OR :y IS NULL"], [True]),
    "generate": (
        GENERATE,
        pin(A, Y),
        LISTED,
        ["a <=> :a AND array_exists(l, row -> row <=> :y)"],
        [True],
    ),
    "generate, any element": (
        GENERATE,
        pin(A),
        LISTED,
        ["a <=> :a AND array_exists(l, row -> TRUE)"],
        [True],
    ),
    "generate, no equality": (
        GENERATE,
        call("lt", Y, Literal("b", STRING)),
        LISTED,
        ["array_exists(l, row -> row < 'b')"],
        [True],
    ),
    "outer generate": (
        OUTER,
        pin(Y),
        LISTED,
        [
            "array_exists(l, row -> row <=> :y) OR "
            "(NOT (coalesce(array_exists(l, row -> TRUE), FALSE)) AND :y IS NULL)"
        ],
        [True],
    ),
    "outer generate, any element": (OUTER, pin(A), LISTED, ["a <=> :a"], [True]),
    "opaque generate, its argument pinned": (OPAQUE, pin(B, Y), ONE, ["b <=> :b"], [True]),
    "opaque generate, its argument open": (OPAQUE, pin(A, Y), ONE, ["a <=> :a"], [False]),
    "sort": (Sort(id=0, input=1, keys=(SortKey(A),)), pin(B), ONE, ["b <=> :b"], [True]),
    "limit, whole row": (
        Limit(id=0, input=1, count=3),
        pin(A, B),
        ONE,
        ["a <=> :a AND b <=> :b"],
        [True],
    ),
    "limit, part of the row": (Limit(id=0, input=1, count=3), pin(A), ONE, ["a <=> :a"], [False]),
    "sample, whole row": (SAMPLE, pin(A, B), ONE, ["a <=> :a AND b <=> :b"], [True]),
    "sample, part of the row": (SAMPLE, pin(A), ONE, ["a <=> :a"], [False]),
    "sample, any row": (SAMPLE, TRUE, ONE, ["TRUE"], [False]),
    "outer values": (VALUES, pin(X), ONE, ["FALSE"], [True]),
    "outer values, any": (VALUES, TRUE, ONE, ["FALSE"], [True]),
    "duplicates, whole row": (UNIQUE, pin(A, B), ONE, ["a <=> :a AND b <=> :b"], [True]),
    "duplicates, their keys": (UNIQUE, pin(A), ONE, ["a <=> :a"], [False]),
    "duplicates, the other columns": (UNIQUE, pin(B), ONE, ["b <=> :b"], [False]),
    "duplicates, a function of a float": (
        DropDuplicates(id=0, input=1, keys=(F,)),
        same(call("cast", F, type=STRING), Param(0, 9, "s", STRING)),
        ((F, A),),
        ["TRUE"],
        [False],
    ),
    "program, whole row": (PROGRAM, pin(X, Y), TWO, ["TRUE", "TRUE"], [False, False]),
    "grouped program, the key": (BY_KEY, pin(X, Y), TWO, ["a <=> :x", "c <=> :x"], [True, True]),
    "grouped program, other columns": (BY_KEY, pin(Y), TWO, ["TRUE", "TRUE"], [False, False]),
    "grouped program, all in one": (
        msgspec.structs.replace(BY_KEY, keys=()),
        pin(Y),
        TWO,
        ["TRUE", "TRUE"],
        [True, True],
    ),
    "grouped program, a float": (BY_FLOAT, pin(NUMBERS), ((F, A),), ["f <=> :k"], [True]),
    "grouped program, a function of a float": (
        BY_FLOAT,
        same(call("cast", NUMBERS, type=STRING), Param(0, 9, "s", STRING)),
        ((F, A),),
        ["TRUE"],
        [False],
    ),
    "program, nothing": (PROGRAM, FALSE, TWO, ["FALSE", "FALSE"], [True, True]),
    "opaque columns, whole row": (RANDOM, pin(A, B, X), ONE, ["a <=> :a AND b <=> :b"], [True]),
    "opaque columns, part of the row": (RANDOM, pin(A, X), ONE, ["a <=> :a"], [False]),
    "opaque columns, only these": (RANDOM, pin(X), ONE, ["TRUE"], [False]),
    "distinct": (Distinct(id=0, input=1), pin(A), ONE, ["a <=> :a"], [True]),
    "distinct, a function of a float": (
        Distinct(id=0, input=1),
        same(call("cast", F, type=STRING), Param(0, 9, "s", STRING)),
        ((F,),),
        ["TRUE"],
        [False],
    ),
    "inner join, key pinned": (
        InnerJoin(id=0, left=1, right=2, condition=A_IS_C),
        pin(A),
        TWO,
        ["a = :a", "c = :a"],
        [True, True],
    ),
    "inner join, key open": (
        InnerJoin(id=0, left=1, right=2, condition=A_IS_C),
        pin(B),
        TWO,
        ["b <=> :b AND a IS NOT NULL", "c IS NOT NULL"],
        [False, False],
    ),
    "cross join": (
        InnerJoin(id=0, left=1, right=2, condition=TRUE),
        pin(B),
        TWO,
        ["b <=> :b", "TRUE"],
        [True, True],
    ),
    "inner join, inequality pinned": (
        InnerJoin(id=0, left=1, right=2, condition=call("lt", A, C)),
        pin(A, C),
        TWO,
        ["a <=> :a AND a < :c", "c <=> :c AND :a < c"],
        [True, True],
    ),
    "semi join, key pinned": (
        SemiJoin(id=0, left=1, right=2, condition=A_IS_C),
        pin(A),
        TWO,
        ["a = :a", "c = :a"],
        [True, True],
    ),
    "semi join, key open": (
        SemiJoin(id=0, left=1, right=2, condition=A_IS_C),
        pin(B),
        TWO,
        ["b <=> :b AND a IS NOT NULL", "c IS NOT NULL"],
        [False, False],
    ),
    "anti join, key pinned": (
        AntiJoin(id=0, left=1, right=2, condition=A_IS_C),
        pin(A),
        TWO,
        ["a <=> :a", "FALSE"],
        [True, True],
    ),
    "anti join, key open": (
        AntiJoin(id=0, left=1, right=2, condition=A_IS_C),
        pin(B),
        TWO,
        ["b <=> :b", "FALSE"],
        [False, True],
    ),
    "mark join, key pinned": (
        MarkJoin(id=0, left=1, right=2, condition=A_IS_C, mark=M),
        conjunction(pin(A), call("or", M, call("gt", A, Literal(3, LONG)))),
        TWO,
        ["a <=> :a", "c = :a"],
        [True, True],
    ),
    "left join, key pinned": (join("left"), pin(A), TWO, ["a <=> :a", "c = :a"], [True, True]),
    "left join, only the padded side pinned": (
        join("left"),
        pin(C, D),
        TWO,
        ["a = :c OR (:c IS NULL AND :d IS NULL)", "d <=> :d AND c = :c"],
        [False, True],
    ),
    "right join, key pinned": (join("right"), pin(C), TWO, ["a = :c", "c <=> :c"], [True, True]),
    "full join, all pinned": (
        join("full"),
        pin(A, B, C, D),
        TWO,
        [
            "a <=> :a AND b <=> :b AND (a = :c OR (:c IS NULL AND :d IS NULL))",
            "c <=> :c AND d <=> :d AND (:a = c OR (:a IS NULL AND :b IS NULL))",
        ],
        [True, True],
    ),
    "scalar subquery, value pinned": (
        ScalarSubquery(id=0, left=1, right=2, column=X),
        conjunction(pin(A), call("gt", A, X)),
        (LEFT, (C,)),
        ["a <=> :a", ":a > c"],
        [True, True],
    ),
    "scalar subquery, compared column open": (
        ScalarSubquery(id=0, left=1, right=2, column=X),
        conjunction(pin(B), call("gt", A, X)),
        (LEFT, (C,)),
        ["b <=> :b", "TRUE"],
        [False, True],
    ),
    "group by, keys pinned": (group("sum", A), pin(A, X), ((A, C),), ["a <=> :a"], [True]),
    "group by, only an aggregate pinned": (group("sum", A), pin(X), ((A, C),), ["TRUE"], [False]),
    "group by without keys": (group("sum"), pin(X), ((A, C),), ["TRUE"], [True]),
    "group by, max": (
        group("max", A),
        pin(A, X),
        ((A, C),),
        ["a <=> :a AND c <=> :x"],
        [True],
    ),
    "union": (
        Union_(id=0, inputs=(1, 2), **SET),
        pin(X),
        TWO,
        ["a <=> :x", "c <=> :x"],
        [True, True],
    ),
    "intersect, whole row": (
        Intersect(id=0, left=1, right=2, **SET),
        pin(X, Y),
        TWO,
        ["a <=> :x AND b <=> :y", "c <=> :x AND d <=> :y"],
        [True, True],
    ),
    "intersect, part of the row": (
        Intersect(id=0, left=1, right=2, **SET),
        pin(X),
        TWO,
        ["a <=> :x", "c <=> :x"],
        [False, False],
    ),
    "except, whole row": (
        Except(id=0, left=1, right=2, **SET),
        pin(X, Y),
        TWO,
        ["a <=> :x AND b <=> :y", "FALSE"],
        [True, True],
    ),
    "except all, part of the row": (
        Except(id=0, left=1, right=2, **SET, all=True),
        pin(X),
        TWO,
        ["a <=> :x", "FALSE"],
        [False, True],
    ),
    **window_cases(),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    operator, above, inputs, below, precise = CASES[name]
    pushed = push(operator, above, Context(inputs, MINIMAL), witnessed=True)
    assert [render(predicate) for predicate in pushed.below] == below
    assert list(pushed.precise) == precise


def test_every_rule_has_an_example() -> None:
    assert {type(case[0]) for case in CASES.values()} == set(RULES)


def test_every_operator_has_a_rule_or_a_reason() -> None:
    operators = set(Operator.__args__)
    assert operators == set(RULES) | set(LEAVES) | set(UNSUPPORTED)
    assert not set(RULES) & set(UNSUPPORTED)


def test_whole_aggregates_take_the_whole_group_of_a_max() -> None:
    pushed = push(group("max", A), pin(A, X), Context(((A, C),), WHOLE), witnessed=True)
    assert [render(predicate) for predicate in pushed.below] == ["a <=> :a"]


def test_without_a_witness_a_key_is_not_enough() -> None:
    """Rows with the key may exist on one side alone if no joined row is known to exist."""
    operator = InnerJoin(id=0, left=1, right=2, condition=A_IS_C)
    pushed = push(operator, pin(A), Context(TWO), witnessed=False)
    assert pushed.precise == (False, False)
    assert pushed.witnessed == (False, False)


def test_the_padded_side_of_an_outer_join_has_no_witness() -> None:
    assert push(join("left"), pin(A), Context(TWO), witnessed=True).witnessed == (True, False)


def test_float_keys_compare_equal_without_being_the_same() -> None:
    """0.0 and -0.0 join, but a cast tells them apart: no value may stand for the other."""
    other = Column(10, "g", DOUBLE)
    condition = conjunction(
        call("eq", F, other), call("eq", call("cast", other, type=STRING), Literal("0.0", STRING))
    )
    operator = InnerJoin(id=0, left=1, right=2, condition=condition)
    pushed = push(operator, pin(F), Context(((F,), (other,))), witnessed=True)
    assert "cast(" not in render(pushed.below[0])
