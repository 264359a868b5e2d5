"""Pipelines that cannot be traced are refused by name, with the place and a way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from predtrace.errors import (
    PredTraceError,
    UnsupportedOperatorError,
)
from predtrace.frontends.spark import SparkPipeline, read_pipeline
from symbolic.types import STRING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Read = Callable[[str], SparkPipeline]

UNSUPPORTED = {
    "SELECT first(v) FILTER (WHERE k > 1) OVER (ORDER BY k) FROM t": "First.*FILTER",
    "SELECT id FROM range(0, 9223372036854775807, 2305843009213693952)": "Range.*64 bits",
    "SELECT g, (SELECT max(w) FROM u) AS top FROM t GROUP BY g": "beside the keys and aggregates",
    "SELECT (SELECT max(w) FROM u) AS top, count(*) FROM t GROUP BY top": "subquery in GROUP BY",
    "SELECT (SELECT max(w) FROM u WHERE u.k = t.k) AS z FROM t GROUP BY z": "subquery in GROUP BY",
}
COLLATED = {
    "SELECT g COLLATE UTF8_LCASE FROM t": "UTF8_LCASE",
    "SELECT a.k FROM t a JOIN t b ON a.g COLLATE UTF8_LCASE = b.g": "UTF8_LCASE",
    "SELECT k FROM t WHERE g COLLATE UNICODE_CI = 'A'": "UNICODE_CI",
    "SELECT k FROM t WHERE g COLLATE UNICODE IN (SELECT g COLLATE UNICODE FROM t)": "UNICODE",
    "SELECT count(*) FROM t GROUP BY g COLLATE UTF8_LCASE": "UTF8_LCASE",
    "SELECT max(g COLLATE UTF8_LCASE) FROM t": "UTF8_LCASE",
    "SELECT DISTINCT g COLLATE UTF8_BINARY_RTRIM FROM t": "UTF8_BINARY_RTRIM",
    "SELECT g FROM t ORDER BY g COLLATE UTF8_LCASE": "UTF8_LCASE",
    "SELECT k FROM (SELECT k, g COLLATE UTF8_LCASE FROM t)": "UTF8_LCASE",
    "SELECT CAST(g AS STRING COLLATE de_AI) FROM t": "de_AI",
    "SELECT CAST(g AS VARCHAR(3) COLLATE UTF8_LCASE) FROM t": "UTF8_LCASE",
    "SELECT CAST(array(g) AS ARRAY<STRING COLLATE UTF8_LCASE>) FROM t": "UTF8_LCASE",
    "SELECT CAST(struct(g) AS STRUCT<a: STRING COLLATE UTF8_LCASE>).a FROM t": "UTF8_LCASE",
    "SELECT collation(g COLLATE UTF8_LCASE) FROM t": "UTF8_LCASE",
    "SELECT k, 'a' COLLATE UTF8_LCASE FROM t": "UTF8_LCASE",
}
COLLATED_TYPES = (
    "STRING COLLATE UTF8_LCASE",
    "CHAR(3) COLLATE UTF8_LCASE",
    "ARRAY<STRING COLLATE UTF8_LCASE>",
    "MAP<INT, STRING COLLATE UTF8_LCASE>",
    "STRUCT<a: INT, b: STRING COLLATE UTF8_LCASE>",
    "STRUCT<a: ARRAY<MAP<INT, STRING COLLATE UTF8_LCASE>>>",
    "ARRAY<STRUCT<a: STRUCT<b: VARCHAR(3) COLLATE UTF8_LCASE>>>",
)


@pytest.mark.parametrize("statement", UNSUPPORTED)
def test_unsupported(read: Read, statement: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=UNSUPPORTED[statement]):
        read(statement)


@pytest.mark.parametrize("statement", COLLATED)
def test_collated_strings(read: Read, statement: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=f"collation {COLLATED[statement]}, .*lower"):
        read(statement)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Creates the empty table `names` with these columns, of a default collation."""
    place = tmp_path / "names"
    place.mkdir()

    def create(columns: str, collation: str = "UTF8_BINARY") -> None:
        spark.sql(
            f"CREATE TABLE names ({columns}) USING parquet "
            f"DEFAULT COLLATION {collation} LOCATION '{place}'"
        )

    yield create
    spark.sql("DROP TABLE IF EXISTS names")


@pytest.mark.parametrize("kind", COLLATED_TYPES)
def test_collated_columns_of_a_source(
    spark: SparkSession, table: Callable[..., None], kind: str
) -> None:
    table(f"k INT, c {kind}")
    with pytest.raises(
        UnsupportedOperatorError, match=r"column c of \S*names has the collation UTF8_LCASE.*schema"
    ):
        read_pipeline("SELECT k FROM names", spark)


@pytest.mark.parametrize("kind", ["STRING", "CHAR(3)"])
def test_the_default_collation_of_a_table(
    spark: SparkSession, table: Callable[..., None], kind: str
) -> None:
    table(f"c {kind}", "UTF8_LCASE")
    with pytest.raises(UnsupportedOperatorError, match="collation UTF8_LCASE"):
        read_pipeline("SELECT c FROM names", spark)


def test_the_default_collation_of_a_view(spark: SparkSession, read: Read) -> None:
    text = "DEFAULT COLLATION UTF8_LCASE AS SELECT k, 'A' AS a FROM u"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW shouted {text}")
    try:
        with pytest.raises(UnsupportedOperatorError, match="collation UTF8_LCASE"):
            read("SELECT k FROM shouted WHERE a = 'a'")
    finally:
        spark.catalog.dropTempView("shouted")


def test_strings_under_the_plain_collation_are_read(
    spark: SparkSession, table: Callable[..., None]
) -> None:
    table("g STRING COLLATE UTF8_BINARY, s STRUCT<a: STRING COLLATE UTF8_BINARY>, v VARCHAR(3)")
    statement = "SELECT g COLLATE UTF8_BINARY, s.a, v, collation(g) FROM names WHERE g = v"
    output = read_pipeline(statement, spark).graph.output()
    assert [column.type for column in output] == [STRING] * 4


def test_the_place_in_the_query_is_named(read: Read) -> None:
    with pytest.raises(PredTraceError, match=r"at line 2: .*COLLATE"):
        read("SELECT k,\n g COLLATE UTF8_LCASE\nFROM t")


def test_another_evaluation_mode_is_refused(spark: SparkSession, read: Read) -> None:
    frames = [spark.sql(f"SELECT {text} FROM t") for text in ("v + 1", "CAST(g AS INT)", "sum(v)")]
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for frame in frames:
            with pytest.raises(UnsupportedOperatorError, match=r"ANSI mode, the session in LEGACY"):
                read_pipeline(frame)
        for text in ("v + 1", "try_add(v, 1)"):
            assert read(f"SELECT {text} FROM t").settings.ansi is False
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_sql_text_needs_a_session() -> None:
    with pytest.raises(TypeError, match="session"):
        read_pipeline("SELECT 1")
