"""Sources whose files Spark reads otherwise than they are written: defaults, ids, old calendars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import PredTraceError, UnsupportedOperatorError
from predtrace.jobs.declared import declared_facts, defaults, has_field_ids, is_constant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODES = ("stored", "replayed", "refined")


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own


def rows(job: Any, target: Any, scan: str, engine: str, mode: str) -> set[int]:
    answer = job.lineage(target, engine=engine, mode=mode)
    assert answer.label == "precise"
    return set(answer[scan].to_arrow(["rid"]).column("rid").to_pylist())


@pytest.mark.parametrize("kind", ["parquet", "json", "orc"])
def test_defaults_of_added_columns(session: SparkSession, tmp_path: Path, kind: str) -> None:
    place = f"'{tmp_path / 'td'}'"
    session.sql(f"CREATE TABLE added_{kind} (rid INT, a INT) USING {kind} LOCATION {place}")
    session.sql(f"INSERT INTO added_{kind} VALUES (0, 1), (1, 2)")
    session.sql(f"ALTER TABLE added_{kind} ADD COLUMN (c INT DEFAULT 5)")
    session.sql(f"INSERT INTO added_{kind} VALUES (2, 1, 5), (3, 2, NULL)")
    try:
        job = predtrace.trace(f"SELECT c, count(*) AS n FROM added_{kind} GROUP BY c", session).run(
            tmp_path / "store"
        )
        for mode in MODES:
            assert rows(job, {"c": 5}, f"added_{kind}", "spark", mode) == {0, 1, 2}
            assert rows(job, {"c": None}, f"added_{kind}", "spark", mode) == {3}
        with pytest.raises(PredTraceError, match=r"default value|only Parquet"):
            job.lineage({"c": 5}, engine="duckdb")
        assert rows(job, {"c": 5}, f"added_{kind}", "auto", "auto") == {0, 1, 2}
        for mode in MODES:
            assert rows(job, {"c": 5}, f"added_{kind}", "duckdb", mode) == {0, 1, 2}
            assert rows(job, {"c": None}, f"added_{kind}", "duckdb", mode) == {3}
    finally:
        session.sql(f"DROP TABLE added_{kind}")


def test_columns_known_by_ids(session: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.types import IntegerType, StructField, StructType

    def stored(name: str, number: int) -> pa.Field:
        return pa.field(name, pa.int32(), metadata={b"PARQUET:field_id": str(number).encode()})

    def read(name: str, number: int) -> StructField:
        return StructField(name, IntegerType(), True, {"parquet.field.id": number})

    schema = pa.schema([stored("rid", 1), stored("x", 2), stored("y", 3)])
    pq.write_table(pa.table([[0, 1, 2], [7, 8, 7], [8, 8, 7]], schema=schema), tmp_path / "f")
    session.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    swapped = StructType([read("rid", 1), read("x", 3), read("y", 2)])
    frame = session.read.schema(swapped).parquet(str(tmp_path / "f"))
    with pytest.raises(UnsupportedOperatorError, match="f is read by field ids"):
        predtrace.trace(frame.groupBy("x").count())
    session.conf.set("spark.sql.parquet.fieldId.read.enabled", "false")
    frame = session.read.schema(swapped).parquet(str(tmp_path / "f"))
    job = predtrace.trace(frame.groupBy("x").count()).run(tmp_path / "store")
    assert rows(job, {"x": 8}, "f", "spark", "stored") == {1}


@pytest.mark.parametrize("column", ["d", "t"])
def test_dates_in_the_old_calendar(session: SparkSession, tmp_path: Path, column: str) -> None:
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    session.sql(
        "SELECT CAST(id AS INT) AS rid, DATE'1500-01-01' + CAST(id AS INT) AS d, "
        "TIMESTAMP'1500-01-01 00:00:00' + make_interval(0, 0, 0, id) AS t FROM range(30)"
    ).coalesce(1).write.parquet(str(tmp_path / "old"))
    for key in ("datetimeRebaseModeInWrite", "outputTimestampType"):
        session.conf.unset(f"spark.sql.parquet.{key}")
    session.read.parquet(str(tmp_path / "old")).createOrReplaceTempView("old")
    query = f"SELECT {column}, count(*) AS n FROM old GROUP BY {column}"
    job = predtrace.trace(query, session).run(tmp_path / "store")
    target = f"{column} = {'date' if column == 'd' else 'timestamp'}'1500-01-21'"
    for mode in MODES:
        assert rows(job, target, "old", "spark", mode) == {20}
    with pytest.raises(PredTraceError, match="old calendar"):
        job.lineage(target, engine="duckdb")
    with pytest.raises(PredTraceError, match="old calendar"):
        job.build_index(engine="duckdb")
    assert job.lineage(target, cache_limit=0).engine == "spark"
    for mode in MODES:
        assert rows(job, target, "old", "auto", mode) == {20}
        assert job.lineage(target, mode=mode).engine == "duckdb"


def test_facts_of_a_schema() -> None:
    field = {"name": "c", "type": "integer", "nullable": True}
    plain = {"type": "struct", "fields": [{**field, "metadata": {"comment": "none"}}]}
    text = msgspec.json.encode(plain).decode()
    assert declared_facts(text) == ""
    plain["fields"][0]["metadata"] = {"EXISTS_DEFAULT": "5", "comment": "none"}
    declared = declared_facts(msgspec.json.encode(plain).decode())
    assert "comment" not in declared
    assert defaults(declared) == {"c": "5"}
    assert not has_field_ids(declared)
    inner = {"type": "struct", "fields": [{**field, "metadata": {"parquet.field.id": 3}}]}
    nested = {"type": "struct", "fields": [{**field, "type": inner, "metadata": {}}]}
    assert has_field_ids(msgspec.json.encode(nested).decode())
    assert declared_facts(msgspec.json.encode(nested).decode()) == ""


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("5", True),
        ("-5.5", True),
        ("NULL", True),
        ("'a b'", True),
        ("DATE '2020-01-01'", True),
        ("CAST('1' AS INT)", True),
        ("array(1, 2)", True),
        ("current_date()", False),
        ("java_method('java.lang.System', 'exit', 0)", False),
        ("(SELECT 1)", False),
        ("x", False),
        ("1 +", False),
    ],
)
def test_defaults_are_constants(text: str, constant: bool) -> None:
    assert is_constant(text) is constant
