"""dropDuplicates on some columns: the rows that were kept, and all rows equal to them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError
from pushdown.operators import DropDuplicates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = {
    "k": [1, 1, 1, 2, 2, None, None, 3, 4, 4, 5, 5],
    "x": [0.0, -0.0, 0.0, math.nan, math.nan, 1.5, 1.5, None, -0.0, -0.0, 2.0, 2.0],
    "v": ["a", "a", "b", "c", "c", "d", None, "e", "f", "f", "g", "g"],
    # A sum of these has a digit for each row, to base 4.
    "digit": [4**number for number in range(12)],
}
PLAIN = {name: values for name, values in ROWS.items() if name != "digit"}
Row = dict[str, Any]
Make = Callable[["SparkSession"], "DataFrame"]


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with the tables `s` (a digit in every row) and `twins` (equal rows)."""
    own = spark.newSession()
    for name, rows in (("s", ROWS), ("twins", PLAIN)):
        path = tmp_path_factory.mktemp("duplicates") / f"{name}.parquet"
        pq.write_table(pa.table(rows), path)
        own.read.parquet(str(path)).createOrReplaceTempView(name)
    return own


def key(value: Any) -> Any:
    """A value as SQL compares it: NaN is one value, and so are both zeros."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def equal_to(row: Row, table: dict[str, list[Any]]) -> set[int]:
    """The rows of a table that equal a row."""
    size = len(next(iter(table.values())))
    return {n for n in range(size) if all(key(table[c][n]) == key(row[c]) for c in row)}


def digits(total: int | None) -> set[int]:
    return {n for n in range(12) if (total or 0) // 4**n % 4}


def found(answer: Any) -> tuple[set[int], ...]:
    return tuple(set(scan.row_ids().column("row").to_pylist()) for scan in answer.scans)


CASES: dict[str, tuple[Make, Callable[[Row], set[int]]]] = {
    "at the top": (
        lambda s: s.table("twins").dropDuplicates(["k"]),
        lambda row: equal_to(row, PLAIN),
    ),
    "a float key": (
        lambda s: s.table("twins").dropDuplicates(["x"]),
        lambda row: equal_to(row, PLAIN),
    ),
    "a key that is no number": (
        lambda s: s.table("s").dropDuplicates(["v", "k"]).groupBy("k").sum("digit"),
        lambda row: digits(row["sum(digit)"]),
    ),
    "summed": (
        lambda s: s.table("s").dropDuplicates(["k"]).groupBy().sum("digit"),
        lambda row: digits(row["sum(digit)"]),
    ),
    "one row of all": (
        lambda s: s.table("s").dropDuplicates([]).select("digit"),
        lambda row: digits(row["digit"]),
    ),
    "of a float, summed": (
        lambda s: s.table("s").dropDuplicates(["x"]).groupBy("x").sum("digit"),
        lambda row: digits(row["sum(digit)"]),
    ),
    "twice, sorted before": (
        lambda s: (
            s.table("s")
            .orderBy("digit")
            .dropDuplicates(["k", "x"])
            .filter("k IS NOT NULL")
            .dropDuplicates(["k"])
            .groupBy()
            .sum("digit")
        ),
        lambda row: digits(row["sum(digit)"]),
    ),
}


@pytest.mark.parametrize("keep", ["inline", "late"])
@pytest.mark.parametrize("name", CASES)
def test_the_rows_kept_are_the_lineage(
    session: SparkSession, tmp_path: Path, name: str, keep: Any
) -> None:
    make, expected = CASES[name]
    job = predtrace.trace(make(session)).run(tmp_path, keep=keep).wait()
    assert any(isinstance(operator, DropDuplicates) for operator in job.record.graph)
    rows = job.output_arrow().to_pylist()
    for number, row in enumerate(rows[:3]):
        engine = "spark" if number == 0 else "duckdb"
        answer = job.lineage(row, mode="stored", engine=engine)
        assert answer.label == "precise"
        assert found(answer) == (expected(row),), (engine, row)
    assert rows


def test_all_keys_have_a_row(session: SparkSession, tmp_path: Path) -> None:
    job = predtrace.trace(session.table("twins").dropDuplicates(["k"])).run(tmp_path)
    kept = defaultdict(int)
    for row in job.output_arrow().to_pylist():
        kept[row["k"]] += 1
    assert kept == dict.fromkeys(ROWS["k"], 1)


def test_an_index_has_the_rows_kept(session: SparkSession, tmp_path: Path) -> None:
    make, expected = CASES["of a float, summed"]
    job = predtrace.open_job(tmp_path, predtrace.trace(make(session)).run(tmp_path).id)
    job.build_index(engine="duckdb")
    rows = job.output_arrow().to_pylist()
    for row in rows:
        assert found(job.lineage(row, mode="indexed")) == (expected(row),)
    assert len(rows) == 5


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_replays_when_nothing_was_chosen(
    session: SparkSession, tmp_path: Path, engine: str
) -> None:
    """Where only equal rows have equal keys, a replay keeps the same rows; else it is refused."""
    frame = session.table("twins").filter("k IN (2, 3, 4, 5)").dropDuplicates(["k"])
    job = predtrace.trace(frame.groupBy("v").count()).run(tmp_path / "one", keep="none")
    for row in job.output_arrow().to_pylist():
        answer = job.lineage(row, mode="replayed", engine=engine)
        assert answer.label == "precise"
        assert found(answer) == (equal_to({"v": row["v"]}, PLAIN),)
    frame = session.table("twins").dropDuplicates(["k"]).groupBy("v").count()
    job = predtrace.trace(frame).run(tmp_path / "two", keep="none")
    row = job.output_arrow().to_pylist()[0]
    with pytest.raises(NonDeterministicError, match=r"DropDuplicates.*had a choice"):
        found(job.lineage(row, mode="replayed", engine=engine))
    refined = job.lineage(row, mode="refined", engine=engine)
    assert refined.label == "superset"
    assert found(refined)[0] & equal_to({"v": row["v"]}, PLAIN)


def test_how_it_is_shown(session: SparkSession) -> None:
    frame = session.table("twins").dropDuplicates(["k", "v"])
    assert "one row for each k, v" in str(predtrace.trace(frame).explain())
