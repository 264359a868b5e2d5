"""Rows that the program itself brings are sources; truth is the position in the program's list."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from predtrace.errors import (
    NonDeterministicError,
    PredTraceError,
    SourceError,
    StoreError,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Positions = dict[tuple[str, int], list[int]]
QUICKLY = (("replayed", "duckdb"), ("indexed", "duckdb"), ("stored", "spark"))


@pytest.fixture
def own(spark: SparkSession) -> SparkSession:
    return spark.newSession()


def check(
    frame: DataFrame,
    store: Path,
    expected: Iterable[tuple[Any, Positions]],
    asked: Iterable[tuple[str, str]] = QUICKLY,
    **choices: Any,
) -> predtrace.JobHandle:
    """Every target has these rows of each scan, precisely, however it is asked."""
    session = frame.sparkSession
    job = predtrace.trace(frame, session).run(store, **choices)
    job.wait()
    job.build_index(spark=session)
    for mode, engine in asked:
        for target, wanted in expected:
            answer = job.lineage(target, mode=mode, engine=engine, spark=session)
            found = {
                (scan.table, scan.occurrence): sorted(scan.row_ids().column("row").to_pylist())
                for scan in answer.scans
            }
            assert (answer.label, found) == ("precise", wanted), (mode, engine, target)
            for scan in answer.scans:
                assert scan.to_arrow().num_rows == len(found[scan.table, scan.occurrence])
    return job


def test_rows_of_python(own: SparkSession, tmp_path: Path) -> None:
    staff = own.createDataFrame([(1, "a"), (2, None), (1, "a"), (3, "b")], "id int, dept string")
    before = [name for name in dir(staff) if not name.startswith("_")]
    frame = staff.groupBy("dept").count()
    job = check(
        frame,
        tmp_path,
        [
            ({"dept": "a"}, {("staff", 1): [0, 2]}),
            ({"dept": None}, {("staff", 1): [1]}),
            ({"dept": "none"}, {("staff", 1): []}),
        ],
    )
    assert sorted(map(tuple, job.output.collect()), key=str) == [("a", 2), ("b", 1), (None, 1)]
    assert not staff.is_cached
    assert [n for n in dir(staff) if not n.startswith("_")] == before


def test_rows_of_pandas(own: SparkSession, tmp_path: Path) -> None:
    import pandas as pd

    pay = own.createDataFrame(pd.DataFrame({"k": [1, 2, 2], "v": [0.5, float("nan"), -0.0]}))
    check(
        pay.where("k = 2"),
        tmp_path,
        [({"v": 0.0}, {("pay", 1): [2]}), ({"v": None}, {("pay", 1): [1]})],
    )


def test_values(own: SparkSession, tmp_path: Path) -> None:
    text = "SELECT b, sum(a) AS s FROM VALUES (1, 'x'), (2, NULL), (3, 'x') AS t(a, b) GROUP BY b"
    check(own.sql(text), tmp_path, [({"s": 4}, {("rows 1", 1): [0, 2]})])
    own.sql("CREATE TEMPORARY VIEW listed AS SELECT * FROM VALUES (1), (2) AS t(a)")
    twice = "SELECT l.a, r.a AS b FROM listed l JOIN listed r ON l.a < r.a, (VALUES (7)) AS c"
    wanted = {("listed", 1): [0], ("listed", 2): [1], ("rows 1", 1): [0]}
    check(own.sql(twice), tmp_path, [({"a": 1, "b": 2}, wanted)])
    now = "SELECT n FROM VALUES (current_date(), 1), (current_date() - 1, 2) AS t(d, n) WHERE d IS "
    check(own.sql(now + "NOT NULL"), tmp_path, [({"n": 2}, {("rows 1", 1): [1]})])
    inner = "SELECT a FROM listed WHERE a IN (SELECT * FROM VALUES (2), (2), (9) AS v(b))"
    check(own.sql(inner), tmp_path, [({"a": 2}, {("listed", 1): [1], ("rows 1", 1): [0, 1]})])


def test_ranges(own: SparkSession, tmp_path: Path) -> None:
    own.range(20, 0, -3).createOrReplaceTempView("down")
    text = "SELECT up.id FROM range(1, 30, 4) AS up JOIN down ON up.id = down.id"
    wanted = {("range 1", 1): [4], ("down", 1): [1]}
    job = check(own.sql(text), tmp_path, [({"id": 17}, wanted), ({"id": 5}, _both(1, 5))])
    assert not list(job.folder.glob("rows-*"))
    counted = own.range(5, 5).groupBy().count()
    check(counted, tmp_path, [({"count": 0}, {("range 1", 1): []})])
    far = own.range(2**63 - 9, 2**63 - 1, 4, numPartitions=3)
    check(far.where("true"), tmp_path, [({"id": 2**63 - 5}, {("far", 1): [1]})])


def _both(up: int, down: int) -> Positions:
    return {("range 1", 1): [up], ("down", 1): [down]}


def test_a_frame_used_twice(own: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    people = own.createDataFrame([(1, 2), (2, 3), (3, 3)], "id long, boss long")
    other = own.createDataFrame([(1, 2), (2, 3), (3, 3)], "id long, boss long")
    pairs = people.alias("p").join(people.alias("b"), f.col("p.boss") == f.col("b.id"))
    frame = pairs.selectExpr("p.id AS a", "b.id AS b").unionAll(other)
    wanted = {("people", 1): [1], ("people", 2): [2], ("other", 1): [1]}
    job = check(frame, tmp_path, [({"a": 2, "b": 3}, wanted)])
    assert len(list(job.folder.glob("rows-*"))) == 2


def test_types_and_names(own: SparkSession, tmp_path: Path) -> None:
    own.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    schema = (
        'id int, `a.b` decimal(20,3), `q"o``t` date, t timestamp, ntz timestamp_ntz, bytes binary, '
        "arr array<array<int>>, s struct<`x y`: string, z: double>, m map<string, int>, n void, "
        "ID int, _metadata string, e float"
    )
    first = (
        1, Decimal("12345678901234567.125"), dt.date(1, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), dt.datetime(9999, 12, 31, 23),
        b"\x00\xff", [[1, None], None, []], ("it's", float("nan")), {"k": None}, None, 7, "x", -0.0,
    )  # fmt: skip
    odd = own.createDataFrame([first, (None,) * 13, (*first[:12], float("nan"))], schema)
    frame = odd.toDF(*(f"c{place}" for place in range(13))).drop("c6", "c7", "c8")
    targets = [({"c0": 1, "c12": 0.0}, {("odd", 1): [0]}), ({"c12": None}, {("odd", 1): [1]})]
    targets.append(({"c12": float("nan")}, {("odd", 1): [2]}))
    for ansi in ("true", "false"):
        own.conf.set("spark.sql.ansi.enabled", ansi)
        job = check(frame, tmp_path, targets, (("stored", "duckdb"), ("stored", "spark")))
    rows = job.lineage({"c12": 0.0}, engine="duckdb")["odd"]
    (found,) = rows.to_arrow().to_pylist()
    assert list(found) == [
        "id", "a.b", 'q"o`t', "t", "ntz", "bytes", "arr", "s", "m", "n", "ID (2)", "_metadata (2)",
        "e",
    ]  # fmt: skip
    assert found["a.b"] == first[1]
    assert found['q"o`t'] == first[2]
    assert found["t"] == first[3]
    assert found["arr"] == first[6]
    assert found["bytes"] == first[5]
    assert found["n"] is None
    assert str(found["s"]["z"]) == "nan"
    assert found["m"] == [("k", None)]
    assert found["ID (2)"] == 7


def test_rows_without_columns_and_frames_without_rows(own: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.types import StructType

    bare = own.createDataFrame([(), (), ()], StructType([]))
    counted = bare.groupBy().count()
    wanted = {("bare", 1): [0, 1, 2]}
    check(counted, tmp_path, [({"count": 3}, wanted)], (("stored", "duckdb"), ("stored", "spark")))
    nothing = own.createDataFrame([], "a int")
    wanted = {("nothing", 1): []}
    check(nothing.groupBy().count(), tmp_path, [({"count": 0}, wanted)])


def test_names(own: SparkSession, tmp_path: Path) -> None:
    """The name of the view, else of the variable that holds just these rows, else a number."""
    held = own.createDataFrame([(1,)], "a int")
    held.createOrReplaceTempView("seen")
    renamed = own.createDataFrame([(1,)], "a int").toDF("b")
    frame = own.table("seen").unionAll(renamed).unionAll(own.createDataFrame([(1,)], "a int"))
    found = predtrace.trace(frame.unionAll(own.sql("SELECT * FROM VALUES (1)")))
    tables = [scan.table for scan in found.graph.scans()]
    assert sorted(tables) == ["renamed", "rows 1", "rows 2", "seen"]
    assert [scan.table for scan in predtrace.trace(held).graph.scans()] == ["held"]


def test_rows_that_another_run_would_not_repeat(own: SparkSession, tmp_path: Path) -> None:
    """The run, its stored results and its answers are of the same rows, though the RDD is not."""
    for keep in ("inline", "late", "none"):
        drawn = own.sparkContext.parallelize(range(40), 4).map(_drawn)
        frame = own.createDataFrame(drawn, "n int, r double")
        both = frame.alias("a").join(frame.alias("b"), ["n", "r"]).where("r < 0.5")
        job = predtrace.trace(both).run(tmp_path, keep=keep).wait()
        rows = job.output.collect()
        assert 0 < len(rows) < 40
        for row in (rows[0], rows[-1]):
            answer = job.lineage(tuple(row), engine="duckdb")
            assert answer.label == "precise"
            assert [scan.to_arrow().to_pylist() for scan in answer.scans] == [[row.asDict()]] * 2
            assert answer.scans[0].row_ids().column("row").to_pylist() == [row["n"]]
        with pytest.raises(NonDeterministicError, match=r"frame are made by an RDD.*trace\.run"):
            predtrace.trace(both).record(tmp_path)


def _drawn(number: int) -> tuple[int, float]:
    import random

    return number, random.SystemRandom().random()


def test_checkpoints_and_cached_frames(own: SparkSession, tmp_path: Path) -> None:
    rows = [(n, n % 3) for n in range(9)]
    made = own.createDataFrame(rows, "n int, k int").orderBy("k", "n").coalesce(1)
    kept = made.localCheckpoint()
    wanted = {("kept", 1): [3, 4, 5]}
    check(kept.groupBy("k").max("n").drop("k"), tmp_path, [({"max(n)": 7}, {("kept", 1): [5]})])
    check(kept.groupBy("k").count(), tmp_path, [({"k": 1}, wanted)])
    predtrace.trace(kept.where("k = 1")).record(tmp_path)
    own.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    saved = made.checkpoint()
    check(saved.groupBy("k").count(), tmp_path / "jobs", [({"k": 1}, {("saved", 1): [3, 4, 5]})])
    cached = own.createDataFrame(rows, "n int, k int").cache()
    try:
        assert cached.count() == 9
        wanted = {("cached", 1): [1, 4, 7]}
        check(cached.groupBy("k").count(), tmp_path, [({"k": 1}, wanted)])
        assert cached.is_cached
    finally:
        cached.unpersist()


def test_the_limit(own: SparkSession, tmp_path: Path) -> None:
    wide = own.createDataFrame([(n, str(n) * 50) for n in range(2000)], "n int, text string")
    own.createDataFrame([(1,), (2,)], "n int").write.parquet(str(tmp_path / "small"))
    small = own.read.parquet(str(tmp_path / "small"))
    frame = small.join(wide, "n")
    store = tmp_path / "jobs"
    with pytest.raises(StoreError, match=r"rows of wide,.*kB.*limit is 1\.0 kB.*rows_limit"):
        predtrace.trace(frame).run(store, rows_limit=1000)
    assert not list(store.iterdir())
    with pytest.raises(PredTraceError, match="rows_limit is a number of bytes or None"):
        predtrace.trace(frame).run(store, rows_limit=-1)
    assert predtrace.trace(frame).run(store, rows_limit=None).lineage({"n": 2})["wide"].count() == 1
    # Without these rows everything else is answered.
    for keep in ("inline", "late"):
        job = predtrace.trace(frame).run(store, keep=keep, rows_limit=0).wait()
        answer = job.lineage({"n": 2}, engine="duckdb")
        assert answer["small"].row_ids().num_rows == 1
        for read in (answer["wide"].count, answer["wide"].to_arrow, job.build_index):
            with pytest.raises(SourceError, match=r"rows of wide.*were not kept.*rows_limit"):
                read()


ASK = """
import sys
import predtrace
answer = predtrace.open_job(sys.argv[1], "latest").lineage({"k": 1}, engine="duckdb")
print(answer.label, [(s.table, s.row_ids().column("row").to_pylist()) for s in answer.scans])
"""


def test_a_job_in_another_process_and_place(own: SparkSession, tmp_path: Path) -> None:
    few = own.createDataFrame([(0,), (1,), (1,)], "k long")
    frame = few.join(own.range(1, 4).withColumnRenamed("id", "k"), "k").groupBy("k").count()
    job = predtrace.trace(frame).run(tmp_path / "jobs")
    shutil.copytree(tmp_path / "jobs", tmp_path / "copy")
    assert job.lineage({"k": 1})["few"].count() == 2
    shutil.rmtree(tmp_path / "jobs")
    asked = [sys.executable, "-c", ASK, str(tmp_path / "copy")]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "precise [('few', [1, 2]), ('range 1', [0])]"
    (file,) = (tmp_path / "copy").rglob("rows.parquet")
    data = bytearray(file.read_bytes())
    data[10] ^= 1
    file.write_bytes(data)
    moved = predtrace.open_job(tmp_path / "copy", "latest")
    with pytest.raises(SourceError, match=r"few changed.*other content"):
        moved.lineage({"k": 1}, engine="duckdb")
