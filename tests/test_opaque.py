"""Programs over tables, which only the run knows: all rows, and the answer says so."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import predtrace
from predtrace.errors import NonDeterministicError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = {"id": [0, 1, 2, 3], "g": ["a", "a", "b", None], "v": [1, 2, 3, 4]}
U = {"id": [0, 1], "g": ["a", "b"], "w": [10, 20]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opaque")
    pq.write_table(pa.table(T), path / "t.parquet")
    pq.write_table(pa.table(U), path / "u.parquet")
    return path


@pytest.fixture
def tables(spark: SparkSession, folder: Path) -> tuple[DataFrame, DataFrame]:
    read = spark.read.parquet
    return read(str(folder / "t.parquet")), read(str(folder / "u.parquet"))


def doubled(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame.assign(v=frame.v * 2)[["g", "v"]]


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["g", "v"])


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "mapInPandas": (
        lambda t, u: t.mapInPandas(doubled, "g string, v long"),
        "mapInPandas(doubled)",
    ),
    "mapInArrow": (lambda t, u: t.mapInArrow(same, "g string, v long"), "mapInArrow(same)"),
}


def _ids(answer: Any) -> dict[str, list[int]]:
    return {s.table: sorted(s.to_arrow(["id"]).column("id").to_pylist()) for s in answer.scans}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_rows_and_the_name(
    tables: tuple[DataFrame, DataFrame], tmp_path: Path, name: str
) -> None:
    make, called = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = make(*tables)
    job = predtrace.trace(frame).run(tmp_path)
    assert sorted(map(tuple, job.output.collect()), key=str) == sorted(
        map(tuple, frame.collect()), key=str
    )
    target = tuple(job.output.collect()[0])
    answer = job.lineage(target)
    assert _ids(answer) == {
        scan.table: (T if scan.table == "t" else U)["id"] for scan in answer.scans
    }
    assert all(scan.label == "superset" and called in scan.reason for scan in answer.scans)
    assert _ids(job.lineage({"v": -1}))["t"] == []


def test_what_is_above_it_stays_precise(
    tables: tuple[DataFrame, DataFrame], tmp_path: Path
) -> None:
    t, u = tables
    made = t.mapInPandas(doubled, "g string, v long").filter("v > 2")
    joined = made.join(u, "g").groupBy("w").agg(f.sum("v").alias("v")).filter("v > 0")
    job = predtrace.trace(joined.groupBy("v").count()).run(tmp_path)
    answer = job.lineage({"v": 4})
    assert {scan.table: scan.label for scan in answer.scans} == {"t": "superset", "u": "precise"}
    assert _ids(answer) == {"t": [0, 1, 2, 3], "u": [0]}
    late = predtrace.trace(joined.groupBy("v").count()).run(tmp_path, keep="late").wait()
    assert _ids(late.lineage({"v": 4})) == {"t": [0, 1, 2, 3], "u": [0]}
    bare = predtrace.trace(joined.groupBy("v").count()).run(tmp_path, keep="none")
    with pytest.raises(NonDeterministicError, match=r"mapInPandas\(doubled\).*keep='inline'"):
        bare.lineage({"v": 4})
    naive = bare.lineage({"v": 4}, mode="naive")
    assert naive.label == "superset"
    assert _ids(naive)["t"] == [0, 1, 2, 3]


def test_scripts(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    session = spark.newSession()
    session.read.parquet(str(folder / "t.parquet")).createOrReplaceTempView("t")
    query = "SELECT a FROM (SELECT TRANSFORM(id, g) USING 'cat' AS (a STRING, b STRING) FROM t)"
    answer = predtrace.trace(query, session).run(tmp_path).lineage({"a": "2"})
    assert _ids(answer) == {"t": [0, 1, 2, 3]}
    assert "TRANSFORM" in answer.scans[0].reason


def test_aggregates_in_pandas(tables: tuple[DataFrame, DataFrame], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread = f.pandas_udf(
            lambda v: float(v.max() - v.min()), "double", f.PandasUDFType.GROUPED_AGG
        )
    grouped = tables[0].groupBy("g").agg(spread("v").alias("s"))
    job = predtrace.trace(grouped.filter("s > 0")).run(tmp_path)
    answer = job.lineage({"s": 1.0})
    assert (answer.label, _ids(answer)) == ("precise", {"t": [0, 1]})
