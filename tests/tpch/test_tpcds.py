"""The TPC-DS harness: its truth from a text, what it compares, what it makes and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import UnsupportedOperatorError
from tpch.errors import TpchError
from tpch.oracle import ScanName
from tpch.tpcds import check as checking
from tpch.tpcds.check import Checker, differences, summary
from tpch.tpcds.constants import Fitted, fitted
from tpch.tpcds.data import PACKAGES, generate, read_query, table_files
from tpch.truth import Truth, read_truth
from tpch.truth.origins import NOTHING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

R, S = ScanName("r", 1), ScanName("s", 1)
JOINED = """SELECT g AS name, count(*) AS n, sum(s.v) AS total
FROM r, s WHERE r.k = s.k AND v > 1 GROUP BY g ORDER BY name LIMIT 100;
"""
LINEAGE = {R: [{0, 1}, {2}], S: [{1, 2}, {2}]}
"""Of the output rows 'a' and 'b', by hand."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tables and a text."""
    made = tmp_path / "tpcds"
    (made / "queries").mkdir(parents=True)
    r = {"k": [1, 2, 2, 3], "g": ["a", "a", "b", "b"]}
    s = {"k": [1, 1, 2, 4], "v": [1, 5, 7, 9]}
    for name, columns in (("r", r), ("s", s)):
        pq.write_table(pa.table(columns), made / f"{name}.parquet")
    (made / "queries" / "q01.sql").write_text(JOINED)
    return made


def test_constants_that_the_data_hold(folder: Path) -> None:
    database = duckdb.connect()
    for name, file in table_files(folder).items():
        database.read_parquet(str(file)).create_view(name)
    assert fitted(JOINED, database) == Fitted(JOINED)
    empty = "SELECT g, v FROM r, s WHERE r.k = s.k AND g = 'z' AND v BETWEEN 50 AND 60"
    other = fitted(empty, database)
    assert other is not None
    assert (other.exchanged, other.left_out) == (2, 0)
    assert "g = 'a'" in other.text
    assert "BETWEEN 1 AND 9" in other.text
    beyond = fitted("SELECT g FROM r GROUP BY g HAVING count(k) > 10", database)
    assert beyond is not None
    assert (beyond.exchanged, beyond.left_out) == (0, 1)
    factor = fitted("SELECT g FROM r WHERE k > k + 1", database)
    assert factor is not None
    assert (factor.exchanged, factor.left_out) == (0, 1)
    assert fitted("SELECT g FROM r, s WHERE r.k = s.v + s.v + s.v + s.v", database) is None


def test_what_cannot_both_be_right() -> None:
    labels = {R: "precise", S: "precise"}
    fewer = {**LINEAGE, R: [{0}, {2}]}
    assert differences("one", (labels, LINEAGE), "other", (labels, LINEAGE)) == []
    (lacking,) = differences("one", (labels, fewer), "other", (labels, LINEAGE))
    assert lacking == "r 1: one lacks 1 rows of other, and has 0 more"
    (beyond,) = differences("one", (labels, LINEAGE), "other", (labels, fewer))
    assert "lacks 0 rows of other, and has 1 more" in beyond
    loose = {**labels, R: "superset"}
    assert differences("one", (loose, LINEAGE), "other", (labels, fewer)) == []
    assert differences("one", (loose, fewer), "other", (labels, LINEAGE)) == [lacking]
    (alone,) = differences("one", (labels, {R: LINEAGE[R]}), "other", (labels, LINEAGE))
    assert alone == "s 1 is in one of one and other only"


def test_check(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = Checker(spark, folder, tmp_path / "store")
    good = checker.check(1)
    assert (good.problems, good.truth, good.output_rows) == ((), "text", 2)
    assert [(asked.mode, asked.label) for asked in good.asked] == [
        ("stored", "precise"),
        ("replayed", "precise"),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(predtrace, "trace", _refuses)
        refused = checker.check(1)
    assert refused.refused == "operator Nothing cannot be traced"
    assert summary([good, refused]) == {
        "queries": 2,
        "traced": 1,
        "precise": 1,
        "refused": 1,
        "compared with the text": 1,
        "wrong": 0,
    }
    other = JOINED.replace("v > 1", "v > 5")
    monkeypatch.setattr(checking, "read_truth", lambda text, tables: read_truth(other, tables))
    assert checker.check(1).truth == "modes: the text gives 1 targets otherwise"
    monkeypatch.setattr(
        checking, "read_truth", lambda text, tables: _without_a_row(read_truth(text, tables))
    )
    wrong = checker.check(1)
    assert any("stored lacks 0 rows of the text" in problem for problem in wrong.problems)
    assert summary([wrong])["wrong"] == 1
    for table in ("r", "s"):
        spark.catalog.dropTempView(table)


def _refuses(frame: object) -> None:
    raise UnsupportedOperatorError("operator Nothing cannot be traced")


def _without_a_row(truth: Truth) -> Truth:
    """The truth with nothing behind its first row."""
    (values, _), *others = truth.rows
    return truth._replace(rows=[(values, NOTHING), *others])


def environment(folder: Path, script: str) -> Path:
    """An environment whose interpreter is a shell script, with the packages as far as it says."""
    (folder / "bin").mkdir(parents=True)
    (folder / ".ready").write_text("\n".join(PACKAGES))
    python = folder / "bin" / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return folder


def test_data_are_made_once_by_another_interpreter(tmp_path: Path) -> None:
    script = 'mkdir "$3/queries" && echo "SELECT 1;" > "$3/queries/q07.sql" && echo >> "$0.log"'
    other = environment(tmp_path / "environment", script)
    made = generate(0.01, tmp_path / "data", other)
    assert read_query(made, 7) == "SELECT 1"
    assert generate(0.01, tmp_path / "data", other) == made
    assert (other / "bin" / "python.log").read_text() == "\n"
    with pytest.raises(TpchError, match="no TPC-DS query 8"):
        read_query(made, 8)


def test_a_generator_that_fails_leaves_nothing(tmp_path: Path) -> None:
    other = environment(tmp_path / "environment", "echo no room >&2; exit 3")
    with pytest.raises(TpchError, match=r"TPC-DS at scale 0.01: no room"):
        generate(0.01, tmp_path / "data", other)
    assert not (tmp_path / "data").exists()


def test_results_are_written_as_json(tmp_path: Path) -> None:
    from tpch.report import write_json

    write_json([checking.QueryCheck(number=3, refused="why")], tmp_path / "found.json")
    (read,) = msgspec.json.decode((tmp_path / "found.json").read_bytes())
    assert (read["number"], read["refused"]) == (3, "why")
