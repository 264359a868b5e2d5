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

from predtrace.inference.precise import Pushdown, row_selection
from predtrace.inference.replay import sufficient
from pushdown import simplification
from pushdown.graph import OperatorGraph
from pushdown.obligations import SUFFICIENT
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    Expand,
    Filter,
    Generate,
    GroupBy,
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
    Scan,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
    Window,
    WindowFunction,
)
from pushdown.readings import MINIMAL
from pushdown.rules import RULES
from pushdown.rules.base import Rule
from pushdown.rules.groups import grouped, through_group_by
from pushdown.rules.order import same_rows
from pushdown.verify import push
from symbolic.expr import FALSE, Call, Column, Expr, Literal, call
from symbolic.solver import Prover, Verdict
from symbolic.types import LONG, STRING, Array
from tests.inference.test_unstored import replayed_outputs
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


NEXT_KEY = call("add", K, Literal(1, LONG), type=LONG)
RENAMED = RowTransform(id=1, input=0, assignments=(Assignment(OUT, NEXT_KEY), Assignment(OUT2, V)))
DRAWN = Sample(id=1, input=0, lower=0.0, upper=0.5, with_replacement=True, seed=3)
GIVEN = OpaqueColumns(id=1, input=0, made=(OpaqueColumn(ONLY, "rand()", ()),))
ROLLED_UP = Expand(
    id=1, input=0, projections=((K, V), (K, Literal(None, STRING))), columns=(K, OUT2)
)
RANKED = WindowFunction(OUT, AggregateCall("rank", (), LONG), (), (SortKey(K),), silent=True)
ITEMS = Call("make_array", (V, Literal("x", STRING)), Array(STRING))
GENERATED = Generate(id=1, input=0, rows=ITEMS, columns=(OUT2,))
CORPUS: dict[type[Operator], Callable[[], Pipeline]] = {
    RowTransform: lambda: of(LEFT, RENAMED),
    Expand: lambda: of(LEFT, ROLLED_UP),
    Generate: lambda: of(LEFT, GENERATED),
    Sort: lambda: of(LEFT, Sort(id=1, input=0, keys=(SortKey(V),))),
    Filter: lambda: of(LEFT, Filter(id=1, input=0, condition=call("gt", K, Literal(1, LONG)))),
    Distinct: lambda: of(LEFT, Distinct(id=1, input=0)),
    Domain: lambda: of(LEFT, Domain(id=1, input=0, assignments=(Assignment(OUT, K),))),
    DropDuplicates: lambda: of(LEFT, DropDuplicates(id=1, input=0, keys=(K,))),
    Limit: lambda: of(LEFT, Limit(id=1, input=0, count=1)),
    Sample: lambda: of(LEFT, DRAWN),
    Opaque: lambda: of(LEFT, Opaque(id=1, inputs=(0,), name="program", columns=(OUT, OUT2))),
    OpaqueColumns: lambda: of(LEFT, GIVEN),
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
    Window: lambda: of(LEFT, Window(id=1, input=0, functions=(RANKED,))),
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


def test_every_operator_is_replayed() -> None:
    assert CORPUS.keys() == RULES.keys()


@pytest.mark.parametrize("kind", CORPUS)
def test_unbroken_replays_are_right(kind: type[Operator]) -> None:
    check_replays(CORPUS[kind]())


def lineage_alone(rule: Rule) -> Rule:
    """Only lineage has a say, and what is proposed for it is taken."""
    return msgspec.structs.replace(rule, influence=None, propose_sufficient=None)


def itself_alone(rule: Rule) -> Rule:
    """Each row decides for itself."""
    return msgspec.structs.replace(rule, influence=same_rows, propose_sufficient=rule.propose)


def selected_nothing(rule: Rule) -> Rule:
    """No row has a say."""
    said = without_lineage(0)(rule.influence or rule.meaning)

    def propose(operator: Any, above: Any, context: Any) -> Any:
        return tuple((FALSE,) for _ in context.inputs)

    return msgspec.structs.replace(rule, influence=said, propose_sufficient=propose)


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
    "the other rows under a limit": (Limit, itself_alone),
    "the outer rows of a domain": (Domain, lineage_alone),
    "the rows that were not kept of a key": (DropDuplicates, lineage_alone),
    "the other rows of a key": (DropDuplicates, itself_alone),
    "the rows that a program reads": (Opaque, selected_nothing),
    "the rows that a sample might have drawn": (Sample, lineage_alone),
    "the other rows under a sample": (Sample, itself_alone),
    "the rows before one whose rank nothing reads": (Window, lineage_alone),
    "the other rows of a window": (Window, itself_alone),
    "the other rows under opaque columns": (OpaqueColumns, itself_alone),
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
    # Keys are merged by what the right rule says: that rows of whole groups count.
    monkeypatch.setattr(simplification, "merged_keys", lambda obligation: obligation)
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


def believe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is proposed is proved."""
    monkeypatch.setattr(Prover, "prove", lambda self, goal, assumptions: Verdict.PROVED)


def test_a_verifier_that_always_says_yes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RULES[AntiJoin]
    wrong = msgspec.structs.replace(rule, propose_sufficient=rule.propose)
    monkeypatch.setitem(RULES, AntiJoin, wrong)
    check_replays(CORPUS[AntiJoin]())
    forget_proofs()
    believe(monkeypatch)
    with pytest.raises(AssertionError, match="not the rows of the full run"):
        check_replays(CORPUS[AntiJoin]())
