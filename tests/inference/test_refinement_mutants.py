"""The rules for refinement broken on purpose: the checks must notice every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from predtrace.inference import conditions, reduction
from predtrace.inference.refinement import infer_refinement
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Filter,
    GroupBy,
    InnerJoin,
    MarkJoin,
    Operator,
    OuterJoin,
    RowTransform,
    Scan,
    Union_,
)
from pushdown.rewrite import restrict
from pushdown.rules import RULES
from pushdown.rules.sets import lift_union
from pushdown.verify import SolverQuestion
from symbolic.expr import TRUE, Column, Expr, Literal, call, conjunction, same
from symbolic.solver import Verdict
from symbolic.types import DOUBLE, LONG, STRING
from tests.inference.test_unstored import refine
from tests.reference import trace_graph
from tests.strategies import Pipeline
from tests.test_mutants import (
    K2,
    LEFT,
    MARK,
    OUT,
    OUT2,
    RIGHT,
    SIDES,
    V2,
    K,
    N,
    V,
    forget_proofs,
    keep,
    pipeline,
)

K3, V3 = Column(10, "k3", LONG), Column(11, "v3", STRING)
ONE = Column(12, "one", LONG)
TABLES: dict[str, list[tuple[Any, ...]]] = {
    "l": [(1, "a"), (1, "b"), (2, "a"), (3, None), (None, "a"), (4, "b"), (5, "ab")],
    "r": [(1, "x"), (1, "y"), (2, None), (None, "x"), (3, "a"), (4, "c"), (6, "a")],
    "t": [(1, "n"), (None, "n"), (6, "n"), (7, "m"), (3, "m")],
}


def third(node: int) -> Scan:
    return Scan(id=node, table="t", occurrence=1, columns=(K3, V3))


def constant(below: int, node: int) -> RowTransform:
    """Rows of which nothing is known."""
    return RowTransform(
        id=node, input=below, assignments=(Assignment(ONE, Literal(1, LONG)),)
    )  # fmt: skip


def check_refined(example: Pipeline) -> set[int]:
    """Every output row as the reference has it; the scans whose answers are called precise."""
    graph, tables = example
    reference = trace_graph(graph, tables, keep_outputs=True)
    plan = infer_refinement(graph, "minimal")
    assert reference.distinct_rows()
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        for node, answer in refine(plan, graph, tables, row).items():
            where = f"scan {node}, row {row!r}"
            assert answer.rows >= expected[node], f"lineage rows are missing: {where}"
            if answer.label == PRECISE:
                assert answer.rows == expected[node], f"too many rows called precise: {where}"
    return {scan.node for scan in plan.scans if scan.label == PRECISE}


@pytest.fixture(autouse=True)
def _fresh_proofs() -> Iterator[None]:
    forget_proofs()
    yield
    forget_proofs()


# -- lifting


def padded() -> Pipeline:
    """Rows without a partner meet the NULL of another table."""
    return pipeline(
        LEFT,
        RIGHT,
        third(2),
        OuterJoin(id=3, **SIDES, kind="left"),
        InnerJoin(id=4, left=3, right=2, condition=same(K2, K3)),
        keep(4, 5, V, V3),
        tables=TABLES,
    )


def united() -> Pipeline:
    """The first branch alone has to do with another table."""
    return pipeline(
        LEFT,
        RIGHT,
        third(2),
        InnerJoin(id=3, left=0, right=2, condition=call("eq", K, K3)),
        Union_(id=4, inputs=(3, 1), branches=((K, V), (K2, V2)), columns=(OUT, OUT2)),
        tables={**TABLES, "l": [*TABLES["l"], (6, "z")]},
    )


def summed() -> Pipeline:
    """Sums of keys, met by another table."""
    total = Aggregation(N, AggregateCall("sum", (K,), LONG))
    return pipeline(
        LEFT,
        RIGHT,
        third(2),
        InnerJoin(id=3, **SIDES),
        GroupBy(id=4, input=3, keys=(Assignment(V, V),), aggregations=(total,)),
        InnerJoin(id=5, left=4, right=2, condition=call("eq", N, K3)),
        keep(5, 6, V, V3),
        tables=TABLES,
    )


def without_a_match() -> Pipeline:
    return pipeline(LEFT, RIGHT, AntiJoin(id=2, **SIDES), keep(2, 3, V), tables=TABLES)


def marked() -> Pipeline:
    wanted = call("or", MARK, call("eq", V, Literal("ab", STRING)))
    return pipeline(
        LEFT,
        RIGHT,
        MarkJoin(id=2, **SIDES, mark=MARK),
        Filter(id=3, input=2, condition=wanted),
        keep(3, 4, V),
        tables=TABLES,
    )


def both_sides(operator: Any, below: tuple[Expr, ...], context: Any) -> Expr:
    return conjunction(*below)


def matched(operator: Any, below: tuple[Expr, ...], context: Any) -> Expr:
    """As if every row of the left side had a match."""
    return restrict(conjunction(*below, operator.condition), context.inputs[0])


def first_branch(operator: Any, below: tuple[Expr, ...], context: Any) -> Expr:
    return lift_union(operator, (below[0],), context)


def argument(operator: Any, below: tuple[Expr, ...], context: Any) -> Expr:
    """As if a sum were one of its arguments."""
    known = [same(a.column, a.call.args[0]) for a in operator.aggregations]
    columns = [a.column for a in (*operator.keys, *operator.aggregations)]
    return restrict(conjunction(*below, *known), columns)


Lift = Callable[[Any, tuple[Expr, ...], Any], Expr]
LIFTS: dict[str, tuple[type[Operator], Lift, Callable[[], Pipeline]]] = {
    "the padded side of an outer join": (OuterJoin, both_sides, padded),
    "one branch of a union": (Union_, first_branch, united),
    "the argument of a sum": (GroupBy, argument, summed),
    "the inner side of an anti join": (AntiJoin, matched, without_a_match),
    "the inner side of a mark join": (MarkJoin, matched, marked),
}
"""Whose facts are lifted that are not the output's."""


def believe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is proposed is lifted."""
    monkeypatch.setattr(SolverQuestion, "lifted", lambda self, below, candidate: Verdict.PROVED)


@pytest.mark.parametrize("name", LIFTS)
def test_a_wrong_lift_does_no_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, wrong, example = LIFTS[name]
    before = infer_refinement(example().graph, "minimal")
    monkeypatch.setitem(RULES, kind, msgspec.structs.replace(RULES[kind], lift=wrong))
    check_refined(example())
    memberships = {
        (one.node, m)
        for one in infer_refinement(example().graph, "minimal").sets
        for m in one.memberships
    }
    assert memberships <= {(one.node, m) for one in before.sets for m in one.memberships}


@pytest.mark.parametrize("name", LIFTS)
def test_a_wrong_lift_that_is_believed_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, wrong, example = LIFTS[name]
    believe(monkeypatch)
    check_refined(example())  # what the rule proposes needs no verdict here
    monkeypatch.setitem(RULES, kind, msgspec.structs.replace(RULES[kind], lift=wrong))
    with pytest.raises(AssertionError, match="lineage rows are missing"):
        check_refined(example())


# -- conditions

SMALLER = call("lt", K, K2)
ACROSS: dict[str, tuple[type[Operator], Operator]] = {
    "left join": (OuterJoin, OuterJoin(id=2, left=0, right=1, condition=SMALLER, kind="left")),
    "full join": (OuterJoin, OuterJoin(id=2, left=0, right=1, condition=SMALLER, kind="full")),
    "anti join": (AntiJoin, AntiJoin(id=2, left=0, right=1, condition=SMALLER)),
    "mark join": (MarkJoin, MarkJoin(id=2, left=0, right=1, condition=SMALLER, mark=MARK)),
}


def nothing_padded(graph: OperatorGraph, top: int) -> set[int]:
    return set()


@pytest.mark.parametrize("name", ACROSS)
def test_conditions_of_joins_that_pass_other_rows_are_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, operator = ACROSS[name]
    example = pipeline(LEFT, RIGHT, operator, keep(2, 3, V), tables=TABLES)
    check_refined(example)
    monkeypatch.setattr(conditions, "JOINING", (*conditions.JOINING, kind))
    monkeypatch.setattr(conditions, "_padded", nothing_padded)
    with pytest.raises(AssertionError, match="lineage rows are missing"):
        check_refined(example)


@pytest.mark.parametrize("kind", ["left", "full"])
def test_conditions_that_padded_rows_satisfy_are_noticed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepting = call("or", call("is_null", K2), SMALLER)
    example = pipeline(
        LEFT, RIGHT, OuterJoin(id=2, left=0, right=1, condition=call("eq", V, V2), kind=kind),
        Filter(id=3, input=2, condition=accepting), keep(3, 4, V),
        tables=TABLES,
    )  # fmt: skip
    check_refined(example)
    monkeypatch.setattr(conditions, "_padded", nothing_padded)
    with pytest.raises(AssertionError, match="lineage rows are missing"):
        check_refined(example)


def test_conditions_of_inner_joins_are_used() -> None:
    example = pipeline(
        LEFT, RIGHT, InnerJoin(id=2, left=0, right=1, condition=SMALLER), keep(2, 3, V),
        tables=TABLES,
    )  # fmt: skip
    check_refined(example)
    sets = infer_refinement(example.graph, "minimal").sets
    assert {m.condition for one in sets for m in one.memberships} == {SMALLER}


# -- labels


def pairs(node: int, first: Column, second: Column) -> Scan:
    return Scan(id=node, table=f"t{node}", occurrence=1, columns=(first, second))


def triangle() -> Pipeline:
    """Three tables joined in a circle: pairs of them agree where all three do not."""
    a, b, b2, c, c2, a2 = (Column(20 + i, name, LONG) for i, name in enumerate("abBcCA"))
    around = conjunction(call("eq", c, c2), call("eq", a2, a))
    return pipeline(
        pairs(0, a, b),
        pairs(1, b2, c),
        pairs(2, c2, a2),
        InnerJoin(id=3, left=0, right=1, condition=call("eq", b, b2)),
        InnerJoin(id=4, left=3, right=2, condition=around),
        constant(4, 5),
        tables={
            "t0": [(5, 5), (0, 0), (1, 1)],
            "t1": [(5, 5), (0, 0), (1, 1)],
            "t2": [(5, 5), (0, 1), (1, 0)],
        },
    )


def perhaps_nothing() -> Pipeline:
    """How many pairs there are: of an empty table with another one."""
    count = Aggregation(N, AggregateCall("count", (), LONG))
    return pipeline(
        LEFT,
        RIGHT,
        InnerJoin(id=2, left=0, right=1, condition=TRUE),
        GroupBy(id=3, input=2, keys=(), aggregations=(count,)),
        tables={**TABLES, "r": []},
    )


def joined_by_floats() -> Pipeline:
    """Floats that compare equal need not be the same: no value set can be said for another."""
    x, y = Column(20, "x", DOUBLE), Column(21, "y", DOUBLE)
    return pipeline(
        Scan(id=0, table="l", occurrence=1, columns=(x, V)),
        Scan(id=1, table="r", occurrence=1, columns=(y, V2)),
        InnerJoin(id=2, left=0, right=1, condition=call("eq", x, y)),
        constant(2, 3),
        tables={"l": [(0.0, "a"), (2.0, "b")], "r": [(-0.0, "x"), (3.0, "y")]},
    )


def chain() -> Pipeline:
    """Two tables of which rows without a partner do not count."""
    return pipeline(LEFT, RIGHT, InnerJoin(id=2, **SIDES), constant(2, 3), tables=TABLES)


def any_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = reduction.Ties.join_tree
    monkeypatch.setattr(reduction.Ties, "join_tree", lambda self, rows: (tree(self, rows)[0], True))


def some_row(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = reduction._Region.__init__

    def witnessed(self: Any, graph: Any, top: Any, *others: Any) -> None:
        begin(self, graph, msgspec.structs.replace(top, witnessed=True), *others)

    monkeypatch.setattr(reduction._Region, "__init__", witnessed)


def any_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction._Region, "_narrows", lambda self, *tie: True)


LABELS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], Pipeline]]] = {
    "any joins are taken for a tree": (any_tree, triangle),
    "a row is taken for granted": (some_row, perhaps_nothing),
    "neighbours are taken for narrowed": (any_tie, joined_by_floats),
}


def test_a_chain_is_precise() -> None:
    assert check_refined(chain()) == {0, 1}


@pytest.mark.parametrize("name", LABELS)
def test_labels_given_too_early_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    break_label, example = LABELS[name]
    assert check_refined(example()) == set()
    break_label(monkeypatch)
    with pytest.raises(AssertionError, match="too many rows called precise"):
        check_refined(example())
