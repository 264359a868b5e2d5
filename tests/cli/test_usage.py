"""The command line without Spark: usage, errors, jobs, doctor, and answers of a stand-in job."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import predtrace
from predtrace.cli.app import app
from predtrace.environment import doctor
from predtrace.environment import local_spark as session
from predtrace.errors import TargetError
from predtrace.jobs.store import JobStore
from predtrace.text.layout import counted
from predtrace.vocabulary import CACHE_LIMIT
from tests.jobs.examples import example_job

runner = CliRunner()
ROWS = pa.table(
    {
        "o_orderkey": [1, 2, 3],
        "o_totalprice": [decimal.Decimal("1.50"), decimal.Decimal("2.00"), None],
        "o_orderdate": [dt.date(1995, 1, 1)] * 3,
        "o_comment": ["[bold]no markup[/bold]", "two\nlines", "x" * 200],
        "o_score": [float("nan"), 0.5, float("inf")],
        "o_bytes": [b"ab", None, b""],
    }
)


class ScanStandIn:
    name, occurrence, label, reason = "orders", 1, "superset", "the semi join: not proved"
    node, columns = 5, tuple(ROWS.column_names)
    paths = ("/data/orders.parquet",)

    def count(self) -> int:
        return 3

    def head(self, n: int, columns: Sequence[str] | None = None) -> pa.Table:
        return ROWS.slice(0, n) if columns is None else ROWS.slice(0, n).select(columns)

    def predicate_sql(self) -> str:
        return "o_orderkey = 1"

    def write_parquet(self, folder: str) -> None:
        Path(folder).mkdir(parents=True)
        pq.write_table(ROWS, Path(folder) / "part-0.parquet")


class LineageStandIn:
    label, mode, engine, target_rows = "superset", "stored", "duckdb", 1
    timings: dict[str, float] = {}  # noqa: RUF012 - never changed
    scans = (ScanStandIn(),)
    missing = (1,)
    notes = ("spark was not used",)

    def each(self, read: Callable[[ScanStandIn], Any]) -> list[Any]:
        return [read(scan) for scan in self.scans]


class JobStandIn:
    id = "20261121-093000-4f2a"

    def __init__(self) -> None:
        self.asked: list[tuple[Any, dict[str, Any]]] = []

    def lineage(self, target: Any, **options: Any) -> LineageStandIn:
        if target == "nonsense":
            raise TargetError("the output has no column nonsense;\nit has a, b")
        self.asked.append((target, options))
        return LineageStandIn()


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> JobStandIn:
    stand_in = JobStandIn()
    monkeypatch.setattr(predtrace, "open_job", lambda store, job_id: stand_in, raising=False)
    return stand_in


def saved(store: Path) -> str:
    with JobStore(store).begin() as writer:
        writer.commit(example_job(writer.id))
    return writer.id


def test_help_is_quick() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom predtrace.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print([m for m in ('pyspark','pandas','z3','duckdb','pyarrow') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["lineage", "x"],
        ["lineage", "x", "--where", "a = 1", "--row", "{}"],
        ["lineage", "x", "--row", "no json"],
        ["lineage", "x", "--row", "3"],
        ["lineage", "x", "--where", "a = 1", "--format", "parquet"],
        ["lineage", "x", "--where", "a = 1", "--engine", "abacus"],
        ["lineage", "x", "--where", "a = 1", "--limit", "-1"],
        ["run", "/none.sql", "--tables", "."],
        ["run"],
        ["explain", __file__, "--tables", ".", "--conf", "novalue"],
        ["fly"],
    ],
)
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    assert runner.invoke(app, arguments).exit_code == 2


def test_errors_are_one_line_and_1(job: JobStandIn) -> None:
    result = runner.invoke(app, ["lineage", "x", "--where", "nonsense"])
    assert result.exit_code == 1
    assert result.stderr == "predtrace: the output has no column nonsense; it has a, b\n"
    assert result.stdout == ""


def test_debug_shows_the_traceback(job: JobStandIn) -> None:
    result = runner.invoke(app, ["lineage", "x", "--where", "nonsense", "--debug"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_an_answer_as_text(job: JobStandIn) -> None:
    result = runner.invoke(app, ["lineage", "x", "--where", "a = 1", "--limit", "2"])
    assert result.exit_code == 0, result.stderr
    asked = {"mode": "auto", "engine": "auto", "aggregates": None, "cache_limit": CACHE_LIMIT}
    assert job.asked == [("a = 1", asked)]
    text = result.stdout
    assert "Lineage of 1 output row of job 20261121-093000-4f2a: superset" in text
    assert "orders: 3 rows, superset (the semi join: not proved)" in text
    assert "Note: spark was not used" in text
    assert "Not in the output: target 1 (" in text
    assert "[bold]no markup[/bold]" in text
    assert "two lines" in text
    assert "and 1 more row\n" in text
    assert max(map(len, text.splitlines())) <= 120


def test_an_answer_as_json(job: JobStandIn) -> None:
    arguments = ["--row", '{"a": 1.50}', "--row", "[1, null]", "--format", "json"]
    result = runner.invoke(app, ["lineage", "x", *arguments, "--aggregates", "whole"])
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["label"], answer["missing"]) == ("superset", [1])
    (scan,) = answer["scans"]
    assert (scan["scan"], scan["count"], scan["predicate"]) == ("orders", 3, "o_orderkey = 1")
    assert scan["columns"] == ROWS.column_names
    assert scan["rows"][0][1:3] == ["1.50", "1995-01-01"]
    assert [row[4] for row in scan["rows"]] == ["nan", 0.5, "inf"]
    ((target, options),) = job.asked
    assert target == [{"a": decimal.Decimal("1.50")}, (1, None)]
    assert options["aggregates"] == "whole"


def test_only_some_columns(job: JobStandIn) -> None:
    arguments = ["--where", "a = 1", "--columns", "o_comment, O_ORDERKEY", "--format", "json"]
    result = runner.invoke(app, ["lineage", "x", *arguments])
    assert json.loads(result.stdout)["scans"][0]["columns"] == ["o_comment", "o_orderkey"]
    bad = runner.invoke(app, ["lineage", "x", "--where", "a = 1", "--columns", "o_commend"])
    assert bad.exit_code == 1
    assert "no source has a column o_commend; near it: o_comment" in bad.stderr
    bad = runner.invoke(app, ["lineage", "x", "--where", "a = 1", "--columns", "Zebra"])
    assert f"no source has a column Zebra; there are {', '.join(sorted(ROWS.column_names))}" in (
        bad.stderr
    )


def test_a_single_row_is_asked_about_without_a_number(job: JobStandIn) -> None:
    for row, expected in (('{"a": 1}', {"a": 1}), ("[1, 2]", (1, 2))):
        result = runner.invoke(app, ["lineage", "x", "--row", row])
        assert result.exit_code == 0, result.stderr
        target, _ = job.asked[-1]
        assert target == expected


@pytest.mark.parametrize(
    "option", [["--mode", "fast"], ["--engine", "fast"], ["--format", "fast"]], ids=lambda o: o[0]
)
def test_an_unknown_word_is_told_with_the_known_ones(option: list[str]) -> None:
    result = runner.invoke(app, ["lineage", "x", "--where", "a = 1", *option])
    assert result.exit_code == 2
    assert f"Invalid value for '{option[0]}': 'fast' is not one of " in result.stderr


def test_an_answer_as_parquet(job: JobStandIn, tmp_path: Path) -> None:
    out = tmp_path / "answer"
    arguments = ["--where", "a = 1", "--format", "parquet", "--out", str(out)]
    result = runner.invoke(app, ["lineage", "x", *arguments])
    assert result.exit_code == 0, result.stderr
    assert pq.read_table(out / "orders").num_rows == 3
    assert str(out) in result.stdout


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*args: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "local_session", started)


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("command", ["run", "record", "explain"])
@pytest.mark.parametrize("text", ["", " ;\n", "-- nothing here\n", "/* not\nyet */ ;"])
def test_files_without_a_query_start_no_spark(tmp_path: Path, command: str, text: str) -> None:
    (tmp_path / "q.sql").write_text(text)
    (tmp_path / "t.csv").write_text("a\n1\n")
    result = runner.invoke(app, [command, str(tmp_path / "q.sql"), "--tables", str(tmp_path)])
    assert result.exit_code == 1
    assert "q.sql holds no query; write one SELECT into it" in result.stderr


@pytest.mark.usefixtures("no_spark")
def test_no_text_and_no_tables_start_no_spark(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT 1 -- one\n")
    arguments = [str(tmp_path / "q.sql"), "--tables", str(tmp_path)]
    result = runner.invoke(app, ["explain", *arguments])
    assert (result.exit_code, "holds no tables" in result.stderr) == (1, True)
    (tmp_path / "q.sql").write_bytes(b"\xff\xfe\x00")
    result = runner.invoke(app, ["explain", *arguments])
    assert (result.exit_code, "cannot be read as text" in result.stderr) == (1, True)


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("command", ["run", "record"])
@pytest.mark.parametrize("below", ["", "lineage", "a/b"])
def test_a_store_that_cannot_be_starts_no_spark(tmp_path: Path, command: str, below: str) -> None:
    (tmp_path / "q.sql").write_text("SELECT 1")
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "file").write_text("in the way")
    arguments = [str(tmp_path / "q.sql"), "--tables", str(tmp_path)]
    store = tmp_path / "file" / below
    result = runner.invoke(app, [command, *arguments, "--store", str(store)])
    assert result.exit_code == 1
    assert "file cannot be written (Not a directory); choose another" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "q.sql", "t.csv"]


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "row", "0 rows"), (1, "row", "1 row"), (1, "more row", "1 more row"),
     (1200, "output row", "1,200 output rows"), (None, "row", "? rows"), (1, "pass", "1 pass"),
     (2, "pass", "2 passes")],
)  # fmt: skip
def test_plurals(count: int | None, noun: str, text: str) -> None:
    assert counted(count, noun) == text


def test_jobs(tmp_path: Path) -> None:
    job_id, bad = saved(tmp_path), saved(tmp_path)
    (tmp_path / bad / "job.json").write_text("{")
    text = runner.invoke(app, ["jobs", "--store", str(tmp_path)])
    assert text.exit_code == 0
    assert job_id in text.stdout
    assert "truncated" in text.stdout
    listed = json.loads(
        runner.invoke(app, ["jobs", "--store", str(tmp_path), "--format", "json"]).stdout
    )
    assert {job["id"]: bool(job["problem"]) for job in listed} == {job_id: False, bad: True}


def test_jobs_of_an_empty_and_of_no_store(tmp_path: Path) -> None:
    result = runner.invoke(app, ["jobs", "--store", str(tmp_path)])
    assert (result.exit_code, "holds no jobs" in result.stdout) == (0, True)
    result = runner.invoke(app, ["jobs", "--store", str(tmp_path / "none")])
    assert (result.exit_code, "there is no store" in result.stderr) == (1, True)


def test_doctor_passes_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = 'openjdk version "17.0.1" java.base@17 jdk.incubator.vector@17'
    stand_in_java(f"echo '{told}'", monkeypatch, tmp_path)
    result = runner.invoke(app, ["doctor", "--store", str(tmp_path / "new")])
    assert result.exit_code == 0, result.stdout
    assert "Java" in result.stdout
    assert not (tmp_path / "new").exists()


def test_doctor_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = runner.invoke(app, ["doctor", "--format", "json"])
    assert result.exit_code == 1
    checks = {check["name"]: check for check in json.loads(result.stdout)}
    assert checks["Java"]["status"] == "failed"
    assert "openjdk-17" in checks["Java"]["remedy"]
    assert checks["Java modules"]["status"] == "warning"
    assert checks["Java modules"]["found"].startswith("not checked")


@pytest.mark.parametrize(
    ("modules", "status"),
    [("java.base@17 jdk.incubator.vector@17", "ok"), ("java.base@17", "failed"), ("", "warning")],
)
def test_java_modules(
    modules: str, status: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in_java(f"echo '{modules}'", monkeypatch, tmp_path)
    assert doctor.java_modules().status == status


def stand_in_java(script: str, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let a shell script be the Java of the environment."""
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok"),
        ('openjdk version "21" 2023-09-19', "ok"),
        ('java version "11.0.2"', "failed"),
        ('java version "1.8.0_402"', "failed"),
        ("nothing", "failed"),
    ],
)
def test_java_versions(
    text: str, status: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in_java(f"echo '{text}' >&2", monkeypatch, tmp_path)
    assert doctor.java().status == status


def test_another_python_for_the_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 2.7\n")
    other.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    check = doctor.workers()
    assert (check.status, "2.7" in check.found) == ("failed", True)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert doctor.workers().status == "ok"


def test_run_without_java_is_one_line(tmp_path: Path) -> None:
    """In a process of its own: one with a session needs no Java any more."""
    (tmp_path / "q.sql").write_text("SELECT 1")
    (tmp_path / "t.csv").write_text("a\n1\n")
    arguments = ["run", str(tmp_path / "q.sql"), "--tables", str(tmp_path)]
    command = [sys.executable, "-c", "from predtrace.cli import main; main()", *arguments]
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "none")}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 1
    assert "install Java 17" in result.stderr
    assert result.stderr.count("\n") == 1
