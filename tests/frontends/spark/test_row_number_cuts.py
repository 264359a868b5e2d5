"""`row_number() <= k`: the rows that a run kept, and what it stores, against plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.frontends.spark.ties import TieFinder
from pushdown import topk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
NAN = float("nan")
PLAIN: list[Row] = [
    {"id": number, "p": p, "k": k, "x": x}
    for number, (p, k, x) in enumerate(
        [
            (1, 3.0, "a"), (1, 1.5, "a"), (1, None, "b"), (1, NAN, "a"), (2, -0.0, "b"),
            (2, 7.0, "b"), (None, 2.0, "a"), (None, 1.0, None), (3, None, "a"), (3, 4.0, "a"),
            (3, 5.0, None), (3, 5.0, "z"), (4, NAN, "b"), (5, 1.0, "c"), (5, 2.0, "c"),
        ]
    )
]  # fmt: skip
"""No rows tie among the first two of a partition, in either order of `k`, NULLs first; but the
greatest two of partition 3 do."""
TIED = [*PLAIN, *({**row, "id": row["id"] + 100, "x": "y"} for row in PLAIN if row["p"] in (1, 2))]
"""Each row of two partitions ties with another one, and 0.0 with -0.0."""


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    folder = tmp_path_factory.mktemp("cuts")
    tied = [{**row, "k": 0.0 if row["k"] == 0 and row["id"] > 99 else row["k"]} for row in TIED]
    for name, rows in {"plain": PLAIN, "tied": tied}.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
        own.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return own


def place(row: Row) -> tuple[int, float]:
    """The place by `k` ascending: NULL first, NaN last."""
    k = row["k"]
    return (0, 0.0) if k is None else (2, 0.0) if k != k else (1, k)


def first(count: int, rows: list[Row] = PLAIN) -> list[Row]:
    """The first rows of each partition by `k`."""
    found: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=place):
        found.setdefault(row["p"], []).append(row)
    return [row for kept in found.values() for row in kept[:count]]


NUMBERED = "(SELECT *, row_number() OVER (PARTITION BY p ORDER BY k) AS n FROM {})"
SHAPES: dict[str, tuple[str, int, tuple[str, ...], str]] = {
    "its key shown": (f"SELECT p, k FROM {NUMBERED} WHERE n = 1", 1, ("p", "k"), ""),
    "nothing but the rows' texts": (f"SELECT x FROM {NUMBERED} WHERE n < 3", 2, ("x",), "p x k"),
    "its number shown": (f"SELECT p, k, n FROM {NUMBERED} WHERE 1 = n", 1, ("p", "k"), ""),
    "the number renamed": (
        f"SELECT p, k, rn FROM (SELECT p, k, n AS rn FROM {NUMBERED}) WHERE rn <= 1",
        1, ("p", "k"), "",
    ),
    "QUALIFY": (
        "SELECT p, k FROM {} QUALIFY row_number() OVER (PARTITION BY p ORDER BY k) <= 2",
        2, ("p", "k"), "",
    ),
    "groups of the first rows": (
        f"SELECT x, count(*) AS c FROM {NUMBERED} WHERE n <= 2 GROUP BY x", 2, ("x",), "p x k"
    ),
    "another filter in between": (
        f"SELECT p, x FROM (SELECT * FROM {NUMBERED} WHERE x IS NOT NULL) WHERE n <= 2",
        2, ("p", "x"), "p x k",
    ),
}  # fmt: skip


def same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def ids(answer: Any, table: str) -> list[int]:
    return sorted(answer[table].to_arrow().column("id").to_pylist())


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("name", SHAPES)
def test_rows_that_do_not_tie(name: str, ansi: str, session: SparkSession, tmp_path: Path) -> None:
    """Keys tell the kept rows; nothing but keys is stored, and a replay gives the same."""
    text, count, shown, stored = SHAPES[name]
    session.conf.set("spark.sql.ansi.enabled", ansi)
    job = predtrace.trace(session.sql(text.format("plain"))).run(store=str(tmp_path))
    kept = first(count)
    if "x IS NOT NULL" in text:
        kept = [row for row in kept if row["x"] is not None]
    cuts = job.record.plans[0].intermediates
    assert {column.name for cut in cuts for column in cut.columns} == set(stored.split())
    assert not any(cut.inline for cut in cuts)
    outputs = [row.asDict() for row in job.output.collect()]
    assert outputs
    for row in outputs:
        expected = [r["id"] for r in kept if all(same(r[key], row[key]) for key in shown)]
        for mode in ("stored", "replayed"):
            answer = job.lineage(row, mode=mode)
            assert (answer.label, ids(answer, "plain")) == ("precise", sorted(expected)), row


def check_tied(session: SparkSession, store: Path, count: int) -> None:
    """The kept rows of partitions that tie, as the run's own output tells them."""
    text = f"SELECT x, id FROM {NUMBERED.format('tied')} WHERE n <= {count}"
    job = predtrace.trace(session.sql(f"SELECT id FROM ({text})")).run(store=str(store))
    grouped = predtrace.trace(
        session.sql(f"SELECT x, sum(shiftleft(1L, id % 50)) AS s FROM ({text}) GROUP BY x")
    ).run(store=str(store))
    assert all(cut.inline for each in (job, grouped) for cut in each.record.plans[0].intermediates)
    for row in job.output.collect():
        answer = job.lineage(row.asDict(), mode="stored")
        assert (answer.label, ids(answer, "tied")) == ("precise", [row["id"]])
    for row in grouped.output.collect():
        answer = grouped.lineage(row.asDict(), mode="stored")
        bits = sum(1 << number % 50 for number in ids(answer, "tied"))
        assert (answer.label, bits) == ("precise", row["s"])


@pytest.mark.parametrize("count", [1, 3])
def test_rows_that_tie(count: int, session: SparkSession, tmp_path: Path) -> None:
    check_tied(session, tmp_path, count)


def test_ties_within_the_kept_rows_matter_not(session: SparkSession, tmp_path: Path) -> None:
    """Every pair of peers is kept as a whole: two of two, in partitions of pairs."""
    text = f"SELECT x FROM {NUMBERED.format('tied')} WHERE n <= 2 AND p = 2"
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    assert not any(cut.inline for cut in job.record.plans[0].intermediates)
    for row in job.output.collect():
        found = ids(job.lineage(row.asDict()), "tied")
        assert found == [4 if row["x"] == "b" else 104]


def test_a_cut_below_another(session: SparkSession, tmp_path: Path) -> None:
    """The lower one ties not, so the upper one sees the same rows in any run."""
    inner = f"SELECT * FROM {NUMBERED.format('plain')} WHERE n <= 2"
    text = (
        "SELECT x, k FROM (SELECT *, row_number() OVER (PARTITION BY x ORDER BY k DESC) AS m "
        f"FROM ({inner})) WHERE m = 1"
    )
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    assert not any(cut.inline for cut in job.record.plans[0].intermediates)
    for row in job.output.collect():
        kept = [r for r in first(2) if r["x"] == row["x"]]
        (expected,) = sorted(kept, key=place)[-1:]
        assert ids(job.lineage(row.asDict()), "plain") == [expected["id"]]


def test_jobs_that_store_nothing_are_not_looked_at(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TieFinder, "_ties", lambda *_: pytest.fail("the data were read"))
    text = f"SELECT id, p, k, x FROM {NUMBERED.format('tied')} WHERE n = 1"
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    assert not job.record.plans[0].intermediates
    predtrace.trace(session.sql(f"SELECT x FROM ({text})")).record(store=str(tmp_path))


def less(most: Callable[..., int | None]) -> Callable[..., int | None]:
    return lambda *args: None if (found := most(*args)) is None else found + 5


MUTANTS: dict[str, tuple[object, str, object]] = {
    "ties are not looked for": (TieFinder, "_ties", lambda *_: False),
    "ties are looked for elsewhere": (topk, "_most", less(topk._most)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants(
    name: str, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, attribute, broken = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, broken)
    with pytest.raises(AssertionError):
        check_tied(session, tmp_path, 1)
