"""Compiled graphs on Spark, and what DuckDB declares exact of plans measured against it."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import TYPE_CHECKING, Any, get_args

import duckdb
import msgspec
import pytest
from hypothesis import assume, given, settings

from predtrace.engines.duckdb.dialect import DUCKDB_DIALECT
from predtrace.engines.duckdb.exact_plans import plan_inexactness
from predtrace.engines.spark.dialect import QUESTIONS
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.sql.relational import BUILDERS, plan_query
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Distinct,
    GroupBy,
    Limit,
    Operator,
    RowTransform,
    Scan,
    Sort,
    SortKey,
)
from symbolic.expr import Call, Column, Literal, call
from symbolic.functions import AGGREGATES
from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    Binary,
    DataType,
    Decimal,
    Integer,
    Map,
    String,
    is_numeric,
)
from tests.engines.plans import InDuckDB, Row, bag, spark_views
from tests.engines.tables import SETTINGS, targets
from tests.reference import trace_graph
from tests.strategies import Pipeline, count, phases, pipelines
from tests.strategies.aggregates import result_type
from tests.strategies.compared import enough_compared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

D = decimal.Decimal
UTC = dt.UTC
LEGACY = msgspec.structs.replace(SETTINGS, ansi=False)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """The session that the Spark engine works in."""
    own = SparkEngine(spark).open(targets([], [], False), SETTINGS).session
    own.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    own.conf.set("spark.sql.shuffle.partitions", "1")
    return own


def in_spark(session: SparkSession, graph: OperatorGraph, tables: Any) -> list[Row]:
    scans = spark_views(session, graph, tables)
    query = plan_query(graph, graph.root, QUESTIONS[SETTINGS.ansi], scans)
    width = len(graph.output())
    return [tuple(row)[:width] for row in session.sql(query.sql("spark")).collect()]


@pytest.mark.spark
def test_random_graphs_on_spark(session: SparkSession) -> None:
    @given(pipeline=pipelines(operators=6))
    @settings(max_examples=count(12), phases=phases())
    def run(pipeline: Pipeline) -> None:
        expected = trace_graph(*pipeline, keep_outputs=True)
        assume(not expected.ambiguous_limits and len(pipeline.graph) > 4)
        assert bag(in_spark(session, *pipeline)) == bag(expected.rows)

    with enough_compared(run):
        run()


# -- aggregates

VALUES: dict[str, tuple[DataType, list[Any]]] = {
    "flag": (BOOLEAN, [True, False, True, None]),
    "tiny": (Integer(8), [127, 127, -128, None]),
    "small": (INTEGER, [2**31 - 1, 2**31 - 1, -5, None]),
    "whole": (LONG, [2**60, -1, 7, None]),
    "money": (Decimal(12, 2), [D("0.01"), D("-0.02"), D("9999999999.99"), None]),
    "wide": (Decimal(28, 10), [D("0.0000000001"), D("9" * 12 + ".9999999999"), D("-1"), None]),
    "long": (Decimal(38, 4), [D("9" * 33 + ".9999"), D("-0.0001"), D("1.5"), None]),
    "real": (DOUBLE, [0.0, -0.0, math.nan, None]),
    "text": (STRING, ["b", "", "\U0001f600", "\uffff", None]),
    "bytes": (Binary(), [b"", b"\xff", b"a", None]),
    "day": (DATE, [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), None]),
    "instant": (TIMESTAMP, [dt.datetime(2024, 3, 31, 1, 30, tzinfo=UTC), None]),
}
COLUMNS = tuple(
    Column(place, name, data_type) for place, (name, (data_type, _)) in enumerate(VALUES.items())
)
SOURCE = Scan(id=1, table="values", occurrence=1, columns=COLUMNS)
FLAG = COLUMNS[0]
TOO_LONG = AggregateCall("avg", (COLUMNS[6],), Decimal(38, 8))
"""A mean that there are not always digits enough for."""


def rows_at(*places: int) -> list[Row]:
    return [tuple(values[place % len(values)] for _, values in VALUES.values()) for place in places]


SHAPES: dict[str, list[Row]] = {
    "empty": [],
    "nulls": [(None,) * len(VALUES)] * 2,
    "one": rows_at(0),
    "duplicates": [*rows_at(1, 1, 1), (None,) * len(VALUES), *rows_at(2, 2)],
    "all": rows_at(*range(12)),
}


def calls() -> list[AggregateCall]:
    """Each aggregate on each type that DuckDB computes exactly, plain, distinct and filtered."""
    found = [AggregateCall("count", (), LONG)]
    found += [AggregateCall("count", COLUMNS[2:4], LONG, distinct) for distinct in (False, True)]
    for column in COLUMNS:
        for function in AGGREGATES:
            if function in ("sum", "try_sum", "avg") and not is_numeric(column.type):
                continue
            if function in ("bool_and", "bool_or", "count_if") and column.type != BOOLEAN:
                continue
            made = AggregateCall(function, (column,), result_type(function, column.type))
            if made == TOO_LONG:
                continue
            if reason(made) is None:
                found += [
                    made,
                    msgspec.structs.replace(made, filter=FLAG),
                    msgspec.structs.replace(made, distinct=True),
                ]
    return found


def grouped(some: list[AggregateCall], *keys: Assignment) -> OperatorGraph:
    aggregations = tuple(
        Aggregation(Column(1000 + place, made.function, made.type), made)
        for place, made in enumerate(some)
    )
    return OperatorGraph([SOURCE, GroupBy(id=2, input=1, keys=keys, aggregations=aggregations)], 2)


def reason(made: AggregateCall) -> str | None:
    return plan_inexactness(grouped([made]), 2, SETTINGS)


CALLS = calls()


def test_every_exact_aggregate_and_every_operator_is_measured() -> None:
    assert {*get_args(Operator)} == BUILDERS.keys()
    assert {made.function for made in CALLS} == DUCKDB_DIALECT.aggregates.keys()


@pytest.mark.spark
@pytest.mark.parametrize("shape", SHAPES)
def test_aggregates_as_in_spark(session: SparkSession, shape: str) -> None:
    graph, tables = grouped(CALLS), {"values": SHAPES[shape]}
    ((*expected,),) = in_spark(session, graph, tables)
    with InDuckDB(graph, tables) as database:
        ((*found,),) = database.rows(2)
    for made, wanted, got in zip(CALLS, expected, found, strict=True):
        assert shown(wanted) == shown(got), made


def shown(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dt.datetime):
        return value.astimezone(UTC)
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.spark
def test_means_round_half_up_as_in_spark(session: SparkSession) -> None:
    """Sums of which a 32nd, 64th … lies half-way between two means, and next to it."""
    size, cents = Column(0, "size", INTEGER), Column(1, "cents", Decimal(12, 2))
    scan = Scan(id=1, table="t", occurrence=1, columns=(size, cents))
    mean = AggregateCall("avg", (cents,), Decimal(16, 6))
    means = Column(2, "mean", mean.type)
    over = call("gt", means, Literal(D("0.000312"), Decimal(6, 6)))
    graph = OperatorGraph(
        [
            scan,
            GroupBy(
                id=2,
                input=1,
                keys=(Assignment(size, size),),
                aggregations=(Aggregation(means, mean),),
            ),
            RowTransform(
                id=3,
                input=2,
                assignments=(
                    Assignment(size, size),
                    Assignment(means, means),
                    Assignment(Column(3, "over", BOOLEAN), over),
                ),
            ),
        ],
        3,
    )
    rows: list[Row] = []
    for total in (D("0.01"), D("-0.01"), D("0.03"), D("-0.03"), D("0.05"), D("1234.57")):
        for number in (3, 7, 32, 33, 64, 96, 160):
            name = len(rows)
            rows += [(name, total), *[(name, D("0.00"))] * (number - 1)]
    assert plan_inexactness(graph, 3, SETTINGS) is None
    expected = in_spark(session, graph, {"t": rows})
    with InDuckDB(graph, {"t": rows}) as database:
        found = database.rows(3)
    assert bag(found) == bag(expected)
    # A 32nd of a cent, with either sign, and a 33rd.
    assert {D("0.000313"), D("-0.000313"), D("0.000303")} <= {mean for _, mean, _ in found}


def test_a_mean_of_too_many_digits_fails() -> None:
    graph = grouped([TOO_LONG])
    assert plan_inexactness(graph, 2, SETTINGS) is None
    with (
        InDuckDB(graph, {"values": SHAPES["one"]}) as database,
        pytest.raises(duckdb.Error, match="more digits"),
    ):
        database.rows(2)
    with InDuckDB(graph, {"values": rows_at(1, 2)}) as database:
        assert database.rows(2) == [(D("0.74995000"),)]


@pytest.mark.spark
def test_groups_of_floats_as_in_spark(session: SparkSession) -> None:
    rows = [(value,) for value in (0.0, -0.0, math.nan, None, 1.5, -math.nan, None, math.inf)]
    real = Column(1, "real", DOUBLE)
    scan = Scan(id=1, table="t", occurrence=1, columns=(real,))
    counts = (Aggregation(Column(2, "n", LONG), AggregateCall("count", (), LONG)),)
    for operator in (
        GroupBy(id=2, input=1, keys=(Assignment(real, real),), aggregations=counts),
        Distinct(id=2, input=1),
    ):
        graph = OperatorGraph([scan, operator], 2)
        assert plan_inexactness(graph, 2, SETTINGS) is None
        expected = in_spark(session, graph, {"t": rows})
        with InDuckDB(graph, {"t": rows}) as database:
            assert bag(database.rows(2)) == bag(expected)
        assert len(expected) == 5


# -- what is refused

MONEY, SHORT, REAL = COLUMNS[4], Column(90, "short", Decimal(11, 2)), COLUMNS[7]
MAPPED = Column(91, "map", Map(STRING, LONG))
GERMAN = Column(92, "german", String("DE"))


ALIKE = Call("ilike", (COLUMNS[8], COLUMNS[8]), BOOLEAN)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (AggregateCall("sum", (REAL,), DOUBLE), "order of the rows"),
        (AggregateCall("avg", (REAL,), DOUBLE), "floating-point"),
        (AggregateCall("avg", (COLUMNS[2],), DOUBLE), "floating-point"),
        (AggregateCall("avg", (SHORT,), Decimal(15, 6)), "as doubles"),
        (AggregateCall("stddev_samp", (MONEY,), DOUBLE), "rounding"),
        (AggregateCall("max", (GERMAN,), STRING), "compared otherwise"),
        (AggregateCall("count", (MAPPED,), LONG, distinct=True), "compared otherwise"),
        (
            AggregateCall("count", (ALIKE,), LONG),
            "Unicode",
        ),
        (AggregateCall("count", (), LONG, filter=call("my_udf", REAL)), "unknown"),
        (AggregateCall("mode", (MONEY,), MONEY.type), "unknown"),
    ],
)
def test_aggregates_that_are_not_exact(made: AggregateCall, why: str) -> None:
    found = reason(made)
    assert found is not None
    assert found.startswith("GroupBy: ")
    assert why in found


def test_overflow_is_the_jobs_own_in_ansi_mode_only() -> None:
    for made in (
        AggregateCall("sum", (COLUMNS[3],), LONG),
        AggregateCall("sum", (COLUMNS[6],), Decimal(38, 4)),
    ):
        assert plan_inexactness(grouped([made]), 2, SETTINGS) is None
        assert "overflow" in (plan_inexactness(grouped([made]), 2, LEGACY) or "")
    roomy = AggregateCall("sum", (MONEY,), Decimal(22, 2))
    assert plan_inexactness(grouped([roomy]), 2, LEGACY) is None


def test_keys_and_columns_that_are_not_compared_alike() -> None:
    scan = Scan(id=1, table="t", occurrence=1, columns=(GERMAN,))
    for operator in (
        GroupBy(id=2, input=1, keys=(Assignment(GERMAN, GERMAN),), aggregations=()),
        Distinct(id=2, input=1),
        Sort(id=2, input=1, keys=(SortKey(GERMAN),)),
    ):
        assert "string" in (plan_inexactness(OperatorGraph([scan, operator], 2), 2, SETTINGS) or "")
    graph = OperatorGraph([scan, Limit(id=2, input=1, count=1)], 2)
    assert plan_inexactness(graph, 2, SETTINGS) is None


def test_only_the_plan_under_the_node_counts() -> None:
    made = Assignment(Column(50, "u", BOOLEAN), ALIKE)
    graph = OperatorGraph([SOURCE, RowTransform(id=2, input=1, assignments=(made,))], 2)
    assert plan_inexactness(graph, 1, SETTINGS) is None
    assert (plan_inexactness(graph, 2, SETTINGS) or "").startswith(
        "RowTransform: the function ilike"
    )
