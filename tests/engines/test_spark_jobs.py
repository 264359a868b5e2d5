"""The Spark jobs of a question: how many there are, and what becomes of them."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import predtrace
from predtrace.engines.duckdb.engine import DuckDBEngine
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.spark.nearby import Nearby
from predtrace.engines.spark.together import at_once
from predtrace.errors import SourceError
from predtrace.handle import JobHandle
from predtrace.lineage.rows import ScanRows
from tests.engines.tables import SETTINGS, targets

GROUP = "the job group of the user"
AS, BS = (
    [(number % 7, number % 5 or None, number) for number in range(60)],
    [(number % 9, -number) for number in range(40)],
)
"""Rows of a (k, g, v) and of b (k, w)."""
QUERY = """
    SELECT a.g, n, sum(a.v) AS s
    FROM a JOIN (SELECT k, count(*) AS n FROM b WHERE w > -30 GROUP BY k) c ON a.k = c.k
    WHERE a.v > 3 GROUP BY a.g, n
"""


def lineage(g: int | None, n: int) -> tuple[set[int], set[int]]:
    """The rows of a and b behind the group (g, n)."""
    counted: dict[int, list[int]] = {}
    for row, (k, w) in enumerate(BS):
        if w > -30:
            counted.setdefault(k, []).append(row)
    keys = {k for k, rows in counted.items() if len(rows) == n}
    found = {row for row, (k, group, v) in enumerate(AS) if v > 3 and group == g and k in keys}
    return found, {row for k in {AS[row][0] for row in found} for row in counted[k]}


@pytest.fixture(scope="module")
def job(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> JobHandle:
    folder = tmp_path_factory.mktemp("jobs")
    for name, columns, rows in (("a", "kgv", AS), ("b", "kw", BS)):
        table = pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=16)
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return predtrace.trace(spark.sql(QUERY)).run(store=str(folder / "lineage"))


@pytest.fixture
def grouped(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, in a thread with a job group and a pool."""
    spark.sparkContext.setJobGroup(GROUP, "a description")
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "mine")
    yield spark
    for name in ("spark.jobGroup.id", "spark.job.description", "spark.scheduler.pool"):
        spark.sparkContext.setLocalProperty(name, None)  # type: ignore[arg-type]


def jobs(spark: SparkSession, do: Callable[[], Any]) -> tuple[Any, int]:
    """What a call returns, and the number of Spark jobs in the caller's group that it takes."""
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(GROUP))
    found = do()
    return found, len(set(tracker.getJobIdsForGroup(GROUP)) - before)


def numbers(table: pa.Table, target: int) -> set[int]:
    if "target" not in table.column_names:
        return set(table.column("row").to_pylist())
    pairs = zip(table.column("target").to_pylist(), table.column("row").to_pylist(), strict=True)
    return {row for one, row in pairs if one == target}


MOST = {
    # A job a scan. Rows that keep targets apart are joined: one more a scan, to broadcast them.
    "stored": {"one": 2, "several": 4, "predicate": 2},
    # The replay comes first: its rows, and what its order of rows depends on.
    "replayed": {"one": 5, "several": 8, "predicate": 5},
    # Every value set of every pass is computed and counted.
    "refined": {"one": 40, "several": 45, "predicate": 45},
}
"""The most jobs of a question about both scans, by mode and target."""


@pytest.mark.parametrize("mode", MOST)
def test_jobs_of_a_question(grouped: SparkSession, job: JobHandle, mode: str) -> None:
    output = [(row["g"], row["n"]) for row in job.output_arrow().to_pylist()]
    expected = [list(lineage(*row)) for row in output]
    of_three = [rows for rows, (_, n) in zip(expected, output, strict=True) if n == 3]
    asked: dict[str, tuple[Any, list[list[set[int]]]]] = {
        "one": ({"g": output[0][0], "n": output[0][1]}, expected[:1]),
        "several": ([{"g": g, "n": n} for g, n in output], expected),
        "predicate": ("n = 3", [[set().union(*rows) for rows in zip(*of_three, strict=True)]]),
    }
    context: Any = grouped.sparkContext._jsc.sc()  # type: ignore[attr-defined]
    settings, kept = dict(grouped.conf.getAll), context.getPersistentRDDs().size()
    local = context.getLocalProperties().toString()
    for kind, (target, rows) in asked.items():
        answer = job.lineage(target, mode=mode, engine="spark", spark=grouped)
        ids, count = jobs(grouped, lambda answer=answer: answer.each(ScanRows.row_ids))
        found = [[numbers(table, place) for table in ids] for place in range(len(rows))]
        for place, scan in enumerate(answer.scans):
            same = set.__eq__ if scan.label == "precise" else set.__ge__
            assert all(
                same(one[place], other[place]) for one, other in zip(found, rows, strict=True)
            )
        assert mode == "refined" or answer.label == "precise"
        assert count <= MOST[mode][kind], (mode, kind)
        if mode == "stored":
            assert context.getPersistentRDDs().size() == kept
    assert dict(grouped.conf.getAll) == settings
    assert context.getLocalProperties().toString() == local
    assert not grouped.sparkContext.getJobTags()


def test_all_ways_to_read(grouped: SparkSession, job: JobHandle) -> None:
    answer = job.lineage({"n": 4}, mode="stored", engine="spark", spark=grouped)
    a, b = (scan.row_ids().num_rows for scan in answer.scans)
    assert answer.each(lambda scan: scan.count()) == [a, b]
    assert [table.num_rows for table in answer.each(lambda scan: scan.to_arrow())] == [a, b]
    assert answer.each(lambda scan: scan.name) == ["a", "b"]
    embedded = job.lineage({"n": 4}, mode="stored", engine="duckdb")
    assert embedded.each(lambda scan: scan.count()) == [a, b]


# -- steps at the same time


def test_steps_have_the_callers_properties(grouped: SparkSession) -> None:
    context = grouped.sparkContext
    names = ("spark.jobGroup.id", "spark.scheduler.pool")

    def step(number: int) -> tuple[int, str, list[Any]]:
        given = [context.getLocalProperty(name) for name in names]
        context.setLocalProperty("spark.scheduler.pool", "of the step")
        return number, threading.current_thread().name, given

    found = at_once(context, [lambda number=number: step(number) for number in range(20)])
    assert [number for number, _, _ in found] == list(range(20))
    assert threading.current_thread().name not in {name for _, name, _ in found}
    first = [given for _, _, given in found[:1]]
    assert first == [[GROUP, "mine"]]
    assert context.getLocalProperty("spark.scheduler.pool") == "mine"


def endless(spark: SparkSession) -> int:
    return spark.range(10**14).selectExpr("sum(id % 7)").collect()[0][0]  # type: ignore[no-any-return]


def is_idle(spark: SparkSession) -> bool:
    """Whether no job of the group runs, soon."""
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + 10
    while time.monotonic() < until:
        found = [tracker.getJobInfo(one) for one in tracker.getJobIdsForGroup(GROUP)]
        if not any(info is not None and info.status == "RUNNING" for info in found):
            return True
        time.sleep(0.05)
    return False


def wait_for_jobs(spark: SparkSession) -> None:
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + 20
    while not tracker.getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.01)


def test_the_first_error_ends_the_others(grouped: SparkSession) -> None:
    def fails() -> int:
        wait_for_jobs(grouped)
        raise ValueError("the first")

    with pytest.raises(ValueError, match="the first"):
        at_once(grouped.sparkContext, [lambda: endless(grouped), fails, lambda: endless(grouped)])
    assert is_idle(grouped)
    assert at_once(grouped.sparkContext, [lambda: grouped.range(5).count()] * 2) == [5, 5]


def test_an_interrupt_ends_all(grouped: SparkSession) -> None:
    def interrupts() -> int:
        wait_for_jobs(grouped)
        _thread.interrupt_main()
        return endless(grouped)

    with pytest.raises(KeyboardInterrupt):
        at_once(grouped.sparkContext, [lambda: endless(grouped), interrupts])
    assert is_idle(grouped)


def test_a_source_that_vanished(spark: SparkSession, tmp_path: Path) -> None:
    for name in "ab":
        pq.write_table(pa.table({"k": [1, 2]}), tmp_path / f"{name}.parquet")
        spark.read.parquet(str(tmp_path / f"{name}.parquet")).createOrReplaceTempView(name)
    made = predtrace.trace(
        spark.sql("SELECT a.k, count(*) AS n FROM a JOIN b USING (k) GROUP BY 1")
    )
    made = made.run(store=str(tmp_path / "lineage"))
    answer = made.lineage({"k": 1}, engine="spark", spark=spark)
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(SourceError, match=r"source b: .* does not exist"):
        answer.each(lambda scan: scan.row_ids())


# -- sessions and look-ups


def test_questions_follow_the_users_settings(spark: SparkSession) -> None:
    """Sessions are copies of a pattern, but not of one with other settings."""
    key = "spark.sql.files.maxPartitionBytes"
    nothing = targets([], [(0, ())], numbered=False)
    before = spark.conf.get(key)
    try:
        for value in ("1000000b", "2000000b", "1000000b"):
            spark.conf.set(key, value)
            first, second = (SparkEngine(spark).open(nothing, SETTINGS).session for _ in range(2))
            assert first.conf.get(key) == second.conf.get(key) == value
            first.range(1).createOrReplaceTempView("of_the_first")
            first.conf.set(key, "3000000b")
            assert not second.catalog.tableExists("of_the_first")
            assert second.conf.get(key) == value
            assert not spark.catalog.tableExists("of_the_first")
    finally:
        spark.conf.set(key, str(before))


def test_look_ups_in_the_process_find_what_spark_finds(
    grouped: SparkSession, job: JobHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> tuple[Any, int]:
        answer = job.lineage("n >= 3", mode="stored", engine="spark", spark=grouped)
        return jobs(grouped, lambda: [scan.row_ids().to_pylist() for scan in answer.scans])

    near, few = ask()
    monkeypatch.setattr(Nearby, "bound", lambda self, binding: None)
    far, more = ask()
    key = sorted
    assert [key(map(repr, rows)) for rows in near] == [key(map(repr, rows)) for rows in far]
    assert few < more
    monkeypatch.undo()
    # An engine that refuses leaves the look-up to Spark.
    monkeypatch.setattr(DuckDBEngine, "binding_inexactness", lambda self, binding, settings: "no")
    assert ask()[1] == more


def test_many_rows_found_in_the_process(grouped: SparkSession, tmp_path: Path) -> None:
    """They are sent to Spark once, and broadcast for each scan."""
    count = 24_000
    rows = {
        "many": {"k": list(range(count)), "g": [k % 2 for k in range(count)]},
        "few": {"k": list(range(count))[::-1], "w": [k % 5 for k in range(count)]},
    }
    for name, columns in rows.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        frame = grouped.read.parquet(str(tmp_path / f"{name}.parquet"))
        frame.createOrReplaceTempView(name)
    made = predtrace.trace(
        grouped.sql(
            "SELECT g, sum(s) AS s FROM many JOIN (SELECT k, sum(w) AS s FROM few GROUP BY k) c "
            "ON many.k = c.k GROUP BY g"
        )
    ).run(store=str(tmp_path / "lineage"))
    answer = made.lineage({"g": 1}, mode="stored", engine="spark", spark=grouped)
    found, started = jobs(grouped, lambda: answer.each(ScanRows.row_ids))
    expected = {
        "many": {row for row, g in enumerate(rows["many"]["g"]) if g == 1},
        "few": {row for row, k in enumerate(rows["few"]["k"]) if k % 2 == 1},
    }
    for scan, table in zip(answer.scans, found, strict=True):
        assert numbers(table, 0) == expected[scan.table]
    assert answer.label == "precise"
    assert started <= 4
