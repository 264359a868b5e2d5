"""Local times that come twice or not at all: Spark's optimizer takes casts of them off columns."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = dt.UTC
TWICE = dt.datetime(2021, 10, 31, 2, 30)
"""In Berlin, an hour apart."""
INSTANTS = [
    dt.datetime(2021, 10, 31, 0, 30, tzinfo=UTC),
    dt.datetime(2021, 10, 31, 1, 30, tzinfo=UTC),
    dt.datetime(2021, 3, 28, 1, 0, tzinfo=UTC),
    dt.datetime(2021, 3, 28, 0, 45, tzinfo=UTC),
]
# 02:30 does not exist on the 28th of March: Spark reads it as 03:30, 01:30 in UTC.
LOCALS = [TWICE, TWICE, dt.datetime(2021, 3, 28, 2, 30), dt.datetime(2021, 3, 28, 1, 30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clocks")
    columns = {
        "id": pa.array(range(4), pa.int32()),
        "t": pa.array(INSTANTS, pa.timestamp("us", "UTC")),
        "z": pa.array(LOCALS, pa.timestamp("us")),
    }
    pq.write_table(pa.table(columns), folder / "r.parquet")
    pq.write_table(pa.table({"s": [0, 1], "w": columns["t"][1:3]}), folder / "s.parquet")
    return folder


def in_berlin(spark: SparkSession, folder: Path) -> SparkSession:
    """A session in that zone with the two tables."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    for name in "rs":
        session.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return session


QUESTIONS: list[tuple[str, dict[str, Any], list[int]]] = [
    # Both rows at 02:30, of which t = constant is one.
    ("SELECT CAST(t AS TIMESTAMP_NTZ) k, count(*) n FROM r GROUP BY 1", {"k": TWICE}, [0, 1]),
    # 03:30 is not before 03:00; the local times of the constants are 02:30 and 03:00.
    ("SELECT id, s FROM r JOIN s ON CAST(r.z AS TIMESTAMP) <= s.w", {"s": 1}, [3]),
    ("SELECT id, s FROM r JOIN s ON CAST(r.t AS TIMESTAMP_NTZ) <= CAST(s.w AS TIMESTAMP_NTZ)",
     {"s": 0}, [0, 1, 2, 3]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "target", "rows"), QUESTIONS)
def test_bound_values_are_compared_as_they_are(
    spark: SparkSession,
    folder: Path,
    tmp_path: Path,
    query: str,
    target: dict[str, Any],
    rows: list[int],
) -> None:
    job = predtrace.trace(in_berlin(spark, folder).sql(query)).run(store=tmp_path)
    for mode in ("stored", "refined"):
        found = job.lineage(target, mode=mode, engine="spark", spark=spark)["r"]
        assert sorted(found.to_arrow(["id"])["id"].to_pylist()) == rows


@pytest.mark.parametrize("unwrapped", [True, False])
def test_conditions_of_the_pipeline_select_what_its_run_selected(
    spark: SparkSession, folder: Path, tmp_path: Path, unwrapped: bool
) -> None:
    """Spark's run itself takes one of the two rows, unless told not to rewrite."""
    session = in_berlin(spark, folder)
    if not unwrapped:
        rule = "org.apache.spark.sql.catalyst.optimizer.UnwrapCastInBinaryComparison"
        session.conf.set("spark.sql.optimizer.excludedRules", rule)
    query = (
        "SELECT count(*) AS n FROM r "
        "WHERE CAST(t AS TIMESTAMP_NTZ) = TIMESTAMP_NTZ'2021-10-31 02:30:00'"
    )
    job = predtrace.trace(session.sql(query)).run(store=tmp_path)
    rows = [0] if unwrapped else [0, 1]
    assert job.output.collect() == [(len(rows),)]
    answer = job.lineage((len(rows),), engine="spark", spark=spark)
    assert answer.label == "precise"
    assert sorted(answer.scans[0].to_arrow(["id"])["id"].to_pylist()) == rows
