"""Integers added as doubles: replayed where every partial sum is exact, else refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError, PredTraceError, TargetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDGE = 2**53
ROWS: list[tuple[str, int | None, int]] = [
    ("small", 1, 1),
    ("small", 2, 2),
    ("small", None, 3),
    ("small", -4, 1),
    ("edge", EDGE - 1, 1),
    ("edge", -1, 2),
    ("beyond", EDGE, 1),
    ("beyond", 1, 1),
    # Adds up to little, but not on the way.
    ("cancelled", -(2**62), 1),
    ("cancelled", 2**62, 1),
    ("cancelled", 1, 2),
    ("none", None, 2),
]
EXACT = ("small", "edge", "none")


@pytest.fixture(params=["true", "false"], ids=["ansi", "no ansi"])
def session(spark: SparkSession, tmp_path: Path, request: Any) -> Iterator[SparkSession]:
    """The rows as the view ``sums``, in both ANSI modes."""
    groups, numbers, small = zip(*ROWS, strict=True)
    table = pa.table({"g": groups, "n": pa.array(numbers, pa.int64()), "k": small})
    pq.write_table(table, tmp_path / "sums.parquet")
    spark.read.parquet(str(tmp_path / "sums.parquet")).createOrReplaceTempView("sums")
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", before)
    spark.catalog.dropTempView("sums")


def rows_of(answer: Any) -> list[int]:
    assert answer.label == "precise"
    return sorted(answer["sums"].row_ids().column("row").to_pylist())


def replayed(job: Any, group: str, spark: SparkSession) -> list[int]:
    return rows_of(job.lineage({"g": group}, mode="replayed", engine="spark", spark=spark))


def test_exact_sums_are_replayed(session: SparkSession, tmp_path: Path) -> None:
    """The group that is asked for counts, not what lies beside it."""
    query = "SELECT g, avg(n) AS m, sum(CAST(k AS DOUBLE)) AS s, median(n) AS d"
    query += " FROM sums GROUP BY g"
    job = predtrace.trace(query, session).record(tmp_path / "store")
    for group in EXACT:
        expected = [row for row, (g, _, _) in enumerate(ROWS) if g == group]
        assert replayed(job, group, session) == expected


@pytest.mark.parametrize("mean", ["avg(n)", "sum(CAST(n AS DOUBLE))", "avg(DISTINCT n)"])
def test_sums_that_may_be_rounded_are_refused(
    session: SparkSession, tmp_path: Path, mean: str
) -> None:
    query = f"SELECT g, {mean} AS m FROM sums GROUP BY g"
    job = predtrace.trace(query, session).record(tmp_path / "store")
    for group in ("beyond", "cancelled"):
        with pytest.raises(NonDeterministicError, match=r"GroupBy.*beyond 2\^53.*keep='inline'"):
            replayed(job, group, session)


def test_rows_that_a_filter_drops_are_not_added(session: SparkSession, tmp_path: Path) -> None:
    query = "SELECT g, avg(n) FILTER (WHERE k = 2) AS m FROM sums GROUP BY g"
    job = predtrace.trace(query, session).record(tmp_path / "store")
    assert replayed(job, "cancelled", session) == [8, 9, 10]


def test_an_intermediate_above_a_mean_is_replayed(session: SparkSession, tmp_path: Path) -> None:
    """The mean decides which rows pass, and is gone from the output."""
    means = "(SELECT g, avg(n) AS m FROM sums WHERE g <> 'cancelled' GROUP BY g)"
    query = f"SELECT count(*) AS n FROM sums a JOIN {means} b ON a.g = b.g WHERE b.m < a.n"
    job = predtrace.trace(query, session).run(tmp_path / "store", keep="none")
    answer = job.lineage({"n": 3}, mode="replayed", engine="spark", spark=session)
    with pytest.raises(NonDeterministicError, match=r"beyond 2\^53"):
        answer.scan("sums", occurrence=1).row_ids()
    small = query.replace("'cancelled'", "'beyond'").replace("g <> ", "g = 'small' AND g <> ")
    job = predtrace.trace(small, session).run(tmp_path / "store", keep="none")
    answer = job.lineage({"n": 2}, mode="replayed", engine="spark", spark=session)
    found = [
        sorted(answer.scan("sums", occurrence=number).row_ids().column("row").to_pylist())
        for number in (1, 2)
    ]
    assert found == [[0, 1], [0, 1, 2, 3]]
    assert answer.label == "precise"


@pytest.mark.parametrize("mean", ["avg(CAST(n AS FLOAT))", "stddev(n)", "avg(n / 2)"])
def test_other_float_sums_are_refused_at_once(
    session: SparkSession, tmp_path: Path, mean: str
) -> None:
    query = f"SELECT g, {mean} AS m FROM sums GROUP BY g"
    job = predtrace.trace(query, session).record(tmp_path / "store")
    with pytest.raises((TargetError, PredTraceError), match="keep_output=True"):
        job.lineage({"g": "small"}, spark=session)
