"""Functions of arrays: read from Catalyst, and evaluated as Spark evaluates them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from predtrace.engines.spark.dialect import SPARK_DIALECT
from predtrace.engines.sql.compiler import Compiler
from predtrace.engines.sql.relational import plan_query
from predtrace.frontends.spark import read_pipeline
from symbolic.expr import render
from tests.engines.plans import spark_views
from tests.frontends.spark.arrays import ROWS, write
from tests.frontends.spark.shapes import projected
from tests.reference import row_key, trace_graph
from tests.reference.answers import check_answer
from tests.reference.expressions import compile_expr
from tests.reference.functions import Settings
from tests.reference.values import load, value_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FUNCTIONS = {
    "reverse(a)": "reverse(a)",
    "concat(a, reverse(a))": "concat(a, reverse(a))",
    "slice(a, 2, 2)": "slice(a, 2, 2)",
    "slice(a, -2, 5)": "slice(a, -2, 5)",
    "get(a, 1)": "get_item(a, 1)",
    "try_element_at(a, 3)": "element_at(a, 3)",
    "try_element_at(a, -1)": "element_at(a, -1)",
    "flatten(n)": "flatten(n)",
    "array_repeat(f, 2)": "array_repeat(f, 2)",
    "sort_array(a)": "sort_array(a, TRUE)",
    "sort_array(a, false)": "sort_array(a, FALSE)",
    "array_distinct(b)": "array_distinct(b)",
    "array_remove(b, 1)": "array_remove(b, 1)",
    "array_position(b, 2)": "array_position(b, 2)",
    "concat(array(1, NULL), b)": "concat(make_array(1, NULL), b)",
    "array(array('it''s', ''), NULL)": "make_array(make_array('it''s', ''), NULL)",
    "array(1.5D, -0D, double('NaN'))": "make_array(1.5, -0.0, nan)",
    "array(1.50, 2)": "make_array(1.50, 2.00)",
    "array(date'1969-12-31')": "make_array('1969-12-31')",
    "array(true, false)": "make_array(TRUE, FALSE)",
    "array(1L)": "make_array(1)",
    "array(timestamp_ntz'2020-01-01 00:00:00')": "make_array('2020-01-01 00:00:00')",
    "array_contains(b, 1)": "array_contains(b, 1)",
    "array_compact(b)": "filter(b, arg -> arg IS NOT NULL)",
    "transform(a, x -> x + f)": "transform(a, x -> x + f)",
    "transform(b, (x, i) -> x * i)": "transform(b, (x, i) -> x * i)",
    "transform(n, x -> transform(x, y -> y + k))": "transform(n, x -> transform(x, y -> y + k))",
    "filter(a, x -> x > f)": "filter(a, x -> x > f)",
    "filter(b, (x, i) -> i > 0)": "filter(b, (x, i) -> i > 0)",
    "zip_with(a, b, (x, y) -> coalesce(x, y))":
        "zip_with(a, b, (x, y) -> coalesce(x, cast(y as double)))",
    "exists(a, x -> x > f)": "array_exists(a, x -> x > f)",
    "forall(a, x -> x < 4)": "array_forall(a, x -> x < 4.0)",
    "aggregate(b, 0, (r, x) -> r + x, r -> r * k)":
        "array_aggregate(b, 0, (r, x) -> r + x, r -> r * k)",
}  # fmt: skip


@pytest.fixture(scope="module")
def arrays(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    spark.read.parquet(str(write(tmp_path_factory.mktemp("arrays")))).createOrReplaceTempView("r")
    yield spark
    spark.catalog.dropTempView("r")


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def test_functions_of_arrays(arrays: SparkSession) -> None:
    """Spark's own values, those of the IR as Spark SQL, and the reference's are the same."""
    frame = arrays.sql(f"SELECT {', '.join(FUNCTIONS)} FROM r")
    graph = read_pipeline(frame, arrays).graph
    exprs = projected(read_pipeline(frame, arrays))
    assert [render(expr) for expr in exprs] == list(FUNCTIONS.values())
    (scan,) = graph.scans()
    evaluate = [compile_expr(expr, scan.columns, Settings()) for expr in exprs]
    typed = [tuple(load(v, c.type) for v, c in zip(row, scan.columns, strict=True)) for row in ROWS]
    expected = [[value_key(function(row)) for function in evaluate] for row in typed]
    views = spark_views(arrays, graph, {"r": ROWS})
    replayed = arrays.sql(plan_query(graph, graph.root, SPARK_DIALECT, views).sql("spark"))
    for found in (frame, replayed):
        rows = [[value_key(_plain(value)) for value in row] for row in found.collect()]
        for text, *values in zip(FUNCTIONS, *rows, *expected, strict=True):
            assert (text, *values[: len(ROWS)]) == (text, *values[len(ROWS) :])


def test_what_fails_gives_null_in_replays(arrays: SparkSession) -> None:
    """A predicate of lineage meets rows that the pipeline never evaluated its functions on."""
    frame = arrays.sql(
        "SELECT element_at(a, k - 1), slice(a, k - 1, 1), slice(a, 1, k - 2) FROM r WHERE k > 9"
    )
    graph = read_pipeline(frame, arrays).graph
    exprs = projected(read_pipeline(frame, arrays))
    (scan,) = graph.scans()
    views = spark_views(arrays, graph, {"r": ROWS})

    compiler = Compiler("spark", SPARK_DIALECT.functions, scanned=f"scan{scan.id}")
    texts = ", ".join(compiler(expr).sql("spark") for expr in exprs)
    row = arrays.sql(f"SELECT {texts} FROM {views[scan.id].sql('spark')} WHERE c{_key(scan)} = 1")
    assert [tuple(found) for found in row.collect()] == [(None, None, None)]


def _key(scan: Any) -> int:
    return int(next(column.id for column in scan.columns if column.name == "k"))


PIPELINES = (
    "SELECT k, filter(b, x -> x > f) AS e FROM r WHERE exists(a, x -> x > f) OR array_size(b) = 1",
    "SELECT transform(x.b, v -> v * y.k) AS e, y.f FROM r x JOIN r y ON array_contains(x.b, y.k)",
    "SELECT array_size(a) AS s, max(flatten(n)) AS m FROM r GROUP BY array_size(a)",
    "SELECT array_distinct(b) AS e, count(*) AS c FROM r WHERE EXISTS (SELECT 1 FROM r o WHERE "
    "o.k = try_element_at(r.b, 1)) GROUP BY array_distinct(b)",
    "SELECT e, sum(k) AS c FROM (SELECT k, zip_with(b, reverse(b), (x, y) -> x = y) AS e FROM r) "
    "WHERE forall(e, x -> x) GROUP BY e",
)


@pytest.mark.parametrize("query", PIPELINES)
def test_lineage_of_rows(arrays: SparkSession, tmp_path: Path, query: str) -> None:
    """Lambdas are opaque to the solver, and the answers those of the reference."""
    frame = arrays.sql(query)
    graph = read_pipeline(frame, arrays).graph
    reference = trace_graph(graph, {"r": ROWS})
    assert Counter(row_key(row) for row in reference.rows) == Counter(
        row_key(_plain(row)) for row in frame.collect()
    )
    job = predtrace.trace(frame).run(tmp_path)
    rows = reference.distinct_rows()
    assert rows
    for mode in ("stored", "replayed"):
        check_answer(job.lineage([*rows, rows[0]], mode=mode), reference, graph, rows)
