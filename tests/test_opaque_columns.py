"""Columns whose values only the run knows: random ones, and functions that cannot be read.

Sums in the output tell which rows were together: a sum of `digit` has a digit for each row, to base
16. Nothing is computed a second time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError, TargetError
from predtrace.frontends.spark import read_pipeline
from pushdown.operators import Filter, OpaqueColumns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDS = range(12)
TABLE = pa.table(
    {
        "id": pa.array(IDS, pa.int32()),
        "k": pa.array([0, 0, 1, 1, 2, 2, 3, 3, 0, 0, None, None], pa.int32()),
        "x": pa.array([5, 5, 5, 6, 7, 7, 8, 8, 5, 5, 1, None], pa.int32()),
        "digit": pa.array([16**number for number in IDS], pa.int64()),
    }
)
SUM = "count(*) AS n, sum(digit) AS d FROM"
XS = "array(id, 1)"
GROUPED = [
    f"SELECT v, {SUM} (SELECT digit, floor(rand() * 3) AS v FROM t) GROUP BY v",
    f"SELECT v, {SUM} (SELECT x, digit, IF(x > 6, floor(randn(7)), -1) AS v FROM t) GROUP BY v",
    f"SELECT {SUM} t WHERE x > 4 AND rand() < 0.6 AND id < 11 GROUP BY k",
    f"SELECT {SUM} t WHERE id > 20 AND rand(3) < 0.5",
    f"SELECT {SUM} (SELECT * FROM t ORDER BY rand() LIMIT 5)",
    f"SELECT {SUM} (SELECT digit, row FROM (SELECT digit, uuid() AS row FROM t)) GROUP BY row",
    f"SELECT {SUM} t GROUP BY monotonically_increasing_id() % 5, spark_partition_id()",
    f"SELECT {SUM} (SELECT digit, shuffle({XS})[0] % 3 + uniform(0, 2) AS v FROM t) GROUP BY v",
    f"SELECT {SUM} t GROUP BY reflect('java.lang.String', 'valueOf', coalesce(x, 0)), randstr(1)",
    f"SELECT arrays_zip({XS}, array(k)) AS z, {SUM} t GROUP BY arrays_zip({XS}, array(k))",
    f"SELECT {SUM} t WHERE arrays_zip({XS}, array(k))[0]['0'] > 3 AND k IS NOT NULL GROUP BY k",
    f"SELECT max(n) AS n, max(d) AS d FROM (SELECT k, uuid() AS v, {SUM} t GROUP BY k) GROUP BY v",
    f"SELECT {SUM} t WHERE x > 5 + (SELECT floor(rand() * 2))",
]
"""Queries that are answered for `t` by the rows of their sums."""


def drawn(digits: int | None) -> set[int]:
    """The rows in a sum of `digit`."""
    total = digits or 0
    return {number for number in IDS if total // 16**number % 16}


def rows_of(answer: Any) -> list[int]:
    """The numbers of the rows of `t`, as answered."""
    return answer.scan("t", occurrence=1).row_ids().column("row").to_pylist()


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    path = tmp_path_factory.mktemp("opaque") / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=4)
    own.read.parquet(str(path)).createOrReplaceTempView("t")
    return own


@pytest.mark.parametrize("number", range(len(GROUPED)))
def test_rows_are_those_that_the_run_put_together(
    session: SparkSession, tmp_path: Path, number: int
) -> None:
    session.conf.set("spark.sql.ansi.enabled", str(number % 2 == 0).lower())
    keep = ("inline", "late")[number % 2]
    job = predtrace.trace(session.sql(GROUPED[number])).run(store=tmp_path, keep=keep)
    targets = [tuple(row) for row in job.output.collect()]
    names = job.output.columns
    for target in targets[:5]:
        answer = job.lineage(target)
        expected = set()
        for other in targets:
            if other == target:
                expected |= drawn(other[names.index("d")])
        assert answer.label == "precise"
        assert set(rows_of(answer)) == expected
    if "id > 20" not in GROUPED[number]:
        assert sum(row[names.index("n")] for row in targets) > 0


def test_modes_that_use_what_is_stored(session: SparkSession, tmp_path: Path) -> None:
    job = predtrace.trace(session.sql(GROUPED[0])).run(store=tmp_path)
    job.build_index(engine="duckdb")
    for mode, engine in (("stored", "duckdb"), ("stored", "spark"), ("indexed", "duckdb")):
        for row in job.output.collect():
            answer = job.lineage(tuple(row), mode=mode, engine=engine)
            assert (answer.label, set(rows_of(answer))) == ("precise", drawn(row["d"]))


def test_a_value_is_not_computed_again(session: SparkSession, tmp_path: Path) -> None:
    text = f"SELECT v, {SUM} (SELECT *, floor(rand() * 3) AS v FROM t) WHERE k = 0 GROUP BY v"
    job = predtrace.trace(session.sql(text)).run(store=tmp_path, keep="none")
    row = job.output.collect()[0]
    answer = job.lineage(tuple(row), mode="refined")
    assert answer.label == "superset"
    assert "OpaqueColumns" in answer.explain()
    assert set(rows_of(answer)) == {0, 1, 8, 9}
    for ask in (
        lambda: job.lineage(tuple(row), mode="replayed"),
        lambda: job.lineage(tuple(row)),
        job.build_intermediates,
        lambda: job.build_index(engine="duckdb"),
    ):
        with pytest.raises(NonDeterministicError, match=r"OpaqueColumns.*keep='inline'"):
            ask()


def test_jobs_that_were_not_run(session: SparkSession, tmp_path: Path) -> None:
    job = predtrace.trace(session.sql("SELECT *, uuid() AS u FROM t")).record(tmp_path)
    with pytest.raises(TargetError, match=r"OpaqueColumns.*keep_output=True"):
        job.lineage({"id": 3})
    row = {**TABLE.slice(3, 1).to_pylist()[0], "u": "a"}
    answer = job.lineage(row, mode="refined", engine="spark")
    assert set(rows_of(answer)) == {3}
    part = predtrace.trace(session.sql("SELECT k, uuid() AS u FROM t")).record(tmp_path)
    answer = part.lineage({"k": 1, "u": "a"}, mode="refined", engine="duckdb")
    assert (answer.label, rows_of(answer)) == ("superset", [2, 3])


def test_equal_rows_are_one(session: SparkSession, tmp_path: Path) -> None:
    """Rows that are equal in all columns are traced together, whatever was drawn for them."""
    twins = tmp_path / "twins.parquet"
    pq.write_table(pa.table({"x": [1, 1, 1, 2, None, None]}), twins)
    frame = session.read.parquet(str(twins)).selectExpr("x", "uuid() AS u")
    job = predtrace.trace(frame).run(store=tmp_path / "store")
    for row in job.output.collect():
        found = job.lineage(tuple(row)).scans[0].row_ids().column("row").to_pylist()
        assert found == {1: [0, 1, 2], 2: [3], None: [4, 5]}[row["x"]]


def test_functions_of_python(session: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    plus = f.udf(lambda value: None if value is None else value + 1, "int")
    t, digits = session.table("t"), f.sum("digit").alias("d")
    frames = [
        t.groupBy(plus("k").alias("v")).agg(digits),
        t.where(plus("x") > 6).agg(digits),
        t.withColumn("v", plus("x")).groupBy("v").agg(digits, f.count("*")),
        t.orderBy(plus("x"), "id").limit(3).select(f.col("digit").alias("d")),
    ]
    for number, frame in enumerate(frames):
        job = predtrace.trace(frame).run(store=tmp_path / str(number))
        targets = job.output.collect()
        for row in targets[:2]:
            answer = job.lineage(tuple(row))
            assert (answer.label, set(rows_of(answer))) == ("precise", drawn(row["d"])), number
        assert targets


def test_how_conditions_are_taken_apart(session: SparkSession) -> None:
    """What comes before a random term is a filter of its own: values are drawn for fewer rows."""
    graph = read_pipeline(session.sql("SELECT id FROM t WHERE x > 4 AND k = 1 AND rand() < 0.5"))
    found = [o for o in graph.graph.operators() if isinstance(o, (Filter, OpaqueColumns))]
    assert [type(o) for o in found] == [Filter, OpaqueColumns, Filter]
    assert isinstance(found[1], OpaqueColumns)
    (made,) = found[1].made
    assert "rand()" in made.text
    shown = str(predtrace.trace("SELECT id, rand(5) AS r FROM t", session).explain())
    assert "as the run gave it" in shown


def test_a_common_table_that_spark_computes_once(session: SparkSession) -> None:
    text = "WITH c AS (SELECT id, rand() AS r FROM t) SELECT a.id FROM c a JOIN c b ON a.r = b.r"
    graph = read_pipeline(session.sql(text)).graph
    assert len(graph.shared) == 1
    assert sum(isinstance(o, OpaqueColumns) for o in graph.operators()) == 1
    once = read_pipeline(session.sql("WITH c AS (SELECT id, rand() AS r FROM t) SELECT id FROM c"))
    assert any(isinstance(o, OpaqueColumns) for o in once.graph.operators())


def test_arguments_of_generators(session: SparkSession, tmp_path: Path) -> None:
    """They are a column below the generator: a row of the expansion has its own row."""
    text = (
        "SELECT e, sum(digit) AS d FROM t LATERAL VIEW "
        "explode(array(CAST(floor(rand() * 3) AS INT), 3)) AS e GROUP BY e"
    )
    job = predtrace.trace(session.sql(text)).run(store=tmp_path)
    rows = job.output.collect()
    assert len(rows) > 1
    for row in rows:
        answer = job.lineage(tuple(row))
        assert (answer.label, set(rows_of(answer))) == ("precise", drawn(row["d"]))
