"""Targets as they come in practice: collected rows, lists with gaps, odd numbers and names."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import predtrace
from predtrace.errors import TargetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOURS = ["2021-10-30 23:30:00", "2021-10-31 00:30:00", "2021-10-31 01:30:00"]
"""Instants in UTC; in Berlin the last two are both half past two."""


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/St_Johns"])
def process_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="module")
def own(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    session = spark.newSession()
    folder = tmp_path_factory.mktemp("odd")
    moments = ", ".join(f"({i}, timestamp'{text}Z')" for i, text in enumerate(HOURS))
    tables = {
        "moments": f"SELECT i, ts, CAST(ts AS timestamp_ntz) AS wall, "
        f"named_struct('at', ts) AS held FROM VALUES {moments} AS v(i, ts)",
        "src": "SELECT id + 1 AS i, id + 1 AS l FROM range(3)",
        "named": "SELECT id AS target, id * 2 AS _target FROM range(4)",
    }
    for name, text in tables.items():
        path = str(folder / name)
        session.sql(text).coalesce(1).write.parquet(path)
        session.read.parquet(path).createOrReplaceTempView(name)
    return session


def numbers(answer: Any, table: str) -> list[int]:
    found: list[int] = answer[table].row_ids()["row"].to_pylist()
    return found


@pytest.mark.parametrize("session_zone", ["UTC", "Europe/Berlin"])
def test_collected_rows_are_found_whatever_the_zones(
    own: SparkSession, tmp_path: Path, process_zone: str, session_zone: str
) -> None:
    own.conf.set("spark.sql.session.timeZone", session_zone)
    job = predtrace.trace("SELECT ts, wall, held FROM moments", own).run(tmp_path)
    rows = job.output.collect()
    assert [numbers(job.lineage(row), "moments") for row in rows] == [[0], [1], [2]]
    only = [row.asDict() for row in own.sql("SELECT wall FROM moments").collect()]
    assert numbers(job.lineage(only[1]), "moments") == [1]


def test_naive_times_that_people_write_are_in_the_zone_of_the_job(
    own: SparkSession, tmp_path: Path, process_zone: str
) -> None:
    own.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    job = predtrace.trace("SELECT ts FROM moments", own).run(tmp_path)
    for target in ("ts = '2021-10-31 01:30:00'", {"ts": dt.datetime(2021, 10, 31, 1, 30)}):
        assert numbers(job.lineage(target), "moments") == [0]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("mode", ["stored", "replayed"])
def test_a_target_that_finds_nothing_keeps_those_after_it(
    own: SparkSession, tmp_path: Path, engine: str, mode: str
) -> None:
    job = predtrace.trace("SELECT i, max(l) AS l FROM src GROUP BY i", own).run(tmp_path)
    targets = ["l = 1", "l = 77", {"i": 2}, {"i": 78}, {"i": 3}]
    answer = job.lineage(targets, mode=mode, engine=engine)
    rows = answer["src"].to_arrow(["i"])
    found = sorted(zip(rows["target"].to_pylist(), rows["i"].to_pylist(), strict=True))
    assert (answer.missing, found) == ((1, 3), [(0, 1), (2, 2), (4, 3)])


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_columns_called_target(own: SparkSession, tmp_path: Path, engine: str) -> None:
    job = predtrace.trace("SELECT target, _target FROM named", own).run(tmp_path)
    one = job.lineage({"target": 2}, engine=engine)
    assert [scan.name for scan in one] == ["named"]
    assert one.targets.to_pylist() == [{"target": 2, "_target": 4}]
    several = job.lineage([{"target": 2}, {"target": 3}], engine=engine)
    wanted = [
        {"__target": 0, "target": 2, "_target": 4},
        {"__target": 1, "target": 3, "_target": 6},
    ]
    assert sorted(several.targets.to_pylist(), key=str) == wanted
    assert sorted(several["named"].to_arrow().to_pylist(), key=str) == wanted


@pytest.mark.parametrize("n", [-1, None, 1.5, True, "3"])
def test_head_takes_a_number_of_rows(own: SparkSession, tmp_path: Path, n: Any) -> None:
    rows = predtrace.trace("SELECT * FROM src", own).run(tmp_path).lineage({"i": 1})["src"]
    with pytest.raises(TargetError, match="number of rows, 0 or more"):
        rows.head(n)
    assert (rows.head(0).num_rows, rows.head(5).num_rows) == (0, 1)


def table(files: list[Any], rows: Any) -> pa.Table:
    return pa.table({"file": files, "row": rows})


@pytest.mark.parametrize("parts", [1, 2])
def test_forward_refuses_rows_that_are_not_there(
    own: SparkSession, tmp_path: Path, parts: int
) -> None:
    own.range(6).repartition(parts).write.parquet(str(tmp_path / "many"))
    frame = own.read.parquet(str(tmp_path / "many"))
    job = predtrace.trace(frame).run(tmp_path / "store")
    job.build_index()
    (source,) = job.record.sources
    last = source.files[-1]
    count = last.rows
    assert count
    for row, said in ((count, f"no row {count}"), (-1, "no row -1")):
        with pytest.raises(TargetError, match=said):
            job.forward(source.name, rows=table([last.path], [row]))
    with pytest.raises(TargetError, match=r"other\.parquet is not a file"):
        job.forward(source.name, rows=table(["other.parquet"], [0]))
    with pytest.raises(TargetError, match="whole numbers"):
        job.forward(source.name, rows=table([last.path], [0.5]))
    with pytest.raises(TargetError, match="columns file and row"):
        job.forward(source.name, rows=pa.table({"row": [0]}))
    reached = job.forward(source.name, rows=table([last.path], [count - 1]))
    assert reached.count() == 1
    answer = job.lineage(tuple(reached.to_arrow().to_pylist()[0].values()))
    (found,) = answer[source.name].row_ids().to_pylist()
    assert found == {"file": last.path, "row": count - 1}
