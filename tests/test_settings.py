"""Jobs are answered under the settings that they ran with, whatever the asking session has."""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import predtrace
from predtrace.engines.base import Targets
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.spark.sessions import OWN
from predtrace.engines.sql.literals import sql_literal
from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark import read_pipeline
from predtrace.jobs.codec import decode_job, encode_job
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import (
    PREFIX,
    SAVED,
    belongs_to_statements,
    by_name,
    put_in_force,
    read_settings,
)
from symbolic.expr import Literal
from symbolic.types import STRING
from tests.jobs.examples import example_job
from tests.spark_settings import HARMLESS, other_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

D = decimal.Decimal
UTC = dt.UTC
ROWS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "id": (pa.int32(), [0, 1, 2, 3, 4]),
    "i": (pa.int32(), [2**31 - 1, 1, 300, -(2**31), None]),
    "l": (pa.int64(), [2**63 - 1, 1, 300, -(2**63), None]),
    "s": (pa.string(), ["1", "1.5", "x", " 1 ", None]),
    "small": (pa.decimal128(18, 8), [D("0.00000001"), D("0.5"), D("1E-8"), D("1"), None]),
    "wide": (pa.decimal128(38, 18), [D("0.0000001"), D("1"), D("0.0000002"), D("2"), None]),
    # 02:30 in Berlin, before and after the clocks change, and at another time of the year.
    "t": (
        pa.timestamp("us", "UTC"),
        [
            dt.datetime(2021, 10, 31, 0, 30, tzinfo=UTC),
            dt.datetime(2021, 10, 31, 1, 30, tzinfo=UTC),
            dt.datetime(2021, 7, 1, 0, 30, tzinfo=UTC),
            dt.datetime(2022, 1, 1, tzinfo=UTC),
            None,
        ],
    ),
    "day": (pa.string(), ["2021-01-05", "2021-1-5", "2021-01-05", "2021-02-01", None]),
    "list": (pa.list_(pa.int32()), [[1, None], [None], [2], [], None]),
    "b": (pa.binary(), [b"a", b"b", b"a", b"", None]),
    "old": (
        pa.date32(),
        [dt.date(1500, 1, 1), dt.date(2021, 1, 1), dt.date(1500, 1, 1), None, None],
    ),
}
Settings = Mapping[str, str]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("settings") / "r.parquet"
    columns = [pa.array(values, kind) for kind, values in ROWS.values()]
    pq.write_table(pa.table(dict(zip(ROWS, columns, strict=True))), file)
    return file


def named(settings: Settings) -> dict[str, str]:
    return {f"spark.sql.{key}": value for key, value in settings.items()}


def run_job(spark: SparkSession, source: Path, store: Path, query: str, settings: Settings) -> Any:
    """A job that ran in a session with these settings."""
    session = spark.newSession()
    for key, value in named(settings).items():
        session.conf.set(key, value)
    session.read.parquet(str(source)).createOrReplaceTempView("r")
    return predtrace.trace(session.sql(query)).run(store=store)


def asking(spark: SparkSession, settings: Settings) -> SparkSession:
    session = spark.newSession()
    for key, value in named(settings).items():
        session.conf.set(key, value)
    return session


def ids(answer: Any) -> dict[int, list[int]]:
    """The rows of each target, by their ids."""
    assert answer.label == "precise"
    found: dict[int, list[int]] = {}
    for row in answer.scans[0].to_arrow(["id"]).to_pylist():
        found.setdefault(row.get("target", 0), []).append(row["id"])
    return {target: sorted(rows) for target, rows in found.items()}


def grouped(*keys: str) -> str:
    named = ", ".join(f"{key} AS k{number}" for number, key in enumerate(keys))
    return f"SELECT {named}, count(*) AS n FROM r GROUP BY ALL"


TRIED: list[tuple[str, Any, list[int]]] = [
    ("try_cast(s AS int)", None, [1, 2, 4]),
    ("try_cast(s AS int)", 1, [0, 3]),
    ("try_cast(s AS decimal(3, 1))", D("1.5"), [1]),
    ("try_cast(i AS tinyint)", None, [0, 2, 3, 4]),
    ("try_cast(l AS int)", None, [0, 3, 4]),
    ("try_cast(l AS smallint)", 300, [2]),
    ("try_add(i, 1)", None, [0, 4]),
    ("try_add(l, 1L)", None, [0, 4]),
    ("try_subtract(i, 1)", None, [3, 4]),
    ("try_multiply(i, 2)", None, [0, 3, 4]),
    ("try_divide(l, l - l)", None, [0, 1, 2, 3, 4]),
    ("try_mod(i, i DIV 300)", None, [1, 4]),
    ("CAST(small AS string)", "0.00000001", [0, 2]),
    ("concat('', small)", "0.00000001", [0, 2]),
    ("CAST(array(small) AS string)", "[0.00000001]", [0, 2]),
]
"""A group key in ANSI mode, a value of it, and the rows that have it."""


def test_try_functions_and_decimal_text_in_ansi_mode(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    query = grouped(*(key for key, _, _ in TRIED))
    job = run_job(spark, source, tmp_path, query, {"ansi.enabled": "true"})
    targets = [{f"k{number}": value} for number, (_, value, _) in enumerate(TRIED)]
    expected = {number: rows for number, (_, _, rows) in enumerate(TRIED)}
    session = asking(spark, {"ansi.enabled": "false"})
    assert ids(job.lineage(targets, engine="spark", spark=session)) == expected


# -- every setting


@pytest.fixture(scope="module")
def others(spark: SparkSession) -> EngineSettings:
    """All saved settings with another value than they have by default."""
    defaults = read_settings(spark.conf, spark.version)
    return msgspec.structs.replace(
        defaults,
        time_zone="Asia/Kathmandu",
        ansi=not defaults.ansi,
        case_sensitive=not defaults.case_sensitive,
        conf={key: other_value(key, value) for key, value in defaults.conf.items()},
    )


def test_a_question_has_every_setting_of_its_job(
    spark: SparkSession, others: EngineSettings
) -> None:
    defaults = read_settings(spark.conf, spark.version)
    assert set(by_name(others).items()).isdisjoint(by_name(defaults).items())
    before = dict(spark.conf.getAll)
    strange = spark.newSession()
    put_in_force(strange.conf, others)
    for asking, of_the_job in ((spark, others), (strange, defaults)):
        session = SparkEngine(asking).open(Targets(pa.table({}), (), False), of_the_job).session
        assert read_settings(session.conf, spark.version) == of_the_job
    assert dict(spark.conf.getAll) == before
    assert read_settings(strange.conf, spark.version) == others


def test_a_job_keeps_every_setting(others: EngineSettings) -> None:
    job = msgspec.structs.replace(example_job(), settings=others)
    assert decode_job(encode_job(job), "job.json").settings == others


@pytest.mark.parametrize("key", SAVED)
def test_each_setting_is_recorded(spark: SparkSession, others: EngineSettings, key: str) -> None:
    session = spark.newSession()
    value = others.conf[key]
    assert value is not None
    session.conf.set(key, value)
    defaults = read_settings(spark.conf, spark.version)
    changed = {**defaults.conf, key: value}
    assert read_settings(session.conf, spark.version).conf == changed


def test_statements_are_read_as_they_are_meant(spark: SparkSession) -> None:
    """The user's settings of the parser are not those of questions."""
    session = spark.newSession()
    session.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    settings = read_settings(session.conf, spark.version)
    opened = SparkEngine(session).open(Targets(pa.table({}), (), False), settings).session
    query = exp.select(sql_literal(Literal("a\\b", STRING), "spark"))
    assert opened.sql(query.sql("spark")).collect()[0][0] == "a\\b"


def test_every_setting_of_spark_is_known(spark: SparkSession) -> None:
    """A new version of Spark has new settings: is there one that changes results?"""
    loader = spark._jvm.Thread.currentThread().getContextClassLoader()
    found = spark._jvm.java.lang.Class.forName(
        "org.apache.spark.sql.internal.SQLConf$", True, loader
    )
    entries = found.getField("MODULE$").get(None).getConfigEntries().iterator()
    keys = []
    while entries.hasNext():
        keys.append(entries.next().key())
    assert len(keys) > 500
    saved = by_name(read_settings(spark.conf, spark.version))
    harmless = [name for names in HARMLESS.values() for name in names.split()]
    assert len(harmless) == len(set(harmless))

    def places(key: str) -> int:
        name = key.removeprefix(PREFIX)
        whole = harmless.count(name)
        begun = sum(name.startswith(family) for family in harmless if family[-1] == ".")
        return whole + begun + (key in saved) + belongs_to_statements(key) + (key in OWN)

    assert {key: places(key) for key in keys if places(key) != 1} == {}
    fixed = {key for key in saved if not spark.conf.isModifiable(key)}
    assert fixed == set()


# -- settings that differ between run and question

CHANGED: list[tuple[Settings, str, Any, list[int], Any, list[int]]] = [
    (
        {"legacy.timeParserPolicy": "LEGACY"},
        "CAST(try_to_timestamp(day, 'yyyy-MM-dd') AS date)",
        *(None, [1, 4], dt.date(2021, 1, 5), [0, 1, 2]),
    ),
    (
        {"decimalOperations.allowPrecisionLoss": "false"},
        "wide * wide",
        *(D("0.000000"), [0, 2], D("1E-14"), [0]),
    ),
    (
        {"legacy.castComplexTypesToString.enabled": "true"},
        "CAST(list AS string)",
        *("[1, null]", [0], "[1,]", [0]),
    ),
    (
        {"legacy.followThreeValuedLogicInArrayExists": "false"},
        "exists(list, x -> x > 1)",
        *(None, [0, 1, 4], False, [0, 1, 3]),
    ),
    (
        {"legacy.truncateForEmptyRegexSplit": "true"},
        "get(split(day, '', 2), 1)",
        *("021-01-05", [0, 2], "0", [0, 1, 2, 3]),
    ),
    (
        {"mapKeyDedupPolicy": "LAST_WIN"},
        "IF(id = 0 AND {LAST_WIN}, element_at(map('a', 7, lower('A'), 8), 'a'), 7)",
        *(7, [0, 1, 2, 3, 4], 8, [0]),
    ),
    (
        {"function.concatBinaryAsString": "true"},
        "concat(b, b)",
        *(b"aa", [0, 2], "aa", [0, 2]),
    ),
    (
        {"parquet.datetimeRebaseModeInRead": "LEGACY"},
        "old",
        *(dt.date(1500, 1, 1), [0, 2], dt.date(1499, 12, 23), [0, 2]),
    ),
    ({"session.timeZone": "Europe/Berlin"}, "hour(t)", *(0, [0, 2, 3], 2, [0, 1, 2])),
    ({"ansi.enabled": "false"}, "CAST(small AS string)", *("0.00000001", [0, 2], "1E-8", [0, 2])),
]
"""A setting, a group key, and a value of that and the rows that have it: by default, and so."""


@pytest.mark.parametrize("changed", ["run", "question"])
def test_settings_changed_between_run_and_question(
    spark: SparkSession, source: Path, tmp_path: Path, changed: str
) -> None:
    other = {key: value for case in CHANGED for key, value in case[0].items()}
    then, now = (other, {}) if changed == "run" else ({}, other)
    keys = [case[1].replace("{LAST_WIN}", str(changed == "run")) for case in CHANGED]
    job = run_job(spark, source, tmp_path, grouped(*keys), then)
    wanted = [case[4:] if changed == "run" else case[2:4] for case in CHANGED]
    targets = [{f"k{number}": value} for number, (value, _) in enumerate(wanted)]
    expected = {number: rows for number, (_, rows) in enumerate(wanted)}
    mode = "stored" if changed == "run" else "replayed"
    assert ids(job.lineage(targets, mode=mode, spark=asking(spark, now))) == expected


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("decimalOperations.allowPrecisionLoss", "SELECT wide * wide FROM r"),
        ("legacy.followThreeValuedLogicInArrayExists", "SELECT exists(list, x -> x > 1) FROM r"),
        ("legacy.statisticalAggregate", "SELECT stddev_samp(id) FROM r GROUP BY s"),
        ("session.timeZone", "SELECT hour(t) FROM r"),
        ("ansi.enabled", "SELECT i + i FROM r"),
    ],
)
def test_what_was_made_under_other_settings_is_refused(
    spark: SparkSession, source: Path, key: str, text: str
) -> None:
    """A DataFrame keeps some settings that were in force when it was made."""
    session = spark.newSession()
    session.read.parquet(str(source)).createOrReplaceTempView("r")
    frame = session.sql(text)
    read_pipeline(frame)
    now = session.conf.get(f"{PREFIX}{key}")
    session.conf.set(f"{PREFIX}{key}", {"true": "false", "false": "true"}.get(now, "Asia/Tokyo"))
    with pytest.raises(UnsupportedOperatorError, match=key):
        read_pipeline(frame)
    read_pipeline(session.sql(text))


def test_jobs_without_all_settings_are_answered_and_say_so(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    """As the version before saved them: under what it saved, else the asking session's."""
    settings = {"legacy.timeParserPolicy": "LEGACY", "ansi.enabled": "false"}
    date = "CAST(try_to_timestamp(day, 'yyyy-MM-dd') AS date)"
    new = run_job(spark, source, tmp_path, grouped(date, "CAST(small AS string)"), settings)
    folder = tmp_path / new.id
    record = decode_job((folder / "job.json").read_bytes(), "job.json")
    before = msgspec.structs.replace(record.settings, conf={})
    older = msgspec.structs.replace(record, settings=before)
    data = msgspec.json.decode(encode_job(older))
    del data["body"]["job"]["settings"]["conf"]
    body = msgspec.json.encode(data["body"])
    data |= {"schema": 2, "sha256": hashlib.sha256(body).hexdigest(), "body": msgspec.Raw(body)}
    (folder / "job.json").write_bytes(msgspec.json.encode(data))
    job = predtrace.open_job(tmp_path, new.id)
    target = {"k0": dt.date(2021, 1, 5), "k1": "1E-8"}
    for now, rows in ((settings, [0, 2]), ({}, [0, 2])):
        answer = job.lineage(target, engine="spark", spark=asking(spark, now))
        assert ids(answer) == {0: rows}
        assert "without all of its settings" in answer.explain()
