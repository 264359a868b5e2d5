"""The command line on real data: `run` with Spark, then `lineage` without it.

All commands that start Spark and stop it run one after the other in one process, whose JVM stays.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from predtrace.cli.app import app
from predtrace.errors import PredTraceError, SourceError
from predtrace.frontends.spark.queries import query, register_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
QUERY = """
SELECT o_priority, count(*) AS order_count
FROM orders
WHERE EXISTS (SELECT * FROM items WHERE i_order = o_id AND i_late)
GROUP BY o_priority
ORDER BY o_priority;
"""


_COMMANDS = """
import contextlib, io, json, sys
from pyspark import SparkContext
from predtrace.cli import main

for arguments in json.load(sys.stdin):
    sys.argv = ["predtrace", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, arguments
    assert SparkContext._active_spark_context is None, arguments
    print(json.dumps(said.getvalue()))
"""


def predtrace(*arguments: object, code: int = 0) -> str:
    """Run a command without Spark; its stdout (its stderr if it has to fail)."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.stderr if code else result.stdout


def predtrace_process(*arguments: object, code: int = 0) -> str:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "predtrace.cli", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stderr
    return result.stderr if code else result.stdout


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    orders = {"o_id": [1, 2, 3, 4, 5], "o_priority": ["high", "high", "low", None, "high"]}
    pq.write_table(pa.table(orders), folder / "orders.parquet")
    items = {"i_order": [1, 1, 2, 3, 4], "i_late": [True, True, False, True, True]}
    (folder / "items.parquet").mkdir()
    pq.write_table(pa.table(items), folder / "items.parquet" / "part-0.parquet")
    (folder / "unused.csv").write_text("a,b\n1\n")
    (folder / "query.sql").write_text(QUERY)
    return folder


@pytest.fixture(scope="module")
def told(tables: Path) -> dict[str, str]:
    """What the commands that start Spark say."""
    given = [tables / "query.sql", "--tables", tables]
    commands = {
        "run": ["run", *given, "--store", tables / "lineage", "--format", "json"],
        "late": ["run", *given, "--store", tables / "late", "--keep", "late", "--format", "json"],
        "record": ["record", *given, "--store", tables / "recorded", "--format", "json"],
        "explain": ["explain", *given],
    }
    texts = json.dumps([list(map(str, arguments)) for arguments in commands.values()])
    command = [sys.executable, "-c", _COMMANDS]
    result = subprocess.run(command, input=texts, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return dict(zip(commands, map(json.loads, result.stdout.splitlines()), strict=True))


@pytest.fixture(scope="module")
def job(told: dict[str, str]) -> dict[str, Any]:
    """What `run --format json` says."""
    found: dict[str, Any] = json.loads(told["run"])
    return found


def lineage(tables: Path, *arguments: object) -> Any:
    store = ["--store", tables / "lineage"]
    return json.loads(predtrace("lineage", "latest", *store, *arguments, "--format", "json"))


def rows(answer: Any, scan: str) -> list[list[Any]]:
    (found,) = [item for item in answer["scans"] if item["scan"] == scan]
    assert found["label"] == "precise"
    assert found["count"] == len(found["rows"])
    return sorted(found["rows"])


def test_run(job: dict[str, Any]) -> None:
    assert job["output"] == {
        "columns": ["o_priority", "order_count"],
        "rows": [[None, 1], ["high", 1], ["low", 1]],
    }
    assert (job["rows"], job["scans"], job["problem"]) == (3, 2, "")
    assert job["stored"][0]["rows"] == 3
    assert job["timings"]


def test_lineage_by_predicate(tables: Path, job: dict[str, Any]) -> None:
    answer = lineage(tables, "--where", "o_priority = 'high'")
    assert (answer["job"], answer["label"], answer["engine"]) == (job["id"], "precise", "duckdb")
    assert rows(answer, "orders") == [[1, "high"]]
    assert rows(answer, "items") == [[1, True], [1, True]]


@pytest.mark.parametrize("row", ['{"o_priority": null}', "[null, 1]"])
def test_lineage_by_row(tables: Path, job: dict[str, Any], row: str) -> None:
    answer = lineage(tables, "--row", row)
    # A single --row is one target: nothing has to be numbered.
    assert rows(answer, "orders") == [[4, None]]


def test_lineage_as_text_and_parquet(tables: Path, job: dict[str, Any], tmp_path: Path) -> None:
    arguments = ["lineage", job["id"], "--store", tables / "lineage"]
    target = ["--where", "o_priority = 'high'", "--out", tmp_path / "out"]
    text = predtrace_process(*arguments, *target)
    assert "orders: 1 row, precise" in text
    assert pq.read_table(tmp_path / "out" / "items").num_rows == 2


def test_lineage_starts_no_spark(tables: Path, job: dict[str, Any]) -> None:
    code = (
        "import sys\nfrom predtrace.cli.app import app\n"
        f"app({['lineage', 'latest', '--store', str(tables / 'lineage'), '--where', 'true']!r},"
        " standalone_mode=False)\n"
        "print([m for m in ('pyspark', 'py4j') if m in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "[]"


def test_a_target_that_is_not_in_the_output(tables: Path, job: dict[str, Any]) -> None:
    answer = lineage(tables, "--where", "o_priority = 'medium'")
    assert answer["target_rows"] == 0
    assert rows(answer, "orders") == rows(answer, "items") == []


def test_an_unknown_column_is_one_line(tables: Path, job: dict[str, Any]) -> None:
    arguments = ["lineage", "latest", "--store", tables / "lineage", "--where", "nonsense = 1"]
    error = predtrace_process(*arguments, "--format", "json", code=1)
    assert "nonsense" in error
    assert error.count("\n") == 1


def test_a_late_run_is_stored_before_spark_stops(tables: Path, told: dict[str, str]) -> None:
    found = json.loads(told["late"])
    assert [stored["rows"] for stored in found["stored"]]
    (listed,) = json.loads(predtrace("jobs", "--store", tables / "late", "--format", "json"))
    assert listed["id"] == found["id"]


def test_a_query_that_ran_before_is_recorded_and_asked(tables: Path, told: dict[str, str]) -> None:
    store = ["--store", tables / "recorded"]
    found = json.loads(told["record"])
    (listed,) = json.loads(predtrace("jobs", *store, "--format", "json"))
    assert (listed["id"], listed["rows"]) == (found["id"], None)
    target = ["--where", "o_priority = 'high'", "--format", "json"]
    answer = json.loads(predtrace("lineage", found["id"], *store, *target))
    assert answer["mode"] == "replayed"
    assert rows(answer, "items") == [[1, True], [1, True]]


def test_explain(told: dict[str, str]) -> None:
    assert "semi join" in told["explain"]
    assert "Stored intermediates" in told["explain"]


def test_a_query_that_spark_refuses(spark: SparkSession, tables: Path) -> None:
    with pytest.raises(
        PredTraceError, match=r"q\.sql is not a query that Spark accepts: .*nowhere"
    ):
        query(spark, "SELECT * FROM nowhere", "q.sql")
    with pytest.raises(PredTraceError, match="holds no query"):
        query(spark, " ; ", "q.sql")


def test_tables_of_several_formats(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("name,size\na,1\nb,2\n")
    (tmp_path / "people.json").write_text('{"name": "x", "city": "b"}\n')
    (tmp_path / "odd name.csv").write_text("a\n1\n")
    (tmp_path / "_hidden.csv").write_text("")
    text = "SELECT size FROM Cities JOIN people ON city = cities.name, `odd name`"
    assert register_tables(spark, tmp_path, text) == ["cities", "odd name", "people"]
    assert [tuple(row) for row in query(spark, text, "q").collect()] == [(2,)]


def test_bad_folders_of_tables(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no tables"):
        register_tables(spark, tmp_path, "")
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(PredTraceError, match=r"a\.parquet cannot be read"):
        register_tables(spark, tmp_path, "a")
    (tmp_path / "a.csv").write_text("b\n")
    with pytest.raises(SourceError, match=r"a\.csv and .*a\.parquet would both be the table a"):
        register_tables(spark, tmp_path, "")
