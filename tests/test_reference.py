"""The reference tracer itself: the definition's table by hand, and brute force where it applies."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings

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
    OuterJoin,
    RowTransform,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
)
from symbolic.expr import TRUE, Call, Column, Expr, Literal, call
from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    DataType,
    DayTimeInterval,
    Decimal,
    YearMonthInterval,
)
from tests.reference import row_key, trace_graph
from tests.reference.expressions import compile_expr
from tests.reference.functions import Settings
from tests.strategies import Pipeline, compared, count, pipelines, positive_pipelines

A, B = Column(1, "a", INTEGER), Column(2, "b", INTEGER)
C, D = Column(3, "c", INTEGER), Column(4, "d", INTEGER)
X, Y, MARK = Column(5, "x", INTEGER), Column(6, "y", INTEGER), Column(7, "m", BOOLEAN)
R = Scan(id=1, table="r", occurrence=1, columns=(A, B))
S = Scan(id=2, table="s", occurrence=1, columns=(C, D))
TABLES: dict[str, list[tuple[Any, ...]]] = {
    "r": [(1, 10), (1, 10), (2, 20), (None, 30), (4, None)],
    "s": [(1, 5), (1, 6), (2, 7), (9, 8), (None, 9)],
}
EQUAL = call("eq", A, C)


def lineage(
    operators: list[Any], row: tuple[Any, ...], aggregates: str = "minimal", **options: Any
) -> dict[int, list[int]]:
    """The row's lineage in the graph whose root comes last."""
    graph = OperatorGraph(operators, operators[-1].id)
    result = trace_graph(graph, TABLES, aggregates, **options)
    return {node: sorted(rows) for node, rows in result.lineage(row).items()}


def output(operators: list[Any], **options: Any) -> list[tuple[Any, ...]]:
    return trace_graph(OperatorGraph(operators, operators[-1].id), TABLES, **options).rows


def join(make: Any, **fields: Any) -> list[Any]:
    return [R, S, make(id=3, left=1, right=2, condition=EQUAL, **fields)]


def number(value: int) -> Literal:
    return Literal(value, INTEGER)


def test_filter_gives_the_equal_input_rows() -> None:
    plan = [R, Filter(id=3, input=1, condition=call("eq", A, number(1)))]
    assert output(plan) == [(1, 10), (1, 10)]
    assert lineage(plan, (1, 10)) == {1: [0, 1]}


def test_a_row_that_is_not_in_the_output_has_no_lineage() -> None:
    assert lineage([R], (7, 7)) == {1: []}


def test_projection_gives_all_rows_that_transform_into_the_row() -> None:
    nothing = Assignment(X, Call("multiply", (A, number(0)), INTEGER))
    plan = [R, RowTransform(id=3, input=1, assignments=(nothing,))]
    assert lineage(plan, (0,)) == {1: [0, 1, 2, 4]}
    assert lineage(plan, (None,)) == {1: [3]}


def test_inner_join_gives_the_pairs() -> None:
    assert lineage(join(InnerJoin), (1, 10, 1, 6)) == {1: [0, 1], 2: [1]}


@pytest.mark.parametrize("kind", ["left", "full"])
def test_a_padded_right_side_contributes_nothing(kind: str) -> None:
    assert lineage(join(OuterJoin, kind=kind), (4, None, None, None)) == {1: [4], 2: []}


@pytest.mark.parametrize("kind", ["right", "full"])
def test_a_padded_left_side_contributes_nothing(kind: str) -> None:
    assert lineage(join(OuterJoin, kind=kind), (None, None, 9, 8)) == {1: [], 2: [3]}


@pytest.mark.parametrize(("kind", "rows"), [("left", 7), ("right", 7), ("full", 9)])
def test_outer_joins_keep_their_lone_rows(kind: str, rows: int) -> None:
    assert len(output(join(OuterJoin, kind=kind))) == rows


def test_semi_join_gives_all_matches() -> None:
    assert lineage(join(SemiJoin), (1, 10)) == {1: [0, 1], 2: [0, 1]}


def test_anti_join_gives_nothing_from_the_inner_side() -> None:
    assert output(join(AntiJoin)) == [(None, 30), (4, None)]
    assert lineage(join(AntiJoin), (None, 30)) == {1: [3], 2: []}


def test_mark_join_gives_the_matches_where_true() -> None:
    plan = join(MarkJoin, mark=MARK)
    assert lineage(plan, (2, 20, True)) == {1: [2], 2: [2]}
    assert lineage(plan, (4, None, False)) == {1: [4], 2: []}


def maximum(of: Column, keep: Expr | None = None) -> Aggregation:
    return Aggregation(X, AggregateCall("max", (of,), INTEGER, filter=keep))


def grouped(*aggregations: Aggregation, key: bool = True, below: int = 2) -> GroupBy:
    keys = (Assignment(C, C),) if key else ()
    return GroupBy(id=4, input=below, keys=keys, aggregations=aggregations)


def test_scalar_subquery_gives_the_inner_rows_used() -> None:
    plan = [R, S, grouped(maximum(D), key=False),
            ScalarSubquery(id=5, left=1, right=4, column=Y)]  # fmt: skip
    assert lineage(plan, (2, 20, 9)) == {1: [2], 2: [4]}
    assert lineage(plan, (2, 20, 9), aggregates="whole") == {1: [2], 2: [0, 1, 2, 3, 4]}


def test_empty_scalar_subquery_is_null() -> None:
    none = Filter(id=3, input=2, condition=Literal(False, BOOLEAN))
    plan = [R, S, none, grouped(maximum(D), key=False, below=3),
            ScalarSubquery(id=5, left=1, right=4, column=Y)]  # fmt: skip
    assert lineage(plan, (2, 20, None)) == {1: [2], 2: []}


def test_group_by_gives_the_group() -> None:
    counted = Aggregation(X, AggregateCall("count", (), LONG))
    assert lineage([S, grouped(counted)], (1, 2)) == {2: [0, 1]}
    assert lineage([S, grouped(counted, key=False)], (5,)) == {2: [0, 1, 2, 3, 4]}
    assert lineage([S, grouped()], (None,)) == {2: [4]}


def test_max_gives_the_rows_that_attain_it() -> None:
    assert lineage([S, grouped(maximum(D))], (1, 6)) == {2: [1]}
    assert lineage([S, grouped(maximum(D))], (1, 6), aggregates="whole") == {2: [0, 1]}
    assert lineage([S, grouped(maximum(C), key=False)], (9,)) == {2: [3]}


def test_only_results_that_are_all_null_come_from_the_whole_group() -> None:
    null = Aggregation(Y, AggregateCall("max", (Call("nullif", (D, D), INTEGER),), INTEGER))
    assert lineage([S, grouped(maximum(D), null)], (1, 6, None)) == {2: [1]}
    assert lineage([S, grouped(null, maximum(D))], (1, None, 6)) == {2: [1]}
    both = (null, msgspec.structs.replace(null, column=X))
    assert lineage([S, grouped(*both)], (1, None, None)) == {2: [0, 1]}


def test_null_max_mixed_and_filtered_ones_give_the_whole_group() -> None:
    whole = {1: [0, 1, 2, 3, 4]}
    none = Call("nullif", (B, B), INTEGER)
    null = Aggregation(X, AggregateCall("max", (none,), INTEGER))
    mixed = Aggregation(Y, AggregateCall("sum", (B,), LONG))
    biggest, filtered = maximum(B), maximum(B, keep=TRUE)
    for aggregations, row in [
        ((null,), (None,)),
        ((biggest, mixed), (30, 70)),
        ((filtered,), (30,)),
    ]:
        plan = [R, GroupBy(id=4, input=1, keys=(), aggregations=aggregations)]
        assert lineage(plan, row) == whole


def test_group_by_without_keys_has_a_row_for_an_empty_input() -> None:
    none = Filter(id=3, input=2, condition=Literal(False, BOOLEAN))
    counted = Aggregation(X, AggregateCall("count", (), LONG))
    plan = [S, none, grouped(counted, key=False, below=3)]
    assert output(plan) == [(0,)]
    assert lineage(plan, (0,)) == {2: []}
    assert output([S, none, grouped(counted, below=3)]) == []


def test_distinct_gives_all_equal_rows() -> None:
    assert lineage([R, Distinct(id=3, input=1)], (1, 10)) == {1: [0, 1]}


def set_operation(make: Any, **fields: Any) -> list[Any]:
    sides = {"inputs": (1, 2)} if make is Union_ else {"left": 1, "right": 2}
    return [R, S, make(id=3, branches=((A,), (C,)), columns=(X,), **sides, **fields)]


def test_set_operations() -> None:
    assert len(output(set_operation(Union_))) == 10
    assert lineage(set_operation(Union_), (1,)) == {1: [0, 1], 2: [0, 1]}
    assert lineage(set_operation(Intersect), (1,)) == {1: [0, 1], 2: [0, 1]}
    assert Counter(output(set_operation(Intersect, all=True)))[(1,)] == 2
    assert lineage(set_operation(Intersect), (None,)) == {1: [3], 2: [4]}
    assert output(set_operation(Except)) == [(4,)]
    assert lineage(set_operation(Except), (4,)) == {1: [4], 2: []}


def test_sort_order_of_nulls_and_nan() -> None:
    key = Column(1, "k", DOUBLE)
    scan = Scan(id=1, table="r", occurrence=1, columns=(key,))
    rows = [(math.nan,), (1.0,), (None,), (math.inf,)]
    for ascending, nulls_first, expected in [
        (True, True, [None, 1.0, math.inf, math.nan]),
        (False, False, [math.nan, math.inf, 1.0, None]),
    ]:
        keys = (SortKey(key, ascending, nulls_first),)
        graph = OperatorGraph([scan, Sort(id=2, input=1, keys=keys)], 2)
        found = trace_graph(graph, {"r": rows}).rows
        assert repr(found) == repr([(value,) for value in expected])


def test_limit_gives_all_rows_equal_to_a_kept_one() -> None:
    plan = [R, Limit(id=3, input=1, count=1)]
    assert output(plan) == [(1, 10)]
    assert lineage(plan, (1, 10)) == {1: [0, 1]}


def test_limit_tells_when_its_rows_are_a_free_choice() -> None:
    by_a = Sort(id=3, input=1, keys=(SortKey(A, True, False),))
    by_nothing = Sort(id=3, input=1, keys=())
    for sort, count_, ambiguous in [(by_a, 2, False), (by_a, 1, False), (by_nothing, 2, True)]:
        graph = OperatorGraph([R, sort, Limit(id=4, input=3, count=count_)], 4)
        assert trace_graph(graph, TABLES).ambiguous_limits == (frozenset([4] * ambiguous))


def test_chosen_rows_of_a_limit() -> None:
    plan = [R, Limit(id=3, input=1, count=1)]
    assert lineage(plan, (2, 20), chosen={3: [(2, 20)]}) == {1: [2]}
    with pytest.raises(ValueError, match="operator 3"):
        output(plan, chosen={3: [(8, 8)]})


def test_lineage_is_restricted_by_later_operators() -> None:
    # Only the outer row 2 survives the filter, so only its match counts.
    plan = [*join(SemiJoin), Filter(id=4, input=3, condition=call("eq", A, number(2))),
            GroupBy(id=5, input=4, keys=(),
                    aggregations=(Aggregation(X, AggregateCall("count", (), LONG)),))]  # fmt: skip
    assert lineage(plan, (1,)) == {1: [2], 2: [2]}


MONEY = Decimal(5, 2)


def money(text: str) -> Literal:
    return Literal(decimal.Decimal(text), MONEY)


EXPRESSIONS: list[tuple[Expr, Any]] = [
    (Call("divide", (money("1.00"), money("3.00")),
          Decimal(13, 8)), decimal.Decimal("0.33333333")),
    (Call("multiply", (money("2.35"), money("1.01")),
          Decimal(5, 1)), decimal.Decimal("2.4")),
    (Call("add", (Literal(None, INTEGER), number(1)), INTEGER), None),
    (Call("remainder", (number(-7), number(3)), INTEGER), -1),
    (Call("pmod", (number(-7), number(3)), INTEGER), 2),
    (Call("integer_divide", (number(-7), number(2)), LONG), -3),
    (Call("divide", (Literal(1.0, DOUBLE), Literal(0.0, DOUBLE)), DOUBLE), None),
    (call("and", Literal(None, BOOLEAN), Literal(False, BOOLEAN)), False),
    (call("or", Literal(None, BOOLEAN), Literal(False, BOOLEAN)), None),
    (call("in", number(1), number(2), Literal(None, INTEGER)), None),
    (call("in", number(1), number(1), Literal(None, INTEGER)), True),
    (call("eq", Literal(math.nan, DOUBLE), Literal(math.nan, DOUBLE)), True),
    (call("gt", Literal(math.nan, DOUBLE), Literal(math.inf, DOUBLE)), True),
    (call("eq", Literal(0.0, DOUBLE), Literal(-0.0, DOUBLE)), True),
    (call("nullsafe_eq", Literal(None, INTEGER), Literal(None, INTEGER)), True),
    (call("like", Literal("a_b", STRING), Literal("a\\_b", STRING), Literal("\\", STRING)), True),
    (call("like", Literal("axb", STRING), Literal("a\\_b", STRING), Literal("\\", STRING)), False),
    (call("like", Literal("a\nb", STRING), Literal("a%", STRING), Literal("\\", STRING)), True),
    (Call("substring", (Literal("Spark", STRING), number(0), number(2)), STRING), "Sp"),
    (Call("substring", (Literal("Spark", STRING), number(-3), number(2)), STRING), "ar"),
    (Call("substring", (Literal("Spark", STRING), number(-7), number(3)), STRING), "S"),
    (Call("substring", (Literal("Spark", STRING), number(9), number(3)), STRING), ""),
    (Call("date_add_interval", (Literal(dt.date(1995, 1, 31), DATE),
          Literal(1, YearMonthInterval())), DATE), dt.date(1995, 2, 28)),
    (Call("date_add_interval", (Literal(dt.date(1995, 1, 31), DATE),
          Literal(86_400_000_000, DayTimeInterval())), DATE), dt.date(1995, 2, 1)),
    (Call("cast", (Literal(1e7, DOUBLE),), STRING), "1.0E7"),
    (Call("cast", (Literal(0.1, DOUBLE),), STRING), "0.1"),
    (Call("cast", (Literal(" 12 ", STRING),), INTEGER), 12),
    (Call("cast", (Literal("1x", STRING),), INTEGER), None),
    (Call("cast", (Literal("2.345", STRING),), MONEY), decimal.Decimal("2.35")),
    (Call("cast", (Literal(True, BOOLEAN),), Decimal(10, 0)), decimal.Decimal(1)),
    (Call("round", (Literal(2.5, DOUBLE), number(0)), DOUBLE), 3.0),
    (Call("concat_ws", (Literal("-", STRING), Literal(None, STRING), Literal("a", STRING)), STRING),
     "a"),
    (Call("day_of_week", (Literal(dt.date(2024, 1, 7), DATE),), INTEGER), 1),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "expected"), EXPRESSIONS, ids=lambda value: str(value)[:40])
def test_expressions_mean_what_spark_means(expr: Expr, expected: Any) -> None:
    found = compile_expr(expr, (), Settings())(())
    assert (type(found), found) == (type(expected), expected)


def test_case_evaluates_only_the_branch_taken() -> None:
    bad = Call(
        "substring", (Literal("a", STRING), Literal(1, INTEGER), Literal("no", STRING)), STRING
    )
    taken = Call("case", (TRUE, Literal("x", STRING), bad), STRING)
    assert compile_expr(taken, (), Settings())(()) == "x"


@pytest.mark.parametrize(
    ("function", "of", "result", "expected"),
    [
        ("avg", Decimal(15, 2), Decimal(19, 6), decimal.Decimal("0.666667")),
        ("sum", Decimal(15, 2), Decimal(25, 2), decimal.Decimal("2.00")),
    ],
)
def test_decimal_aggregates(function: str, of: DataType, result: DataType, expected: Any) -> None:
    column = Column(1, "v", of)
    scan = Scan(id=1, table="r", occurrence=1, columns=(column,))
    called = Aggregation(Column(2, "x", result), AggregateCall(function, (column,), result))
    graph = OperatorGraph([scan, GroupBy(id=2, input=1, keys=(), aggregations=(called,))], 2)
    rows = [(decimal.Decimal(text),) for text in ("1.00", "1.00", "0.00")]
    (found,) = trace_graph(graph, {"r": rows}).rows
    assert str(found[0]) == str(expected)


@given(pipelines())
@settings(max_examples=count(150))
def test_early_filters_change_nothing(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    plain = trace_graph(graph, tables, keep_outputs=True)
    assume(not plain.ambiguous_limits)
    compared(len(plain.rows))
    moved = trace_graph(graph, tables)
    assert Counter(map(row_key, plain.rows)) == Counter(map(row_key, moved.rows))
    for row in plain.distinct_rows():
        assert plain.lineage(row) == moved.lineage(row)


def one_table_per_scan(pipeline: Pipeline) -> Pipeline:
    """The same pipeline with every scan reading a table of its own."""
    operators, tables = [], {}
    for operator in pipeline.graph.operators():
        if isinstance(operator, Scan):
            tables[f"scan {operator.id}"] = pipeline.tables[operator.table]
            operator = msgspec.structs.replace(operator, table=f"scan {operator.id}")
        operators.append(operator)
    return Pipeline(OperatorGraph(operators, pipeline.graph.root), tables)


@given(positive_pipelines())
@settings(max_examples=count(60))
def test_positive_lineage_is_the_union_of_minimal_witnesses(pipeline: Pipeline) -> None:
    """By brute force: run on every subset of the source rows, keep those minimal for the row.

    Without unions, negation and grouping every derivation of a row uses one row of each
    joined scan, so no derivation contains another, and the union of the minimal ones is
    the lineage.
    """
    graph, tables = one_table_per_scan(pipeline)
    everything = [(name, index) for name, rows in tables.items() for index in range(len(rows))]
    result = trace_graph(graph, tables)
    assume(len(everything) <= 8 and result.rows)
    witnesses: dict[tuple[Any, ...], list[set[tuple[str, int]]]] = {}
    for size in range(len(everything) + 1):
        for kept in map(set, itertools.combinations(everything, size)):
            subset = {
                name: [row for index, row in enumerate(rows) if (name, index) in kept]
                for name, rows in tables.items()
            }
            for row in trace_graph(graph, subset).distinct_rows():
                found = witnesses.setdefault(row_key(row), [])
                if not any(smaller <= kept for smaller in found):
                    found.append(kept)
    for row in result.distinct_rows():
        traced = {
            (f"scan {node}", index)
            for node, indexes in result.lineage(row).items()
            for index in indexes
        }
        assert traced == set().union(*witnesses[row_key(row)])
