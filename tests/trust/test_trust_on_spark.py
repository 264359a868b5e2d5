"""Checksums and fingerprints of runs on Spark, and damage that Spark does not see by itself."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace import JobHandle
from predtrace.errors import PredTraceError, SourceError, StoreError
from predtrace.jobs.model import StoredResult
from tests.trust.jobs import ROWS_OF_TARGET, TARGET, make_store, opened, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = (
    "SELECT a, count(*) AS n FROM trust_r WHERE b IN (SELECT b FROM trust_s) GROUP BY a ORDER BY a"
)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 4
    file.write_bytes(data)


@pytest.mark.parametrize("what", ["node-2", "output"])
def test_spark_reads_no_damaged_file(what: str, spark: SparkSession, tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    before = job.lineage(TARGET, mode="stored", engine="spark", spark=spark)
    flip(job.folder / what / "part-0.parquet")
    with pytest.raises(StoreError, match=r"part-0\.parquet is damaged"):
        before.scans[0].count()
    with pytest.raises(StoreError, match=r"part-0\.parquet is damaged"):
        job.lineage(TARGET, mode="stored", engine="spark", spark=spark)
    if what == "node-2":
        answer = job.lineage(TARGET, engine="spark", spark=spark)
        assert rows_of(answer) == ROWS_OF_TARGET
        assert any("were not used" in note for note in answer.notes)
    else:
        fresh = predtrace.open_job(job.folder.parent, job.id, spark)
        with pytest.raises(StoreError, match="damaged"):
            _ = fresh.output
        with pytest.raises(StoreError, match="damaged"):
            fresh.output_arrow()


def results(job: JobHandle) -> list[StoredResult]:
    output = job.record.output
    assert output is not None
    return [output, *(item.result for item in job.record.intermediates)]


def check_sums(job: JobHandle) -> None:
    """The record has what another implementation finds of all files that there are."""
    for result in results(job):
        folder = job.folder / result.folder
        there = {str(path.relative_to(folder)): path for path in folder.rglob("*.parquet")}
        assert {file.name for file in result.files} == there.keys()
        for file in result.files:
            data = there[file.name].read_bytes()
            assert (file.bytes, file.sha256) == (len(data), hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("keep", ["inline", "late", "none"])
def test_runs_record_checksums_and_fingerprints(
    keep: str, spark: SparkSession, tmp_path: Path
) -> None:
    rows = {"a": [1, 1, 2, 3], "b": ["x", "y", "x", "z"]}
    pq.write_table(pa.table(rows), tmp_path / "r.parquet")
    pq.write_table(pa.table({"b": ["x", "y", "x"]}), tmp_path / "s.parquet")
    for name in "rs":
        frame = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
        frame.createOrReplaceTempView(f"trust_{name}")
    try:
        trace = predtrace.trace(QUERY, spark)
        kind = "full" if keep == "inline" else "quick"
        job = trace.run(store=tmp_path / "store", keep=keep, fingerprint=kind).wait()
        with pytest.raises(PredTraceError, match="fingerprint is 'quick' or 'full', not 'none'"):
            trace.run(store=tmp_path / "store", fingerprint="none")
    finally:
        for name in "rs":
            spark.catalog.dropTempView(f"trust_{name}")
    check_sums(job)
    found = {file.fingerprint for source in job.record.sources for file in source.files}
    assert {text.partition(":")[0] for text in found} == {kind}
    answer = job.lineage({"a": 1}, engine="duckdb")
    expected = {("trust_r", 1): {0, 1}, ("trust_s", 1): {0, 1, 2}}
    assert rows_of(answer) == expected
    assert answer.label == "precise"
    job.build_intermediates(engine="spark", spark=spark)
    check_sums(job)
    assert len(results(job)) > 1
    assert rows_of(job.lineage({"a": 1}, mode="stored", engine="duckdb")) == expected
    flip(tmp_path / "s.parquet")
    with pytest.raises(SourceError, match="trust_s changed since the job ran"):
        job.lineage({"a": 1})


def test_hidden_files_that_spark_was_made_to_read_are_in_the_snapshot(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in ("a", "_b"):
        place = tmp_path / "t" / f"{name}.parquet"
        place.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"a": [1]}), place)
    hidden = "spark.sql.files.ignoredPathSegmentRegex"
    before = spark.conf.get(hidden)
    spark.conf.set(hidden, "^[.]")
    try:
        frame = spark.read.parquet(str(tmp_path / "t"))
        assert frame.count() == 2
        job = predtrace.trace(frame).run(store=tmp_path / "store")
        assert job.lineage({"a": 1}, engine="duckdb").scans[0].count() == 2
    finally:
        spark.conf.set(hidden, before)
    flip(tmp_path / "t" / "_b.parquet")
    with pytest.raises(SourceError, match=r"_b\.parquet .*other|_b\.parquet was modified"):
        job.lineage({"a": 1})
