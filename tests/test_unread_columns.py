"""Computed columns that nothing reads contribute nothing (semantics, section 2)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = [(0, 1, 10), (1, 1, 30), (2, 2, 20), (3, 2, None), (4, 3, None)]
"""Rows (id, k, a)."""
U = [(0, 1, 5), (1, 2, 6), (2, 2, 7), (3, 9, 8)]

SCALAR = "(SELECT max(u.a) FROM u WHERE u.k = t.k)"
CASES: dict[str, tuple[tuple[Any, ...], dict[str, list[int]]]] = {
    # An aggregate that nothing reads does not make the group count.
    "SELECT k, m FROM (SELECT k, max(a) AS m, count(*) AS n FROM t GROUP BY k)": (
        (1, 30),
        {"t": [1]},
    ),
    # HAVING and ORDER BY read theirs.
    "SELECT k, max(a) AS m FROM t GROUP BY k HAVING count(*) > 0": ((1, 30), {"t": [0, 1]}),
    "SELECT k, max(a) AS m FROM t GROUP BY k ORDER BY count(*)": ((1, 30), {"t": [0, 1]}),
    # Through projections on top of each other.
    "SELECT k, m FROM (SELECT k, m, n + 1 AS o FROM "
    "(SELECT k, max(a) AS m, count(*) AS n FROM t GROUP BY k))": ((1, 30), {"t": [1]}),
    # No aggregate is read: the whole group.
    "SELECT k FROM (SELECT k, max(a) AS m FROM t GROUP BY k)": ((1,), {"t": [0, 1]}),
    # Nor by a window that nothing reads: its keys are not read, either.
    "SELECT k FROM (SELECT k, count(*) OVER (PARTITION BY max(a) ORDER BY min(a)) AS w "
    "FROM t GROUP BY k)": ((1,), {"t": [0, 1]}),
    "SELECT k, m FROM (SELECT k, max(a) AS m, rank() OVER (ORDER BY count(*)) AS w "
    "FROM t GROUP BY k)": ((1, 30), {"t": [1]}),
    "SELECT 7 AS x FROM (SELECT max(a) FROM t)": ((7,), {"t": [0, 1, 2, 3, 4]}),
    "SELECT count(*) AS n FROM (SELECT max(a) AS m FROM t)": ((1,), {"t": [0, 1, 2, 3, 4]}),
    # Subqueries of every kind in a column that nothing reads are not there.
    f"SELECT k, a FROM (SELECT k, a, {SCALAR} AS s FROM t)": ((1, 10), {"t": [0]}),
    "SELECT k, a FROM (SELECT k, a, (SELECT max(a) FROM u) AS s FROM t)": ((1, 10), {"t": [0]}),
    "SELECT k, a FROM (SELECT k, a, k IN (SELECT k FROM u) AS s FROM t)": ((1, 10), {"t": [0]}),
    "SELECT k, a FROM (SELECT k, a, EXISTS (SELECT 1 FROM u) AS s FROM t)": ((1, 10), {"t": [0]}),
    "SELECT count(*) AS n FROM (SELECT (SELECT max(a) FROM u) AS s FROM t)": (
        (5,),
        {"t": [0, 1, 2, 3, 4]},
    ),
    # EXISTS reads none of its columns.
    "SELECT k, a FROM t WHERE EXISTS (SELECT (SELECT max(a) FROM t), u.a FROM u WHERE u.k = t.k)": (
        (2, 20),
        {"t": [2], "u": [1, 2]},
    ),
    # Nor the results of its aggregates: the whole group is there.
    "SELECT k, a FROM t WHERE EXISTS (SELECT max(a) FROM u)": (
        (1, 10),
        {"t": [0], "u": [0, 1, 2, 3]},
    ),
    "SELECT min(a) AS m FROM t HAVING EXISTS (SELECT max(u.a) FROM u)": (
        (10,),
        {"t": [0], "u": [0, 1, 2, 3]},
    ),
    "SELECT k, a FROM t WHERE EXISTS (SELECT max(a) FROM u WHERE u.k = t.k GROUP BY u.k)": (
        (2, 20),
        {"t": [2], "u": [1, 2]},
    ),
    "SELECT k, a FROM t "
    "WHERE a > 100 OR EXISTS (SELECT max(a), min(a) FROM u WHERE u.k = t.k GROUP BY u.k)": (
        (2, 20),
        {"t": [2], "u": [1, 2]},
    ),
    # Branches of UNION ALL are cut down alike; DISTINCT and UNION compare whole rows.
    f"SELECT k FROM (SELECT k, {SCALAR} AS s FROM t UNION ALL SELECT k, a FROM u)": (
        (2,),
        {"t": [2, 3], "u": [1, 2]},
    ),
    f"SELECT k FROM (SELECT DISTINCT k, {SCALAR} AS s FROM t)": (
        (1,),
        {"t": [0, 1], "u": [0]},
    ),
    f"SELECT k FROM (SELECT k, {SCALAR} AS s FROM t UNION SELECT k, a FROM u)": (
        (9,),
        {"t": [], "u": [3]},
    ),
    # Only the second of two uses of a CTE reads its column.
    "WITH c AS (SELECT k, count(*) AS n FROM u GROUP BY k) "
    "SELECT c.k, d.n FROM c JOIN c AS d ON c.k = d.k WHERE d.n = 2": ((2, 2), {"u": [1, 2]}),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    folder = tmp_path_factory.mktemp("unread")
    for name, rows in (("t", T), ("u", U)):
        frame = own.createDataFrame(rows, "id INT, k INT, a INT").coalesce(1)
        frame.write.parquet(str(folder / name))
        own.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    return own


def found(job: Any, target: tuple[Any, ...], mode: str, engine: str) -> dict[str, list[int]]:
    answer = job.lineage(target, mode=mode, engine=engine)
    assert (answer.label, answer.target_rows) == ("precise", 1)
    tables = {scan.table for scan in answer.scans}
    return {name: sorted(answer[name].to_arrow(["id"])["id"].to_pylist()) for name in tables}


@pytest.mark.parametrize("query", CASES)
def test_what_nothing_reads_contributes_nothing(
    tables: SparkSession, tmp_path: Path, query: str
) -> None:
    job = predtrace.trace(query, tables).run(tmp_path)
    assert Counter(job.output.collect()) == Counter(tables.sql(query).collect())
    target, wanted = CASES[query]
    for mode, engine in (("stored", "duckdb"), ("replayed", "duckdb"), ("replayed", "spark")):
        assert found(job, target, mode, engine) == wanted, (mode, engine)
