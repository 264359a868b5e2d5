"""Pipelines with maps, which SQL does not compare: asked for by the other columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from predtrace.errors import TargetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT: dict[str, dict[str, Any]] = {
    "inline": {"keep": "inline"},
    "late": {"keep": "late"},
    "none": {"keep": "none"},
    "no output": {"keep": "none", "keep_output": False},
}


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> SparkSession:
    own = spark.newSession()
    rows = {
        "t": "SELECT *, array(m) AS ms FROM VALUES (1, map('a', 1), 5), (1, map('a', 1), 5), "
        "(1, map('b', 2), 6), (2, NULL, 7) AS t(id, m, x)",
        "u": "SELECT * FROM VALUES (1, 5), (1, 6), (2, 9) AS u(id, x)",
    }
    for name, text in rows.items():
        frame = own.sql(text).coalesce(1)
        frame.write.parquet(str(tmp_path / name))
        own.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    return own


def numbers(answer: Any) -> list[list[int]]:
    return [sorted(scan.row_ids()["row"].to_pylist()) for scan in answer.scans]


@pytest.mark.parametrize("engine", ["spark", "duckdb"])
@pytest.mark.parametrize("keep", KEPT)
@pytest.mark.parametrize("held", ["m", "ms"])
def test_maps_in_the_output_are_not_compared(
    tables: SparkSession, tmp_path: Path, keep: str, engine: str, held: str
) -> None:
    query = f"SELECT t.id AS k, {held} FROM t JOIN u ON t.id = u.id"
    job = predtrace.trace(tables.sql(query)).run(store=tmp_path / "store", **KEPT[keep])
    job.wait()
    answer = job.lineage({"k": 1}, engine=engine, spark=tables)
    assert answer.label == "precise"
    assert numbers(answer) == [[0, 1, 2], [0, 1]]


@pytest.mark.parametrize("keep", KEPT)
def test_a_map_that_decides_in_between_gives_a_superset(
    tables: SparkSession, tmp_path: Path, keep: str
) -> None:
    query = """
        SELECT t.id, t.m, count(*) AS n FROM t JOIN u ON t.id = u.id
        WHERE t.x < (SELECT max(x) FROM u) GROUP BY t.id, t.m HAVING count(*) > 2
    """
    job = predtrace.trace(tables.sql(query)).run(store=tmp_path / "store", **KEPT[keep])
    job.wait()
    answer = job.lineage({"id": 1}, engine="spark", spark=tables)
    assert answer.label == "superset"
    found = dict(zip((scan.name for scan in answer.scans), numbers(answer), strict=True))
    assert {0, 1} <= set(found["t"])
    assert set(found["t"]) <= {0, 1, 2}


def test_the_value_of_a_map_in_a_whole_row_is_said_to_be_overlooked(
    tables: SparkSession, tmp_path: Path
) -> None:
    job = predtrace.trace(tables.sql("SELECT id, m FROM t")).run(store=tmp_path / "store")
    row = next(row for row in job.output.collect() if row.m == {"b": 2})
    answer = job.lineage(row)
    assert numbers(answer) == [[0, 1, 2]]
    assert (answer.label, "differ only in m" in answer.explain()) == ("superset", True)
    job.build_index()
    indexed = job.lineage(row, mode="indexed")
    assert (indexed.label, numbers(indexed)) == ("superset", [[0, 1, 2]])
    for target in ({"m": {"b": 2}}, "m IS NULL", "id = 2 AND m IS NOT NULL"):
        with pytest.raises(TargetError, match="maps are not compared"):
            job.lineage(target)


def test_no_row_can_be_named_of_an_output_of_maps_alone(
    tables: SparkSession, tmp_path: Path
) -> None:
    job = predtrace.trace(tables.sql("SELECT m, ms FROM t")).run(store=tmp_path / "store")
    for target in (({"a": 1}, [{"a": 1}]), "m IS NULL"):
        with pytest.raises(TargetError, match="only maps, which are not compared"):
            job.lineage(target)
