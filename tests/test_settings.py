"""Jobs are answered under the settings that they ran with, whatever the asking session has."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

D = decimal.Decimal
UTC = dt.timezone.utc
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
    for ansi, mode in (("true", "stored"), ("false", "replayed")):
        session = asking(spark, {"ansi.enabled": ansi})
        assert ids(job.lineage(targets, mode=mode, engine="spark", spark=session)) == expected
