"""Session windows: the rows of a key whose time lies in the session, against plain Python."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark import read_pipeline
from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.sessions_merged import SessionMerger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Times = list[tuple[int, int, Row]]
"""Start and end in minutes, and what they are of."""
DAY = dt.datetime(2024, 3, 31)
ROWS: list[Row] = [
    {"id": number, "k": k, "m": m, "gap": gap}
    for number, (k, m, gap) in enumerate(
        [
            (1, 0, 60), (1, 5, 1), (1, 11, 1), (1, 70, 1), (2, 1, 5), (2, 6, 5), (2, 6, 5),
            (2, 12, 1), (None, 3, 5), (None, 9, 1), (None, 4, 5), (3, None, 5), (3, 120, 5),
            (3, 121, 0), (3, 130, None), (1, 5, 1), (1, 5, 5), (4, 119, 5), (4, 124, 5),
        ]
    )
]  # fmt: skip
"""Minutes of a day around a change of clocks: touching, nested and equal windows, no time."""


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with the table `t`, in a zone whose clocks change."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    times = [None if row["m"] is None else DAY + dt.timedelta(minutes=row["m"]) for row in ROWS]
    table = pa.Table.from_pylist([{**row, "bit": 1 << row["id"]} for row in ROWS])
    table = table.append_column("at", pa.array(times, pa.timestamp("us", "UTC")))
    table = table.append_column("wall", pa.array(times, pa.timestamp("us")))
    path = tmp_path_factory.mktemp("sessions") / "t.parquet"
    pq.write_table(table, path)
    own.read.parquet(str(path)).createOrReplaceTempView("t")
    return own


def fixed(gap: int, rows: Iterable[Row] = ROWS) -> Times:
    return [(row["m"], row["m"] + gap, row) for row in rows if row["m"] is not None]


def of_rows(rows: Iterable[Row] = ROWS) -> Times:
    """Windows with the gap of the row; without one, or of no length, there is none."""
    return [
        (row["m"], row["m"] + row["gap"], row)
        for row in rows
        if row["m"] is not None and row["gap"]
    ]


def merged(times: Times, key: Callable[[Row], Any] = lambda row: 0) -> list[set[int]]:
    """The rows of each session."""
    found: dict[Any, list[tuple[int, set[int]]]] = {}
    for start, end, row in sorted(times, key=lambda each: each[:2]):
        sessions = found.setdefault(key(row), [])
        if sessions and start <= sessions[-1][0]:
            last, ids = sessions.pop()
            sessions.append((max(last, end), ids | {row["id"]}))
        else:
            sessions.append((end, {row["id"]}))
    return [ids for sessions in found.values() for _, ids in sessions]


def by_key(row: Row) -> Any:
    return row["k"]


GAP = "session_window({at}, '5 minutes')"
OWN_GAP = "session_window({at}, concat(gap, ' minutes'))"
BITS = "sum(bit) AS bits"
CASES: dict[str, tuple[str, list[set[int]]]] = {
    "its window shown": (
        f"SELECT session_window, {BITS} FROM t GROUP BY {GAP}", merged(fixed(5))
    ),
    "with a key": (f"SELECT k, {BITS} FROM t GROUP BY k, {GAP}", merged(fixed(5), by_key)),
    "key and window shown": (
        f"SELECT k, session_window.start AS s, session_window.end AS e, {BITS} FROM t "
        f"GROUP BY {GAP}, k",
        merged(fixed(5), by_key),
    ),
    "a gap of the row": (
        f"SELECT session_window.start AS s, {BITS} FROM t GROUP BY {OWN_GAP}, k",
        merged(of_rows(), by_key),
    ),
    "made before": (
        f"SELECT w AS v, {BITS} FROM (SELECT {GAP} AS w, * FROM t WHERE k IS NOT NULL) "
        "GROUP BY w, k + 1",
        merged(fixed(5, [row for row in ROWS if row["k"]]), by_key),
    ),
    "in a subquery": (
        "SELECT bits FROM (VALUES (1)) AS v (one) JOIN LATERAL (SELECT "
        f"{BITS} FROM t GROUP BY {GAP}, k)",
        merged(fixed(5), by_key),
    ),
}  # fmt: skip


def found(answer: Any) -> set[int]:
    assert answer["t"].label == "precise"
    return set(answer["t"].row_ids().column("row").to_pylist())


def check(session: SparkSession, store: Path, text: str, expected: list[set[int]]) -> None:
    """The result is Spark's own, and each row has the rows of its session."""
    job = predtrace.trace(session.sql(text)).run(store=str(store))
    outputs = job.output.collect()
    assert sorted(map(str, outputs)) == sorted(map(str, session.sql(text).collect()))
    bits = sorted(sum(1 << number for number in ids) for ids in expected)
    assert sorted(row["bits"] for row in outputs) == bits
    largest = sorted(outputs, key=lambda row: row["bits"].bit_count())[-2:]
    for mode, row in zip(("stored", "replayed"), largest, strict=True):
        rows = {place for place in range(len(ROWS)) if row["bits"] >> place & 1}
        answer = job.lineage(row, mode=mode)
        assert found(answer) == rows, (mode, row)


@pytest.mark.parametrize("name", CASES)
def test_rows_of_sessions(name: str, session: SparkSession, tmp_path: Path) -> None:
    text, expected = CASES[name]
    ansi = list(CASES).index(name) % 2 == 0
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    check(session, tmp_path, text.format(at="at" if ansi else "wall"), expected)


WHOLE = {
    "the greatest of a session": (
        f"SELECT k, session_window.start AS s, max(id) AS m FROM t GROUP BY k, {GAP}",
        merged(fixed(5), by_key),
    ),
    "sessions alone": (f"SELECT DISTINCT k, {GAP} AS w FROM t", merged(fixed(5), by_key)),
    "sessions of sessions": (
        f"SELECT w.start AS s, max(m) AS m FROM (SELECT {GAP} AS w, k, max(id) AS m FROM t "
        f"GROUP BY k, {GAP}) GROUP BY w",
        merged(fixed(5)),
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_session_is_whole(name: str, session: SparkSession, tmp_path: Path) -> None:
    """All rows of a session count, whatever is computed of it."""
    text, expected = WHOLE[name]
    job = predtrace.trace(session.sql(text.format(at="wall"))).run(store=str(tmp_path))
    outputs = job.output.collect()
    assert len(outputs) == len(expected)
    for row in outputs[:2]:
        given = row.asDict()
        start = (given["s"] if "s" in given else given["w"]["start"]) - DAY
        rows = found(job.lineage(row))
        assert rows in expected
        assert min(ROWS[place]["m"] for place in rows) * 60 == start.total_seconds()


REFUSED = {
    "an intersection": f"SELECT {GAP} AS w FROM t INTERSECT SELECT {GAP} FROM t",
    "rolled up": f"SELECT count(*) FROM t GROUP BY ROLLUP ({GAP})",
    "read by an aggregate": (
        f"SELECT max(session_window.end) FROM t GROUP BY k, {GAP}"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_merging_is_refused(session: SparkSession, name: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=r"session windows.*are merged"):
        read_pipeline(session.sql(REFUSED[name].format(at="at")))


def test_dropped_duplicates_of_sessions_are_refused(session: SparkSession) -> None:
    frame = session.sql("SELECT session_window(at, '5 minutes') AS w, id FROM t")
    with pytest.raises(UnsupportedOperatorError, match=r"session windows.*are merged"):
        read_pipeline(frame.dropDuplicates(["w"]))


def not_touching(call: Callable[..., Any]) -> Callable[..., Any]:
    def broken(self: Builder, function: str, *args: Any) -> Any:
        return call(self, "GreaterThanOrEqual" if function == "GreaterThan" else function, *args)

    return broken


def without_keys(sessions: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, window, keys, plan: sessions(self, window, [], plan)


def peers_too(running: Callable[..., Any]) -> Callable[..., Any]:
    def broken(*args: Any, before: bool) -> Any:
        return running(*args, before=False)

    return broken


MUTANTS: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "windows that touch are apart": (Builder, "call", not_touching),
    "keys do not count": (SessionMerger, "_sessions", without_keys),
    "the own end counts": (Builder, "running_max", peers_too),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants(
    name: str, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, attribute, mutate = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, mutate(getattr(owner, attribute)))
    text, expected = CASES["key and window shown"]
    with pytest.raises(AssertionError):
        check(session, tmp_path, text.format(at="wall"), expected)
