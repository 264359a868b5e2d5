"""Files that spell a column in several ways: one column or two, as the job took them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "spelled"
    found.mkdir()
    for number, name in enumerate(["k", "K"]):
        pq.write_table(pa.table({name: [1, 2]}), found / f"f{number}.parquet")
    return found


@pytest.fixture(params=["false", "true"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.caseSensitive", request.param)
    return own


def files_of(answer: Any) -> list[tuple[str, int]]:
    ids = answer.scans[0].row_ids()
    files = [Path(file).name for file in ids["file"].to_pylist()]
    return sorted(zip(files, ids["row"].to_pylist(), strict=True))


@pytest.mark.parametrize("keep", ["inline", "none"])
def test_columns_are_told_apart_as_by_the_job(
    session: SparkSession, folder: Path, tmp_path: Path, keep: str
) -> None:
    sensitive = session.conf.get("spark.sql.caseSensitive") == "true"
    frame = session.read.schema("k bigint").parquet(str(folder)).selectExpr("k AS z")
    job = predtrace.trace(frame).run(store=tmp_path / "store", keep=keep)
    rows = [("f0.parquet", 1)] if sensitive else [("f0.parquet", 1), ("f1.parquet", 1)]
    if sensitive:
        with pytest.raises(EngineError, match=r"f1\.parquet has the column K, which differs"):
            job.lineage((2,), engine="duckdb")
    # What Spark reads is cached for DuckDB.
    for engine in ("spark", "auto", "duckdb"):
        assert files_of(job.lineage((2,), engine=engine, spark=session)) == rows
