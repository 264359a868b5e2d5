"""Inference on small pipelines: where intermediates are placed, with which columns, and why."""

from __future__ import annotations

import pytest

from predtrace.inference import infer
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Filter,
    GroupBy,
    InnerJoin,
    Limit,
    Operator,
    RowTransform,
    Sample,
    Scan,
    SemiJoin,
)
from symbolic.expr import Column, Literal, call, render
from symbolic.types import DOUBLE, LONG, STRING, DataType

OK, PRIORITY = Column(1, "o_orderkey", LONG), Column(2, "o_orderpriority", STRING)
LK, QUANTITY = Column(3, "l_orderkey", LONG), Column(4, "l_quantity", LONG)
CUST, CK = Column(6, "o_custkey", LONG), Column(7, "c_custkey", LONG)
RESULT = Column(9, "n", LONG)
ORDERS = Scan(id=0, table="orders", occurrence=1, columns=(OK, PRIORITY, CUST))
LINEITEM = Scan(id=1, table="lineitem", occurrence=1, columns=(LK, QUANTITY))
CUSTOMER = Scan(id=2, table="customer", occurrence=1, columns=(CK,))
SAME_ORDER = call("eq", OK, LK)


def graph(*operators: Operator) -> OperatorGraph:
    return OperatorGraph(operators, operators[-1].id)


def counted(node: int, source: int, *keys: Column, result: DataType = LONG) -> GroupBy:
    argument = () if result == LONG else (QUANTITY,)
    return GroupBy(
        id=node,
        input=source,
        keys=tuple(Assignment(key, key) for key in keys),
        aggregations=(
            Aggregation(
                Column(9, "n", result),
                AggregateCall("count" if result == LONG else "sum", argument, result),
            ),
        ),
    )


def test_exists_stores_the_semi_join_with_its_key() -> None:
    """The paper's running example (TPC-H Q4, Section 3.4)."""
    semi = SemiJoin(id=3, left=0, right=1, condition=SAME_ORDER)
    plan = infer(graph(ORDERS, LINEITEM, semi, counted(4, 3, PRIORITY)))
    (stored,) = plan.intermediates
    assert stored.node == 3
    assert {column.name for column in stored.columns} == {"o_orderkey", "o_orderpriority"}
    assert render(stored.predicate) == "o_orderpriority <=> :o_orderpriority"
    assert "operator 3 (SemiJoin)" in stored.why
    predicates = {scan.node: render(scan.predicate) for scan in plan.scans}
    assert predicates[1] == "l_orderkey = :o_orderkey@1"
    assert {scan.label for scan in plan.scans} == {PRECISE}


def test_nothing_is_stored_when_the_group_pins_the_key() -> None:
    semi = SemiJoin(id=3, left=0, right=1, condition=SAME_ORDER)
    plan = infer(graph(ORDERS, LINEITEM, semi, counted(4, 3, OK)))
    assert plan.intermediates == ()


def test_storing_is_deferred_to_a_later_and_smaller_result() -> None:
    """Algorithm 2: the filter above the join loses nothing and keeps less."""
    join = InnerJoin(id=3, left=0, right=1, condition=SAME_ORDER)
    kept = Filter(id=4, input=3, condition=call("eq", QUANTITY, OK))
    plan = infer(graph(ORDERS, LINEITEM, join, kept, counted(5, 4, PRIORITY)))
    (stored,) = plan.intermediates
    assert stored.node == 4
    assert "later and smaller" in stored.why


def test_equal_columns_are_kept_once() -> None:
    """o_orderkey and l_orderkey have one value in every joined row."""
    join = InnerJoin(id=3, left=0, right=1, condition=SAME_ORDER)
    again = InnerJoin(id=4, left=3, right=2, condition=call("eq", CUST, CK))
    plan = infer(graph(ORDERS, LINEITEM, CUSTOMER, join, again, counted(5, 4, PRIORITY)))
    (stored,) = plan.intermediates
    names = {column.name for column in stored.columns}
    assert "o_orderpriority" in names
    assert len(names & {"o_orderkey", "l_orderkey"}) == 1
    assert len(names & {"o_custkey", "c_custkey"}) == 1
    assert len(names) == 3


def test_an_aggregate_without_its_key_is_stored_with_it() -> None:
    dropped = RowTransform(id=4, input=3, assignments=(Assignment(RESULT, RESULT),))
    plan = infer(graph(ORDERS, counted(3, 0, CUST), dropped))
    (stored,) = plan.intermediates
    assert (stored.node, {column.name for column in stored.columns}) == (3, {"n", "o_custkey"})


@pytest.mark.parametrize("position", ["limit", "sample", "float sum"])
def test_what_another_run_need_not_repeat_is_stored_inline(position: str) -> None:
    unrepeatable: Operator
    if position in ("limit", "sample"):
        unrepeatable = Limit(id=3, input=0, count=5)
        if position == "sample":
            unrepeatable = Sample(id=3, input=0, lower=0.0, upper=0.5, with_replacement=False)
        above = RowTransform(id=4, input=3, assignments=(Assignment(PRIORITY, PRIORITY),))
        plan = infer(graph(ORDERS, unrepeatable, above))
    else:
        total = counted(3, 1, LK, result=DOUBLE)
        above = RowTransform(
            id=4,
            input=3,
            assignments=(Assignment(total.aggregations[0].column, Column(9, "n", DOUBLE)),),
        )
        plan = infer(graph(LINEITEM, total, above))
    assert [stored.inline for stored in plan.intermediates] == [True]


def test_estimates_of_the_sources_decide_the_place() -> None:
    """A join with a small table is smaller than one with a large table."""
    join = InnerJoin(id=3, left=0, right=1, condition=SAME_ORDER)
    again = InnerJoin(id=4, left=3, right=2, condition=call("eq", CUST, Literal(1, LONG)))
    pipeline = graph(ORDERS, LINEITEM, CUSTOMER, join, again, counted(5, 4, PRIORITY))
    small = {0: (1e4, 0.0), 1: (4e4, 0.0), 2: (1.0, 0.0)}
    large = {0: (1e4, 0.0), 1: (4e4, 0.0), 2: (1e6, 0.0)}
    assert [stored.node for stored in infer(pipeline, estimates=small).intermediates] == [4]
    assert [stored.node for stored in infer(pipeline, estimates=large).intermediates] == [3]


def test_steps_cover_every_operator_with_inputs() -> None:
    semi = SemiJoin(id=3, left=0, right=1, condition=SAME_ORDER)
    pipeline = graph(ORDERS, LINEITEM, semi, counted(4, 3, PRIORITY))
    assert [step.node for step in infer(pipeline).steps] == [4, 3]
