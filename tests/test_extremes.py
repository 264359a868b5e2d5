"""min and max with `minimal` lineage: which rows attain the values, from the query's text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [
    # id, k, a, b
    (0, 1, None, 5),
    (1, 1, None, 7),
    (2, 1, None, 7),
    (3, 2, None, None),
    (4, 2, None, None),
    (5, 3, 4, 9),
    (6, 3, 4, None),
    (7, 3, 2, 8),
]
QUERY = "SELECT k, max(a) AS most, min(b) AS least FROM t GROUP BY k"
MINIMAL = {(1, None, 5): [0], (2, None, None): [3, 4], (3, 4, 8): [5, 6, 7]}
WHOLE = {(1, None, 5): [0, 1, 2], (2, None, None): [3, 4], (3, 4, 8): [5, 6, 7]}
ABOVE = {
    # A filter above says something of one result, and of its being NULL.
    "SELECT k FROM (SELECT k, max(a) AS most, min(b) AS least FROM t GROUP BY k) "
    "WHERE most IS NULL": {(1,): [0, 1, 2], (2,): [3, 4]},
    "SELECT k FROM (SELECT k, max(a) AS most, min(b) AS least FROM t GROUP BY k) "
    "WHERE coalesce(most, least) = 5": {(1,): [0]},
    "SELECT max(a), max(b) FROM t": {(4, 9): [5, 6]},
    "SELECT max(a), max(b) FROM t WHERE k < 0": {(None, None): []},
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    path = str(tmp_path_factory.mktemp("extremes") / "t")
    frame = own.createDataFrame(ROWS, "id INT, k INT, a INT, b INT").coalesce(1)
    frame.write.parquet(path)
    own.read.parquet(path).createOrReplaceTempView("t")
    return own


def found(job: Any, target: tuple[Any, ...], **asked: Any) -> list[int]:
    answer = job.lineage(target, **asked)
    assert answer.label == "precise"
    return sorted(answer["t"].to_arrow(["id"])["id"].to_pylist())


@pytest.mark.parametrize("mode", ["stored", "replayed"])
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_null_result_beside_another_is_attained_by_nothing(
    tables: SparkSession, tmp_path: Path, mode: str, engine: str
) -> None:
    job = predtrace.trace(QUERY, tables).run(tmp_path, aggregates="both")
    for aggregates, wanted in (("minimal", MINIMAL), ("whole", WHOLE)):
        asked = {"mode": mode, "engine": engine, "aggregates": aggregates}
        assert {target: found(job, target, **asked) for target in wanted} == wanted


@pytest.mark.parametrize("query", ABOVE)
@pytest.mark.parametrize("mode", ["stored", "replayed"])
def test_what_is_read_above_tells_which_results_count(
    tables: SparkSession, tmp_path: Path, query: str, mode: str
) -> None:
    job = predtrace.trace(query, tables).run(tmp_path)
    wanted = ABOVE[query]
    assert {target: found(job, target, mode=mode) for target in wanted} == wanted
