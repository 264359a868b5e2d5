"""An analyzed plan and its session are enough: there need not be a DataFrame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from predtrace.api import Trace
from predtrace.frontends.spark import SparkPipeline, read_pipeline, read_plan
from tests.frontends.spark.shapes import shape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Read = Callable[[str], SparkPipeline]
STATEMENTS = [
    "SELECT g, max(v) AS m FROM t WHERE k > 1 GROUP BY g",
    "WITH c AS (SELECT k, w FROM u) SELECT a.k, b.w AS k FROM c a LEFT JOIN c b ON a.k = b.k",
    "SELECT k FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k) ORDER BY v DESC LIMIT 2",
    "SELECT k, current_date() AS today FROM t WHERE v IN (SELECT w / 10 FROM u)",
]


def analyzed(frame: Any) -> Any:
    return frame._jdf.queryExecution().analyzed()


def bag(frame: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in frame.collect())


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_plan_is_read_as_its_dataframe(
    spark: SparkSession, views: None, tmp_path: Path, statement: str
) -> None:
    frame = spark.sql(statement)
    by_frame, by_plan = read_pipeline(frame), read_plan(spark, analyzed(frame))
    assert by_plan.graph.operators() == by_frame.graph.operators()
    assert by_plan.graph.root == by_frame.graph.root
    for field in ("sources", "settings", "query", "time_dependent", "call_sites", "front_end"):
        assert getattr(by_plan, field) == getattr(by_frame, field)
    assert by_plan.call_sites
    assert by_plan.estimates() == by_frame.estimates()
    result = by_plan.run(tmp_path, [])
    assert result.dataframe.columns == frame.columns
    assert bag(result.dataframe) == bag(frame)


def test_the_session_is_the_one_that_is_given(spark: SparkSession, data: Path) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    plan = analyzed(own.read.parquet(str(data / "t")))
    pipeline = read_plan(own, plan)
    assert (pipeline.spark, pipeline.settings.time_zone) == (own, "Asia/Tokyo")
    active: Any = spark._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    assert not (active.isDefined() and active.get().equals(own._jsparkSession))


def test_a_plan_is_run_and_asked(spark: SparkSession, views: None, tmp_path: Path) -> None:
    plan = analyzed(spark.sql("SELECT g, sum(v) AS s FROM t GROUP BY g"))
    job = Trace(read_plan(spark, plan, text="SELECT …")).run(tmp_path, keep="late").wait()
    assert (job.record.query, job.record.front_end) == ("SELECT …", "spark")
    assert bag(job.output) == {("a", 30): 1, ("b", 60): 1, (None, None): 1}
    answer = job.lineage({"g": "b"}, engine="duckdb")
    assert answer.label == "precise"
    assert sorted(answer["t"].row_ids().column("row").to_pylist()) == [2, 3]


def test_a_part_of_a_plan_is_a_pipeline_of_its_own(spark: SparkSession, views: None) -> None:
    whole = analyzed(spark.sql("SELECT count(*) FROM t WHERE k > 1"))
    part = read_plan(spark, whole.children().head())
    assert shape(part) == "Filter(t1)"
