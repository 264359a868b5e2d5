"""Nothing of the user's session, process or files changes by tracing, running or asking."""

from __future__ import annotations

import gc
import inspect
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession

import predtrace
from predtrace.api import Trace
from predtrace.cli.running import explain_query, record_query, run_query
from predtrace.environment import doctor
from predtrace.environment.sessions import as_active
from predtrace.errors import PredTraceError
from predtrace.handle import JobHandle
from predtrace.lineage.answer import ScanRows, SourceRows

QUERY = "SELECT k, sum(v) AS s FROM t GROUP BY k"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    pq.write_table(pa.table({"k": [1, 2, 2], "v": [5, 6, 7]}), folder / "t.parquet")
    (folder / "q.sql").write_text(QUERY)
    return folder


@pytest.fixture
def view(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # PySpark takes the last session that made a DataFrame of local rows for the active one.
    monkeypatch.setattr(SparkSession, "_activeSession", spark)
    spark.read.parquet(str(folder / "t.parquet")).createOrReplaceTempView("t")
    spark.sql(QUERY).collect()  # Spark notes things when it first runs a shuffle.
    with as_active(spark):
        yield
    spark.catalog.dropTempView("t")


@pytest.fixture(scope="module")
def job(spark: SparkSession, folder: Path) -> JobHandle:
    frame = spark.read.parquet(str(folder / "t.parquet")).groupBy("k").agg({"v": "sum"})
    handle = predtrace.trace(frame).run(folder.parent / "kept-jobs", keep="none")
    return predtrace.open_job(folder.parent / "kept-jobs", handle.id)


def state(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Everything that the user could find changed."""
    gc.collect()
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    context = spark.sparkContext
    log4j = spark._jvm.org.apache.logging.log4j.LogManager
    return {
        "RDD": dict(vars(RDD)),
        "SparkSession": dict(vars(SparkSession)),
        "SparkContext": {k: v for k, v in vars(SparkContext).items() if k != "_next_accum_id"},
        "DataFrame": dict(vars(DataFrame)),
        "active": SparkSession.getActiveSession(),
        "default in the JVM": sessions.getDefaultSession().get().equals(spark._jsparkSession),
        "active in the JVM": [str(s.hashCode()) for s in java_option(sessions.getActiveSession())],
        "conf": dict(spark.conf.getAll),
        "application": sorted(context.getConf().getAll()),
        "local properties": str(context._jsc.sc().getLocalProperties()),
        "system properties": dict(spark._jvm.System.getProperties()),
        "log level in the JVM": str(log4j.getRootLogger().getLevel()),
        "tables": [(table.name, table.tableType) for table in spark.catalog.listTables()],
        "databases": [database.name for database in spark.catalog.listDatabases()],
        "current": (spark.catalog.currentCatalog(), spark.catalog.currentDatabase()),
        "functions": spark._jsparkSession.sessionState().functionRegistry().listFunction().size(),
        "cached": sorted(context._jsc.getPersistentRDDs().keySet()),
        "warnings": list(warnings.filters),
        "environment": dict(os.environ),
        "folder of the process": os.getcwd(),
        "files": [(str(p), p.stat().st_mtime_ns) for p in sorted(folder.rglob("*"))],
        "files beside the process": sorted(os.listdir()),
        "logging": [
            (name, logger.level, tuple(logger.handlers), logger.disabled)
            for name, logger in [
                ("", logging.root),
                *sorted(logging.root.manager.loggerDict.items()),
            ]
            if isinstance(logger, logging.Logger) and name.split(".")[0] in ("", "pyspark", "py4j")
        ],
        "hooks": (sys.excepthook, threading.excepthook, sys.displayhook),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
    }


def java_option(value: Any) -> list[Any]:
    return [value.get()] if value.isDefined() else []


def in_a_thread(action: Callable[[], Any]) -> None:
    """There no session is active."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if caught:
        raise caught[0]


def refused(action: Callable[[], Any]) -> None:
    with pytest.raises(PredTraceError):
        action()


def rows_entries(rows: SourceRows, spark: SparkSession, out: Path) -> None:
    """All that can be asked of an answer's rows."""
    given: dict[str, tuple[Any, ...]] = {"to_spark": (spark,), "write_parquet": (out,)}
    for name, _ in inspect.getmembers(ScanRows, inspect.isfunction):
        if not name.startswith("_"):
            result = getattr(rows, name)(*given.get(name, ()))
            if inspect.isgenerator(result):
                list(result)
            if isinstance(result, DataFrame):
                result.collect()
    assert len(rows) == rows.count()
    repr(rows)


def ask(job: JobHandle, spark: SparkSession | None, engine: str, mode: str, out: Path) -> None:
    answer = job.lineage("k >= 1", engine=engine, mode=mode, spark=spark)
    answer.explain(), repr(answer), answer.targets, answer.missing, answer.label, answer.timings
    if spark is not None and mode == "replayed":
        rows_entries(answer["t"], spark, out)
    else:
        assert answer["t"].to_arrow().num_rows == 3


def pipeline_entries(spark: SparkSession, folder: Path, out: Path) -> dict[str, Callable[[], Any]]:
    def run(keep: str) -> None:
        handle = predtrace.trace(QUERY).run(out / "store", keep=keep, aggregates="both").wait()
        assert len(handle.output.collect()) == handle.output_arrow().num_rows == 2
        predtrace.open_job(out / "store", handle.id, spark).output.collect()
        handle.build_intermediates()

    command: dict[str, Any] = {"aggregates": "minimal", "settings": {}, "as_json": True}
    stored: dict[str, Any] = {"fingerprint": "quick", "rows_limit": 1 << 20}
    query, tables = folder / "q.sql", folder

    def rows_of_the_program() -> None:
        made = spark.createDataFrame([(1, "a"), (2, "b")], "k int, s string")
        frame = made.join(spark.table("t"), "k").groupBy("s").count()
        job = predtrace.trace(frame).run(out / "store")
        assert job.lineage({"s": "a"}, engine="duckdb")["made"].count() == 1
        assert not made.is_cached

    return {
        "trace, text": lambda: predtrace.trace(QUERY).explain().to_dict(),
        "trace, frame": lambda: repr(predtrace.trace(spark.table("t").distinct()).plans),
        "trace, refused": lambda: refused(
            lambda: predtrace.trace("SELECT CAST(k AS STRING) COLLATE UTF8_LCASE FROM t")
        ),
        "a command": lambda: refused(lambda: predtrace.trace("SET spark.sql.ansi.enabled=false")),
        "run, inline": lambda: run("inline"),
        "rows of the program": rows_of_the_program,
        "run, late": lambda: run("late"),
        "run, none": lambda: run("none"),
        "record": lambda: predtrace.trace(QUERY).record(out / "store"),
        "in a thread": lambda: in_a_thread(lambda: run("inline")),
        "doctor": lambda: doctor.checks(str(out)) and doctor.spark_works(),
        "predtrace run": lambda: run_query(
            query, tables, out / "store", keep="inline", limit=1, **stored, **command
        ),
        "predtrace record": lambda: record_query(query, tables, out / "store", **stored, **command),
        "predtrace explain": lambda: explain_query(query, tables, **command),
    }


def question_entries(
    job: JobHandle, spark: SparkSession, out: Path
) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "index": lambda: job.build_index(engine="spark", spark=spark),
        "cache": lambda: job.drop_cache(),
        "forward": lambda: job.forward("t", where="k = 2", engine="spark").count(),
        "cells": lambda: job.lineage((1, 5)).cells("k").label,
        "no such row": lambda: refused(lambda: job.lineage({"nope": 1}, engine="spark")),
        "in a thread": lambda: in_a_thread(lambda: ask(job, None, "spark", "replayed", out)),
    }
    for engine, mode in (
        ("duckdb", "replayed"), ("spark", "replayed"), ("spark", "refined"), ("spark", "naive"),
    ):  # fmt: skip
        found[f"{mode} on {engine}"] = lambda engine=engine, mode=mode: ask(
            job, spark, engine, mode, out / f"{mode}-{engine}"
        )
    return found


def check(entries: dict[str, Callable[[], Any]], now: Callable[[], dict[str, Any]]) -> None:
    before = now()
    for name, action in entries.items():
        action()
        after = now()
        changed = {key for key in before if before[key] != after[key]}
        assert not changed, f"{name}: {[(key, before[key], after[key]) for key in sorted(changed)]}"


def test_pipelines_leave_everything_as_it_was(
    spark: SparkSession, view: None, folder: Path, tmp_path: Path, capsys: Any
) -> None:
    check(pipeline_entries(spark, folder, tmp_path), lambda: state(spark, folder))


def test_questions_leave_everything_as_it_was(
    spark: SparkSession, view: None, folder: Path, job: JobHandle, tmp_path: Path
) -> None:
    check(question_entries(job, spark, tmp_path), lambda: state(spark, folder))


def test_every_entry_is_tried() -> None:
    """Whoever adds to the API adds to the lists above."""
    public = {
        name
        for owner in (Trace, JobHandle)
        for name, _ in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }
    source = Path(__file__).read_text()
    assert {
        name for name in public if f".{name}(" not in source and f".{name}s" not in source
    } == set()
