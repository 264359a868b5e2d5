"""Pivots: whole groups of the index columns, however Spark plans them.

The truth of a query is computed here in plain Python from the table's rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import predtrace
from tests.byhand import check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Cells = Callable[[list[Row]], tuple[Any, ...]]

ROWS: list[Row] = [
    {"id": 0, "k": "n", "c": "x", "v": 10, "d": dt.date(2020, 1, 1)},
    {"id": 1, "k": "n", "c": "x", "v": 5, "d": dt.date(2020, 1, 3)},
    {"id": 2, "k": "n", "c": "y", "v": None, "d": dt.date(2020, 1, 2)},
    {"id": 3, "k": "m", "c": "x", "v": 1, "d": dt.date(2020, 1, 4)},
    {"id": 4, "k": None, "c": "x", "v": 2, "d": None},
    {"id": 5, "k": "n", "c": None, "v": 3, "d": dt.date(2020, 1, 5)},
    {"id": 6, "k": "z", "c": "other", "v": 3, "d": dt.date(2020, 1, 6)},
]
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("k", pa.string()),
        ("c", pa.string()),
        ("v", pa.int32()),
        ("d", pa.date32()),
    ]
)


def of(rows: list[Row], column: str, value: Any) -> list[Any]:
    """The values of a column, NULLs left out, of the rows with a pivot value."""
    return [row[column] for row in rows if row["c"] == value and row[column] is not None]


def total(values: list[int]) -> int | None:
    return sum(values) if values else None


def count(rows: list[Row], value: Any) -> int | None:
    """NULL in a pivot, where there is no row with the value."""
    there = any(row["c"] == value for row in rows)
    return len(of(rows, "v", value)) if there else None


def grouped(cells: Cells) -> dict[tuple[Any, ...], dict[str, list[int]]]:
    """A pivot by `k`: each row with the ids of its whole group."""
    groups: dict[Any, list[Row]] = {}
    for row in ROWS:
        groups.setdefault(row["k"], []).append(row)
    return {(key, *cells(rows)): {"t": [row["id"] for row in rows]} for key, rows in groups.items()}


PIVOTS: dict[str, tuple[str, Cells]] = {
    "sums": (
        "SELECT * FROM (SELECT k, c, v FROM t) PIVOT (sum(v) FOR c IN ('x', 'y'))",
        lambda rows: (total(of(rows, "v", "x")), total(of(rows, "v", "y"))),
    ),
    "several aggregates; NULL as a value": (
        "SELECT * FROM (SELECT k, c, v FROM t) "
        "PIVOT (count(v) AS n, max(v) + 1 AS m FOR c IN ('x' AS first, 'y', NULL AS none))",
        lambda rows: tuple(
            cell
            for value in ("x", "y", None)
            for cell in (
                count(rows, value),
                max((v + 1 for v in of(rows, "v", value)), default=None),
            )
        ),
    ),
    "a greatest value": (
        "SELECT * FROM (SELECT k, c, v FROM t) PIVOT (max(v) FOR c IN ('x', 'y'))",
        lambda rows: tuple(max(of(rows, "v", value), default=None) for value in "xy"),
    ),
    "a greatest date, planned otherwise": (
        "SELECT * FROM (SELECT k, c, d FROM t) PIVOT (max(d) FOR c IN ('x', 'y'))",
        lambda rows: tuple(max(of(rows, "d", value), default=None) for value in "xy"),
    ),
    "a value twice": (
        "SELECT * FROM (SELECT k, c, v FROM t) PIVOT (sum(v) FOR c IN ('x', 'x' AS again))",
        lambda rows: (total(of(rows, "v", "x")),) * 2,
    ),
    "above rows that the run stores": (
        "SELECT * FROM (SELECT k, c, v FROM t ORDER BY id LIMIT 10) "
        "PIVOT (sum(v) FOR c IN ('x', 'y'))",
        lambda rows: (total(of(rows, "v", "x")), total(of(rows, "v", "y"))),
    ),
    "of the columns one": (
        "SELECT k, y FROM (SELECT k, c, v FROM t) PIVOT (sum(v) FOR c IN ('x', 'y'))",
        lambda rows: (total(of(rows, "v", "y")),),
    ),
}


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    path = tmp_path_factory.mktemp("pivots") / "t.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS, SCHEMA), path)
    own.read.parquet(str(path)).createOrReplaceTempView("t")
    return own


@pytest.mark.parametrize("name", PIVOTS)
def test_lineage(session: SparkSession, tmp_path: Path, name: str) -> None:
    query, cells = PIVOTS[name]
    engines = ("duckdb", "spark") if name.startswith("several") else ("duckdb",)
    check(session.sql(query), grouped(cells), tmp_path, engines)


@pytest.mark.parametrize("column", ["v", "d"])
def test_several_pivot_columns(session: SparkSession, tmp_path: Path, column: str) -> None:
    """`d` is planned otherwise than `v`."""
    query = (
        f"SELECT * FROM (SELECT k, c, {column} FROM t) "
        f"PIVOT (max({column}) FOR (c, k) IN (('x', 'n') AS a, ('y', 'n') AS b))"
    )
    there = [row for row in ROWS if row["k"] == "n"]
    cells = tuple(max(of(there, column, value), default=None) for value in "xy")
    check(session.sql(query), {cells: {"t": list(range(7))}}, tmp_path)


def test_frames(session: SparkSession, tmp_path: Path) -> None:
    """With a computed index column, and values that Spark has looked up itself."""
    frame = session.table("t").groupBy(f.upper("k").alias("k")).pivot("c").agg(f.sum("v"))

    def upper(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (row[0] and row[0].upper(), *row[1:])

    values = (None, "other", "x", "y")
    expected = grouped(lambda rows: tuple(total(of(rows, "v", value)) for value in values))
    job = predtrace.trace(frame).run(store=tmp_path)
    rows = {upper(row): ids for row, ids in expected.items()}
    answer = job.lineage(list(rows), engine="spark", spark=session)
    assert answer.label == "precise"
    found = answer["t"].to_arrow(columns=["id"])
    pairs = zip(found["target"].to_pylist(), found["id"].to_pylist(), strict=True)
    places = {(place, id_) for place, ids in enumerate(rows.values()) for id_ in ids["t"]}
    assert set(pairs) == places


def test_a_pivot_inside_a_query(session: SparkSession, tmp_path: Path) -> None:
    query = """
        SELECT t.id, p.x FROM t JOIN (
            SELECT * FROM (SELECT k, c, v FROM t) PIVOT (sum(v) FOR c IN ('x', 'y'))
        ) p ON p.k = t.k WHERE t.v < (
            SELECT max(x) FROM (SELECT c, v FROM t) PIVOT (sum(v) FOR c IN ('x'))
        ) AND t.id < 2
    """
    row: dict[str, list[int]] = {"t2": [0, 1, 2, 5], "t3": [0, 1, 2, 3, 4, 5, 6]}
    expected = {(0, 15): {"t": [0], **row}, (1, 15): {"t": [1], **row}}
    check(session.sql(query), expected, tmp_path)
