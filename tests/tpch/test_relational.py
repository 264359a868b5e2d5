"""The 22 queries as compiled graphs, twisted data: on Spark and on DuckDB the oracle's output.

The oracle's output is Spark's own (`test_lineage`); so exactness of decimal sums, means and
quotients in DuckDB is part of what is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from sqlglot import exp

from predtrace.engines.base import Targets, physical_name
from predtrace.engines.duckdb.dialect import DUCKDB_DIALECT
from predtrace.engines.duckdb.exact_plans import plan_inexactness
from predtrace.engines.spark.dialect import SPARK_DIALECT
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.sql.relational import plan_query
from predtrace.engines.values import target_table
from predtrace.frontends.spark import read_pipeline
from predtrace.jobs.model import EngineSettings
from pushdown.graph import OperatorGraph
from tpch.check import register_tables
from tpch.oracle import Oracle
from tpch.queries import NUMBERS, read_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(spark: SparkSession, twisted_folder: Path) -> SparkSession:
    own = spark.newSession()
    register_tables(own, twisted_folder)
    return own


@pytest.fixture(scope="module")
def evaluating(session: SparkSession, twisted_folder: Path) -> SparkSession:
    """The session that the Spark engine works in."""
    settings = EngineSettings(engine_version="4", time_zone="UTC", ansi=True, case_sensitive=False)
    no_targets = Targets(target_table([], []), (), False)
    own = SparkEngine(session).open(no_targets, settings).session
    register_tables(own, twisted_folder)
    return own


def relations(graph: OperatorGraph) -> Mapping[int, exp.Expr]:
    """Each scan's table with physical names."""
    return {
        scan.id: exp.select(
            *(exp.alias_(exp.column(c.name), physical_name(c.id)) for c in scan.columns)
        )
        .from_(scan.table)
        .subquery()
        for scan in graph.scans()
    }


@pytest.mark.parametrize("number", NUMBERS)
def test_compiled_queries_give_the_output(
    session: SparkSession,
    evaluating: SparkSession,
    twisted_database: duckdb.DuckDBPyConnection,
    number: int,
) -> None:
    pipeline = read_pipeline(session.sql(read_query(number)), session)
    graph, scans = pipeline.graph, relations(pipeline.graph)
    expected = Counter(Oracle(number, twisted_database).output())
    assert expected

    assert plan_inexactness(graph, graph.root, pipeline.settings) is None
    query = plan_query(graph, graph.root, DUCKDB_DIALECT, scans)
    found = twisted_database.cursor().sql(query.sql("duckdb")).fetchall()
    assert Counter(found) == expected

    frame = evaluating.sql(plan_query(graph, graph.root, SPARK_DIALECT, scans).sql("spark"))
    assert Counter(map(tuple, frame.collect())) == expected
    stated = session.sql(read_query(number)).schema.fields
    assert [field.dataType for field in frame.schema.fields] == [field.dataType for field in stated]
