"""Time windows: tumbling and sliding ones have the rows in them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EPOCH = dt.datetime(1970, 1, 1)
TIMES = [
    *(dt.datetime(2024, 3, 31, hour, minute) for hour in (0, 1, 2) for minute in (0, 4, 10, 59)),
    dt.datetime(1969, 12, 31, 23, 55),
    dt.datetime(1969, 12, 31, 23, 55),
    None,
]
ROWS = {
    "k": [number % 3 for number in range(len(TIMES))],
    "at": pa.array(TIMES, pa.timestamp("us", "UTC")),
    "wall": pa.array(TIMES, pa.timestamp("us")),
    "v": list(range(len(TIMES))),
}


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with the table `t`, in a zone whose clocks change."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    path = tmp_path_factory.mktemp("windows") / "t.parquet"
    pq.write_table(pa.table(ROWS), path)
    own.read.parquet(str(path)).createOrReplaceTempView("t")
    return own


def seconds(text: str) -> int:
    number, unit = text.split()
    return int(number) * {"second": 1, "minute": 60, "hour": 3600, "day": 86400}[unit.rstrip("s")]


def in_window(start: int, length: int) -> set[int]:
    """The rows whose time lies in the window, by seconds since 1970 in UTC."""
    return {
        row
        for row, time in enumerate(TIMES)
        if time is not None and start <= (time - EPOCH).total_seconds() < start + length
    }


def found(answer: Any) -> tuple[set[int], ...]:
    return tuple(set(scan.row_ids().column("row").to_pylist()) for scan in answer.scans)


def since_1970(value: dt.datetime) -> int:
    return int((value.replace(tzinfo=None) - EPOCH).total_seconds())


WINDOWS = {
    "tumbling": ("window({at}, '10 minutes')", "10 minutes"),
    "tumbling, with a start": ("window({at}, '1 hour', '1 hour', '15 minutes')", "1 hour"),
    "sliding": ("window({at}, '10 minutes', '5 minutes')", "10 minutes"),
    "sliding, uneven": ("window({at}, '10 minutes', '4 minutes')", "10 minutes"),
}


@pytest.mark.parametrize("column", ["at", "wall"])
@pytest.mark.parametrize("name", WINDOWS)
def test_grouped_by_windows(session: SparkSession, tmp_path: Path, name: str, column: str) -> None:
    call, length = WINDOWS[name]
    call = call.format(at=column)
    # A sum of powers tells which rows are in the group, whatever its window is thought to be.
    frame = session.sql(
        f"SELECT window.start AS s, count(*) AS n, sum(shiftleft(1L, CAST(v AS INT))) AS rows "
        f"FROM t GROUP BY {call}"
    )
    job = predtrace.trace(frame).run(tmp_path)
    rows = job.output_arrow().to_pylist()
    assert len(rows) > 3
    for row in rows[::4]:
        expected = {bit for bit in range(len(TIMES)) if row["rows"] >> bit & 1}
        if column == "wall":
            assert expected == in_window(since_1970(row["s"]), seconds(length))
        for mode in ("stored", "replayed"):
            answer = job.lineage(row, mode=mode)
            assert answer.label == "precise"
            assert found(answer) == (expected,), (mode, row)


MAKES: dict[str, Callable[[SparkSession], DataFrame]] = {
    "the struct": lambda s: s.sql(
        "SELECT window, k, sum(shiftleft(1L, CAST(v AS INT))) AS rows FROM t "
        "GROUP BY window(at, '1 hour'), k"
    ),
    "its time": lambda s: s.sql(
        "SELECT window_time(window) AS w, rows FROM (SELECT window, "
        "sum(shiftleft(1L, CAST(v AS INT))) AS rows FROM t GROUP BY window(at, '1 hour'))"
    ),
    "windows of windows": lambda s: s.sql(
        "SELECT window(window, '2 hours').end AS e, sum(rows) AS rows FROM (SELECT window, "
        "sum(shiftleft(1L, CAST(v AS INT))) AS rows FROM t GROUP BY window(at, '1 hour')) "
        "GROUP BY window(window, '2 hours')"
    ),
    "not grouped": lambda s: s.sql(
        "SELECT window(at, '1 hour') AS w, shiftleft(1L, CAST(v AS INT)) AS rows FROM t"
    ),
    "sliding, not grouped": lambda s: s.sql(
        "SELECT window(at, '2 hours', '1 hour') AS w, shiftleft(1L, CAST(v AS INT)) AS rows FROM t"
    ),
    "sessions, not grouped": lambda s: s.sql(
        "SELECT session_window(at, '5 minutes') AS w, shiftleft(1L, CAST(v AS INT)) AS rows FROM t"
    ),
    "the start of a row's own session": lambda s: s.sql(
        "SELECT w.start AS b, sum(shiftleft(1L, CAST(v AS INT))) AS rows FROM "
        "(SELECT session_window(at, '5 minutes') AS w, v FROM t) GROUP BY w.start"
    ),
}


@pytest.mark.parametrize("name", MAKES)
def test_columns_of_windows(session: SparkSession, tmp_path: Path, name: str) -> None:
    job = predtrace.trace(MAKES[name](session)).run(tmp_path)
    rows = job.output_arrow().to_pylist()
    assert rows
    for place in range(0, len(rows), 5):
        row = rows[place]
        expected = {bit for bit in range(len(TIMES)) if row["rows"] >> bit & 1}
        answer = job.lineage(row)
        assert answer.label == "precise"
        assert found(answer) == (expected,), row
