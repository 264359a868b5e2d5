"""Functions that Spark replaces by others, in each other and around keys and aggregates."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = {"a": [1, 1, 2, 2, 3, None], "c": [1, 2, 2, None, 4, 4], "id": [0, 1, 2, 3, 4, 5]}
FUNCTIONS = (
    "nullif({0}, {0})",
    "nullif({0}, 3)",
    "zeroifnull(nullifzero({0}))",
    "nvl2({0}, {0}, 7)",
    "ifnull(nullif({0}, 3), {0})",
    "nullif(nullif({0}, 1), 2)",
    "nullif(nullif({0}, {0}), {0})",
    "nullif(nvl({0}, 1), nvl({0}, 1))",
    "{0} BETWEEN 1 AND {0}",
    "nullif({0}, 3) NOT BETWEEN nvl({0}, 0) AND 5",
    "left(string({0}), 1)",
    "right(string(nullif({0}, {0} + 1)), 1)",
    "regexp_substr(string({0}), nullif('[0-9]', string({0})))",
    "to_date(concat('200', left(string({0}), 1), '-01-01'))",
    "to_timestamp(concat('200', left(string({0}), 1), '-01-01'))",
    "equal_null(nullif({0}, 2), 3)",
    "try_add(nullif({0}, 2), nullif({0}, 1))",
    "try_divide({0}, nullif({0}, 2))",
)
"""Calls of one argument. No two of them are read in the same way all through."""
PLACES = {
    "of the key": ("SELECT {0} AS v, a, count(c) AS n FROM r GROUP BY a", "a"),
    "of the aggregate": ("SELECT a, {0} AS v FROM r GROUP BY a", "sum(c)"),
    "of the argument": ("SELECT a, sum(hash({0})) AS v FROM r GROUP BY a", "c"),
    "in HAVING": ("SELECT a FROM r GROUP BY a HAVING hash({0}) > hash(a) - 5000000000", "sum(c)"),
    "in ORDER BY": ("SELECT a FROM r GROUP BY a ORDER BY {0}, a", "sum(c)"),
    "of a subquery": ("SELECT a, {0} AS v FROM r", "(SELECT max(c) FROM r)"),
    "in FILTER": ("SELECT a, count(*) FILTER (WHERE ({0}) IS NULL) AS n FROM r GROUP BY a", "c"),
}
"""Queries of the groups of `a`, and what the call is of in them."""


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    path = tmp_path_factory.mktemp("replaceable") / "r.parquet"
    pq.write_table(pa.table({name: pa.array(v, pa.int32()) for name, v in ROWS.items()}), path)
    session = spark.newSession()
    session.read.parquet(str(path)).createOrReplaceTempView("r")
    return session


@pytest.mark.parametrize("place", PLACES)
def test_they_are_traced(session: SparkSession, place: str) -> None:
    query, argument = PLACES[place]
    for function in FUNCTIONS:
        predtrace.trace(session.sql(query.format(function.format(argument))))


def test_a_groups_rows_are_its_lineage(session: SparkSession, tmp_path: Path) -> None:
    """The truth is the rows with the group's `a`: all of them."""
    call = "left(string(nullif(nullif({0}, 4), {0} + 1)), 1)"
    key, of_key, total, value = (call.format(of) for of in ("c", "a", "sum(c)", "c"))
    frame = session.sql(
        f"SELECT a, {key} AS k, {of_key} AS of_key, {total} AS total, count(*) "
        f"FILTER (WHERE {value} IS NULL) AS n FROM r GROUP BY a, {key} "
        f"HAVING coalesce({total}, '1') <> 'x' ORDER BY {total}, a"
    )
    groups: dict[Any, list[int]] = defaultdict(list)
    for a, c, number in zip(ROWS["a"], ROWS["c"], ROWS["id"], strict=True):
        groups[a, None if c in (None, 4) else str(c)].append(number)
    job = predtrace.trace(frame).run(store=tmp_path)
    rows = job.output.collect()
    assert {(row["a"], row["k"]) for row in rows} == set(groups)
    for row in rows:
        answer = job.lineage(row, mode="stored", engine="duckdb")
        assert answer.label == "precise"
        assert sorted(answer["r"].to_pandas()["id"]) == groups[row["a"], row["k"]]
