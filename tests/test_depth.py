"""Deep pipelines are traced like others; pipelines that are too deep are refused in one line."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import predtrace
from predtrace.environment.recursion import deep_trees
from predtrace.errors import UnsupportedOperatorError


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> DataFrame:
    pq.write_table(pa.table({"id": [0, 1, 2, None], "v": [7, 8, 7, 7]}), tmp_path / "t")
    return spark.read.parquet(str(tmp_path / "t"))


def found(frame: DataFrame, target: Any, store: Path) -> list[Any]:
    job = predtrace.trace(frame).run(store, keep="none")
    again = predtrace.open_job(store, job.id)
    answer = again.lineage(target, engine="duckdb", mode="replayed")
    assert answer.label == "precise"
    assert answer.explain()
    return answer["t"].to_arrow(["id"]).column(0).to_pylist()


def test_columns_on_top_of_each_other(table: DataFrame, tmp_path: Path) -> None:
    limit = sys.getrecursionlimit()
    frame = table
    for number in range(200):
        frame = frame.withColumn(f"c{number % 3}", f.col("id" if number < 3 else f"c{number % 3}"))
    assert found(frame.select("c1", "v"), "c1 = 1", tmp_path / "jobs") == [1]
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (" OR ".join(f"id = {2 * number}" for number in range(300)), [0, 2]),
        (" AND ".join(f"id <> {2 * number}" for number in range(300)), [1]),
    ],
)
def test_long_conditions(
    table: DataFrame, tmp_path: Path, condition: str, expected: list[int]
) -> None:
    assert found(table.where(condition), "v >= 7", tmp_path / "jobs") == expected


def test_cases_in_the_else_of_cases(table: DataFrame, tmp_path: Path) -> None:
    """Spark's form of such a plan doubles with every level; one CASE has as many branches."""
    value, flat = f.lit(0), f.when(f.col("id") == 40, 40)
    for number in range(40):
        value = f.when(f.col("id") == number, number).otherwise(value)
        flat = flat.when(f.col("id") == number, number)
    with pytest.raises(UnsupportedOperatorError, match=r"CASE in the ELSE .*one CASE with many"):
        predtrace.trace(table.select(value.alias("k")))
    side_by_side = [
        f.when(f.col("id") == 1, 1).otherwise(f.when(f.col("id") == 2, 2)).alias(f"c{number}")
        for number in range(20)
    ]
    frame = table.select(flat.otherwise(0).alias("k"), *side_by_side)
    assert found(frame.select("k", "c3"), "k = 1", tmp_path / "jobs") == [1]


def nested(depth: int) -> int:
    return 0 if depth == 0 else 1 + nested(depth - 1)


def test_more_calls_are_allowed_inside_only() -> None:
    limit = sys.getrecursionlimit()
    with deep_trees():
        assert nested(4 * limit) == 4 * limit
        with deep_trees():
            assert nested(4 * limit) == 4 * limit
        assert nested(4 * limit) == 4 * limit
    assert sys.getrecursionlimit() == limit
    with (
        pytest.raises(UnsupportedOperatorError, match=r"nested too deeply .*Parquet"),
        deep_trees(),
    ):
        nested(10**6)
    assert sys.getrecursionlimit() == limit


def test_threads_that_overlap_leave_the_limit() -> None:
    limit = sys.getrecursionlimit()
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with deep_trees():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with deep_trees():
        thread.start()
        assert entered.wait(60)
    assert sys.getrecursionlimit() > limit
    leave.set()
    thread.join()
    assert sys.getrecursionlimit() == limit
