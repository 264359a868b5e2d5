"""Sources that only Spark reads: what is cached of them is what they hold, and DuckDB answers.

The truth are the rows that a test wrote, as Python values.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

import predtrace
from predtrace.handle import JobHandle
from predtrace.lineage import engine_choice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
UTC = dt.timezone.utc  # noqa: UP017
NAN, INFINITY = math.nan, math.inf
WIDE = Decimal("9" * 20 + "." + "8" * 18)


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    return own


@pytest.fixture
def no_spark_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After a call of it, a question that would use Spark fails."""

    def refuse(spark: SparkSession | None) -> SparkSession:
        raise AssertionError("Spark is used")

    return lambda: monkeypatch.setattr(engine_choice, "_session", refuse)


def known(value: Any) -> Any:
    """A value that equals itself: NaN does not, and 0.0 equals -0.0."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)  # an hour that comes twice equals nothing
    if isinstance(value, dict):
        return {key: known(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [known(one) for one in value]
    return value


def compared(found: Sequence[Row], truth: Sequence[Row]) -> int:
    """Compare rows by their number, value by value; returns how many there are."""
    ordered = sorted(found, key=lambda row: int(row["rid"]))
    assert [known(row) for row in ordered] == [known(row) for row in truth]
    return len(truth)


def ask(job: JobHandle, target: Any, table: str = "t", **how: Any) -> list[Row]:
    answer = job.lineage(target, **how)
    assert (answer.label, answer.engine) == ("precise", "duckdb"), answer.notes
    rows: list[Row] = answer[table].to_arrow().to_pylist()
    assert answer[table].count() == len(rows)
    return rows


def traced(session: SparkSession, query: str, tmp_path: Path, **how: Any) -> JobHandle:
    return predtrace.trace(query, session).run(tmp_path / "store", **how)


VALUES: list[Row] = [
    {"rid": 0, "g": "a", "d": NAN, "f": -0.0, "n": WIDE, "day": dt.date(1582, 10, 4),
     "at": dt.datetime(1582, 10, 4, 12, tzinfo=UTC), "local": dt.datetime(1582, 10, 15, 1),
     "b": True, "small": -128, "long": -(2**63)},
    {"rid": 1, "g": "a", "d": -0.0, "f": NAN, "n": -WIDE, "day": dt.date(9999, 12, 31),
     "at": dt.datetime(9999, 12, 30, 23, 59, 59, 999999, UTC),
     "local": dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
     "b": False, "small": 127, "long": 2**63 - 1},
    {"rid": 2, "g": None, "d": 0.0, "f": INFINITY, "n": Decimal("0E-18"), "day": dt.date(1, 1, 1),
     "at": dt.datetime(2024, 10, 27, 0, 30, tzinfo=UTC), "local": dt.datetime(2024, 10, 27, 2, 30),
     "b": None, "small": 0, "long": 0},
    {"rid": 3, "g": "ü;\"'", "d": -INFINITY, "f": 1.5, "n": None, "day": dt.date(1969, 12, 31),
     "at": dt.datetime(1, 1, 2, tzinfo=UTC), "local": dt.datetime(1, 1, 1),
     "b": True, "small": None, "long": 1},
    {"rid": 4, "g": "b", "d": None, "f": None, "n": Decimal("1.000000000000000000"), "day": None,
     "at": None, "local": None, "b": None, "small": None, "long": None},
    {"rid": 5, "g": "b", "d": NAN, "f": 0.0, "n": Decimal("1.000000000000000000"),
     "day": dt.date(1582, 10, 4), "at": dt.datetime(1582, 10, 4, 12, tzinfo=UTC),
     "local": dt.datetime(1582, 10, 15, 1), "b": True, "small": -128, "long": 1},
]  # fmt: skip
SCHEMA = (
    "rid int, g string, d double, f float, n decimal(38,18), day date, at timestamp, "
    "local timestamp_ntz, b boolean, small tinyint, long bigint"
)
KEYS = ("g", "d", "f", "n", "day", "at", "local", "b", "small", "long")


def as_text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float() if math.isinf(value):
            return "Inf" if value > 0 else "-Inf"
        case float():
            return repr(value).replace("nan", "NaN")
        case dt.datetime(tzinfo=zone):
            return value.replace(tzinfo=None).isoformat() + ("" if zone is None else "Z")
        case dt.date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case _:
            text = str(value)
            return text if text.isalnum() else '"' + text.replace('"', '\\"') + '"'


def write_csv(session: SparkSession, place: Path) -> str:
    lines = [",".join(SCHEMA.replace(" ", ":").split(",:"))]
    lines += [",".join(as_text(value) for value in row.values()) for row in VALUES]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = "header 'true', positiveInf 'Inf', negativeInf '-Inf'"
    return f"USING csv OPTIONS ({options}, path '{place}')"


def write_json(session: SparkSession, place: Path) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, (dt.date, Decimal)):
            return as_text(value)
        return value

    def line(row: Row) -> str:
        fields = []
        for key, value in row.items():
            text = as_text(value) if isinstance(value, Decimal) else json.dumps(plain(value))
            fields.append(f"{json.dumps(key)}: {text}")
        return "{" + ", ".join(fields) + "}"

    place.write_text("\n".join(map(line, VALUES)) + "\n", encoding="utf-8")
    return f"USING json OPTIONS (path '{place}')"


def write_orc(session: SparkSession, place: Path) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "rid": pa.int32(), "g": pa.string(), "d": pa.float64(), "f": pa.float32(),
        "n": pa.decimal128(38, 18), "day": pa.date32(), "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"), "b": pa.bool_(), "small": pa.int8(), "long": pa.int64(),
    }  # fmt: skip
    table = pa.table({key: pa.array([row[key] for row in VALUES], kinds[key]) for key in kinds})
    for part in (table.slice(0, 4), table.slice(4)):
        pq.write_table(part, str(place) + ".parquet")
        session.read.parquet(str(place) + ".parquet").write.mode("append").orc(str(place))
    return f"USING orc OPTIONS (path '{place}')"


WRITERS = {"csv": write_csv, "json": write_json, "orc": write_orc}


@pytest.mark.parametrize(("kind", "ansi"), [("csv", True), ("json", False), ("orc", True)])
def test_values_are_those_of_the_source(
    session: SparkSession, tmp_path: Path, kind: str, ansi: bool
) -> None:
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    written = WRITERS[kind](session, tmp_path / "t")
    session.sql(f"CREATE TEMPORARY VIEW t ({SCHEMA}) {written}")
    keys = ", ".join(KEYS)
    job = traced(session, f"SELECT {keys}, count(*) AS rows FROM t GROUP BY {keys}", tmp_path)
    checked = compared(ask(job, "rows > 0"), VALUES)
    for key in KEYS:
        values = {known(0.0 if row[key] == 0 else row[key]): row[key] for row in VALUES}
        for value in values.values():
            expected = [
                row for row in VALUES
                if row[key] == value or known(row[key]) == known(value)
            ]  # fmt: skip
            checked += compared(ask(job, {key: value}), expected)
    assert checked > 6 * 10


def test_nested_values_and_text_of_any_kind(session: SparkSession, tmp_path: Path) -> None:
    rows: list[Row] = [
        {"rid": 0, "a": [1.5, None], "s": {"x.y": "ä", "n": {"d": "1582-10-04"}}, "m": {"k": "v"}},
        {"rid": 1, "a": [], "s": {"x.y": None, "n": None}, "m": {}},
        {"rid": 2, "a": None, "s": None, "m": None},
    ]
    (tmp_path / "t.json").write_text("\n".join(map(json.dumps, rows)))
    session.sql(
        "CREATE TEMPORARY VIEW t (rid int, a array<double>, "
        "s struct<`x.y`: string, n: struct<d: date>>, m map<string, string>) "
        f"USING json OPTIONS (path '{tmp_path / 't.json'}')"
    )
    job = traced(session, "SELECT s.`x.y` AS k, count(*) AS n FROM t GROUP BY 1", tmp_path)
    rows[0]["s"]["n"]["d"] = dt.date(1582, 10, 4)
    for row in rows:
        row["m"] = None if row["m"] is None else list(row["m"].items())
    assert compared(ask(job, "n > 0"), rows) == 3


def test_intervals_stay_with_spark(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,1-02\n1,\n")
    session.sql(
        "CREATE TEMPORARY VIEW t (rid int, i interval year to month) "
        f"USING csv OPTIONS (path '{tmp_path / 't.csv'}')"
    )
    job = traced(session, "SELECT rid, count(*) AS n FROM t GROUP BY rid", tmp_path)
    answer = job.lineage({"rid": 0})
    assert (answer.engine, answer["t"].count(), job.cached_bytes) == ("spark", 1, 0)
    assert "t.i is of type" in answer.notes[-1]


OPTIONS = {
    "header": (
        "# note\nrid;g;day\n0;'x;y';01.02.2024\n1;'x\nz';-\n2;;31.12.9999\n",
        {"header": "true", "sep": ";", "quote": "'", "comment": "#", "multiLine": "true",
         "dateFormat": "dd.MM.yyyy", "nullValue": "-"},
        [(0, "x;y", dt.date(2024, 2, 1)), (1, "x\nz", None), (2, None, dt.date(9999, 12, 31))],
    ),
    "malformed": (
        "0,a,2024-01-01\n1,b,never\nx,a,2024-01-02\n3\n4,a,2024-01-03,more\n",
        {"mode": "PERMISSIVE"},
        [(0, "a", dt.date(2024, 1, 1)), (1, "b", None), (3, None, None),
         (4, "a", dt.date(2024, 1, 3)), (None, "a", dt.date(2024, 1, 2))],
    ),
    "spaces": (
        "0, a ,2024-01-01\n1,\\N,2024-01-01\n2,\"\",2024-01-01\n",
        {"ignoreLeadingWhiteSpace": "true", "nullValue": "\\N", "emptyValue": "empty"},
        [(0, "a ", dt.date(2024, 1, 1)), (1, None, dt.date(2024, 1, 1)),
         (2, "empty", dt.date(2024, 1, 1))],
    ),
}  # fmt: skip
"""Texts, how they are read, and the rows that they hold."""


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16LE"])
def test_options_are_those_of_the_job(
    session: SparkSession, tmp_path: Path, case: str, encoding: str
) -> None:
    text, options, rows = OPTIONS[case]
    if encoding != "UTF-8":
        if "multiLine" not in options:
            options = {**options, "lineSep": "\n"}
        options = {**options, "encoding": encoding}
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    reader = session.read.schema("rid int, g string, day date").options(**options)
    reader.csv(str(tmp_path / "t.csv")).createOrReplaceTempView("t")
    job = traced(session, "SELECT g, count(*) AS n FROM t GROUP BY g", tmp_path)
    for value in {row[1] for row in rows}:
        found = [tuple(row.values()) for row in ask(job, {"g": value})]
        assert sorted(found, key=str) == [row for row in rows if row[1] == value]


def test_zones_and_formats_of_times(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,27.10.2024 02:30\n1,01.01.1582 00:00\n")
    session.sql(
        "CREATE TEMPORARY VIEW t (rid int, at timestamp) USING csv OPTIONS "
        f"(timestampFormat 'dd.MM.yyyy HH:mm', timeZone 'Asia/Tokyo', path '{tmp_path / 't.csv'}')"
    )
    job = traced(session, "SELECT at, count(*) AS n FROM t GROUP BY at", tmp_path)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    # Tokyo's own time before 1888.
    early = dt.timedelta(hours=9, minutes=18, seconds=59)
    truth = [
        {"rid": 0, "at": dt.datetime(2024, 10, 26, 17, 30, tzinfo=UTC)},
        {"rid": 1, "at": dt.datetime(1582, 1, 1, tzinfo=UTC) - early},
    ]
    assert compared(ask(job, "n > 0"), truth) == 2
    assert compared(ask(job, {"at": truth[0]["at"]}), truth[:1]) == 1


def test_columns_that_differ_by_case(session: SparkSession, tmp_path: Path) -> None:
    session.conf.set("spark.sql.caseSensitive", "true")
    (tmp_path / "t.json").write_text('{"a": 1, "A": 2, "file": "x", "c0": 3}\n{"a": 2}\n')
    reader = session.read.schema("A int, a int, file string, c0 int, `d.e` string")
    reader.json(str(tmp_path / "t.json")).createOrReplaceTempView("t")
    job = traced(session, "SELECT A, count(*) AS n FROM t GROUP BY A", tmp_path)
    found = ask(job, {"A": 2})
    assert found == [{"A": 2, "a": 1, "file": "x", "c0": 3, "d.e": None}]
    assert ask(job, {"A": None}) == [{"A": None, "a": 2, "file": None, "c0": None, "d.e": None}]


def test_files_of_several_schemas(session: SparkSession, tmp_path: Path) -> None:
    for number, text in enumerate(["id bigint, 1 AS v", "id bigint, 'x' AS w, 2 AS v"]):
        columns = text.replace("id bigint", f"CAST({number} AS INT) AS rid")
        session.sql(f"SELECT {columns}").write.mode("append").orc(str(tmp_path / "t"))
    frame = session.read.option("mergeSchema", True).orc(str(tmp_path / "t"))
    frame.select("rid", "v", "w").createOrReplaceTempView("t")
    job = traced(session, "SELECT w, count(*) AS n FROM t GROUP BY w", tmp_path)
    assert compared(ask(job, {"w": None}), [{"rid": 0, "v": 1, "w": None}])
    assert compared(ask(job, {"w": "x"}), [{"rid": 1, "v": 2, "w": "x"}])


def test_folders_of_partitions(
    session: SparkSession, tmp_path: Path, no_spark_later: Callable[[], None]
) -> None:
    at = ["2024-01-01 00%3A00%3A00", "__HIVE_DEFAULT_PARTITION__", "1582-10-15 12%3A00%3A00"]
    truth = []
    for number, name in enumerate(at):
        place = tmp_path / "t + %41é" / f"at={name}"
        place.mkdir(parents=True)
        (place / "one.csv").write_text(f"{number},a\n{number + 10},b\n")
        told = None if number == 1 else dt.datetime.fromisoformat(name.replace("%3A", ":"))
        truth += [(number, "a", told), (number + 10, "b", told)]
    reader = session.read.schema("rid int, g string, at timestamp_ntz")
    reader.csv(str(tmp_path / "t + %41é")).createOrReplaceTempView("t")
    job = traced(session, "SELECT at, g, count(*) AS n FROM t GROUP BY at, g", tmp_path)
    assert len(ask(job, "n > 0")) == 6
    no_spark_later()
    for rid, g, told in truth:
        assert ask(job, {"at": told, "g": g}) == [{"rid": rid, "g": g, "at": told}]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_facts_of_files(
    session: SparkSession, tmp_path: Path, kind: str, no_spark_later: Callable[[], None]
) -> None:
    from pyspark.sql import functions as f

    folder = tmp_path / "t + %41é;x"
    folder.mkdir()
    names = [f"{name}.{kind}" for name in ("a b", "ü%20", "c+d")]
    truth = []
    for number, name in enumerate(names):
        rids = list(range(number * 10, number * 10 + number + 1))
        if kind == "csv":
            (folder / name).write_text("".join(f"{rid}\n" for rid in rids))
        else:
            _write_parquet(folder / name, rids)
        truth += [(rid, folder / name, place) for place, rid in enumerate(rids)]
    frame = session.read.schema("rid long").format(kind).load(str(folder))
    told = frame.select(
        "rid",
        f.input_file_name().alias("file"),
        *(f.col(f"_metadata.{name}") for name in ("file_name", "file_size")),
        *([f.col("_metadata.row_index")] if kind == "parquet" else []),
    ).where("file_size > 0 AND file LIKE 'file:///%'")
    keys = [name for name in told.columns if name != "rid"]
    job = predtrace.trace(told.groupBy(*keys).count()).run(tmp_path / "store")
    (table,) = [source.name for source in job.record.sources]
    asked = job.lineage("count > 0")
    assert asked.engine == "duckdb"
    encoded = {unquote(name): name for name in job.output_arrow()["file_name"].to_pylist()}
    no_spark_later()
    for rid, path, place in truth:
        same = [one for one in truth if one[1] == path]
        target: Row = {"file_name": encoded[path.name], "file_size": path.stat().st_size}
        expected = {one[0] for one in same}
        if kind == "parquet":
            target["row_index"] = place
            expected = {rid}
        answer = job.lineage(target)
        assert (answer.engine, answer.label) == ("duckdb", "precise")
        assert set(answer[table].to_arrow(["rid"]).column(0).to_pylist()) == expected
        if kind == "parquet":
            found = answer[table].row_ids().to_pylist()
            assert found == [{"file": str(path), "row": place}]
    assert len(truth) == 6


def _write_parquet(place: Path, rids: list[int]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"rid": pa.array(rids, pa.int64())}), place)


def test_padded_columns_of_tables(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "one.csv").write_text("0,ab,ab\n1,ab ,ab \n2,,\n")
    session.sql(
        "CREATE TABLE padded_text (rid INT, c CHAR(4), v VARCHAR(4)) USING csv "
        f"LOCATION '{tmp_path / 't'}'"
    )
    try:
        job = traced(session, "SELECT c, v, count(*) AS n FROM padded_text GROUP BY c, v", tmp_path)
    finally:
        session.sql("DROP TABLE padded_text")

    def rids(target: Row) -> set[int]:
        return {row["rid"] for row in ask(job, target, "padded_text")}

    assert rids({"c": "ab  "}) == {0, 1}
    assert rids({"c": "ab  ", "v": "ab"}) == {0}
    assert rids({"c": "ab  ", "v": "ab "}) == {1}
    assert rids({"v": None}) == {2}


@pytest.mark.parametrize("kind", ["csv", "json", "orc"])
@pytest.mark.parametrize("form", ["no file", "an empty file"])
def test_empty_sources(session: SparkSession, tmp_path: Path, kind: str, form: str) -> None:
    place = tmp_path / "t"
    place.mkdir()
    if form == "an empty file" and kind == "orc":
        session.sql("SELECT 1 AS rid WHERE false").write.mode("append").orc(str(place))
    elif form == "an empty file":
        (place / "one").write_text("")
    frame = session.read.schema("rid int").format(kind).load(str(place))
    job = predtrace.trace(frame.selectExpr("count(*) AS n")).run(tmp_path / "store")
    assert ask(job, {"n": 0}) == []
