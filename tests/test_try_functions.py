"""TRY functions in jobs without ANSI: NULL where the plain functions wrap or truncate."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError
from tests.byhand import Expected, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST, MOST = -(2**63), 2**63 - 1
TABLE = pa.table(
    {
        "id": pa.array(range(6), pa.int32()),
        "g": pa.array([0, 0, 1, 1, 1, 0], pa.int32()),
        "i": pa.array([2**31 - 1, 1, -(2**31), 7, None, 300], pa.int32()),
        "l": pa.array([MOST, 1, 5_000_000_000, LEAST, None, 1], pa.int64()),
        "m": pa.array([MOST, 1, 1, 2, -2, 3], pa.int64()),
        "s": pa.array(["1.5", "2", " 3 ", "x", None, "1e3"]),
        "f": pa.array([1.9, -1.9, 3e9, float("nan"), None, 1.0], pa.float64()),
        "d": pa.array([Decimal(n).scaleb(-8) for n in (1, 0, 100, 1, 0, 1)], pa.decimal128(10, 8)),
        "day": pa.array([18_000, 18_001, 18_000, None, 0, 18_000], pa.date32()),
    }
)
GROUPS: dict[str, dict[Any, list[int]]] = {
    "try_cast(s AS int)": {None: [0, 3, 4, 5], 2: [1], 3: [2]},
    "CAST(s AS int)": {1: [0], 2: [1], 3: [2], None: [3, 4, 5]},
    "try_cast(d AS string)": {"0.00000001": [0, 3, 5], "0.00000000": [1, 4], "0.00000100": [2]},
    "CAST(d AS string)": {"1E-8": [0, 3, 5], "0E-8": [1, 4], "0.00000100": [2]},
}
"""Keys, and the rows of their groups: without ANSI."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tried")
    pq.write_table(TABLE, path / "t.parquet")
    return path


@pytest.fixture(scope="module")
def legacy(spark: SparkSession, folder: Path) -> SparkSession:
    return _session(spark, folder, ansi=False)


def _session(spark: SparkSession, folder: Path, *, ansi: bool) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    session.read.parquet(str(folder / "t.parquet")).createOrReplaceTempView("t")
    return session


def test_groups(legacy: SparkSession, tmp_path: Path) -> None:
    """One job of all keys: a tag and the key as text name a group."""
    parts = (f"SELECT '{n}' AS tag, string({key}) AS k FROM t" for n, key in enumerate(GROUPS))
    frame = legacy.sql(
        f"SELECT tag, k, count(*) AS n FROM ({' UNION ALL '.join(parts)}) GROUP BY tag, k"
    )
    job = predtrace.trace(frame).run(store=tmp_path)
    keys = list(GROUPS)
    expected: dict[Any, list[int]] = {
        (key, None if value is None else str(value)): rows
        for key, groups in GROUPS.items()
        for value, rows in groups.items()
    }
    rows = job.output.collect()
    assert {(keys[int(row["tag"])], row["k"]): row["n"] for row in rows} == {
        group: len(members) for group, members in expected.items()
    }
    answer = job.lineage(rows, mode="stored", engine="spark")
    assert answer.label == "precise"
    for number, row in enumerate(rows):
        key, scan = keys[int(row["tag"])], answer.scan("t", occurrence=1 + int(row["tag"]))
        found = scan.to_pandas()
        assert sorted(found[found["target"] == number]["id"]) == expected[key, row["k"]], row


QUERIES: dict[str, Expected] = {
    "SELECT g, try_sum(l) AS s FROM t GROUP BY g": {
        (0, None): {"t": [0, 1, 5]},
        (1, LEAST + 5_000_000_000): {"t": [2, 3, 4]},
    },
    "SELECT g, sum(l) AS s FROM t GROUP BY g": {
        (0, LEAST + 1): {"t": [0, 1, 5]},
        (1, LEAST + 5_000_000_000): {"t": [2, 3, 4]},
    },
    "SELECT try_cast(g AS string) AS k, try_add(i, 1) AS n FROM t WHERE id > 3": {
        ("1", None): {"t": [4]},
        ("0", 301): {"t": [5]},
    },
    "SELECT max(id) AS m FROM t WHERE try_multiply(i, 2) IS NULL AND try_cast(g AS string) < 'x' "
    "GROUP BY try_add(i, 1) IS NULL": {(4,): {"t": [4]}, (2,): {"t": [2]}},
    "SELECT o.id FROM t AS o JOIN t AS t ON o.l = try_multiply(try_add(t.i, 0), 1)": {
        (1,): {"t": [1], "t2": [1]},
        (5,): {"t": [5], "t2": [1]},
    },
}


@pytest.mark.parametrize("text", QUERIES)
def test_queries(legacy: SparkSession, tmp_path: Path, text: str) -> None:
    engines = ("duckdb", "spark") if "try_multiply" in text else ("duckdb",)
    check(legacy.sql(text), QUERIES[text], tmp_path, engines)


@pytest.mark.parametrize("ansi", [True, False])
def test_sums_that_leave_the_range_on_the_way(
    spark: SparkSession, folder: Path, tmp_path: Path, ansi: bool
) -> None:
    """They are NULL in some orders of the rows: what the run had counts, or nothing does."""
    groups = "SELECT id IN (0, 2, 4) AS g FROM t GROUP BY 1 HAVING try_sum(m) IS {0}"
    frame = _session(spark, folder, ansi=ansi).sql(
        f"SELECT count(*) AS n FROM ({groups.format('NULL')})"
    )
    assert frame.collect() == [(1,)]
    job = predtrace.trace(frame).run(store=tmp_path)
    answer = job.lineage({"n": 1}, mode="stored", engine="spark")
    assert answer.label == "precise"
    assert sorted(answer["t"].to_pandas()["id"]) == [0, 2, 4]
    for engine in ("duckdb", "spark"):
        with pytest.raises(NonDeterministicError, match=r"beyond 2\^63 with try_sum"):
            job.lineage({"n": 1}, mode="replayed", engine=engine)["t"].row_ids()


def test_the_same_without_failing_in_ansi_mode(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """Text as a date, and functions of dates, are NULL where they fail."""
    key = "coalesce(try_to_date(concat('2020-0', s)), try_add(day, 1))"
    frame = _session(spark, folder, ansi=True).sql(f"SELECT {key} AS k FROM t GROUP BY 1")
    job = predtrace.trace(frame).run(store=tmp_path)
    rows = {str(row["k"]): row for row in job.output.collect()}
    expected = {"2019-04-15": [0, 2, 5], "2020-02-01": [1], "None": [3], "1970-01-02": [4]}
    assert rows.keys() == expected.keys()
    for key, row in rows.items():
        answer = job.lineage(row, mode="stored", engine="spark")
        assert answer.label == "precise"
        assert sorted(answer["t"].to_pandas()["id"]) == expected[key]
