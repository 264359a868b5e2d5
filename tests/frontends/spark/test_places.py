"""Facts of source rows that lie in paths: partitions, tables, files; truth is what was written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from predtrace.errors import SourceError, UnsupportedOperatorError
from predtrace.frontends.spark import read_pipeline
from pushdown.operators import OpaqueColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PARTITIONS: dict[str, list[Any]] = {
    "string": ["a b/c=%", "a:b", None, "01", "1", "ü*?[x]"],
    "int": [1, None, -5],
    "date": ["0001-01-01", "2024-02-29", None],
    "boolean": ["true", None, "false"],
    "decimal(10,2)": ["1.50", "-0.25", None],
    "double": ["0.1", "NaN", "-Infinity"],
    "timestamp": ["1900-01-01 00:00:00.123456", "2024-10-27 02:30:00", None],
}
QUICK = ("string", "int", "date", "boolean")
"""The types of partition columns that DuckDB reads exactly."""


@pytest.fixture
def own(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    return session


def ids_of(job: predtrace.JobHandle, target: Any, session: SparkSession, **how: str) -> list[int]:
    answer = job.lineage(target, spark=session, **how)
    assert answer.label == "precise"
    (scan,) = answer.scans
    found = sorted(scan.to_arrow(["id"]).column("id").to_pylist())
    if scan.table not in ("csv", "json"):
        assert scan.row_ids().num_rows == len(found)
    return found


@pytest.mark.parametrize("kind", PARTITIONS)
def test_partitions_of_all_types(own: SparkSession, tmp_path: Path, kind: str) -> None:
    """Each value, NULL and escaped characters among them, written twice."""
    values = PARTITIONS[kind] * 2
    rows = own.createDataFrame(list(enumerate(map(_text, values))), "id int, p string")
    typed = rows.selectExpr("id", f"CAST(p AS {kind}) AS p")
    typed.write.partitionBy("p").parquet(str(tmp_path / "t"))
    read = own.read.schema(f"id int, p {kind}").parquet(str(tmp_path / "t"))
    job = predtrace.trace(read.groupBy("p").count()).run(tmp_path / "jobs")
    job.build_index(spark=own)
    checked, engine = 0, "duckdb" if kind in QUICK else "spark"
    for row in job.output.collect():
        wanted = sorted(found.id for found in typed.collect() if repr(found.p) == repr(row.p))
        assert len(wanted) == row["count"] == 2
        for how in ({"mode": "stored", "engine": engine}, {"mode": "indexed", "engine": "spark"}):
            assert ids_of(job, row, own, **how) == wanted
            checked += 1
    assert checked == 2 * len(PARTITIONS[kind])


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def test_partitions_that_files_hold_too(own: SparkSession, tmp_path: Path) -> None:
    """The path's value counts; names differ in case, and there are two levels."""
    for place, id_ in (("P=5/q=x", 1), ("P=5/q=__HIVE_DEFAULT_PARTITION__", 2), ("P=6/q=x", 3)):
        rows = own.createDataFrame([(id_, 7)], "id int, p int")
        rows.write.parquet(str(tmp_path / "t" / place))
    read = own.read.parquet(str(tmp_path / "t")).groupBy("p", "q").count()
    job = predtrace.trace(read).run(tmp_path / "jobs")
    for engine in ("duckdb", "spark"):
        assert ids_of(job, {"p": 5, "q": None}, own, engine=engine) == [2]
        assert ids_of(job, {"p": 6}, own, engine=engine) == [3]
    for kind in ("csv", "json"):
        written = own.createDataFrame([(1, "a b"), (2, None), (3, "é%")], "id int, p string")
        written.write.partitionBy("p").format(kind).save(str(tmp_path / kind))
        read = own.read.format(kind).schema("id int, p string").load(str(tmp_path / kind))
        job = predtrace.trace(read.groupBy("p").count()).run(tmp_path / "jobs")
        for id_, value in ((1, "a b"), (2, None), (3, "é%")):
            assert ids_of(job, {"p": value}, own) == [id_]


@pytest.fixture
def tables(own: SparkSession) -> Iterator[SparkSession]:
    own.sql("CREATE DATABASE places")
    yield own
    own.sql("DROP DATABASE places CASCADE")


def test_tables_of_a_catalog(tables: SparkSession, tmp_path: Path) -> None:
    rows = tables.createDataFrame([(n, n % 3) for n in range(9)], "id int, p int")
    rows.write.bucketBy(4, "p").sortBy("id").saveAsTable("places.buckets")
    rows.write.bucketBy(2, "id").partitionBy("p").saveAsTable("places.both")
    rows.write.partitionBy("p").saveAsTable("places.moved")
    for name in ("buckets", "both"):
        table = tables.table(f"places.{name}")
        job = predtrace.trace(table.groupBy("p").count()).run(tmp_path / "jobs")
        for engine in ("duckdb", "spark"):
            assert ids_of(job, {"p": 1}, tables, engine=engine) == [1, 4, 7]
    pairs = (
        "SELECT a.p, count(*) AS n FROM places.buckets a JOIN places.both b USING (id) GROUP BY a.p"
    )
    answer = predtrace.trace(tables.sql(pairs)).run(tmp_path / "jobs").lineage({"p": 2})
    found = {scan.table: sorted(scan.to_arrow(["id"])["id"].to_pylist()) for scan in answer.scans}
    assert found == {"places.buckets": [2, 5, 8], "places.both": [2, 5, 8]}
    tables.sql(f"ALTER TABLE places.moved ADD PARTITION (p=9) LOCATION '{tmp_path / 'else'}'")
    tables.sql("INSERT INTO places.moved PARTITION (p=9) VALUES (9)")
    with pytest.raises(SourceError, match=r"Spark reads .*else/part"):
        predtrace.trace(tables.table("places.moved"))


def parts(own: SparkSession, folder: Path) -> dict[str, list[int]]:
    """Three files of four rows, in a folder with a name that addresses escape."""
    for file in range(3):
        rows = [(10 * file + row, row % 2) for row in range(4)]
        frame = own.createDataFrame(rows, "id int, p int").coalesce(1)
        frame.write.mode("append").parquet(str(folder))
    import pyarrow.parquet as pq

    return {f.name: pq.read_table(f)["id"].to_pylist() for f in folder.glob("*.parquet")}


def test_hidden_columns(own: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b%1"
    files = parts(own, folder)
    read = own.read.parquet(str(folder))
    read.createOrReplaceTempView("t")
    named = "element_at(split(input_file_name(), '/'), -1)"
    queries = {
        "_metadata.file_name": read.groupBy("_metadata.file_name").count(),
        "input_file_name": own.sql(f"SELECT {named} AS file_name, count(*) AS n FROM t GROUP BY 1"),
        "under a filter": read.where("input_file_name() LIKE 'file:///%a%20b%251/part%'")
        .where("p >= 0")
        .selectExpr("id", f"{named} AS file_name")
        .groupBy("file_name")
        .count(),
        "whole": read.select("id", "_metadata").groupBy("_metadata.file_name").count(),
    }
    for name, query in queries.items():
        job = predtrace.trace(query).run(tmp_path / "jobs")
        assert {tuple(row) for row in job.output.collect()} == {(file, 4) for file in files}, name
        for file, ids in files.items():
            for mode in ("stored", "replayed"):
                assert ids_of(job, {"file_name": file}, own, mode=mode) == sorted(ids), name
    numbered = read.where("_metadata.row_index = 2").select(
        "id", "_metadata.file_modification_time"
    )
    job = predtrace.trace(numbered).run(tmp_path / "jobs")
    ids = sorted(rows[2] for rows in files.values())
    assert sorted(row.id for row in job.output.collect()) == ids
    assert ids_of(job, job.output.where(f"id = {ids[1]}").collect()[0], own) == [ids[1]]
    twice = read.alias("a").join(read.select("id", "_metadata.row_index"), "id")
    answer = predtrace.trace(twice).run(tmp_path / "jobs").lineage({"id": 12}, spark=own)
    assert [(s.table, s.occurrence, s.count()) for s in answer.scans] == [
        ("a b%1", 1, 1),
        ("a b%1", 2, 1),
    ]
    assert answer["a b%1"].row_ids().num_rows == 1


def test_blocks(own: SparkSession, tmp_path: Path) -> None:
    """They are facts of rows only of files that no session splits."""
    files = parts(own, tmp_path / "t")
    read = own.read.parquet(str(tmp_path / "t"))
    asked = read.selectExpr("id", "input_file_block_start() AS s", "input_file_block_length() AS n")
    job = predtrace.trace(asked).run(tmp_path / "jobs")
    sizes = {id_: (tmp_path / "t" / file).stat().st_size for file in files for id_ in files[file]}
    assert {tuple(row) for row in job.output.collect()} == {(i, 0, n) for i, n in sizes.items()}
    assert ids_of(job, {"id": 21, "s": 0}, own) == [21]
    own.conf.set("spark.sql.files.openCostInBytes", "100")
    whole = read.select("_metadata")
    for frame in (
        asked,
        whole,
        read.selectExpr("_metadata AS m").select("m.file_block_start"),
        whole.distinct().select("_metadata.file_name"),
    ):
        with pytest.raises(UnsupportedOperatorError, match="how Spark splits large files"):
            predtrace.trace(frame)
    for frame in (read.select("_metadata.file_name"), read.selectExpr("input_file_name()", "id")):
        assert predtrace.trace(frame).plan().scans[0].label == "precise"


def test_functions_that_tell_nothing_about_the_row(own: SparkSession, tmp_path: Path) -> None:
    parts(own, tmp_path / "t")
    read = own.read.parquet(str(tmp_path / "t"))
    kept = own.read.parquet(str(tmp_path / "t")).where("id > 0").cache()
    frames: list[DataFrame] = [read.sort("id"), read.limit(2), own.range(2), kept]
    try:
        for frame in frames:
            graph = read_pipeline(frame.selectExpr("input_file_name()")).graph
            assert any(isinstance(o, OpaqueColumns) for o in graph.operators())
    finally:
        kept.unpersist()


def test_times_of_files(own: SparkSession, tmp_path: Path) -> None:
    import os

    parts(own, tmp_path / "t")
    first = min((tmp_path / "t").glob("*.parquet"))
    moment = dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC)
    os.utime(first, (moment.timestamp(),) * 2)
    read = own.read.parquet(str(tmp_path / "t"))
    job = predtrace.trace(read.groupBy("_metadata.file_modification_time").count())
    found = job.run(tmp_path / "jobs").lineage({"file_modification_time": moment}, spark=own)
    (scan,) = found.scans
    assert {Path(row["file"]) for row in scan.row_ids().to_pylist()} == {first}
