"""Errors in one line: what, where, and the way out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

import predtrace
from predtrace.engines.duckdb.process import duckdb_errors
from predtrace.environment.sessions import is_running
from predtrace.errors import EngineError, PredTraceError, SourceError, StoreError, TargetError
from predtrace.frontends.spark.sources import REFUSED_LEAVES

Make = Callable[[DataFrame], DataFrame]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = tmp_path_factory.mktemp("errors") / "t"
    moments = pa.array([1, 2], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"id": [1, 2], "b": ["x", "y"], "ts": moments}), path)
    return spark.read.parquet(str(path))


REFUSED: dict[str, tuple[Make, str]] = {
    "collate": (
        lambda t: t.select(f.collate(f.col("b"), "UTF8_LCASE")),
        "collation UTF8_LCASE.*compare plain strings",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_it_is(table: DataFrame, name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(PredTraceError, match=words) as caught:
        predtrace.trace(make(table))
    assert "\n" not in str(caught.value)


def test_refusals_of_frames_name_the_call(
    table: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PySpark decides once a process, by the session active at the first call, whether to note any.
    monkeypatch.setattr("pyspark.errors.utils._enable_debugging_cache", True)
    here = f"{__file__}:"
    increases = f.call_function("counter_diff", "id").over(Window.orderBy("id"))
    with pytest.raises(PredTraceError) as caught:
        predtrace.trace(table.select(increases))
    assert here in str(caught.value)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def job(table: DataFrame, store: Path) -> Any:
    job = predtrace.trace(table.select("id", "b")).run(store)
    job.build_index()
    return job


def test_names_of_engines(job: Any) -> None:
    for ask in (
        lambda: job.lineage((1, "x"), engine="duck"),
        lambda: job.forward("t", rows=[0], engine="duck"),
        lambda: job.build_index(engine="duck"),
        lambda: job.build_intermediates(engine="duck"),
    ):
        with pytest.raises(EngineError, match=r"no engine 'duck'; use one of auto, duckdb, spark"):
            ask()


def test_frames_are_no_targets(job: Any, table: DataFrame) -> None:
    for target in (table, [table]):
        with pytest.raises(TargetError, match=r"not DataFrame; give .*frame\.collect\(\)"):
            job.lineage(target)


@pytest.mark.parametrize("mode", ["indexed", "stored"])
def test_absent_targets_show(job: Any, mode: str) -> None:
    absent = job.lineage((7, "x"), mode=mode, engine="duckdb")
    assert "target not in the output" in repr(absent)
    assert "target not in the output" in repr(absent["t"])
    some = job.lineage([(1, "x"), (7, "x")], mode=mode, engine="duckdb")
    assert "target 1 not in the output" in repr(some)
    assert "not in the output" not in repr(job.lineage((1, "x"), mode=mode, engine="duckdb"))


def test_a_pipeline_without_sources(spark: SparkSession, store: Path) -> None:
    job = predtrace.trace("SELECT 1 AS x", spark).run(store)
    answer = job.lineage({"x": 1})
    assert (answer.scans, answer.target_rows, answer.label) == ((), 1, "precise")
    assert "no source" in repr(answer)
    with pytest.raises(PredTraceError, match=r"no source t; it reads none"):
        answer["t"]


class Stopped:
    """A session as PySpark leaves it after `stop`."""

    _sc = SimpleNamespace(_jsc=None)


def test_stopped_sessions(job: Any, table: DataFrame) -> None:
    assert is_running(table.sparkSession)
    assert not is_running(Stopped())  # type: ignore[arg-type]
    with pytest.raises(EngineError, match=r"session was stopped; start one"):
        job.lineage((1, "x"), mode="stored", engine="spark", spark=Stopped())


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (duckdb.OutOfMemoryException("failed to allocate"), EngineError, "out of memory.*free"),
        (duckdb.IOException("write: No space left on device"), StoreError, "disk is full.*free"),
        (duckdb.IOException("Could not read from file"), SourceError, "cannot be read.*restore"),
        (duckdb.BinderException("no such function"), EngineError, "use engine='spark'"),
    ],
)
def test_the_way_out_depends_on_what_went_wrong(
    error: Exception, kind: type[PredTraceError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught, duckdb_errors():
        raise error
    assert ("spark" in str(caught.value)) is isinstance(error, duckdb.BinderException)


@pytest.mark.parametrize("cut", ["empty", "head", "tail", "text"])
def test_damaged_parquet_is_no_question_for_another_engine(tmp_path: Path, cut: str) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"k": list(range(1000))}), path)
    whole = path.read_bytes()
    parts = {"empty": b"", "head": whole[:100], "tail": whole[100:], "text": b"a,b\n1,2\n" * 9}
    path.write_bytes(parts[cut])
    with pytest.raises(SourceError, match=r"may be damaged"), duckdb_errors():
        duckdb.sql(f"SELECT sum(k) FROM read_parquet('{path}')").fetchall()


def test_leaves_say_the_way_out() -> None:
    assert all(";" in reason for reason in REFUSED_LEAVES.values())
