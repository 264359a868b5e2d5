"""Dates as text, also beyond the years that Python and four digits have: DuckDB as Spark."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = dt.date(1970, 1, 1).toordinal()
_FIRST, _LAST = dt.date.min.toordinal() - _EPOCH, dt.date.max.toordinal() - _EPOCH
DAYS = [
    _FIRST - 4_000_000, _FIRST - 800, _FIRST - 367, _FIRST - 366, _FIRST - 1, _FIRST,
    -1, 0, 18_000, _LAST, _LAST + 1, _LAST + 33_000_000,
]  # fmt: skip


def test_every_date_is_found_by_its_text(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "days")
    days = spark.createDataFrame([(day,) for day in DAYS], "n int").coalesce(1)
    days.selectExpr("date_add(DATE'1970-01-01', n) AS d").write.option(
        "datetimeRebaseMode", "CORRECTED"
    ).parquet(path)
    frame = spark.read.parquet(path).selectExpr("CAST(d AS STRING) AS text")
    job = predtrace.trace(frame).run(store=tmp_path / "store")
    texts = [row.text for row in job.output.collect()]
    assert texts[0].startswith("-109")
    assert texts[-1].startswith("+10")
    (scan,) = job.lineage([(text,) for text in texts], engine="duckdb").scans
    found = scan.row_ids()
    pairs = zip(found["target"].to_pylist(), found["row"].to_pylist(), strict=True)
    assert sorted(pairs) == [(place, place) for place in range(len(DAYS))]
