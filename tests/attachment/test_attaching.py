"""Attaching and detaching: what changes for the program (nothing), and what can go wrong."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import predtrace
from predtrace.errors import EngineError, PredTraceError, StoreError
from predtrace.frontends.spark.listener import executions
from predtrace.jobs.store import JobStore
from tests.attachment.conftest import Program, ids, shop_ids


def test_attaching_twice_is_attaching_once(program: Program) -> None:
    again = predtrace.attach(program.spark.newSession(), program.path("store"))
    assert again is program.attachment
    with pytest.raises(PredTraceError, match=r"is attached to .*store already; predtrace\.detach"):
        predtrace.attach(program.spark, program.path("other"))
    with pytest.raises(PredTraceError, match="already with other settings"):
        predtrace.attach(program.spark, program.path("store"), actions=True)


def test_writes_of_other_sessions_are_recorded_until_detached(program: Program) -> None:
    other = program.spark.newSession()
    other.read.parquet(program.path("sales")).write.parquet(program.path("out"))
    assert [job.wrote for job in program.jobs()] == [program.path("out")]
    predtrace.detach(program.spark)
    predtrace.detach(program.spark)
    assert not program.attachment.is_active
    program.sales().write.parquet(program.path("later"))
    assert len(JobStore(program.path("store")).jobs()) == 1


def test_nothing_of_the_session_changes(program: Program) -> None:
    spark, context = program.spark, program.spark.sparkContext

    def seen() -> Any:
        return (
            dict(spark._jsparkSession.sessionState().conf().getAllConfs().mkString("\n") and {}),
            spark._jsparkSession.sessionState().conf().getAllConfs().mkString("\n"),
            [table.name for table in spark.catalog.listTables()],
            sorted(function.name for function in spark.catalog.listFunctions()),
            type(spark)._instantiatedSession,
            type(spark).getActiveSession() and type(spark).getActiveSession()._jsparkSession,
            context.getJobTags(),
        )

    before = seen()
    program.sales().createOrReplaceTempView("v")
    spark.sql("select * from v").write.parquet(program.path("out"))
    spark.catalog.dropTempView("v")
    assert len(program.jobs()) == 1
    assert seen() == before


def test_queries_are_jobs_if_asked_for(program: Program) -> None:
    predtrace.detach(program.spark)
    program.attachment = predtrace.attach(program.spark, program.path("store"), actions=True)
    found = program.sales().groupBy("shop").count().where("shop = 'a'").collect()
    assert [tuple(row) for row in found] == [("a", 3)]
    job = program.only_job()
    assert job.record.written is not None
    assert job.record.written.command == "action"
    assert ids(job.lineage(("a", 3)), "sales") == shop_ids(lambda row: row[1] == "a")
    # Its questions are queries, too: what Spark runs for them is the next job, if it reads files.
    predtrace.detach(program.spark)


def test_a_write_that_fails_is_listed(program: Program) -> None:
    with pytest.raises(Exception, match="boo"):
        program.sales().selectExpr("raise_error('boo')").write.parquet(program.path("out"))
    (job,) = program.jobs()
    assert job.problem.startswith("failed: ")
    assert "boo" in job.problem
    assert job.wrote == program.path("out")
    with pytest.raises(StoreError, match=r"has no record; failed: .*boo"):
        predtrace.open_job(program.path("store"), job.id)


def test_what_cannot_be_read_is_one_warning_and_is_listed(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    frame = program.sales().selectExpr("id", "current_timestamp() as at")
    with caplog.at_level(logging.WARNING, "predtrace"):
        frame.write.parquet(program.path("out"))
        (job,) = program.jobs()
    assert job.problem.startswith("refused: the pipeline reads the current date or time")
    (message,) = (record.getMessage() for record in caplog.records)
    assert message.startswith(f"predtrace: a write to {program.path('out')} was not recorded: the")
    assert "\n" not in message


def test_a_store_that_is_gone_does_not_stop_the_program(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    store = Path(program.path("store"))
    shutil.rmtree(store, ignore_errors=True)
    store.write_text("no folder")
    with caplog.at_level(logging.WARNING, "predtrace"):
        program.sales().write.parquet(program.path("out"))
        assert program.attachment.wait(60)
    assert program.spark.read.parquet(program.path("out")).count() == 7
    first, second = (record.getMessage() for record in caplog.records)
    assert "cannot be written" in first
    assert "nor could that be noted" in second


def test_what_does_not_fit_into_the_queue_is_counted(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executions, "CAPACITY", 2)
    listener = executions.Listener(spark.sparkContext, actions=False)
    try:
        for number in range(5):
            spark.range(number).write.parquet(str(tmp_path / str(number)))
        listener.wait_for_spark()
        seen = [listener.take(0) for _ in range(3)]
        assert [each is not None for each in seen] == [True, True, False]
        assert (listener.dropped(), listener.dropped()) == (3, 0)
    finally:
        listener.remove()


def test_where_nothing_can_be_attached(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(PredTraceError, match="attach takes keep='none', not 'inline'"):
        predtrace.attach(spark, tmp_path, keep="inline")
    with pytest.raises(EngineError, match="Spark Connect"):
        predtrace.attach(SimpleNamespace(), tmp_path)  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        predtrace.attach(spark, tmp_path / "file" / "store")
    assert "stop" not in vars(spark.sparkContext)
