"""Queries in WITH: those that are computed once for several readers, and those that recur."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError
from predtrace.frontends.spark import execute
from predtrace.inference.intermediates import IntermediateChooser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [(number, parent) for number, parent in enumerate([None, 0, 0, 1, 2, 2, 4, 1, None, 8])]
"""A forest: ids, and the parent of each."""


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    folder = tmp_path_factory.mktemp("with")
    ids, parents = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"id": ids, "parent": parents}), folder / "t.parquet")
    pq.write_table(pa.table({"n": [1, 2, 3]}), folder / "u.parquet")
    for name in ("t", "u"):
        own.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return own


def ids(answer: Any, place: int = 0) -> list[int]:
    return sorted(answer.scans[place].to_arrow().column(0).to_pylist())


DRAWN = "WITH c AS (SELECT id, CAST(floor(rand() * 4) AS INT) AS r FROM t) "


def check_pairs(session: SparkSession, store: Path) -> None:
    """Both sides of a join see the same draws, and so does the answer."""
    text = DRAWN + "SELECT a.id AS one, b.id AS other, a.r FROM c a JOIN c b ON a.r = b.r"
    job = predtrace.trace(session.sql(text)).run(store=str(store))
    outputs = [row.asDict() for row in job.output.collect()]
    drawn = {row["one"]: row["r"] for row in outputs}
    assert sorted(drawn) == list(range(len(ROWS)))
    counts = Counter(drawn.values())
    assert len(outputs) == sum(count**2 for count in counts.values())
    for row in outputs[:12]:
        answer = job.lineage(row, mode="stored")
        assert (answer.label, len(answer.scans)) == ("precise", 1)
        assert ids(answer) == sorted({row["one"], row["other"]})
    with pytest.raises(NonDeterministicError, match=r"rand\(\)"):
        job.lineage(outputs[0], mode="replayed").scans[0].count()


def test_rows_that_are_drawn_once(session: SparkSession, tmp_path: Path) -> None:
    check_pairs(session, tmp_path)


def test_a_branch_and_a_subquery(session: SparkSession, tmp_path: Path) -> None:
    """A reader in a subquery reads the same rows as one in FROM."""
    text = DRAWN + (
        "SELECT r, count(*) AS n FROM (SELECT * FROM c UNION ALL SELECT * FROM c) "
        "WHERE r = (SELECT max(r) FROM c) GROUP BY r"
    )
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    (row,) = job.output.collect()
    answer = job.lineage(row.asDict())
    assert (answer.label, 2 * len(ids(answer))) == ("precise", row["n"])


def test_mutant_computed_for_each(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nothing were stored for it, each reader would draw anew."""
    monkeypatch.setattr(execute.Run, "_computed_once", property(lambda self: set()))
    monkeypatch.setattr(IntermediateChooser, "choose_at", lambda *_: None)
    monkeypatch.setattr(IntermediateChooser, "choose", lambda *_, **__: None)
    monkeypatch.setattr(execute.Run, "_untouched", property(lambda self: False))
    with pytest.raises((AssertionError, NonDeterministicError)):
        check_pairs(session, tmp_path)


LOOP = (
    "WITH RECURSIVE r (id, depth) AS (SELECT id, 0 FROM t WHERE parent IS NULL UNION ALL "
    "SELECT t.id, depth + 1 FROM r JOIN t ON t.parent = r.id{}) "
)


def depth(number: int) -> int:
    parent = ROWS[number][1]
    return 0 if parent is None else depth(parent) + 1


LOOPS = {
    "the loop itself": (LOOP.format("") + "SELECT id, depth FROM r", 2),
    "grouped": (LOOP.format("") + "SELECT depth, count(*) AS n FROM r GROUP BY depth", 2),
    "a subquery inside": (
        LOOP.format(" WHERE depth < (SELECT max(n) FROM u)") + "SELECT id, depth FROM r",
        3,
    ),
    "read twice": (
        LOOP.format("") + "SELECT a.id, a.depth, b.id AS b FROM r a JOIN r b ON a.id = b.id",
        4,
    ),
}


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("name", LOOPS)
def test_recursion(name: str, ansi: str, session: SparkSession, tmp_path: Path) -> None:
    """All rows that a loop reads: nobody follows its rounds; the label says so."""
    text, scans = LOOPS[name]
    session.conf.set("spark.sql.ansi.enabled", ansi)
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    outputs = [row.asDict() for row in job.output.collect()]
    depths = Counter(depth(number) for number, _ in ROWS)
    if "n" in outputs[0]:
        assert {row["depth"]: row["n"] for row in outputs} == depths
    else:
        assert Counter(row["depth"] for row in outputs) == depths
    answer = job.lineage(outputs[-1])
    assert (answer.label, len(answer.scans)) == ("superset", scans)
    assert all("recursion" in scan.reason for scan in answer.scans)
    assert all(len(ids(answer, place)) in (len(ROWS), 3) for place in range(scans))


def test_beside_a_loop(session: SparkSession, tmp_path: Path) -> None:
    """A table that is joined with a loop is traced as ever."""
    text = (
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) "
        "SELECT n, id FROM r JOIN t ON n = parent"
    )
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    for row in job.output.collect():
        answer = job.lineage(row.asDict())
        assert (answer.label, ids(answer)) == ("precise", [row["id"]])
