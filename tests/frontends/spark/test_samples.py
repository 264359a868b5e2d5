"""Samples: sums in the output tell which rows were drawn; nothing is ever drawn again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError, TargetError
from predtrace.frontends.spark import read_pipeline
from pushdown.operators import Sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

IDS = range(14)
ROWS = {
    "id": list(IDS),
    "k": [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, None, None],
    "g": ["a", "b", None, "a", "b", None, "a", "b", "a", "a", "b", "b", "a", "a"],
    # A sum of these has a digit for each row, to base 16: how often the row was drawn.
    "digit": [16**number for number in IDS],
}
TWINS = {"x": [1, 1, 1, 2, None, None, 3], "y": ["p", "p", "q", "p", None, None, "r"]}
HALF = "TABLESAMPLE (50 PERCENT) REPEATABLE (7)"


def drawn(digits: int | None) -> Counter[int]:
    """How often each row was drawn, by a sum of `digit`."""
    total = digits or 0
    return Counter({number: total // 16**number % 16 for number in IDS})


def ids(*sums: int | None) -> set[int]:
    """The rows that some of the sums have drawn."""
    return {number for each in sums for number, count in drawn(each).items() if count}


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with the tables `s` (an id in every row) and `twins` (equal rows)."""
    own = spark.newSession()
    for name, table in (("s", pa.table(ROWS)), ("twins", pa.table(TWINS))):
        path = tmp_path_factory.mktemp("samples") / f"{name}.parquet"
        pq.write_table(table, path)
        own.read.parquet(str(path)).createOrReplaceTempView(name)
    return own


Row = dict[str, Any]
Rows = Callable[[Row], tuple[set[int], ...]]
Make = Callable[["SparkSession"], "DataFrame"]


def sql(text: str) -> Make:
    return lambda session: session.sql(text)


def summed(frame: DataFrame, *names: str) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.groupBy(*names).agg(f.count("*").alias("n"), f.sum("digit").alias("d"))


CASES: dict[str, tuple[Make, Rows]] = {
    "at the top": (lambda s: s.table("s").sample(0.6, seed=3), lambda row: ({row["id"]},)),
    "projected": (sql(f"SELECT id FROM s {HALF}"), lambda row: ({row["id"]},)),
    "grouped": (
        sql(f"SELECT g, count(*) AS n, sum(digit) AS d FROM s {HALF} GROUP BY g"),
        lambda row: (ids(row["d"]),),
    ),
    "grouped, a random seed": (
        lambda s: summed(s.table("s").sample(0.6), "g"),
        lambda row: (ids(row["d"]),),
    ),
    "with replacement": (
        lambda s: summed(s.table("s").sample(True, 1.5, 3), "g"),
        lambda row: (ids(row["d"]),),
    ),
    "a sample of a sample": (
        lambda s: summed(s.table("s").sample(0.8, seed=1).filter("id > 0").sample(0.7, seed=2)),
        lambda row: (ids(row["d"]),),
    ),
    "both sides of a join": (
        sql(
            f"SELECT a.g, sum(a.digit) AS d, count(*) AS n, b.id FROM (SELECT * FROM s) {HALF} a "
            "JOIN (SELECT * FROM s) TABLESAMPLE (70 PERCENT) REPEATABLE (5) b ON a.k = b.k "
            "GROUP BY a.g, b.id"
        ),
        lambda row: (ids(row["d"]), {row["id"]}),
    ),
    "in a semi join": (
        sql(f"SELECT id FROM s WHERE id IN (SELECT id FROM (SELECT * FROM s) {HALF})"),
        lambda row: ({row["id"]}, {row["id"]}),
    ),
    "in a scalar subquery": (
        sql(f"SELECT id, (SELECT sum(digit) FROM (SELECT * FROM s) {HALF}) AS d FROM s"),
        lambda row: ({row["id"]}, ids(row["d"])),
    ),
    "of nothing": (
        lambda s: summed(s.table("s").filter("id < 0").sample(True, 3.0, 1)),
        lambda row: (set(),),
    ),
    "nothing of it": (
        lambda s: summed(s.table("s").sample(0.0, seed=1)),
        lambda row: (set(),),
    ),
    "after a step of pipes": (
        sql(f"FROM s |> WHERE id > 1 |> {HALF} |> AGGREGATE sum(digit) AS d GROUP BY g"),
        lambda row: (ids(row["d"]),),
    ),
}


def found(answer: Any) -> tuple[set[int], ...]:
    return tuple(set(scan.row_ids().column("row").to_pylist()) for scan in answer.scans)


def samples_of(job: predtrace.JobHandle) -> list[Sample]:
    return [operator for operator in job.record.graph if isinstance(operator, Sample)]


def check(job: predtrace.JobHandle, rows: Iterable[Row], expected: Rows, **how: str) -> int:
    checked = 0
    for row in rows:
        answer = job.lineage(row, **how)
        assert answer.label == "precise"
        assert found(answer) == expected(row), (how, row)
        checked += 1
    return checked


ASKED = 5
"""So many rows of an output are asked about, of larger ones."""


@pytest.mark.parametrize("name", CASES)
def test_the_rows_drawn_are_the_lineage(session: SparkSession, tmp_path: Path, name: str) -> None:
    make, expected = CASES[name]
    job = predtrace.trace(make(session)).run(tmp_path)
    assert samples_of(job)
    rows = job.output_arrow().to_pylist()[:ASKED]
    assert check(job, rows, expected, mode="stored", engine="duckdb") == len(rows) > 0


@pytest.mark.parametrize("name", ["with replacement", "both sides of a join"])
def test_an_index_has_the_rows_drawn(session: SparkSession, tmp_path: Path, name: str) -> None:
    make, expected = CASES[name]
    job = predtrace.open_job(tmp_path, predtrace.trace(make(session)).run(tmp_path).id)
    job.build_index(engine="duckdb")
    rows = job.output_arrow().to_pylist()[:ASKED]
    assert check(job, rows, expected, mode="indexed") == len(rows) > 0


def test_late_runs_store_samples_on_the_way(session: SparkSession, tmp_path: Path) -> None:
    make, expected = CASES["grouped, a random seed"]
    job = predtrace.trace(make(session)).run(tmp_path, keep="late").wait()
    (stored,) = job.record.intermediates
    assert stored.result.rows == sum(row["n"] for row in job.output_arrow().to_pylist())
    rows = job.output_arrow().to_pylist()
    assert check(job, rows, expected, engine="spark") == len(rows) > 0


def test_what_was_drawn_is_not_drawn_again(session: SparkSession, tmp_path: Path) -> None:
    job = predtrace.trace(CASES["grouped"][0](session)).run(tmp_path / "inline")
    for row in job.output_arrow().to_pylist()[:1]:
        with pytest.raises(NonDeterministicError, match=r"need not give.*Sample.*TABLESAMPLE"):
            job.lineage(row, mode="replayed")
        refined = job.lineage(row, mode="refined", engine="duckdb")
        assert refined.label == "superset"
        assert found(refined)[0] >= ids(row["d"])
    job = predtrace.trace(CASES["grouped"][0](session)).run(tmp_path / "none", keep="none")
    row = job.output_arrow().to_pylist()[0]
    for use in (lambda: job.lineage(row), job.build_intermediates):
        with pytest.raises(NonDeterministicError, match=r"Sample.*keep='inline'"):
            use()


def test_targets_of_an_output_that_was_not_kept(session: SparkSession, tmp_path: Path) -> None:
    job = predtrace.trace(CASES["at the top"][0](session)).record(tmp_path)
    with pytest.raises(TargetError, match=r"Sample.*keep_output=True"):
        job.lineage({"id": 3})
    row = {name: values[3] for name, values in ROWS.items()}
    answer = job.lineage(row, engine="duckdb")
    assert found(answer) == ({3},)
    assert any("on trust" in note for note in answer.notes)


@pytest.mark.parametrize("replacing", [False, True])
def test_equal_rows_are_one(session: SparkSession, tmp_path: Path, replacing: bool) -> None:
    frame = session.table("twins").sample(replacing, 0.7, 11)
    job = predtrace.trace(frame).run(tmp_path)
    rows = job.output_arrow().to_pylist()
    table = list(zip(*TWINS.values(), strict=True))

    def equals(row: Row) -> tuple[set[int], ...]:
        return ({number for number, other in enumerate(table) if other == (row["x"], row["y"])},)

    assert check(job, rows, equals, mode="stored", engine="duckdb") == len(rows) > 0
    assert any(len(equals(row)[0]) > 1 for row in rows)


def test_the_parts_of_a_random_split(session: SparkSession, tmp_path: Path) -> None:
    answers = []
    for number, part in enumerate(session.table("s").randomSplit([0.3, 0.7], seed=4)):
        job = predtrace.trace(summed(part)).run(tmp_path / str(number))
        (row,) = job.output_arrow().to_pylist()
        answers.append(found(job.lineage(row, engine="duckdb"))[0])
        assert answers[-1] == ids(row["d"])
    assert answers[0] | answers[1] == set(IDS)
    assert not answers[0] & answers[1]


def test_rows_drawn_stay_in_order(session: SparkSession, tmp_path: Path) -> None:
    ordered = session.table("s").orderBy("g", "id", ascending=False)
    everything = [row["id"] for row in ordered.collect()]
    job = predtrace.trace(ordered.sample(0.8, seed=5)).run(tmp_path)
    opened = predtrace.open_job(tmp_path, job.id, session)
    stored = set(job.output_arrow().column("id").to_pylist())
    for handle in (job, opened):
        read = [row["id"] for row in handle.output.collect()]
        assert len(read) > 5
        assert read == [number for number in everything if number in stored]
        plan: Any = handle.output._jdf.queryExecution().analyzed()  # type: ignore[operator]
        assert "Sort" in plan.toString()


def test_an_unread_aggregate_below_a_sample_has_no_lineage(
    session: SparkSession, tmp_path: Path
) -> None:
    """The row that attains the max, not the whole group: nothing reads the sum."""
    inner = "SELECT g, max(id) AS m, sum(digit) AS d FROM s GROUP BY g"
    text = f"SELECT m FROM ({inner}) TABLESAMPLE (90 PERCENT) REPEATABLE (7)"
    job = predtrace.trace(text, session).run(tmp_path)
    rows = job.output_arrow().to_pylist()
    assert check(job, rows, lambda row: ({row["m"]},), engine="duckdb") == len(rows) > 0


def test_how_samples_are_read(session: SparkSession) -> None:
    def read(frame: DataFrame) -> list[tuple[Any, ...]]:
        graph = read_pipeline(frame).graph
        return [
            (o.lower, o.upper, o.with_replacement, o.seed)
            for o in graph.operators()
            if isinstance(o, Sample)
        ]

    table = session.table("s")
    assert read(session.sql(f"SELECT * FROM s {HALF}")) == [(0.0, 0.5, False, 7)]
    assert read(session.sql("SELECT * FROM s TABLESAMPLE (BUCKET 1 OUT OF 4)"))[0][:3] == (
        0.0, 0.25, False,
    )  # fmt: skip
    # PySpark makes a seed of its own from the one that it is given.
    ((lower, upper, replacing, seed),) = read(table.sample(True, 2.5, 3))
    assert (lower, upper, replacing, isinstance(seed, int)) == (0.0, 2.5, True, True)
    first, second = table.randomSplit([1.0, 3.0], seed=1)
    assert [read(part)[0][:3] for part in (first, second)] == [
        (0.0, 0.25, False),
        (0.25, 1.0, False),
    ]
    assert read(session.sql("SELECT * FROM s TABLESAMPLE (3 ROWS)")) == []
    shown = str(predtrace.trace(f"SELECT * FROM s {HALF}", session).explain())
    assert "sample 0 % to 50 %, seed 7" in shown
