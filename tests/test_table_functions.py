"""Table functions in Python: the rows beside which a call's rows stand, where it keeps no state.

The truth is the class itself, called here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.functions import udtf

import predtrace
from predtrace.errors import PredTraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = ["a b", "b", None, "", "c  a b", "b", "a b"]
WEIGHTS = [1, 2, 3, 4, 5, 2, 7]
SEEN: list[str] = []
FEW = ("b", "c")


class Words:
    def eval(self, text: str | None) -> Iterator[tuple[str, int]]:
        for place, word in enumerate((text or "").split()):
            if word in FEW or len(word) < 3:
                yield word, place


class Counts:
    """Gives a row at the end."""

    def __init__(self) -> None:
        self.count = 0

    def eval(self, text: str | None) -> Iterator[tuple[str, int]]:
        self.count += 1
        yield "so far", self.count

    def terminate(self) -> Iterator[tuple[str, int]]:
        yield "all", self.count


class Remembers:
    """Keeps its state in a variable of the module."""

    def eval(self, text: str | None) -> Iterator[tuple[str, int]]:
        SEEN.append(text or "")
        yield "seen", len(SEEN)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "t.parquet"
    pq.write_table(pa.table({"id": range(7), "s": TEXTS, "w": WEIGHTS}), path)
    return path


def _session(spark: SparkSession, table: Path, cls: type) -> SparkSession:
    session = spark.newSession()
    session.read.parquet(str(table)).createOrReplaceTempView("t")
    session.udtf.register("words", udtf(cls, returnType="word string, place int"))
    return session


def _found(job: Any, targets: list[Any]) -> list[list[int]]:
    answer = job.lineage(targets)
    assert answer.label == "precise", [scan.reason for scan in answer.scans]
    found: list[list[int]] = [[] for _ in targets]
    for row in answer.scans[0].to_arrow(["id"]).to_pylist():
        found[row["target"]].append(row["id"])
    return [sorted(ids) for ids in found]


Shown = Callable[[tuple[Any, ...], str, int], tuple[Any, ...] | None]
ABOVE = (
    "SELECT u.word, count(*) AS n FROM (SELECT * FROM t WHERE w > 1) AS v, LATERAL words(v.s) AS u "
    "WHERE u.place = 0 GROUP BY u.word"
)
QUERIES: dict[str, tuple[str, Shown]] = {
    "beside": ("SELECT w, word FROM t, LATERAL words(s)", lambda row, word, place: (row[1], word)),
    "alone": ("SELECT word, place FROM t, LATERAL words(s)", lambda row, *made: made),
    "above": (ABOVE, lambda row, word, place: (word,) if row[1] > 1 and place == 0 else None),
}


@pytest.mark.parametrize("name", QUERIES)
def test_without_state(spark: SparkSession, table: Path, tmp_path: Path, name: str) -> None:
    """Equal input rows count together: the rows 1 and 5 are equal but for the id."""
    query, shown = QUERIES[name]
    session = _session(spark, table, Words)
    job = predtrace.trace(query, session).run(tmp_path)
    truth: dict[Any, list[int]] = {}
    for number, row in enumerate(zip(TEXTS, WEIGHTS, strict=True)):
        for word, place in Words().eval(row[0]):
            key = shown(row, word, place)
            if key is not None and number not in truth.setdefault(key, []):
                truth[key].append(number)
    output = job.output.collect()
    assert sorted({tuple(row)[: len(next(iter(truth)))] for row in output}) == sorted(truth)
    targets = [tuple(row) for row in output]
    found = _found(job, targets)
    assert found == [truth[row[: len(next(iter(truth)))]] for row in targets]
    assert sorted(map(str, output)) == sorted(map(str, session.sql(query).collect()))


def test_outer_joins(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    """A row beside which no row stands, and a function that may keep state."""
    query = "SELECT id, word FROM t LEFT JOIN LATERAL words(s)"
    job = predtrace.trace(query, _session(spark, table, Words)).run(tmp_path)
    targets = [tuple(row) for row in job.output.collect()]
    assert (2, None) in targets
    assert _found(job, targets) == [[number] for number, _ in targets]
    with pytest.raises(PredTraceError, match=r"words.*may keep state"):
        predtrace.trace(query, _session(spark, table, Counts))


@pytest.mark.parametrize("cls", [Counts, Remembers])
def test_with_state(spark: SparkSession, table: Path, tmp_path: Path, cls: type) -> None:
    session = _session(spark, table, cls)
    job = predtrace.trace("SELECT id, word, place FROM t, LATERAL words(s)", session).run(tmp_path)
    answer = job.lineage(tuple(job.output.collect()[0]))
    (scan,) = answer.scans
    assert (scan.label, scan.count()) == ("superset", 7)
    assert "words" in scan.reason
