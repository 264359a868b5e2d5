"""SQL texts that are no queries are refused by name, and nothing of them is run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import predtrace
from predtrace.cli.running import explain_query, run_query
from predtrace.errors import PredTraceError
from predtrace.frontends.spark.queries import query

COMMANDS = {
    "CREATE TABLE made AS SELECT * FROM t": "CreateTableAsSelect",
    "CREATE OR REPLACE TEMPORARY VIEW made AS SELECT 1": "CreateViewCommand",
    "-- a remark\nWITH q AS (SELECT 1) INSERT INTO t SELECT * FROM q": "InsertIntoStatement",
    "FROM t INSERT INTO a SELECT k INSERT INTO b SELECT k": "InsertIntoStatement",
    "INSERT OVERWRITE DIRECTORY '{folder}/made' USING parquet SELECT 1": "InsertIntoDir",
    "WITH q AS (SELECT 1) INSERT OVERWRITE DIRECTORY '{folder}/made' USING parquet "
    "SELECT * FROM q": "InsertIntoDir",
    "DELETE FROM t": "DeleteFromTable",
    "MERGE INTO t USING t AS s ON t.k = s.k WHEN MATCHED THEN DELETE": "MergeIntoTable",
    "DROP VIEW t": "DropView",
    "TRUNCATE TABLE t": "TruncateTable",
    "CACHE TABLE t": "CacheTable",
    "SET spark.sql.ansi.enabled=false": "SetCommand",
    "SET TIME ZONE 'Pacific/Niue'": "SetCommand",
    "RESET": "ResetCommand",
    "USE somewhere": "SetCatalogAndNamespace",
    "EXPLAIN SELECT * FROM t": "ExplainCommand",
    "DESCRIBE t": "DescribeRelation",
    "SHOW TABLES": "ShowTables",
    "DECLARE VARIABLE v INT": "CreateVariable",
    "CALL nothing()": "Call",
    "BEGIN CREATE TABLE made (k INT); END": "CompoundBody",
    "EXECUTE IMMEDIATE 'CREATE TABLE made (k INT)'": "UnresolvedExecuteImmediate",
}
QUERIES = (
    "SELECT k FROM t;",
    "SELECT k FROM t ; -- a remark",
    "(SELECT k FROM t)",
    "WITH q AS (SELECT k FROM t) SELECT * FROM q UNION ALL SELECT * FROM q",
    "FROM t SELECT k",
    "FROM t |> WHERE k > 0 |> SELECT k",
    "TABLE t",
    "SELECT 'CREATE TABLE made AS', k AS `INSERT INTO` FROM t",
)


@pytest.fixture
def own(spark: SparkSession, tmp_path: Path) -> SparkSession:
    session = spark.newSession()
    pq.write_table(pa.table({"k": [1, 2]}), tmp_path / "t.parquet")
    session.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    return session


def test_commands_are_refused_and_not_run(own: SparkSession, tmp_path: Path) -> None:
    def state() -> tuple[object, ...]:
        tables = [(table.name, table.tableType) for table in own.catalog.listTables()]
        return dict(own.conf.getAll), tables, sorted(tmp_path.rglob("*")), own.table("t").count()

    before = state()
    for text, name in COMMANDS.items():
        command = text.format(folder=tmp_path)
        for read in (predtrace.trace, lambda text, spark: query(spark, text, "a.sql")):
            with pytest.raises(PredTraceError) as caught:
                read(command, own)
            assert "not a query but a command" in str(caught.value)
            assert f"(Catalyst: {name})" in str(caught.value)
            assert "trace the SELECT in it" in str(caught.value)
            assert "\n" not in str(caught.value)
    assert state() == before


@pytest.mark.parametrize("command", [run_query, explain_query])
def test_commands_in_files(own: SparkSession, tmp_path: Path, command: object) -> None:
    (tmp_path / "q.sql").write_text(
        f"CREATE TABLE made USING parquet LOCATION '{tmp_path}/made' AS SELECT * FROM t;\n"
    )
    given = {"aggregates": "minimal", "settings": {}, "as_json": True}
    if command is run_query:
        given |= {
            "store": tmp_path / "store",
            "keep": "inline",
            "limit": 1,
            "fingerprint": "quick",
            "rows_limit": 1 << 20,
        }
    with pytest.raises(PredTraceError, match=r"Catalyst: CreateTableAsSelect"):
        command(tmp_path / "q.sql", tmp_path, **given)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.sql", "t.parquet"]


@pytest.mark.parametrize("text", QUERIES)
def test_queries_are_read(own: SparkSession, text: str) -> None:
    graph = predtrace.trace(text, own).graph
    assert {scan.table for scan in graph.scans()} == {"t"}
    assert len(graph.output()) == len(own.sql(text).columns)
