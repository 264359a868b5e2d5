"""The TPC-DS harness: its truth from a text, what it compares, what it makes and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tpch.errors import TpchError
from tpch.oracle import ScanName
from tpch.tpcds import check as checking
from tpch.tpcds.carried import carried, open_tables
from tpch.tpcds.check import Checker, differences, summary
from tpch.tpcds.data import PACKAGES, generate, read_query, table_files

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
    """Two tables, a text that is traced and one that is not yet."""
    made = tmp_path / "tpcds"
    (made / "queries").mkdir(parents=True)
    r = {"k": [1, 2, 2, 3], "g": ["a", "a", "b", "b"]}
    s = {"k": [1, 1, 2, 4], "v": [1, 5, 7, 9]}
    for name, columns in (("r", r), ("s", s)):
        pq.write_table(pa.table(columns), made / f"{name}.parquet")
    (made / "queries" / "q01.sql").write_text(JOINED)
    (made / "queries" / "q02.sql").write_text("SELECT explode(array(k)) AS place FROM r")
    return made


def test_the_truth_of_a_text(folder: Path) -> None:
    query = carried(JOINED)
    assert query is not None
    targets = [("a", 2, 12), ("b", 1, 7)]
    assert query.lineage(open_tables(table_files(folder)), targets) == LINEAGE


def test_padded_sides_have_no_row(folder: Path) -> None:
    query = carried("SELECT count(*) AS n FROM s LEFT JOIN r ON r.k = s.k AND r.g = 'b'")
    assert query is not None
    found = query.lineage(open_tables(table_files(folder)), [(4,)])
    assert found == {S: [{0, 1, 2, 3}], R: [{2}]}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g FROM r",
        "SELECT max(k) AS m FROM r GROUP BY g",
        "SELECT count(*) AS n FROM r GROUP BY g",
        "SELECT g, count(*) AS n FROM r GROUP BY ROLLUP (g)",
        "SELECT g, count(*) AS n FROM r GROUP BY g HAVING count(*) > 1",
        "SELECT g, count(*) AS n FROM (SELECT * FROM r) GROUP BY g",
        "SELECT count(*) AS n FROM r WHERE k IN (SELECT k FROM s)",
        "SELECT count(*) AS n FROM r WHERE k = (SELECT max(k) FROM s)",
        "WITH t AS (SELECT * FROM r) SELECT count(*) AS n FROM t",
        "SELECT count(DISTINCT k) AS n FROM r UNION ALL SELECT count(*) FROM s",
    ],
)
def test_other_shapes_have_no_truth(text: str) -> None:
    assert carried(text) is None


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
    good, refused = checker.check(1), checker.check(2)
    assert (good.problems, good.truth, good.output_rows) == ((), "text", 2)
    assert [(asked.mode, asked.label) for asked in good.asked] == [
        ("stored", "precise"),
        ("replayed", "precise"),
    ]
    assert "Window" in refused.refused
    assert summary([good, refused]) == {
        "queries": 2,
        "traced": 1,
        "precise": 1,
        "refused": 1,
        "compared with the text": 1,
        "wrong": 0,
    }
    other = carried(JOINED.replace("v > 1", "v > 5"))
    monkeypatch.setattr(checking, "carried", lambda text: other)
    wrong = checker.check(1)
    assert any("stored lacks 0 rows of the text" in problem for problem in wrong.problems)
    assert summary([wrong])["wrong"] == 1
    monkeypatch.setattr(checking, "carried", lambda text: None)
    assert checker.check(1).truth == "modes"
    for table in ("r", "s"):
        spark.catalog.dropTempView(table)


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
