"""The public API on Spark: run, ask, open again; nothing half done is ever listed."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.api import Trace
from predtrace.errors import (
    NonDeterministicError,
    PredTraceError,
    SourceError,
    StoreError,
    TargetError,
)
from predtrace.frontends.spark.execute import Run, SparkRunResult
from predtrace.jobs.store import JobStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """
    SELECT o.status, count(*) AS n, max(o.price) AS best
    FROM orders o
    WHERE EXISTS (SELECT * FROM items i WHERE i.order = o.id AND i.late)
    GROUP BY o.status ORDER BY o.status
"""
ORDERS = {
    "id": [1, 2, 3, 4, 5],
    "status": ["F", "F", "O", "O", None],
    "price": [10.0, 20.0, 5.0, 7.0, 1.0],
}
ITEMS = {"order": [1, 1, 2, 3, 4, 5], "late": [True, True, True, True, False, True]}
EXPECTED = [(None, 1, 1.0), ("F", 2, 20.0), ("O", 1, 5.0)]


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A session with the two tables."""
    folder = tmp_path_factory.mktemp("tables")
    own = spark.newSession()
    for name, data in (("orders", ORDERS), ("items", ITEMS)):
        pq.write_table(pa.table(data), folder / f"{name}.parquet")
        own.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return own


@pytest.fixture(scope="module")
def trace(session: SparkSession) -> Trace:
    return predtrace.trace(QUERY, session)


def collected(job: predtrace.JobHandle) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in job.output.collect()]


def rows_of(answer: Any) -> list[int]:
    return sorted(answer.row_ids().column("row").to_pylist())


def check_lineage(job: predtrace.JobHandle, engine: str = "duckdb") -> None:
    answer = job.lineage({"status": "F"}, engine=engine)
    assert answer.label == "precise"
    assert rows_of(answer["orders"]) == [0, 1]
    assert rows_of(answer["items"]) == [0, 1, 2]


def test_trace_runs_nothing_and_explains(trace: Trace) -> None:
    assert [scan.table for scan in trace.graph.scans()] == ["items", "orders"]
    assert set(trace.plans) == {"minimal", "whole"}
    assert trace.inference_seconds > 0
    assert "orders" in str(trace.explain())
    with pytest.raises(PredTraceError, match="aggregates is"):
        trace.explain("most")


@pytest.mark.parametrize("keep", ["inline", "late"])
def test_run_and_ask(trace: Trace, tmp_path: Path, keep: str) -> None:
    job = trace.run(tmp_path, keep=keep, aggregates="both")
    assert collected(job) == EXPECTED
    assert job.output.columns == ["status", "n", "best"]
    for engine in ("duckdb", "spark"):
        check_lineage(job, engine)
    assert job.wait() is job
    # The output handed over before the job had its name is still there.
    assert collected(job) == EXPECTED
    assert [summary.id for summary in JobStore(tmp_path).jobs()] == [job.id]
    assert job.record.keep == keep
    assert {plan.aggregates for plan in job.record.plans} == {"minimal", "whole"}
    reopened = predtrace.open_job(tmp_path, job.id)
    check_lineage(reopened)
    assert reopened.output_arrow().to_pylist() == [
        dict(zip(("status", "n", "best"), row, strict=True)) for row in EXPECTED
    ]
    assert collected(reopened) == EXPECTED


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_old_job_without_intermediates(trace: Trace, tmp_path: Path, engine: str) -> None:
    expected = trace.run(store=tmp_path / "inline").lineage(("F", 2, 20.0))
    job = trace.run(store=tmp_path / "none", keep="none")
    assert job.record.intermediates == ()
    for mode in ("auto", "replayed", "refined"):
        answer = job.lineage(("F", 2, 20.0), mode=mode, engine=engine)
        assert answer.mode == ("replayed" if mode == "auto" else mode)
        for scan, other in zip(answer.scans, expected.scans, strict=True):
            assert rows_of(scan) == rows_of(other)
    with pytest.raises(PredTraceError, match="has not stored intermediate 1"):
        job.lineage(("F", 2, 20.0), mode="stored")
    assert job.build_intermediates(engine=engine) is job
    again = predtrace.open_job(tmp_path / "none", job.id)
    assert [item.binding for item in again.record.intermediates] == [1]
    answer = again.lineage(("F", 2, 20.0), engine="duckdb")
    assert (answer.mode, answer.label) == ("stored", "precise")
    for scan, other in zip(answer.scans, expected.scans, strict=True):
        assert rows_of(scan) == rows_of(other)
    assert again.build_intermediates().record == again.record


def test_building_from_changed_sources(session: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "changing.parquet"
    pq.write_table(pa.table(ORDERS), file)
    session.read.parquet(str(file)).createOrReplaceTempView("changing")
    query = QUERY.replace("FROM orders", "FROM changing")
    job = predtrace.trace(query, session).run(store=tmp_path / "store", keep="none")
    pq.write_table(pa.table({**ORDERS, "price": [1.0] * 5}), file)
    before = {*job.folder.iterdir(), job.folder / "build.lock"}
    with pytest.raises(SourceError, match=r"changing\.parquet"):
        job.build_intermediates()
    with pytest.raises(SourceError, match=r"changing\.parquet"):
        job.lineage(("F", 2, 20.0), mode="replayed")
    assert {*job.folder.iterdir()} == before


def test_output_that_is_not_kept(trace: Trace, tmp_path: Path) -> None:
    job = trace.run(tmp_path, keep_output=False)
    assert collected(job) == EXPECTED
    assert job.record.output is None
    answer = job.lineage(EXPECTED[1])
    assert rows_of(answer["orders"]) == [0, 1]
    assert any("on trust" in note for note in answer.notes)
    reopened = predtrace.open_job(tmp_path, job.id)
    with pytest.raises(PredTraceError, match="keep_output=True"):
        reopened.output_arrow()
    with pytest.raises(PredTraceError, match="keep_output=True"):
        _ = reopened.output


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_job_that_ran_before(trace: Trace, tmp_path: Path, engine: str) -> None:
    job = trace.record(tmp_path)
    assert job.record.output is None
    assert job.record.intermediates == ()
    again = predtrace.open_job(tmp_path, job.id)
    check_lineage(again, engine)
    answer = again.lineage(["n = 1", {"status": "X"}], engine=engine)
    assert any("in a replay" in note for note in answer.notes)
    assert answer.targets.column("target").to_pylist() == [0, 0]
    assert answer.missing == (1,)
    assert rows_of(answer["orders"]) == [2, 4]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_limits_are_replayed_where_they_had_no_choice(
    session: SparkSession, tmp_path: Path, engine: str
) -> None:
    job = predtrace.trace(QUERY + " LIMIT 2", session).record(tmp_path / "order")
    answer = job.lineage([{"status": "F"}, {"status": "O"}], engine=engine)
    assert answer.missing == (1,)
    assert rows_of(answer["orders"]) == [0, 1]
    query = "SELECT status, count(*) AS n FROM (SELECT * FROM orders LIMIT 2) GROUP BY status"
    job = predtrace.trace(query, session).record(tmp_path / "any")
    answer = job.lineage({"n": 1}, engine=engine)
    with pytest.raises(NonDeterministicError, match=r"Limit.*had a choice"):
        answer["orders"].count()


def test_float_sums_are_not_replayed(session: SparkSession, tmp_path: Path) -> None:
    query = "SELECT status, sum(price) AS total FROM orders GROUP BY status"
    job = predtrace.trace(query, session).record(tmp_path)
    with pytest.raises(TargetError, match=r"GroupBy.*keep_output=True"):
        job.lineage({"status": "F"})


def test_a_clock_cannot_be_recorded(session: SparkSession, tmp_path: Path) -> None:
    trace = predtrace.trace(
        "SELECT id FROM orders WHERE current_date() > DATE'2020-01-01'", session
    )
    with pytest.raises(NonDeterministicError, match="current date"):
        trace.record(tmp_path)
    assert not list(tmp_path.iterdir())


def test_row_of_the_output_is_a_target(trace: Trace, tmp_path: Path) -> None:
    job = trace.run(tmp_path)
    rows = job.output.collect()
    answer = job.lineage(rows)
    assert answer.missing == ()
    found = {(row["target"], row["id"]) for row in answer["orders"].to_arrow(["id"]).to_pylist()}
    assert found == {(0, 5), (1, 1), (1, 2), (2, 3)}


class Broken(Exception):
    """What the tests make fail."""


def test_failed_run_leaves_nothing(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (Broken("no"), KeyboardInterrupt()):

        def fail(run: Run, error: BaseException = error) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(Run, "_store_output", fail)
            with pytest.raises(type(error)):
                trace.run(tmp_path)
        assert list(tmp_path.iterdir()) == []
        assert JobStore(tmp_path).jobs() == []
    check_lineage(trace.run(tmp_path))


def test_error_while_storing_late_is_told_at_the_next_use(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(result: SparkRunResult) -> None:
        raise Broken("the disk is full")

    monkeypatch.setattr(SparkRunResult, "finish", fail)
    job = trace.run(tmp_path, keep="late")
    assert collected(job) == EXPECTED
    for use in (job.wait, lambda: job.lineage({"status": "F"}), lambda: job.record):
        with pytest.raises(StoreError, match=r"could not be stored \(the disk is full\)"):
            use()
    assert JobStore(tmp_path).jobs() == []


def test_late_storing_does_not_delay_the_output(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_store = threading.Event()
    finish = SparkRunResult.finish

    def wait_first(result: SparkRunResult) -> None:
        assert may_store.wait(60)
        finish(result)

    monkeypatch.setattr(SparkRunResult, "finish", wait_first)
    job = trace.run(tmp_path, keep="late")
    output = job.output
    assert [tuple(row) for row in output.collect()] == EXPECTED
    assert JobStore(tmp_path).jobs() == []
    may_store.set()
    check_lineage(job)
    assert [tuple(row) for row in output.collect()] == EXPECTED


def test_wrong_arguments(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(PredTraceError, match="keep is"):
        trace.run(tmp_path, keep="never")
    with pytest.raises(PredTraceError, match="aggregates is"):
        trace.run(tmp_path, aggregates="most")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        trace.run(tmp_path / "file" / "store")
    assert not (tmp_path / "store").exists()


def test_import_is_light() -> None:
    code = (
        "import sys, predtrace\n"
        "heavy = {'pyspark', 'pandas', 'duckdb', 'z3', 'pyarrow', 'sqlglot'}\n"
        "assert not heavy & {name.split('.')[0] for name in sys.modules}\n"
        "assert dir(predtrace) == sorted(predtrace.__all__)\n"
        "assert all(getattr(predtrace, name) for name in predtrace.__all__)\n"
        "assert 'pyspark' not in sys.modules and 'duckdb' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = predtrace.nope  # type: ignore[attr-defined]
