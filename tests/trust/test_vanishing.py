"""Sources that vanish while something reads them: one line that names the file, and no answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import predtrace
from predtrace.engines.duckdb.engine import DuckDBEvaluation
from predtrace.engines.spark.engine import SparkEvaluation
from predtrace.engines.spark.rows import SparkRows
from predtrace.errors import SourceError
from predtrace.frontends.spark import SparkPipeline

QUERY = "SELECT r.a, count(*) AS n FROM r JOIN s ON r.b = s.b GROUP BY r.a"


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The tables r and s, of two files each."""
    for name in "rs":
        (tmp_path / name).mkdir()
        for part in range(2):
            rows = {"a": [1, 2], "b": [3, 4], "part": [part, part]}
            pq.write_table(pa.table(rows), tmp_path / name / f"part-{part}.parquet")
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    yield tmp_path
    for name in "rs":
        spark.catalog.dropTempView(name)


def lose_before(
    monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, path: Path
) -> Callable[..., Any]:
    """Have a file vanish right before the method does its work."""
    original = getattr(owner, method)

    def vanishing(*args: Any, **kwargs: Any) -> Any:
        path.unlink(missing_ok=True)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, method, vanishing)
    return original


def refused(action: Callable[[], Any], words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        action()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("keep", "gone"), [("inline", "file"), ("late", "folder"), ("none", "file")]
)
def test_between_trace_and_run(spark: SparkSession, folder: Path, keep: str, gone: str) -> None:
    trace = predtrace.trace(QUERY, spark)
    file = folder / "s" / "part-1.parquet"
    if gone == "file":
        file.unlink()
    else:
        shutil.rmtree(folder / "s")
    said = rf"source s.*{file if gone == 'file' else folder / 's'} .*make the DataFrame again"
    refused(lambda: trace.run(folder / "store", keep=keep).wait(), said)
    assert not list((folder / "store").iterdir())


def test_during_the_run(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "r" / "part-0.parquet"
    trace = predtrace.trace(QUERY, spark)
    lose_before(monkeypatch, SparkPipeline, "run", file)
    refused(
        lambda: trace.run(folder / "store"),
        rf"source r changed since the pipeline was read: {file} is gone",
    )
    assert not list((folder / "store").iterdir())


@pytest.mark.parametrize("read", ["count", "to_batches"])
def test_during_a_question_on_spark(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """Spark lists the folder anew, and would answer from what is left."""
    job = predtrace.trace(QUERY, spark).run(folder / "store")
    answer = job.lineage({"a": 1}, engine="spark")
    file = folder / "r" / "part-1.parquet"
    lose_before(monkeypatch, SparkRows, read, file)
    rows = answer["r"]
    refused(
        lambda: list(rows.to_batches()) if read == "to_batches" else getattr(rows, read)(),
        rf"source r changed since the job ran: {file} is gone; run the pipeline again",
    )


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("mode", ["replayed", "refined"])
def test_another_source_of_the_answer(
    spark: SparkSession, folder: Path, mode: str, engine: str
) -> None:
    """The rows of s depend on those of r."""
    job = predtrace.trace(QUERY, spark).run(folder / "store")
    answer = job.lineage({"a": 1}, mode=mode, engine=engine)
    file = folder / "r" / "part-1.parquet"
    file.unlink()
    refused(answer["s"].count, rf"source r changed since the job ran: {file} is gone")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_targets_that_are_looked_for_in_the_sources(
    spark: SparkSession, folder: Path, engine: str
) -> None:
    job = predtrace.trace(QUERY, spark).run(folder / "store", keep_output=False)
    answer = job.lineage({"a": 1}, engine=engine)
    for file in (folder / "s").iterdir():
        pq.write_table(pa.table({"a": [1], "b": [7], "part": [0]}), file)
    refused(lambda: answer.target_rows, "source s changed since the job ran")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_during_a_build(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    job = predtrace.trace(QUERY, spark).run(folder / "store", keep="none")
    file = folder / "s" / "part-0.parquet"
    owner = SparkEvaluation if engine == "spark" else DuckDBEvaluation
    before = sorted(path.name for path in job.folder.iterdir())
    lose_before(monkeypatch, owner, "store", file)
    refused(lambda: job.build_intermediates(engine=engine), rf"source s changed.*{file} is gone")
    kept = [name for name in before if name != "build.lock"]
    assert sorted(p.name for p in job.folder.iterdir() if p.name != "build.lock") == kept
    assert not job.record.intermediates
