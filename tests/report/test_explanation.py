from __future__ import annotations

import msgspec
import pytest

from predtrace.inference import infer
from predtrace.inference.plan import LineagePlan, ScanLineage
from predtrace.report.explanation import Explanation
from predtrace.report.names import ColumnNames
from predtrace.report.operators import describe
from predtrace.text.layout import duration, number, size
from pushdown import operators as ops
from pushdown.graph import OperatorGraph
from symbolic.expr import FALSE, TRUE, Column, Expr, Literal, Param, call, conjunction, same
from symbolic.types import LONG, STRING
from tests.chains import chain
from tests.jobs.examples import GRAPH, PLAN, example_job

LEFT, RIGHT = Column(1, "n_name", STRING), Column(2, "n_name", STRING)
KEY, OTHER = Column(3, "n_key", LONG), Column(4, "o_key", LONG)
SELF_JOIN = OperatorGraph(
    [
        ops.InnerJoin(id=0, left=1, right=2, condition=call("eq", LEFT, RIGHT)),
        ops.Scan(id=1, table="nation", occurrence=1, columns=(LEFT, KEY), alias="n1"),
        ops.Scan(id=2, table="nation", occurrence=2, columns=(RIGHT, OTHER)),
    ],
    0,
)


def explanation() -> Explanation:
    return Explanation(OperatorGraph(GRAPH, 0), PLAN, example_job().intermediates)


def test_every_operator_and_verdict_is_shown() -> None:
    text = explanation().to_text(100)
    for said in (
        "sort by o_orderpriority",
        "semi join on o_orderkey = l_orderkey",
        "below as above",
        "right   l_orderkey = :o_orderkey@1",
        "verdict superset: not proved",
        "stored  intermediate 1",
        "5 rows, 60 B",
        "the semi join below needs o_orderkey",
    ):
        assert " ".join(said.split()) in " ".join(text.split())
    assert text == str(explanation())


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_text_keeps_to_the_width(width: int) -> None:
    assert max(map(len, explanation().to_text(width).splitlines())) <= width


def test_plain_data_is_json() -> None:
    data = msgspec.json.decode(msgspec.json.encode(explanation().to_dict()))
    assert data["label"] == "superset"
    assert [operator["node"] for operator in data["operators"]] == [0, 1, 2, 3, 5, 4]
    (intermediate,) = data["intermediates"]
    assert intermediate["columns"] == ["o_orderkey", "o_orderpriority"]
    assert intermediate["stored_bytes"] == 60
    assert [scan["scan"] for scan in data["scans"]] == ["lineitem", "orders"]


def test_a_plan_without_intermediates() -> None:
    scans = (ScanLineage(node=1, predicate=TRUE, binding=0),)
    graph = OperatorGraph([ops.Scan(id=1, table="t", occurrence=1, columns=(KEY,))], 1)
    plan = LineagePlan(aggregates="whole", scans=scans, intermediates=(), steps=())
    shown = Explanation(graph, plan)
    assert "none needed" in shown.to_text()
    assert shown.label == "precise"


def test_equal_names_are_told_apart() -> None:
    names = ColumnNames(SELF_JOIN)
    assert describe(SELF_JOIN[0], SELF_JOIN) == "inner join on n1.n_name = nation.n_name"
    assert describe(SELF_JOIN[2], SELF_JOIN) == "scan nation[2]"
    assert names.expression(same(RIGHT, Param(1, 1, "n_name", STRING))) == (
        "nation.n_name <=> :n1.n_name@1"
    )
    assert names.expression(KEY) == "n_key"


def selection(*columns: Column, binding: int = 0) -> Expr:
    return conjunction(*(same(c, Param(binding, c.id, c.name, c.type)) for c in columns))


def test_predicates_in_short() -> None:
    names = ColumnNames(SELF_JOIN)
    assert names.predicate(TRUE) == "every row"
    assert names.predicate(FALSE) == "no row"
    assert names.predicate(selection(KEY)) == "n_key <=> :n_key"
    assert names.predicate(selection(LEFT, KEY, OTHER)) == (
        "equal to the target row in (n1.n_name, n_key, o_key)"
    )
    more = call("or", call("eq", KEY, OTHER), call("is_null", KEY))
    assert names.predicate(conjunction(selection(LEFT, KEY, OTHER, binding=2), more)) == (
        "equal to the row of intermediate 2 in (n1.n_name, n_key, o_key) "
        "AND (n_key = o_key OR n_key IS NULL)"
    )


SCAN = ops.Scan(id=9, table="t", occurrence=1, columns=(KEY, LEFT))
COUNT = ops.AggregateCall("count", (), LONG, filter=call("gt", KEY, Literal(1, LONG)))
DISTINCT = ops.AggregateCall("sum", (KEY,), LONG, distinct=True)
N = Column(7, "n", LONG)


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (ops.Filter(id=0, input=9, condition=call("is_null", KEY)), "filter n_key IS NULL"),
        (
            ops.RowTransform(
                id=0,
                input=9,
                assignments=(ops.Assignment(KEY, KEY), ops.Assignment(N, call("abs", KEY))),
            ),
            "project n_key, n = abs(n_key)",
        ),
        (
            ops.GroupBy(
                id=0,
                input=9,
                keys=(ops.Assignment(LEFT, LEFT),),
                aggregations=(ops.Aggregation(N, COUNT),),
            ),
            "group by n_name: n = count(*) where n_key > 1",
        ),
        (
            ops.GroupBy(id=0, input=9, keys=(), aggregations=(ops.Aggregation(N, DISTINCT),)),
            "aggregate all rows: n = sum(distinct n_key)",
        ),
        (ops.Distinct(id=0, input=9), "distinct"),
        (
            ops.Sort(id=0, input=9, keys=(ops.SortKey(KEY, ascending=False), ops.SortKey(LEFT))),
            "sort by n_key descending, n_name",
        ),
        (ops.Limit(id=0, input=9, count=10), "limit 10"),
        (ops.Limit(id=0, input=9, count=None, offset=5), "limit none after skipping 5"),
    ],
)
def test_labels_of_operators(operator: ops.Operator, text: str) -> None:
    assert describe(operator, OperatorGraph([operator, SCAN], 0)) == text


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (ops.InnerJoin(id=0, left=1, right=2, condition=TRUE), "cross join"),
        (
            ops.OuterJoin(id=0, left=1, right=2, condition=call("eq", KEY, OTHER), kind="full"),
            "full outer join on n_key = o_key",
        ),
        (
            ops.AntiJoin(id=0, left=1, right=2, condition=call("eq", KEY, OTHER)),
            "anti join on n_key = o_key",
        ),
        (
            ops.MarkJoin(id=0, left=1, right=2, condition=call("eq", KEY, OTHER), mark=N),
            "mark join (n) on n_key = o_key",
        ),
        (ops.ScalarSubquery(id=0, left=1, right=2, column=N), "scalar subquery as n"),
        (
            ops.Union_(id=0, inputs=(1, 2), branches=((KEY,), (OTHER,)), columns=(N,)),
            "union all of 2",
        ),
        (
            ops.Except(id=0, left=1, right=2, branches=((KEY,), (OTHER,)), columns=(N,), all=True),
            "except all",
        ),
    ],
)
def test_labels_of_binary_operators(operator: ops.Operator, text: str) -> None:
    graph = OperatorGraph([operator, SELF_JOIN[1], SELF_JOIN[2]], 0)
    assert describe(operator, graph) == text


def test_small_texts() -> None:
    assert [size(0), size(999), size(4_500_000), size(None)] == ["0 B", "999 B", "4.5 MB", "?"]
    assert size(float("inf")) == "?"
    assert [duration(0.035), duration(1.94), duration(125)] == ["35 ms", "1.9 s", "2 min 5 s"]
    assert [number(1_500_000), number(None), number(float("nan"))] == ["1,500,000", "?", "?"]


def test_what_several_operators_read_is_shown_once() -> None:
    """In a chain of 30 steps there are 2^30 paths."""
    graph = chain(["union"], 30).graph
    shown = Explanation(graph, infer(graph))
    (scan,) = shown.to_dict()["scans"]
    assert " OR " in scan["predicate"]
    text = shown.to_text(400)
    for node in graph.shared - {scan["node"]}:
        assert text.count(f"  #{node}\n") + text.count(f"  #{node} ") == 1
        assert f"operator #{node}, which is shown elsewhere" in text
    several = [operator for operator in shown.to_dict()["operators"] if "also" in operator]
    assert several
    assert all(step["verdict"] == "exact" for operator in several for step in operator["also"])
