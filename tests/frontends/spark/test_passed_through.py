"""Plan nodes that pass rows on: pipe syntax, hints and observed metrics change no answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

import predtrace
from predtrace.frontends.spark import SparkPipeline, read_pipeline
from pushdown.operators import GroupBy
from tests.frontends.spark.shapes import shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Read = Callable[[str], SparkPipeline]
SAME = {
    "FROM t |> WHERE k > 1": "SELECT * FROM t WHERE k > 1",
    "FROM t, u |> WHERE t.k = u.k |> SELECT w": "SELECT w FROM t, u WHERE t.k = u.k",
    "FROM t |> AGGREGATE max(v) AS m, sum(k) AS s GROUP BY g |> WHERE g > 'a' |> SELECT g, m": (
        "SELECT g, m FROM (SELECT g, max(v) AS m, sum(k) AS s FROM t GROUP BY g) WHERE g > 'a'"
    ),
    "FROM t |> JOIN u USING (k) |> ORDER BY w |> LIMIT 2 OFFSET 1 |> SELECT w": (
        "SELECT w FROM (SELECT * FROM t JOIN u USING (k) ORDER BY w LIMIT 2 OFFSET 1)"
    ),
    "SELECT g FROM t WHERE EXISTS (FROM u |> WHERE w > 100 |> WHERE u.k = t.k)": (
        "SELECT g FROM t WHERE EXISTS "
        "(SELECT * FROM (SELECT * FROM u WHERE w > 100) u WHERE u.k = t.k)"
    ),
    "SELECT v, (FROM u |> WHERE u.k = t.k |> AGGREGATE max(w)) AS m FROM t": (
        "SELECT v, (SELECT max(w) FROM u WHERE u.k = t.k) AS m FROM t"
    ),
    "SELECT /*+ REBALANCE(g) */ g, m FROM (SELECT /*+ REBALANCE */ g, max(v) AS m, sum(k) AS s "
    "FROM t GROUP BY g)": "SELECT g, m FROM (SELECT g, max(v) AS m, sum(k) AS s FROM t GROUP BY g)",
}
"""A statement, and the plain one that means the same."""


def aggregates(pipeline: SparkPipeline) -> list[str]:
    return [
        aggregation.call.function
        for operator in pipeline.graph.operators()
        if isinstance(operator, GroupBy)
        for aggregation in operator.aggregations
    ]


@pytest.mark.parametrize("statement", SAME)
def test_the_plan_is_that_of_the_plain_statement(read: Read, statement: str) -> None:
    one, other = read(statement), read(SAME[statement])
    assert shape(one) == shape(other)
    assert aggregates(one) == aggregates(other)


def test_an_unread_aggregate_before_a_pipe_has_no_lineage(
    spark: SparkSession, views: None, tmp_path: Path
) -> None:
    """The rows that attain the max, not the whole group: nothing reads the sum."""
    (statement,) = (text for text in SAME if text.startswith("FROM t |> AGGREGATE"))
    job = predtrace.trace(statement.replace("g > 'a'", "g < 'b'"), spark).run(tmp_path)
    answer = job.lineage({"g": "a"}, engine="duckdb")
    assert answer.label == "precise"
    assert answer["t"].row_ids().column("row").to_pylist() == [1]


METRICS: dict[str, Any] = {
    "aggregates": lambda: (f.count("*").alias("n"), f.sum("v").alias("s")),
    "a subquery": lambda: (f.expr("count(v) + (SELECT max(w) FROM u)").alias("n"),),
}
FRAMES: dict[str, tuple[Callable[[DataFrame, DataFrame], DataFrame], str]] = {
    "at the top": (lambda t, u: t, "t1"),
    "below a group": (lambda t, u: t.groupBy("g").count(), "GroupBy(t1)"),
    "above a limit": (lambda t, u: t.select("g").distinct(), "Distinct(RowTransform(t1))"),
    "in a join": (
        lambda t, u: u.join(t.select("k", "g"), "k"),
        "RowTransform(InnerJoin(u1, RowTransform(t1)))",
    ),
    "with itself": (
        lambda t, u: t.alias("a").join(t.alias("b"), f.col("a.k") == f.col("b.k")).select("b.v"),
        "RowTransform(InnerJoin(t1, t2))",
    ),
}


@pytest.mark.parametrize("metrics", METRICS)
@pytest.mark.parametrize("name", FRAMES)
def test_observed_metrics_are_nothing_to_lineage(
    spark: SparkSession, views: None, name: str, metrics: str
) -> None:
    make, expected = FRAMES[name]
    observed = spark.table("t").observe("seen", *METRICS[metrics]())
    assert shape(read_pipeline(make(observed, spark.table("u")))) == expected


def test_metrics_of_a_subquery_are_left_out(spark: SparkSession, views: None) -> None:
    text = "SELECT g FROM t WHERE EXISTS (SELECT * FROM watched w WHERE w.k = t.k)"
    observed = spark.table("u").observe("seen", f.count("*").alias("n"))
    observed.createOrReplaceTempView("watched")
    try:
        found = shape(read_pipeline(text, spark))
    finally:
        spark.catalog.dropTempView("watched")
    assert found == "RowTransform(SemiJoin(t1, watched1))"


@pytest.mark.parametrize("keep", ["inline", "none"])
def test_an_observed_frame_is_run_and_asked(
    spark: SparkSession, views: None, tmp_path: Path, keep: str
) -> None:
    """Also where the run is split below the metrics: they read columns that nothing else does."""
    some = spark.table("t").filter("v IS NOT NULL").orderBy("v").limit(3)
    observed = some.observe("seen", f.sum("m").alias("s"), f.count("d").alias("n"))
    frame = observed.groupBy("g").agg(f.max("v").alias("top"))
    job = predtrace.trace(frame).run(tmp_path, keep=keep)
    assert {tuple(row) for row in job.output.collect()} == {("a", 20), ("b", 30)}
    if keep == "inline":
        assert job.record.intermediates
        answer = job.lineage({"g": "a"}, engine="duckdb")
        assert answer["t"].row_ids().column("row").to_pylist() == [1]
