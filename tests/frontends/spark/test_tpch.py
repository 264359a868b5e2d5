"""The 22 TPC-H queries: all are translated; those split at every operator run as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from predtrace.frontends.spark import read_pipeline
from pushdown import operators as ops
from symbolic.expr import TRUE
from tests.frontends.spark.test_execute import everywhere
from tpch.check import register_tables
from tpch.data import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = sorted((Path(__file__).parents[3] / "tpch" / "queries").glob("q*.sql"))
SPLIT = {"q15", "q20"}
"""A CTE used in a scalar subquery, too; a correlated subquery in a nested IN."""
SCANS = {
    "q01": "lineitem",
    "q02": "nation nation part partsupp partsupp region region supplier supplier",
    "q15": "lineitem lineitem supplier",
    "q20": "lineitem nation part partsupp supplier",
    "q21": "lineitem lineitem lineitem nation orders supplier",
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, plain_folder: Path) -> Iterator[None]:
    """TPC-H data at scale 0.01 behind temp views."""
    register_tables(spark, plain_folder)
    yield
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_query_is_translated(spark: SparkSession, tables: None, path: Path) -> None:
    pipeline = read_pipeline(path.read_text(), spark)
    assert tuple(column.name for column in pipeline.graph.output()) == pipeline.names
    if path.stem in SCANS:
        assert " ".join(scan.table for scan in pipeline.graph.scans()) == SCANS[path.stem]
    joins = [o for o in pipeline.graph.operators() if isinstance(o, ops.InnerJoin)]
    assert all(join.condition != TRUE for join in joins), "a cross join remains"


def test_all_queries_are_here() -> None:
    assert len(QUERIES) == 22


@pytest.mark.parametrize("path", [p for p in QUERIES if p.stem in SPLIT], ids=lambda p: p.stem)
def test_query_split_everywhere(
    spark: SparkSession, tables: None, tmp_path: Path, path: Path
) -> None:
    pipeline = read_pipeline(path.read_text(), spark)
    result = pipeline.run(tmp_path, everywhere(pipeline))
    assert _bag(result.dataframe.collect()) == _bag(pipeline.dataframe.collect())


def _bag(rows: list[Any]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in rows)
