"""Names, numbers, formats and sizes of sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from predtrace.errors import SourceError
from predtrace.frontends.spark import SparkPipeline, read_pipeline
from pushdown.operators import SemiJoin
from symbolic.expr import render
from tests.frontends.spark.shapes import condition, shape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Read = Callable[[str], SparkPipeline]


def numbering(pipeline: SparkPipeline) -> list[str]:
    return [f"{scan.alias or scan.table}{scan.occurrence}" for scan in pipeline.graph.scans()]


def test_from_items_come_before_subqueries(read: Read) -> None:
    statement = (
        "SELECT (SELECT max(v) FROM t s) FROM u JOIN t a USING (k) "
        "WHERE k IN (SELECT k FROM t i WHERE EXISTS (SELECT * FROM t j WHERE j.k = i.k)) "
        "AND v < (SELECT max(v) FROM t x)"
    )
    assert numbering(read(statement))[:5] == ["a1", "s2", "i3", "j4", "x5"]


def test_subqueries_are_numbered_in_the_order_of_the_text(read: Read) -> None:
    statement = (
        "SELECT * FROM t xx WHERE k > (SELECT max(k) FROM t y) AND k IN (SELECT k FROM t z) "
        "AND EXISTS (SELECT * FROM t q WHERE q.k = xx.k)"
    )
    assert numbering(read(statement)) == ["xx1", "y2", "z3", "q4"]


def test_every_reference_of_a_cte_and_view_is_a_scan(spark: SparkSession, read: Read) -> None:
    read("SELECT * FROM t WHERE v > 1").dataframe.createOrReplaceTempView("w")
    statement = "WITH c AS (SELECT * FROM w) SELECT c.k FROM c JOIN c d USING (k) JOIN w USING (k)"
    assert shape(read(statement)).count("t") >= 3
    assert [scan.occurrence for scan in read(statement).graph.scans()] == [1, 2, 3]
    spark.catalog.dropTempView("w")


def test_a_frame_joined_with_itself_in_a_union(spark: SparkSession, data: Path) -> None:
    frame = spark.read.parquet(str(data / "t"))
    pipeline = read_pipeline(frame.union(frame).union(frame))
    assert [scan.occurrence for scan in pipeline.graph.scans()] == [1, 2, 3]
    assert len({c.id for scan in pipeline.graph.scans() for c in scan.columns}) == 24


def test_names_come_from_the_path_without_view(spark: SparkSession, data: Path) -> None:
    (source,) = read_pipeline(spark.read.parquet(str(data / "t"))).sources
    assert (source.name, source.format, source.roots) == ("t", "parquet", (str(data / "t"),))
    assert [column.name for column in source.columns] == list("kgvdmxsb")
    assert sum(file.rows or 0 for file in source.files) == 5


@pytest.fixture
def mixed_folder(spark: SparkSession, tmp_path: Path) -> Path:
    """Three files: one of another pattern, one in a subfolder."""
    folder = tmp_path / "my files"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.parquet", "b %20[x].pq", "sub/c.parquet"):
        pq.write_table(pa.table({"k": [1, 2]}), folder / name)
    return folder


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["a.parquet", "b %20[x].pq"]),
        ({"pathGlobFilter": "*.parquet"}, ["a.parquet"]),
        ({"recursiveFileLookup": "true"}, ["a.parquet", "b %20[x].pq", "c.parquet"]),
    ],
)
def test_files_that_spark_leaves_out_are_no_source(
    spark: SparkSession, mixed_folder: Path, options: dict[str, str], names: list[str]
) -> None:
    frame = spark.read.options(**options).parquet(str(mixed_folder))
    (source,) = read_pipeline(frame).sources
    assert [Path(file.path).name for file in source.files] == names
    assert source.name == "my files"
    assert frame.count() == 2 * len(names)
    (mixed_folder / "new.parquet").write_bytes((mixed_folder / "a.parquet").read_bytes())
    # The frame keeps to the files that it has found.
    (again,) = read_pipeline(frame).sources
    assert [file.path for file in again.files] == [file.path for file in source.files]


def test_files_that_cannot_be_told(spark: SparkSession, mixed_folder: Path) -> None:
    old = spark.read.option("modifiedBefore", "2001-01-01T00:00:00").schema("k long")
    with pytest.raises(SourceError, match=r"Spark does not read .*a\.parquet"):
        read_pipeline(old.parquet(str(mixed_folder)))
    file = str(mixed_folder / "a.parquet")
    with pytest.raises(SourceError, match="is read twice"):
        read_pipeline(spark.read.parquet(file, file))
    (mixed_folder / "sub").rename(mixed_folder / "d=1")
    for name in ("a.parquet", "b %20[x].pq"):
        (mixed_folder / name).rename(mixed_folder / "d=1" / name)
    with pytest.raises(SourceError, match=r"Spark does not read .*b %20\[x\]\.pq"):
        read_pipeline(spark.read.option("pathGlobFilter", "*.parquet").parquet(str(mixed_folder)))
    assert len(read_pipeline(spark.read.parquet(str(mixed_folder))).sources[0].files) == 3


@pytest.mark.parametrize("kind", ["csv", "json", "orc", "parquet"])
@pytest.mark.parametrize("version", [1, 2])
def test_formats(spark: SparkSession, data: Path, tmp_path: Path, kind: str, version: int) -> None:
    path = tmp_path / f"with space & a=b.{kind}"
    spark.read.parquet(str(data / "u")).write.format(kind).save(str(path))
    key = "spark.sql.sources.useV1SourceList"
    before = spark.conf.get(key)
    if version == 2:
        spark.conf.set(key, "")
    try:
        schema = "k int, w int"
        frame = spark.read.schema(schema).format(kind).load(str(path))
        (source,) = read_pipeline(frame.filter("w > 1")).sources
    finally:
        spark.conf.set(key, str(before))
    assert (source.format, source.roots) == (kind, (str(path),))


def test_partition_columns(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    spark.read.parquet(str(data / "t")).write.partitionBy("g").parquet(str(tmp_path / "p"))
    (source,) = read_pipeline(spark.read.parquet(str(tmp_path / "p"))).sources
    assert source.partition_columns == ("g",)
    assert source.columns[-1].name == "g"


def test_options_are_kept(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    spark.read.parquet(str(data / "u")).write.option("header", True).csv(str(tmp_path / "c"))
    frame = spark.read.option("header", True).option("inferSchema", True).csv(str(tmp_path / "c"))
    (source,) = read_pipeline(frame).sources
    assert source.options["header"] == "true"


def test_char_columns_are_padded_on_reading(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE padded (c CHAR(5), n INT) USING parquet")
    try:
        spark.sql("INSERT INTO padded VALUES ('ab', 1), ('abc', 2)")
        pipeline = read_pipeline("SELECT n FROM padded WHERE c = 'ab'", spark)
        assert pipeline.sources[0].name == "padded"
        assert "char_pad(c, 5)" in condition(pipeline)
    finally:
        spark.sql("DROP TABLE padded")


def test_estimates(read: Read) -> None:
    pipeline = read("SELECT * FROM t JOIN u USING (k)")
    rows = {scan.table: pipeline.estimates()[scan.id][0] for scan in pipeline.graph.scans()}
    assert rows == {"t": 5, "u": 5}
    assert all(size > 0 for _, size in pipeline.estimates().values())


def test_the_query_is_kept_as_written(read: Read) -> None:
    assert read("SELECT k FROM t;").query == "SELECT k FROM t;"


def test_the_plan_of_a_frame_is_kept_readable(spark: SparkSession, read: Read) -> None:
    frame = spark.table("t").groupBy("k").count().where("count > 1")
    query = read_pipeline(frame, spark).query
    assert query.startswith("DataFrame: Filter (count > ")
    assert "Aggregate [k], [k, count(1) AS count]" in query
    assert "#" not in query


def test_correlated_conditions_see_both_sides(read: Read) -> None:
    graph = read("SELECT * FROM t WHERE EXISTS (SELECT * FROM u WHERE u.w > t.v)").graph
    (join,) = (o for o in graph.operators() if isinstance(o, SemiJoin))
    assert render(join.condition) == "w > v"
