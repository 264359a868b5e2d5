"""The rules for replays broken on purpose: the checks must notice every time.

A wrong proposal must do no harm, since the solver rejects it. Where the solver is told that
fewer rows have a say than do, or where what is right for one operator is done at another, a
replay must differ from the full run on some small pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from predtrace.inference import narrowing
from predtrace.inference.narrowing import narrowed
from predtrace.inference.plan import Membership
from predtrace.inference.precise import Pushdown, row_selection
from predtrace.inference.replay import sufficient
from pushdown.abstraction import SUFFICIENT
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    Except,
    Filter,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    Operator,
    OuterJoin,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Union_,
)
from pushdown.rules import RULES
from pushdown.rules.base import MINIMAL, Rule
from pushdown.rules.groups import grouped, through_group_by
from pushdown.verify import push
from symbolic.expr import FALSE, Column, Expr, Literal, call
from symbolic.types import LONG, STRING
from tests.inference.test_unstored import _grouped_side, all_pay_off, replayed_outputs
from tests.reference import row_key, trace_graph
from tests.reference.functions import Settings
from tests.reference.plans import _Bound, _selected
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
    V,
    forget_proofs,
    pipeline,
    without_lineage,
)

Rows = Sequence[tuple[Any, ...]]

MOST, ONLY = Column(10, "most", STRING), Column(11, "only", LONG)
SINGLE = Scan(id=1, table="single", occurrence=1, columns=(ONLY,))
TABLES: dict[str, list[tuple[Any, ...]]] = {
    "l": [(1, "a"), (1, "b"), (1, "b"), (2, "a"), (3, None), (None, "a"), (4, "b"), (5, "x")],
    "r": [(1, "x"), (1, "a"), (2, None), (None, "x"), (3, "a"), (6, "a")],
    "single": [(5,)],
}
BRANCHES: dict[str, Any] = {"branches": ((K, V), (K2, V2)), "columns": (OUT, OUT2)}


def of(*operators: Operator) -> Pipeline:
    return pipeline(*operators, tables=TABLES)


def most(*keys: Column) -> GroupBy:
    """The largest `v` of each group of `l`."""
    largest = Aggregation(MOST, AggregateCall("max", (V,), STRING))
    return GroupBy(
        id=1, input=0, keys=tuple(Assignment(k, k) for k in keys), aggregations=(largest,)
    )


CORPUS: dict[type[Operator], Callable[[], Pipeline]] = {
    Filter: lambda: of(LEFT, Filter(id=1, input=0, condition=call("gt", K, Literal(1, LONG)))),
    Distinct: lambda: of(LEFT, Distinct(id=1, input=0)),
    Limit: lambda: of(LEFT, Limit(id=1, input=0, count=1)),
    GroupBy: lambda: of(LEFT, most(K)),
    InnerJoin: lambda: of(LEFT, RIGHT, InnerJoin(id=2, **SIDES)),
    OuterJoin: lambda: of(LEFT, RIGHT, OuterJoin(id=2, **SIDES, kind="left")),
    SemiJoin: lambda: of(LEFT, RIGHT, SemiJoin(id=2, **SIDES)),
    AntiJoin: lambda: of(LEFT, RIGHT, AntiJoin(id=2, **SIDES)),
    MarkJoin: lambda: of(LEFT, RIGHT, MarkJoin(id=2, **SIDES, mark=MARK)),
    ScalarSubquery: lambda: of(LEFT, SINGLE, ScalarSubquery(id=2, left=0, right=1, column=OUT)),
    Union_: lambda: of(LEFT, RIGHT, Union_(id=2, inputs=(0, 1), **BRANCHES)),
    Intersect: lambda: of(LEFT, RIGHT, Intersect(id=2, left=0, right=1, **BRANCHES)),
    Except: lambda: of(LEFT, RIGHT, Except(id=2, left=0, right=1, **BRANCHES)),
}


def selected(
    rows: Rows, columns: tuple[Column, ...], lookup: Expr, bound: _Bound
) -> list[tuple[Any, ...]]:
    """What a lookup selects, sorted."""
    picked = _selected(rows, columns, lookup, 0, {0: bound}, Settings("UTC"))
    return sorted((row_key(rows[index]) for index in picked), key=repr)


def check_replays(example: Pipeline) -> None:
    """By definition: for a lookup by any column, with any value, as the full run has it."""
    graph, tables = example
    outputs = trace_graph(graph, tables, keep_outputs=True).outputs
    columns = graph.output()
    for column in columns:
        lookup = row_selection([column])
        restrictions = sufficient(graph, graph.root, lookup)
        for value in {None, *_values(graph, outputs, column)}:
            bound = _Bound((column,), [(value,)])
            again = replayed_outputs(graph, tables, graph.root, restrictions, bound, 0)
            whole = outputs[graph.root]
            assert selected(again, columns, lookup, bound) == selected(
                whole, columns, lookup, bound
            ), f"not the rows of the full run: {column.name} {value!r}"


def _values(graph: OperatorGraph, outputs: dict[int, Any], column: Column) -> Iterator[Any]:
    """The values of a column's type that any node gives."""
    for node, rows in outputs.items():
        for place, other in enumerate(graph.output(node)):
            if other.type == column.type:
                yield from (row[place] for row in rows)


@pytest.fixture(autouse=True)
def _fresh_proofs() -> Iterator[None]:
    forget_proofs()
    yield
    forget_proofs()


@pytest.mark.parametrize("kind", CORPUS)
def test_unbroken_replays_are_right(kind: type[Operator]) -> None:
    check_replays(CORPUS[kind]())


# -- who has a say


def lineage_alone(rule: Rule) -> Rule:
    """Only lineage has a say, and what is proposed for it is taken."""
    return msgspec.structs.replace(rule, influence=None, propose_sufficient=None)


def selected_alone(rule: Rule) -> Rule:
    """Of a subquery's inner side the values that are looked up have a say."""

    def propose(operator: Any, above: Any, context: Any) -> Any:
        return tuple(candidates[:1] for candidates in rule.propose(operator, above, context))

    return msgspec.structs.replace(rule, influence=None, propose_sufficient=propose)


def attained_alone(rule: Rule) -> Rule:
    """Of a group only the rows that attain its max have a say."""

    def minimal(context: Any) -> Any:
        return msgspec.structs.replace(context, aggregates=MINIMAL)

    return msgspec.structs.replace(
        rule,
        influence=lambda op, tables, encoder, c: grouped(op, tables, encoder, minimal(c)),
        propose_sufficient=lambda op, above, c: through_group_by(op, above, minimal(c)),
    )


def left_alone(rule: Rule) -> Rule:
    """The right side has no say, and is not read."""

    def propose(operator: Any, above: Any, context: Any) -> Any:
        return rule.propose(operator, above, context)[0], (FALSE,)

    said = without_lineage(1)(rule.influence or rule.meaning)
    return msgspec.structs.replace(rule, influence=said, propose_sufficient=propose)


SAY: dict[str, tuple[type[Operator], Callable[[Rule], Rule]]] = {
    "an anti join's inner rows": (AntiJoin, lineage_alone),
    "the matches of a row without a mark": (MarkJoin, lineage_alone),
    "the partners of a row that is not padded": (OuterJoin, lineage_alone),
    "the inner row of a subquery whose value is another": (ScalarSubquery, selected_alone),
    "the right rows of an except": (Except, lineage_alone),
    "the rows that a limit might have taken": (Limit, lineage_alone),
    "the rows of a group that do not attain its max": (GroupBy, attained_alone),
    "a semi join's inner rows": (SemiJoin, left_alone),
    "an inner join's right rows": (InnerJoin, left_alone),
    "a union's second branch": (Union_, left_alone),
    "the right rows of an intersect": (Intersect, left_alone),
}
"""Rows that are said to have no say."""


@pytest.mark.parametrize("name", SAY)
def test_rows_said_to_have_no_say_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, broken = SAY[name]
    monkeypatch.setitem(RULES, kind, broken(RULES[kind]))
    with pytest.raises(AssertionError, match="not the rows of the full run"):
        check_replays(CORPUS[kind]())


@pytest.mark.parametrize("name", SAY)
def test_wrong_proposals_do_no_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same predicates, judged by the right influence, are not taken."""
    kind, broken = SAY[name]
    rule = RULES[kind]
    wrong = broken(rule).propose_sufficient or rule.propose
    monkeypatch.setitem(RULES, kind, msgspec.structs.replace(rule, propose_sufficient=wrong))
    example = CORPUS[kind]()
    check_replays(example)
    graph = example.graph
    pushdown, refused = Pushdown(graph, "whole", SUFFICIENT), 0
    for column in graph.output():
        above = row_selection([column])
        context = pushdown.context(graph.root)
        proposed = wrong(graph[graph.root], above, context)
        found = push(graph[graph.root], above, context, witnessed=False, goal=SUFFICIENT)
        wanted = tuple(candidates[-1] for candidates in proposed)
        refused += found.below != wanted
    assert refused


def test_a_verifier_that_always_says_yes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from pushdown import verify
    from symbolic.solver import Verdict

    monkeypatch.setattr(verify, "prove", lambda goal, assumptions: Verdict.PROVED)
    wrong = lineage_alone(RULES[AntiJoin])
    monkeypatch.setitem(RULES, AntiJoin, wrong)
    with pytest.raises(AssertionError, match="not the rows of the full run"):
        check_replays(CORPUS[AntiJoin]())


# -- narrowing

P: Rows = [(1, 0), (2, 1), (None, 0)]
GROUPED: Rows = [(0, 0), (1, 1), (1, 2), (None, 1), (2, 0)]


def check_narrowed(join: type[Operator], kind: dict[str, str]) -> set[int]:
    """Replays of less, of a join with groups, as the full run; which scans were cut down."""
    graph = _grouped_side(join, kind, picked=0)
    tables: Any = {"p": P, "b": GROUPED}
    columns = graph.output()
    lookup = row_selection([columns[1]])
    plain = sufficient(graph, graph.root, lookup)
    with all_pay_off():
        pushdown = Pushdown(graph, "whole", SUFFICIENT)
        fewer, sets = narrowed(pushdown, graph.root, lookup, plain, {})
    whole = trace_graph(graph, tables, keep_outputs=True).outputs[graph.root]
    for value in (None, 0, 1):
        bound = _Bound((columns[1],), [(value,)])
        less = replayed_outputs(graph, tables, graph.root, fewer, bound, 0, sets)
        assert selected(less, columns, lookup, bound) == selected(whole, columns, lookup, bound), (
            f"not the rows of the full run: {value!r}"
        )
    return {one.node for one in fewer if one.memberships}


ABSORBING: list[tuple[type[Operator], dict[str, str]]] = [
    (InnerJoin, {}),
    (SemiJoin, {}),
    (AntiJoin, {}),
    (OuterJoin, {"kind": "left"}),
]
"""Joins that give no row of their right side that has no partner."""
PRESERVING = [(OuterJoin, {"kind": "right"}), (OuterJoin, {"kind": "full"})]
SMALL_SIDE, GROUPED_SIDE = 1, 3


def cut_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grouped side is cut down to the keys of the other, whatever the join."""
    graph = _grouped_side(InnerJoin, {}, 0)
    (key, _), (own, _) = graph.output(SMALL_SIDE), graph.output(GROUPED_SIDE)
    found = narrowing.memberships_in

    def everywhere(node: int, predicate: Expr) -> Iterator[Membership]:
        if node == GROUPED_SIDE:
            yield Membership(SMALL_SIDE, (key.id,), (own,))
        else:
            yield from found(node, predicate)

    monkeypatch.setattr(narrowing, "memberships_in", everywhere)


@pytest.mark.parametrize(("join", "kind"), ABSORBING)
def test_groups_may_be_cut_where_they_are_joined(
    join: type[Operator], kind: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_narrowed(join, kind) == {GROUPED_SIDE}
    cut_anyway(monkeypatch)
    assert check_narrowed(join, kind) == {GROUPED_SIDE}


@pytest.mark.parametrize(("join", "kind"), PRESERVING)
def test_a_preserved_side_that_is_cut_is_noticed(
    join: type[Operator], kind: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_narrowed(join, kind) == set()
    cut_anyway(monkeypatch)
    with pytest.raises(AssertionError, match="not the rows of the full run"):
        check_narrowed(join, kind)


def test_an_outer_join_lifted_like_an_inner_one_does_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Proposals of an inner join, up and down: what an outer join does not allow is refused."""
    inner = RULES[InnerJoin]
    wrong = msgspec.structs.replace(
        RULES[OuterJoin], lift=inner.lift, propose_sufficient=inner.propose
    )
    monkeypatch.setitem(RULES, OuterJoin, wrong)
    for join, kind in PRESERVING:
        assert check_narrowed(join, kind) == set()
