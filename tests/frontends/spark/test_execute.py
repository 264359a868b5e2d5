"""Split runs: the same result wherever the plan is cut, and what they leave on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import StoreError
from predtrace.frontends.spark import SparkPipeline, read_output, read_pipeline
from predtrace.frontends.spark.output import stored_name
from pushdown import operators as ops
from pushdown.needs import needed_columns
from symbolic.expr import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Read = Callable[[str], SparkPipeline]


@dataclass(frozen=True)
class At:
    """A cut for tests."""

    node: int
    columns: tuple[Column, ...]
    inline: bool = False


def bag(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in frame.collect())


def everywhere(pipeline: SparkPipeline) -> list[At]:
    """A cut at every operator but scans, with as few columns as can be."""
    graph = pipeline.graph
    return [
        At(o.id, graph.output(o.id)[:1])
        for o in graph.operators()
        if graph.output(o.id) and not isinstance(o, ops.Scan)
    ]


STATEMENTS = [
    "SELECT g, g AS h, sum(v + 1) / count(*), v % 2 + 1 FROM t GROUP BY g, v % 2 + 1, v % 2",
    "SELECT k FROM t WHERE v > (SELECT avg(v) FROM t WHERE k < (SELECT max(k) FROM u))",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT * FROM e) AND (v > 10 OR k IN (SELECT k FROM u))",
    "SELECT * FROM t a JOIN u ON a.k = u.k AND a.v + u.w > (SELECT min(w) FROM u)",
    "SELECT k FROM t WHERE k IN (SELECT k FROM u WHERE EXISTS "
    "(SELECT * FROM t j WHERE j.k = u.k AND j.v NOT IN (SELECT v FROM t WHERE k = 1)))",
    "SELECT k, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t",
    "SELECT DISTINCT g FROM t UNION ALL (SELECT g FROM t EXCEPT ALL SELECT 'a') "
    "UNION ALL SELECT g FROM t INTERSECT SELECT g FROM t",
    "SELECT k, k, v AS k FROM t ORDER BY v DESC, k LIMIT 3 OFFSET 1",
    "SELECT k FROM t ORDER BY (SELECT max(w) FROM u), v DESC",
    "SELECT a.k, b.w FROM t a FULL JOIN u b ON a.k = b.k LEFT JOIN e USING (k)",
    "SELECT NULL AS nothing, current_date() AS today, s, m, d, x, b FROM t",
    "SELECT 1 AS one",
    "SELECT count(*) FROM (SELECT * FROM t ORDER BY k LIMIT 2)",
    "WITH c AS (SELECT g, max(v) AS m FROM t GROUP BY g) "
    "SELECT a.g, b.m FROM c a JOIN c b ON a.m = b.m",
]


LATE = (1, 7, 10)
"""Statements that are also run late: a subquery, an order, and one that asks for the date."""


@pytest.mark.parametrize(
    ("statement", "keep"),
    [(s, "inline") for s in STATEMENTS] + [(STATEMENTS[i], "late") for i in LATE],
)
def test_a_split_run_gives_the_plain_result(
    read: Read, tmp_path: Path, statement: str, keep: str
) -> None:
    pipeline = read(statement)
    plain = pipeline.dataframe
    result = pipeline.run(tmp_path, everywhere(pipeline), keep=keep)
    result.finish()
    assert result.dataframe.columns == plain.columns
    assert [f.dataType for f in result.dataframe.schema] == [f.dataType for f in plain.schema]
    if pipeline.ordered:
        assert result.dataframe.collect() == plain.collect()
    else:
        assert bag(result.dataframe) == bag(plain)
    assert set(result.intermediates) == {cut.node for cut in everywhere(pipeline)}
    assert result.output is not None
    assert result.output.rows == plain.count()


def test_each_cut_alone(read: Read, tmp_path: Path) -> None:
    pipeline = read(STATEMENTS[0])
    want = bag(pipeline.dataframe)
    for cut in everywhere(pipeline):
        result = pipeline.run(tmp_path / str(cut.node), [cut])
        assert bag(result.dataframe) == want


def test_stored_columns_are_those_of_the_plan_and_of_the_lineage(
    read: Read, tmp_path: Path
) -> None:
    pipeline = read("SELECT g, sum(v) FROM t WHERE k > 0 GROUP BY g")
    graph = pipeline.graph
    (filter_,) = (o for o in graph.operators() if isinstance(o, ops.Filter))
    k = graph.output(filter_.id)[0]
    result = pipeline.run(tmp_path, [At(filter_.id, (k,))])
    stored = result.intermediates[filter_.id]
    assert [column.name for column in stored.columns] == ["k", "g", "v"]
    files = sorted((tmp_path / stored.folder).glob("*.parquet"))
    assert pq.read_schema(files[0]).names == [stored_name(c.id) for c in stored.columns]
    assert stored.bytes == sum(file.stat().st_size for file in files)
    assert stored.rows == 5
    assert set(result.timings) == {f"intermediate {filter_.id}", "output"}


def test_late_intermediates_keep_the_lineage_columns_once(read: Read, tmp_path: Path) -> None:
    pipeline = read("SELECT g, sum(v) FROM t GROUP BY g")
    scan = pipeline.graph.scans()[0]
    result = pipeline.run(tmp_path, [At(scan.id, scan.columns[1:2])], keep="late")
    assert result.intermediates == {}
    result.finish()
    assert result.intermediates[scan.id].rows == 3
    assert result.intermediates[scan.id].columns == scan.columns[1:2]


def test_inline_ones_are_stored_in_a_late_run_too(read: Read, tmp_path: Path) -> None:
    pipeline = read("SELECT sum(v) FROM (SELECT * FROM t LIMIT 2)")
    (limit,) = (o for o in pipeline.graph.operators() if isinstance(o, ops.Limit))
    cut = At(limit.id, pipeline.graph.output(limit.id), inline=True)
    result = pipeline.run(tmp_path, [cut], keep="late")
    assert result.intermediates[limit.id].rows == 2


def test_output_need_not_be_kept(read: Read, tmp_path: Path) -> None:
    pipeline = read("SELECT g, sum(v) FROM t GROUP BY g")
    result = pipeline.run(tmp_path, everywhere(pipeline), keep_output=False)
    assert result.output is None
    assert bag(result.dataframe) == bag(pipeline.dataframe)
    untouched = pipeline.run(tmp_path / "2", [], keep_output=False)
    assert untouched.dataframe is pipeline.dataframe


def test_order_is_read_back_over_many_files(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(20_000).selectExpr("id AS n", "id % 7 AS m").write.parquet(str(tmp_path / "n"))
    frame = spark.read.parquet(str(tmp_path / "n")).repartition(7)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        pipeline = read_pipeline(frame.orderBy("m", "n"))
        result = pipeline.run(tmp_path / "job", [])
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert len(list((tmp_path / "job" / "output").glob("*.parquet"))) > 1
    rows = [tuple(row) for row in result.dataframe.select("m", "n").collect()]
    assert rows == sorted(rows)
    assert len(rows) == 20_000


def test_odd_folder_names(spark: SparkSession, read: Read, tmp_path: Path) -> None:
    pipeline = read("SELECT k, v FROM t")
    folder = tmp_path / "a b[1]*{x}%20"
    result = pipeline.run(folder, everywhere(pipeline))
    assert result.output is not None
    assert bag(result.dataframe) == bag(pipeline.dataframe)
    again = read_output(spark, folder / "output", result.output.columns, ["a", "b"], False)
    assert again.columns == ["a", "b"]


def test_timestamps_are_stored_as_microseconds(read: Read, tmp_path: Path) -> None:
    pipeline = read("SELECT s FROM t")
    pipeline.run(tmp_path, [])
    (file,) = (tmp_path / "output").glob("*.parquet")
    assert str(pq.read_schema(file).field(0).type) == "timestamp[us, tz=UTC]"


def test_a_store_that_cannot_be_written(read: Read, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        read("SELECT k FROM t").run(tmp_path / "file" / "job", [])


def test_keep_is_checked(read: Read, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inline"):
        read("SELECT k FROM t").run(tmp_path, [], keep="sometimes")


NEEDS: dict[str, Sequence[str]] = {
    "SELECT g FROM t WHERE k > 1 ORDER BY v": ["g", "k", "v"],
    "SELECT count(*) FROM t": [],
    "SELECT g FROM (SELECT g, sum(m) FROM t GROUP BY g)": ["g"],
    "SELECT k FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.v)": ["k", "v"],
    "SELECT g FROM (SELECT k, g FROM t UNION ALL SELECT k, 'x' FROM u)": ["g"],
    "SELECT g FROM (SELECT k, g FROM t INTERSECT SELECT k, g FROM t)": ["g", "k"],
}


@pytest.mark.parametrize("statement", NEEDS)
def test_needed_columns_of_the_first_scan(read: Read, statement: str) -> None:
    graph = read(statement).graph
    scan = next(scan for scan in graph.scans() if scan.table == "t")
    needed = needed_columns(graph)[scan.id]
    assert sorted(c.name for c in scan.columns if c.id in needed) == NEEDS[statement]


def test_elements_that_are_never_null_stay_so(spark: SparkSession, tmp_path: Path) -> None:
    """A cast above a stored array was made for elements that are never NULL."""
    text = "array_join(sort_array(collect_list(id)), ';')"
    frame = spark.sql(
        f"SELECT {text} AS k, rank() OVER (ORDER BY {text}) AS n FROM range(4) GROUP BY id % 2"
    )
    job = predtrace.trace(frame).run(store=tmp_path, keep="inline")
    assert sorted(map(tuple, job.output.collect())) == [("0;2", 1), ("1;3", 2)]
