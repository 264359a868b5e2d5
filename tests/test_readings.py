"""Files that a pipeline reads in several ways: each read answers with what it has read.

The rows expected are written out here; `lineage` reads the files again by what the job keeps.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import predtrace
from predtrace.errors import UnsupportedOperatorError


def scans(job: Any, target: Any, spark: SparkSession, engine: str) -> dict[str, list[Any]]:
    """The rows of every scan, as tuples."""
    answer = job.lineage(target, mode="replayed", engine=engine, spark=spark)
    assert answer.label == "precise"
    return {
        f"{scan.table}[{scan.occurrence}]": [
            tuple(row.values()) for row in scan.to_arrow().to_pylist()
        ]
        for scan in answer.scans
    }


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "x.csv").write_text("a;b\n1;p\n01;q\n'1';r\n")
    return str(tmp_path / "x.csv")


def test_options_and_schemas(spark: SparkSession, text: str, tmp_path: Path) -> None:
    def read(**options: Any) -> DataFrame:
        return spark.read.options(sep=";", **options).schema("a string, b string").csv(text)

    numbers = spark.read.options(sep=";", header=True).schema("n int, b string").csv(text)
    frame = (
        read(header=True)
        .unionAll(read())
        .unionAll(read(header=True, quote="'"))
        .unionAll(read(header=True))
        .unionAll(numbers.selectExpr("cast(n AS string)", "b"))
    )
    job = predtrace.trace(frame).run(tmp_path / "jobs", keep_output=True)
    assert scans(job, "a = '1'", spark, "spark") == {
        "x[1]": [("1", "p")],
        "x[2]": [("1", "p")],
        "x (2)[1]": [("1", "p")],
        "x (3)[1]": [("1", "p"), ("1", "r")],
        "x (4)[1]": [(1, "p"), (1, "q")],
    }
    assert scans(job, ("a", "b"), spark, "spark")["x (2)[1]"] == [("a", "b")]
    answer = job.lineage("a = '1'", spark=spark)
    assert [answer[name].count() for name in ("x", "x (2)", "x (3)", "x (4)")] == [1, 1, 2, 2]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_columns_of_parquet(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    pq.write_table(pa.table({"k": pa.array([1, 2], pa.int32()), "v": [5, 6]}), tmp_path / "x")
    path = str(tmp_path / "x")
    wide, narrow = spark.read.parquet(path), spark.read.schema("v long, k long").parquet(path)
    other = spark.read.schema("v long, K int").parquet(path)
    frame = wide.select("k").join(narrow, "k").join(other.select("K"), "k").where("v < 6")
    job = predtrace.trace(frame).run(tmp_path / "jobs")
    assert scans(job, {"k": 1}, spark, engine) == {
        "x[1]": [(1, 5)],
        "x (2)[1]": [(5, 1)],
        "x (3)[1]": [(5, 1)],
    }


def test_formats_and_names_in_use(spark: SparkSession, text: str, tmp_path: Path) -> None:
    lines = spark.read.schema("a string").csv(text)
    objects = spark.read.schema("a string").json(text)
    lines.createOrReplaceTempView("`x (2)`")
    frame = lines.unionAll(objects).unionAll(spark.table("`x (2)`"))
    job = predtrace.trace(frame).run(tmp_path / "jobs")
    spark.catalog.dropTempView("`x (2)`")
    found = scans(job, "a = '1;p'", spark, "spark")
    assert found == {"x[1]": [("1;p",)], "x (2)[1]": [("1;p",)], "x (3)[1]": []}


def folder_and_file(spark: SparkSession, folder: str) -> tuple[DataFrame, DataFrame]:
    return spark.read.parquet(folder), spark.read.parquet(f"{folder}/p1")


def folder_and_link(spark: SparkSession, folder: str) -> tuple[DataFrame, DataFrame]:
    os.symlink(folder, f"{folder}-too")
    return spark.read.parquet(folder), spark.read.parquet(f"{folder}-too")


def folder_and_partition(spark: SparkSession, folder: str) -> tuple[DataFrame, DataFrame]:
    os.mkdir(f"{folder}/y=1")
    for name in ("p0", "p1"):
        os.rename(f"{folder}/{name}", f"{folder}/y=1/{name}")
    return spark.read.parquet(folder).select("k"), spark.read.parquet(f"{folder}/y=1")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("pair", [folder_and_file, folder_and_link, folder_and_partition])
def test_one_file_under_two_names(
    spark: SparkSession, tmp_path: Path, engine: str, pair: Callable[..., Any]
) -> None:
    (tmp_path / "f").mkdir()
    for number in range(2):
        pq.write_table(pa.table({"k": [number, 7]}), tmp_path / "f" / f"p{number}")
    one, other = pair(spark, str(tmp_path / "f"))
    job = predtrace.trace(one.unionAll(other)).run(tmp_path / "jobs")
    found = scans(job, {"k": 7}, spark, engine)
    expected = {
        "folder_and_file": [2, 1],
        "folder_and_link": [2, 2],
        "folder_and_partition": [2, 2],
    }
    assert [len(rows) for rows in found.values()] == expected[pair.__name__]
    assert {row[0] for rows in found.values() for row in rows} == {7}


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_linked_file_in_a_folder(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    (tmp_path / "f").mkdir()
    pq.write_table(pa.table({"k": [1, 2, 1]}), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", tmp_path / "f" / "linked")
    pq.write_table(pa.table({"k": [1]}), tmp_path / "f" / "own")
    job = predtrace.trace(spark.read.parquet(str(tmp_path / "f"))).run(tmp_path / "jobs")
    job.build_index(engine=engine, spark=spark)
    for mode in ("indexed", "replayed"):
        rows = job.lineage({"k": 1}, mode=mode, engine=engine, spark=spark)["f"]
        ids = sorted((Path(row["file"]).name, row["row"]) for row in rows.row_ids().to_pylist())
        assert ids == [("linked", 0), ("linked", 2), ("own", 0)]
        assert rows.count() == rows.to_arrow().num_rows == 3


def test_different_files_of_one_name_have_longer_names(spark: SparkSession, tmp_path: Path) -> None:
    """As many folders as tell them apart, whatever else reads the same files."""
    for place in ("a/old", "a/new", "b/new"):
        (tmp_path / place).mkdir(parents=True)
        rows = {"k": [len(list(tmp_path.rglob("x.parquet")))]}
        pq.write_table(pa.table(rows), tmp_path / place / "x.parquet")
    one, two, three = (
        spark.read.parquet(str(tmp_path / place / "x.parquet"))
        for place in ("a/old", "a/new", "b/new")
    )
    own = spark.newSession()
    again = own.read.parquet(str(tmp_path / "a/new/x.parquet"))
    again.createOrReplaceTempView("x")
    job = predtrace.trace(one.union(two).union(one)).run(tmp_path / "jobs")
    found = job.lineage({"k": 0}, engine="duckdb")
    scans = sorted((scan.table, scan.occurrence, scan.count()) for scan in found.scans)
    assert scans == [("new/x", 1, 0), ("old/x", 1, 1), ("old/x", 2, 1)]
    job = predtrace.trace(two.union(three)).run(tmp_path / "jobs")
    found = job.lineage({"k": 2}, engine="duckdb")
    assert [(scan.table, scan.count()) for scan in found.scans] == [("a/new/x", 0), ("b/new/x", 1)]
    # A view and files of its name: the view keeps the name.
    other = own.read.parquet(str(tmp_path / "a/old/x.parquet"))
    job = predtrace.trace(own.table("x").union(other)).run(tmp_path / "jobs")
    found = job.lineage({"k": 0}, engine="duckdb")
    scans = sorted((scan.table, scan.count()) for scan in found.scans)
    assert scans == [("old/x", 1), ("x", 0)]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["x?", "x*", "x[1]", "{x1,x2}", "x\\1"])
def test_names_that_are_patterns(spark: SparkSession, tmp_path: Path, kind: str, name: str) -> None:
    """Spark reads the files of a folder; two of them are the source, one by such a name."""
    rows = {name: [1, 2], "x1": [1, 3], "x2": [1, 4]}
    for file, values in rows.items():
        if kind == "parquet":
            pq.write_table(pa.table({"k": values}), tmp_path / file)
        else:
            (tmp_path / file).write_text("".join(f"{value}\n" for value in values))
    escaped = "".join(f"\\{char}" if char in "?*[]{}\\" else char for char in name)
    paths = [str(tmp_path / escaped), str(tmp_path / "x1")]
    frame = spark.read.schema("k long").format(kind).load(paths)
    assert sorted(row[0] for row in frame.collect()) == [1, 1, 2, 3]
    job = predtrace.trace(frame).run(tmp_path / "jobs")
    for engine in ("spark",) if kind == "csv" else ("spark", "duckdb"):
        rows_of = job.lineage("k > 0", mode="replayed", engine=engine, spark=spark).scans[0]
        assert sorted(rows_of.to_arrow().column("k").to_pylist()) == [1, 1, 2, 3]
        assert rows_of.count() == 4


BROKEN = {
    "csv": "1,x,5\n2,y\n3,z,bad\n4,w,7,more\n",
    "json": '{"a":1,"b":"x","c":5}\n{"a":2,"b":"y","c":"bad"}\n{"a":3,\n{"a":4,"b":"w"}\n',
}


@pytest.mark.parametrize("kind", BROKEN)
def test_reads_that_depend_on_the_columns_are_refused(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "x").write_text(BROKEN[kind])
    path = str(tmp_path / "x")
    for mode in ("DROPMALFORMED", "dropMalformed"):
        dropping = spark.read.schema("a int, b string, c int").option("Mode", mode)
        for frame in (
            dropping.format(kind).load(path),
            dropping.format(kind).load(path).select("a"),
        ):
            with pytest.raises(UnsupportedOperatorError, match=r"source x .*DROPMALFORMED.*filter"):
                predtrace.trace(frame)
    for name, options in (("_corrupt_record", {}), ("bad", {"columnNameOfCorruptRecord": "bad"})):
        reader = spark.read.options(**options).schema(f"a int, c int, {name} string").format(kind)
        with pytest.raises(UnsupportedOperatorError, match=f"column {name} of source x"):
            predtrace.trace(reader.load(path).where(f"{name} IS NULL").select("a"))
        job = predtrace.trace(reader.load(path).select("a")).run(tmp_path / "jobs", keep="none")
        assert job.lineage("true", engine="spark", spark=spark)["x"].count() == 4


@pytest.mark.parametrize("pushed", ["true", "false"])
def test_malformed_lines_are_found_by_their_values(
    spark: SparkSession, tmp_path: Path, pushed: str
) -> None:
    """While Spark parses the third line it has the value 3, but the row has none."""
    session = spark.newSession()
    session.conf.set("spark.sql.json.filterPushdown.enabled", pushed)
    (tmp_path / "x").write_text(BROKEN["json"])
    frame = session.read.schema("a int, c int").json(str(tmp_path / "x"))
    assert [row.a for row in frame.collect()] == [1, 2, None, 4]
    job = predtrace.trace(frame.select("a")).run(tmp_path / "jobs")
    for engine in ("spark", "auto"):
        for targets, count in (([(None,)], 1), ([(1,), (None,), (4,)], 3)):
            found = job.lineage(targets, engine=engine, spark=session)["x"]
            assert (found.count(), found.label) == (count, "precise")


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_lines_are_rows_whatever_is_read(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "x").write_text(BROKEN[kind])
    frame = spark.read.schema("a int, b string, c int").format(kind).load(str(tmp_path / "x"))
    job = predtrace.trace(frame.groupBy().count()).run(tmp_path / "jobs", keep="none")
    rows = job.lineage("true", engine="spark", spark=spark)["x"]
    assert rows.count() == 4
    for columns in (["a"], ["c", "b"], None):
        assert rows.to_arrow(columns).num_rows == 4
