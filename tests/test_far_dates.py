"""Dates and timestamps beyond Python's years 1 to 9999, which Parquet, Spark and DuckDB have."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import TargetError
from predtrace.jobs.model import EngineSettings
from predtrace.targets.checking import check_target
from symbolic.expr import Column
from symbolic.types import TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = [
    dt.date(1, 1, 1).toordinal() - 719_163 - 1,
    dt.date(1, 1, 1).toordinal() - 719_163 - 400,
    dt.date(9999, 12, 31).toordinal() - 719_163 + 1,
    0,
]
PLAIN = "SELECT id, day, noon, noon_utc FROM far"
NESTED = "SELECT id, day, noon_utc, array(struct(day, noon)) AS nested FROM far"


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("far")
    noons = pa.array([day * 86_400_000_000 + 43_200_000_000 for day in DAYS])
    columns = {
        "id": range(len(DAYS)),
        "day": pa.array(DAYS, pa.int32()).cast(pa.date32()),
        "noon": noons.cast(pa.timestamp("us")),
        "noon_utc": noons.cast(pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table(columns), folder / "far.parquet")
    spark.read.parquet(str(folder / "far.parquet")).createOrReplaceTempView("far")
    return folder


def found(answer: Any) -> list[int]:
    return sorted(answer.scans[0].row_ids().column("row").to_pylist())


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_rows_beyond_pythons_dates(engine: Any, source: Path, spark: SparkSession) -> None:
    job = predtrace.trace(spark.sql(PLAIN)).run(store=source / "store", keep="none")
    for row in range(len(DAYS)):
        answer = job.lineage({"id": row}, engine=engine, spark=spark)
        assert (answer.label, found(answer), answer.target_rows) == ("precise", [row], 1)
    several = job.lineage([{"id": 0}, {"id": 2}], engine=engine, spark=spark)
    assert found(several) == [0, 2]
    assert found(job.lineage("day < date '1900-01-01'", engine=engine, spark=spark)) == [0, 1]


def test_index_of_rows_beyond_pythons_dates(source: Path, spark: SparkSession) -> None:
    job = predtrace.trace(spark.sql(NESTED)).run(store=source / "store", keep="none")
    job.build_index(spark=spark)
    for row in range(len(DAYS)):
        assert found(job.lineage({"id": row}, mode="indexed")) == [row]
    assert found(job.lineage("day < date '1900-01-01'", mode="indexed")) == [0, 1]
    assert found(job.lineage("id = 2", mode="indexed")) == [2]
    epoch = job.lineage(
        {"nested": [(dt.date(1970, 1, 1), dt.datetime(1970, 1, 1, 12))]}, mode="indexed"
    )
    assert found(epoch) == [3]


@pytest.mark.parametrize("given", [dt.datetime.min, "moment = timestamp '0001-01-01 00:00:00'"])
def test_instants_that_python_lacks(given: Any) -> None:
    """Midnight of the first day in Berlin lies in the year before, in UTC."""
    settings = EngineSettings(
        engine_version="4.3.0", time_zone="Europe/Berlin", ansi=True, case_sensitive=False
    )
    target = given if isinstance(given, str) else {"moment": given}
    with pytest.raises(TargetError, match="years 1 to 9999"):
        check_target(target, [Column(1, "moment", TIMESTAMP)], settings)
