"""The cache of a job: limits, damage, changed sources, interruptions, questions at once."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from predtrace.engines.spark import caching
from predtrace.errors import EngineError, PredTraceError, SourceError
from predtrace.handle import JobHandle
from predtrace.jobs.store import JobStore
from predtrace.lineage import engine_choice, source_cache

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = "0,a\n1,a\n2,b\n"


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> JobHandle:
    """A job over a text, in which 0 and 1 are the rows of group a."""
    (tmp_path / "t.csv").write_text(TEXT)
    frame = spark.read.schema("rid int, g string").csv(str(tmp_path / "t.csv"))
    return predtrace.trace(frame.groupBy("g").count()).run(tmp_path / "store")


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the sources that were read into a cache."""
    done: list[str] = []
    write = caching.write_source

    def counted(*args: Any) -> int:
        done.append(args[2].name)
        return write(*args)

    monkeypatch.setattr(caching, "write_source", counted)
    return done


def rids(job: JobHandle, by: str = "duckdb", **how: Any) -> tuple[str, ...]:
    """The notes of an answer for group a; its rows and the engine that it is `by` are checked."""
    answer = job.lineage({"g": "a"}, **how)
    assert sorted(answer["t"].to_arrow(["rid"]).column(0).to_pylist()) == [0, 1]
    assert (answer.engine, answer.label) == (by, "precise")
    return answer.notes


def cached(job: JobHandle) -> list[Path]:
    return sorted(job.folder.glob("cache-*"))


def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(spark: SparkSession | None) -> SparkSession:
        raise AssertionError("Spark is used")

    monkeypatch.setattr(engine_choice, "_session", refuse)


def test_it_is_read_once(
    job: JobHandle, writes: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "was read once by Spark, into the job's cache" in rids(job)[-1]
    no_spark(monkeypatch)
    for mode in ("auto", "stored", "replayed", "refined", "naive"):
        rids(job, mode=mode)
        rids(predtrace.open_job(tmp_path / "store", job.id), mode=mode, cache_limit=0)
    assert job.lineage({"g": "b"}, engine="duckdb")["t"].count() == 1
    with pytest.raises(EngineError, match="t is csv, which has no row numbers"):
        job.lineage({"g": "a"})["t"].row_ids()
    assert writes == ["t"]
    (summary,) = JobStore(tmp_path / "store").jobs()
    assert summary.cached == job.cached_bytes > 0


def test_limits(job: JobHandle, writes: list[str]) -> None:
    size = len(TEXT)
    assert "its 12 B are more than cache_limit (11 B)" in "".join(
        rids(job, "spark", cache_limit=size - 1)
    )
    assert "is csv" in rids(job, "spark", cache_limit=0)[-1]
    rids(job, "spark", engine="spark")
    with pytest.raises(EngineError, match=r"t is csv.*ask once with engine='auto'"):
        job.lineage({"g": "a"}, engine="duckdb")
    for wrong in (-1, True, "1 GB"):
        with pytest.raises(PredTraceError, match="cache_limit is a number of bytes or None"):
            job.lineage({"g": "a"}, cache_limit=wrong)  # type: ignore[arg-type]
    assert (writes, job.cached_bytes) == ([], 0)
    rids(job, cache_limit=size)
    job.drop_cache()
    assert (cached(job), job.cached_bytes) == ([], 0)
    rids(job, cache_limit=None)
    assert writes == ["t", "t"]


def test_damage_is_noticed(job: JobHandle, writes: list[str]) -> None:
    rids(job)
    (folder,) = cached(job)

    def cut(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-5])

    def swap(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    file = next(folder.glob("*.parquet")).name
    for damage, name in ((cut, file), (swap, file), (os.remove, file), (cut, "source.json"),
                         (os.remove, "source.json")):  # fmt: skip
        place = folder / name if (folder / name).exists() else next(folder.glob("*.parquet"))
        damage(place)
        rids(job)
    assert writes == ["t"] * 6
    record = json.loads((folder / "source.json").read_text())
    record["body"]["rows"] = 7
    (folder / "source.json").write_text(json.dumps(record))
    rids(job)
    assert writes == ["t"] * 7


def test_a_changed_source_is_dropped(job: JobHandle, tmp_path: Path, writes: list[str]) -> None:
    rids(job)
    given = job.lineage({"g": "a"})
    path = tmp_path / "t.csv"
    time = path.stat().st_mtime_ns
    path.write_text(TEXT + "3,a\n")
    with pytest.raises(SourceError, match="t changed since the job ran"):
        given["t"].count()
    with pytest.raises(SourceError, match="t changed since the job ran"):
        job.lineage({"g": "a"})
    assert cached(job) == []
    path.write_text(TEXT)
    os.utime(path, ns=(time, time))
    rids(job)
    assert writes == ["t", "t"]


def test_a_source_that_changes_while_it_is_read(
    job: JobHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = caching.write_source

    def changing(*args: Any) -> int:
        (tmp_path / "t.csv").write_text("0,b\n")
        return write(*args)

    monkeypatch.setattr(caching, "write_source", changing)
    with pytest.raises(SourceError, match="t changed since the job ran"):
        job.lineage({"g": "a"})
    assert cached(job) == []


def test_interruptions_leave_nothing(job: JobHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    write = caching.write_source

    def interrupted(*args: Any) -> None:
        write(*args)
        raise KeyboardInterrupt

    before = sorted(path.name for path in job.folder.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(caching, "write_source", interrupted)
        with pytest.raises(KeyboardInterrupt):
            job.lineage({"g": "a"})
    assert sorted({path.name for path in job.folder.iterdir()} - {"cache.lock"}) == before
    # What a killed process leaves.
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    from predtrace.durable.owners import this_process

    left = job.folder / f"incomplete-12345678+{gone}-0000000000-{this_process().machine}"
    left.mkdir()
    (left / "part-0.parquet").write_bytes(b"PAR1")
    rids(job)
    assert not left.exists()
    assert len(cached(job)) == 1


def test_a_store_that_cannot_be_written(job: JobHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def refused(path: Path) -> Iterator[None]:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        yield

    monkeypatch.setattr(source_cache, "sole_writer", refused)
    notes = rids(job, "spark")
    assert "not cached, since the job's folder cannot be written (Read-only file" in notes[-2]
    assert cached(job) == []


def test_rows_that_do_not_arrive(job: JobHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another machine writes to a disk of its own."""
    write = caching.write_source

    def losing(*args: Any) -> int:
        rows = write(*args)
        lost = sorted(args[-1].glob("*.parquet"))[-1]
        lost.rename(lost.with_suffix(".lost"))
        return rows

    monkeypatch.setattr(caching, "write_source", losing)
    assert any("of 3 rows arrived there" in note for note in rids(job, "spark"))
    assert cached(job) == []


@pytest.mark.parametrize("locks", [True, False])
def test_questions_at_once(
    job: JobHandle, writes: list[str], monkeypatch: pytest.MonkeyPatch, locks: bool
) -> None:
    if not locks:
        monkeypatch.setattr(source_cache, "sole_writer", lambda path: _nothing())
    together = threading.Barrier(3)
    problems: list[BaseException] = []

    def question() -> None:
        try:
            together.wait()
            rids(job)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=question) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(cached(job)) == 1
    assert not list(job.folder.glob("incomplete-*"))
    assert len(writes) == 1 or not locks


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def test_rows_that_a_fast_failing_read_cannot_give(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,a,1\n1,a,x\n2,b,3\n")
    frame = spark.read.schema("rid int, g string, v int").option("mode", "FAILFAST")
    made = frame.csv(str(tmp_path / "t.csv")).groupBy("g").agg({"rid": "sum"})
    job = predtrace.trace(made).run(tmp_path / "store")
    notes = rids(job, "spark")
    assert any(note.startswith("not cached, since Spark could not evaluate") for note in notes)
    assert cached(job) == []


@pytest.mark.parametrize("where", ["option", "setting"])
def test_damaged_files_that_are_skipped(spark: SparkSession, tmp_path: Path, where: str) -> None:
    (tmp_path / "t.csv").write_text(TEXT)
    own = spark.newSession()
    reader = own.read.schema("rid int, g string")
    if where == "option":
        reader = reader.option("ignoreCorruptFiles", True)
    else:
        own.conf.set("spark.sql.files.ignoreCorruptFiles", True)
    job = predtrace.trace(reader.csv(str(tmp_path / "t.csv")).groupBy("g").count()).run(
        tmp_path / "store"
    )
    assert "ignorecorruptfiles" in rids(job, "spark")[-2].lower()
    assert cached(job) == []


def test_the_command_line(
    job: JobHandle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from predtrace.cli.app import app

    def run(*args: str) -> str:
        app([*args, "--store", str(tmp_path / "store")], standalone_mode=False)
        return capsys.readouterr().out

    def shown() -> dict[str, Any]:
        (found,) = json.loads(run("jobs", "--format", "json"))
        return dict(found)

    assert shown()["cached"] == 0
    told = run("lineage", job.id, "--where", "g = 'a'", "--cache-limit", "0", "--format", "json")
    assert json.loads(told)["engine"] == "spark"
    told = run("lineage", job.id, "--where", "g = 'a'", "--format", "json")
    assert json.loads(told)["engine"] == "duckdb"
    assert shown()["cached"] == job.cached_bytes > 0
    assert "kB" in run("jobs") or " B" in run("jobs")
    assert "removed cached sources: " in run("jobs", "--drop-caches")
    assert shown()["cached"] == 0


Frames = Callable[["SparkSession", Path], Any]


def _partitioned(spark: SparkSession, place: Path) -> Any:
    """By a type that DuckDB does not read from the names of folders."""
    for number in range(2):
        frame = spark.range(number * 6, number * 6 + 6).selectExpr(
            "id AS rid", "IF(id > 5, 1, 0) AS g"
        )
        frame.write.parquet(str(place / f"at=2024-01-0{number + 1} 00%3A00%3A00"))
    return spark.read.schema("rid bigint, g bigint, at timestamp").parquet(str(place))


def _with_files(spark: SparkSession, place: Path) -> Any:
    from pyspark.sql import functions as f

    spark.range(12).selectExpr("id AS rid", "IF(id > 5, 1, 0) AS g").write.parquet(str(place))
    frame = spark.read.parquet(str(place))
    return frame.where(f.input_file_name().contains("part")).where("_metadata.row_index >= 0")


def _plain(spark: SparkSession, place: Path) -> Any:
    spark.range(12).selectExpr("id AS rid", "IF(id > 5, 1, 0) AS g").write.parquet(str(place))
    return spark.read.parquet(str(place))


def _range(spark: SparkSession, place: Path) -> Any:
    return spark.range(12).selectExpr("id AS rid", "IF(id > 5, 1, 0) AS g")


def _brought(spark: SparkSession, place: Path) -> Any:
    return spark.createDataFrame([(i, int(i > 5)) for i in range(12)], "rid bigint, g bigint")


@pytest.mark.parametrize("make", [_plain, _partitioned, _with_files, _range, _brought])
def test_row_ids_by_index_need_no_spark(
    spark: SparkSession, tmp_path: Path, make: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = make(spark, tmp_path / "t + %41é")
    job = predtrace.trace(frame.groupBy("g").count()).run(tmp_path / "store")
    (name,) = [source.name for source in job.record.sources]
    by_engine = job.lineage({"g": 1})[name].row_ids().to_pylist()
    job.build_index(engine="spark")
    no_spark(monkeypatch)
    job = predtrace.open_job(tmp_path / "store", job.id)
    answer = job.lineage({"g": 1}, mode="indexed")
    found = answer[name].row_ids().to_pylist()
    assert (answer[name].count(), answer.engine) == (6, "index")
    keys = {(row["file"], row["row"]) for row in found}
    assert keys == {(row["file"], row["row"]) for row in by_engine}
    assert len(keys) == 6
    values = next(column for column in ("rid", "id") if column in answer[name].columns)
    assert sorted(answer[name].to_arrow([values]).column(0).to_pylist()) == list(range(6, 12))


_ASKED = """
import sys, predtrace
for job in sys.argv[2:]:
    answer = predtrace.open_job(sys.argv[1], job).lineage({"g": 1}, mode=sys.argv[0])
    (scan,) = answer.scans
    counts = (scan.count(), len(scan.row_ids()), len(scan.to_arrow()))
    print(answer.engine, *counts, "pyspark" in sys.modules)
"""


def test_later_questions_load_no_spark(spark: SparkSession, tmp_path: Path) -> None:
    """In another process: from an index, and from what is cached."""
    jobs = []
    for make in (_plain, _partitioned, _with_files, _range, _brought):
        frame = make(spark, tmp_path / make.__name__)
        job = predtrace.trace(frame.groupBy("g").count()).run(tmp_path / "store")
        assert job.lineage({"g": 1}).engine == "duckdb"
        job.build_index()
        jobs.append(job.id)
    for mode, engine in (("indexed", "index"), ("replayed", "duckdb")):
        script = _ASKED.replace("sys.argv[0]", repr(mode))
        command = [sys.executable, "-c", script, str(tmp_path / "store"), *jobs]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == [f"{engine} 6 6 6 False"] * len(jobs)


def test_an_index_beside_a_text(
    job: JobHandle, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = spark.read.schema("rid int, g string").csv(str(tmp_path / "t.csv"))
    numbers = _plain(spark, tmp_path / "p")
    both = text.join(numbers.withColumnRenamed("g", "h"), "rid").groupBy("g").count()
    made = predtrace.trace(both).run(tmp_path / "store")
    with pytest.raises(EngineError, match="t is csv, whose rows have no numbers"):
        made.build_index()
    made.build_index(scans=["p"])
    with monkeypatch.context() as patch:
        no_spark(patch)
        assert len(made.lineage({"g": "a"})["p"].row_ids()) == 2
    rids(made, "index")
    no_spark(monkeypatch)
    rids(made, "index")
