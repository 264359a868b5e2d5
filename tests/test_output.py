"""`job.output` is the DataFrame's own: names, types, metadata, order and rows, however it is kept.

The truth is the same DataFrame, collected by Spark without predtrace.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import predtrace

QUERIES = {
    "grouped by an ordinal": "SELECT to_date(ts) AS day, count(*) AS n FROM e GROUP BY 1",
    "grouped, no alias": "SELECT to_date(ts) FROM e GROUP BY to_date(ts)",
    "sorted above": "SELECT lower(ts) AS Low, max(id) AS m FROM e GROUP BY lower(ts) "
    "ORDER BY m DESC",
    "filtered above": "SELECT id % 2 AS p, min(id) AS p FROM e GROUP BY id % 2 HAVING min(id) >= 0",
    "limited": "SELECT to_date(ts) AS `a.b``c` FROM e GROUP BY 1 ORDER BY 1 LIMIT 1",
    "case of the query": "SELECT ID, `mixed case` AS MIXED FROM e ORDER BY id",
    "case of a key": "SELECT ID, count(*) AS id FROM e GROUP BY id ORDER BY 1",
    "types": "SELECT NULL AS n, cast(id AS INTERVAL DAY) AS d, array(cast(id AS INTERVAL SECOND)) "
    "AS many, cast(ts AS TIMESTAMP_NTZ) AS plain, cast(id AS DECIMAL(20, 3)) AS dec, "
    "cast(id AS CHAR(3)) AS fixed, binary(ts) AS raw FROM e ORDER BY id",
}


@pytest.fixture(scope="module")
def own(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("output")
    times = ["2020-01-01 01:00:00", "2020-01-01 02:00:00", "2020-01-02 00:00:00"]
    pq.write_table(pa.table({"id": [0, 1, 2], "ts": times, "Mixed Case": [1, 2, 3]}), folder / "e")
    session = spark.newSession()
    session.read.parquet(str(folder / "e")).createOrReplaceTempView("e")
    yield session
    session.catalog.dropTempView("e")


def described(frame: DataFrame) -> list[tuple[str, str, Any]]:
    return [(each.name, each.dataType.simpleString(), each.metadata) for each in frame.schema]


def compare(frame: DataFrame, store: Path, keep: str, ordered: bool) -> None:
    job = predtrace.trace(frame).run(store, keep=keep).wait()
    order = list if ordered else lambda rows: sorted(rows, key=str)
    expected = order(frame.collect())
    reopened = predtrace.open_job(store, job.id, frame.sparkSession)
    for output in (job.output, reopened.output):
        assert described(output) == described(frame)
        assert order(output.collect()) == expected
    table, wanted = reopened.output_arrow(), frame.toArrow()
    assert table.schema.names == wanted.schema.names
    assert table.schema.types == wanted.schema.types
    assert order(list(zip(*(c.to_pylist() for c in table.columns), strict=True))) == order(
        list(zip(*(c.to_pylist() for c in wanted.columns), strict=True))
    )


@pytest.mark.parametrize(
    ("query", "keep"),
    [*((query, ("inline", "late")[i % 2]) for i, query in enumerate(QUERIES)), ("types", "inline")],
)
def test_output_of_sql(own: SparkSession, tmp_path: Path, query: str, keep: str) -> None:
    text = QUERIES[query]
    compare(own.sql(text), tmp_path, keep, "ORDER BY" in text)


def test_output_of_a_dataframe(own: SparkSession, tmp_path: Path) -> None:
    key = f.to_date("ts").alias("day", metadata={"unit": "day"})
    compare(own.table("e").groupBy(key).count(), tmp_path, "inline", ordered=False)
    compare(own.table("e").toDF("a", "a", "A"), tmp_path, "late", ordered=False)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_targets_go_by_these_names(own: SparkSession, tmp_path: Path, engine: str) -> None:
    query = "SELECT CASE WHEN id <> 1 THEN 0 END AS Odd, count(*) AS n FROM e GROUP BY 1"
    job = predtrace.trace(own.sql(query)).run(tmp_path)
    for target in ("Odd = 0", {"Odd": 0}):
        answer = job.lineage(target, engine=engine, spark=own)
        assert sorted(answer["e"].to_arrow(["id"]).column(0).to_pylist()) == [0, 2]
