"""Operator graphs compiled for DuckDB, against the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from sqlglot import exp

from predtrace.engines.duckdb.dialect import DUCKDB_DIALECT
from predtrace.engines.sql.limits import choices
from predtrace.engines.sql.matching import alternatives
from predtrace.engines.sql.relational import BUILDERS, plan_query, planner
from predtrace.errors import EngineError
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    GroupBy,
    Limit,
    MarkJoin,
    OneRow,
    Operator,
    RowTransform,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
)
from pushdown.rules import LEAVES, RULES
from symbolic.expr import FALSE, TRUE, Call, Column, Expr, Literal, call, conjunction, disjunction
from symbolic.types import BOOLEAN, INTEGER, LONG
from tests.engines.plans import InDuckDB, Tables, bag
from tests.reference import ReferenceResult, trace_graph
from tests.strategies import Pipeline, compared, count, duplicate_pipelines, pipelines
from tests.strategies.graphs import BY_DEFAULT, pipelines_under

A, B = Column(1, "a", INTEGER), Column(2, "b", INTEGER)
C, D = Column(3, "c", INTEGER), Column(4, "d", INTEGER)
LEFT = Scan(id=1, table="l", occurrence=1, columns=(A, B))
RIGHT = Scan(id=2, table="r", occurrence=1, columns=(C, D))
ROWS = [(1, 1), (1, None), (None, 2), (None, None), (2, 2), (2, 2), (3, 1)]


def test_every_operator_has_a_builder() -> None:
    assert BUILDERS.keys() == RULES.keys() | LEAVES.keys()


def reference(pipeline: Pipeline) -> ReferenceResult:
    return trace_graph(*pipeline, keep_outputs=True)


def check(graph: OperatorGraph, tables: Tables) -> None:
    """Every node gives what the reference says."""
    expected = trace_graph(graph, tables, keep_outputs=True)
    assert not expected.ambiguous_limits
    with InDuckDB(graph, tables) as database:
        for node in graph.top_down():
            assert bag(database.rows(node)) == bag(expected.outputs[node]), database.sql(node)


def check_random(pipeline: Pipeline) -> None:
    """The top node gives what the reference says, if that says one thing and DuckDB spells it."""
    expected = reference(pipeline)
    assume(not expected.ambiguous_limits)
    with InDuckDB(*pipeline) as database:
        root = pipeline.graph.root
        try:
            note(database.sql(root))
        except EngineError:
            assume(False)  # a function that DuckDB does not spell
        assert bag(database.rows(root)) == bag(expected.rows)


@given(pipeline=pipelines())
@settings(max_examples=count(100))
def test_random_graphs_give_the_reference_rows(pipeline: Pipeline) -> None:
    check_random(pipeline)


@pytest.mark.parametrize("kind", BY_DEFAULT)
@given(data=st.data())
@settings(max_examples=count(4))
def test_every_kind_of_part_gives_the_reference_rows(kind: str, data: st.DataObject) -> None:
    check_random(data.draw(pipelines_under(kind)))


@given(pipeline=duplicate_pipelines())
@settings(max_examples=count(60))
def test_rows_without_duplicates_are_the_references(pipeline: Pipeline) -> None:
    """Unless different rows agree on the keys: that is noticed, and no row is taken for another."""
    graph = pipeline.graph
    expected = trace_graph(*pipeline, keep_outputs=True)
    with InDuckDB(*pipeline) as database:
        try:
            found = database.choices(graph.root)
        except EngineError:
            assume(False)
        chosen = {node for node, differ in found.items() if differ}
        first = [node for node in graph.bottom_up() if node in found]
        compared(len(expected.rows))
        for node in first:
            if node in expected.ambiguous_limits:
                assert node in chosen
                return
            assert node not in chosen
        assert bag(database.rows(graph.root)) == bag(expected.rows)


@given(pipeline=pipelines(operators=5))
@settings(max_examples=count(40))
def test_choices_of_limits_are_found(pipeline: Pipeline) -> None:
    """Never fewer than there are; more only where a sort order does not reach the limit."""
    graph = pipeline.graph
    limits = [op for op in graph.operators() if isinstance(op, Limit) and op.count != 0]
    assume(limits)
    expected = reference(pipeline).ambiguous_limits
    with InDuckDB(*pipeline) as database:
        try:
            found = database.choices(graph.root)
        except EngineError:
            assume(False)
        plan = planner(graph, DUCKDB_DIALECT, database.scans)
        for limit in limits:
            below = set(graph.top_down(limit.id)) - {limit.id}
            if below & expected or any(found.get(node) for node in below):
                compared(0)
                continue  # what reaches it is a choice already
            compared(1)
            chosen = found.get(limit.id, False)
            assert chosen or limit.id not in expected
            if chosen and limit.id not in expected:
                assert not plan.block(limit.input).order


# -- anti joins of disjunctions


def equal(left: Expr, right: Expr) -> Expr:
    return call("eq", left, right)


def null(expr: Expr) -> Expr:
    return Call("is_null", (expr,), BOOLEAN)


NOT_IN = disjunction(equal(A, C), null(equal(A, C)))
CONDITIONS = [
    NOT_IN,
    conjunction(NOT_IN, equal(B, D)),
    conjunction(NOT_IN, call("lt", B, D)),
    disjunction(equal(A, C), equal(B, D)),
    disjunction(equal(A, C), null(A)),
    disjunction(equal(A, C), null(D)),
    disjunction(equal(A, C), call("lt", B, D)),
    disjunction(null(A), null(C)),
    null(equal(A, C)),
    conjunction(null(A), null(D)),
    equal(A, Literal(1, INTEGER)),
    equal(C, Literal(1, INTEGER)),
    TRUE,
    FALSE,
    Literal(None, BOOLEAN),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
@pytest.mark.parametrize("inner", [ROWS, ROWS[4:], [], [(None, None)], [(1, None)]], ids=str)
@pytest.mark.parametrize("make", [AntiJoin, SemiJoin, MarkJoin])
def test_matching_with_nulls(
    make: Callable[..., Operator], inner: list[tuple[int | None, int | None]], condition: Expr
) -> None:
    more = {"mark": Column(9, "mark", BOOLEAN, nullable=False)} if make is MarkJoin else {}
    join = make(id=3, left=1, right=2, condition=condition, **more)
    check(OperatorGraph([LEFT, RIGHT, join], 3), {"l": ROWS, "r": inner})


def test_not_in_is_taken_apart() -> None:
    keyed, outer_null, inner_null = alternatives(NOT_IN, (C, D))
    assert keyed.both == equal(A, C)
    assert (outer_null.left, outer_null.both) == (null(A), TRUE)
    assert (inner_null.right, inner_null.both) == (null(C), TRUE)
    never = Column(5, "never", INTEGER, nullable=False)
    strict = disjunction(equal(never, C), null(equal(never, C)))
    assert len(alternatives(strict, (C, D))) == 2


def test_what_has_a_key_or_gains_none_stays_whole() -> None:
    assert len(alternatives(conjunction(NOT_IN, equal(B, D)), (C, D))) == 1
    assert len(alternatives(disjunction(equal(A, C), call("lt", B, D)), (C, D))) == 1


# -- shapes that random graphs hardly meet


def nothing_left(source: int, node: int) -> RowTransform:
    return RowTransform(id=node, input=source, assignments=())


@pytest.mark.parametrize("rows", [ROWS, []], ids=["rows", "empty"])
def test_rows_without_columns(rows: list[tuple[int | None, int | None]]) -> None:
    counted = Aggregation(Column(9, "n", LONG), AggregateCall("count", (), LONG))
    graph = OperatorGraph(
        [
            LEFT,
            RIGHT,
            nothing_left(1, 3),
            Union_(id=5, inputs=(3, 4), branches=((), ()), columns=()),
            nothing_left(2, 4),
            Limit(id=6, input=5, count=10),
            GroupBy(id=7, input=6, keys=(), aggregations=(counted,)),
        ],
        7,
    )
    check(graph, {"l": rows, "r": ROWS})
    alone = GroupBy(id=3, input=1, keys=(), aggregations=())
    check(OperatorGraph([LEFT, alone], 3), {"l": rows})
    once = OperatorGraph([LEFT, nothing_left(1, 3), Distinct(id=4, input=3)], 4)
    check(once, {"l": rows})


def test_constant_keys_are_no_positions() -> None:
    key = Assignment(Column(9, "one", INTEGER), Literal(2, INTEGER))
    text = Assignment(Column(10, "flag", BOOLEAN), TRUE)
    grouped = GroupBy(id=3, input=1, keys=(key, text), aggregations=())
    check(OperatorGraph([LEFT, grouped], 3), {"l": ROWS})
    check(OperatorGraph([LEFT, grouped], 3), {"l": []})


def test_the_only_row_of_nothing() -> None:
    computed = Assignment(Column(9, "one", INTEGER), Literal(1, INTEGER))
    check(OperatorGraph([OneRow(id=1)], 1), {})
    check(
        OperatorGraph([OneRow(id=1), RowTransform(id=2, input=1, assignments=(computed,))], 2), {}
    )


@pytest.mark.parametrize("rows", [[(7, 8)], []], ids=["a value", "no value"])
def test_a_scalar_subquery_without_a_row_is_null(rows: list[tuple[int, int]]) -> None:
    first = RowTransform(id=3, input=2, assignments=(Assignment(C, C),))
    value = Column(9, "value", INTEGER)
    graph = OperatorGraph(
        [LEFT, RIGHT, first, ScalarSubquery(id=4, left=1, right=3, column=value)], 4
    )
    check(graph, {"l": ROWS, "r": rows})


def test_limits_of_limits() -> None:
    rows = [(number, number) for number in range(10)]
    keys = (SortKey(A, ascending=False),)
    for lower, upper in (((8, 1), (3, 2)), ((3, 0), (9, 1)), ((None, 4), (2, 0)), ((2, 0), (5, 4))):
        graph = OperatorGraph(
            [
                LEFT,
                Sort(id=3, input=1, keys=keys),
                Limit(id=4, input=3, count=lower[0], offset=lower[1]),
                nothing_but_b(4),
                Limit(id=6, input=5, count=upper[0], offset=upper[1]),
            ],
            6,
        )
        check(graph, {"l": rows})
        with InDuckDB(graph, {"l": rows}) as database:
            assert not any(database.choices(6).values())


def nothing_but_b(source: int) -> RowTransform:
    return RowTransform(id=5, input=source, assignments=(Assignment(B, B),))


def limited(count: int | None, offset: int = 0, ordered: bool = True) -> OperatorGraph:
    source: list[Operator] = [LEFT]
    if ordered:
        source.append(Sort(id=3, input=1, keys=(SortKey(A),)))
    return OperatorGraph(
        [*source, Limit(id=4, input=len(source) * 2 - 1, count=count, offset=offset)], 4
    )


TIED = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 1), (4, 1), (5, 1)]


@pytest.mark.parametrize(
    ("count", "offset", "chosen"),
    [(1, 0, False), (2, 0, True), (3, 0, False), (4, 0, False), (1, 1, True), (1, 2, True),
     (2, 3, False), (None, 2, True), (None, 3, False), (7, 0, False), (9, 0, False), (0, 2, False),
     (3, 4, False)],
)  # fmt: skip
def test_a_tie_across_the_cut_is_a_choice(count: int | None, offset: int, chosen: bool) -> None:
    graph = limited(count, offset)
    with InDuckDB(graph, {"l": TIED}) as database:
        assert any(database.choices(4).values()) == chosen


def test_without_an_order_all_rows_or_equal_rows_are_no_choice() -> None:
    for rows, taken, chosen in (
        (TIED, 3, True),
        (TIED, 7, False),
        (TIED, 0, False),
        ([(1, 1)] * 5, 3, False),
        ([], 3, False),
    ):
        with InDuckDB(limited(taken, ordered=False), {"l": rows}) as database:
            assert any(database.choices(4).values()) == chosen


def test_projected_rows_may_be_equal() -> None:
    """What a projection between order and limit drops does not tell tied rows apart."""
    for kept, chosen in ((A, False), (B, True)):
        graph = OperatorGraph(
            [
                LEFT,
                Sort(id=3, input=1, keys=(SortKey(A),)),
                RowTransform(id=4, input=3, assignments=(Assignment(kept, kept),)),
                Limit(id=5, input=4, count=2),
            ],
            5,
        )
        with InDuckDB(graph, {"l": TIED}) as database:
            assert database.choices(5) == {5: chosen}


def test_a_limit_that_cuts_nothing_needs_no_query() -> None:
    scans: dict[int, exp.Expr] = {1: exp.to_table("t")}
    for taken in (0, None):
        assert choices(limited(taken), 4, DUCKDB_DIALECT, scans) == ()


# -- the text


def test_queries_stay_flat() -> None:
    condition = conjunction(equal(A, C), call("lt", B, D))
    graph = OperatorGraph(
        [LEFT, RIGHT, SemiJoin(id=3, left=1, right=2, condition=condition),
         RowTransform(id=4, input=3, assignments=(Assignment(B, B),))],
        4,
    )  # fmt: skip
    scans: dict[int, exp.Expr] = {1: exp.to_table("l"), 2: exp.to_table("r")}
    text = plan_query(graph, 4, DUCKDB_DIALECT, scans).sql("duckdb")
    assert text == "SELECT c2 FROM l AS n1 SEMI JOIN r AS n2 ON (c1 = c3) AND (c2 < c4)"
    assert plan_query(graph, 4, DUCKDB_DIALECT, scans).sql("duckdb") == text  # nothing was changed


def test_an_unknown_aggregate_is_refused() -> None:
    call_ = AggregateCall("corr", (A, B), LONG)
    graph = OperatorGraph(
        [LEFT, GroupBy(id=3, input=1, keys=(), aggregations=(Aggregation(C, call_),))], 3
    )
    with pytest.raises(EngineError, match="cannot compute corr"):
        plan_query(graph, 3, DUCKDB_DIALECT, {1: exp.to_table("l")})
