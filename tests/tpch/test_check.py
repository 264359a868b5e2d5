"""The check itself: choosing targets, seeing differences, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from tpch.__main__ import app
from tpch.brute import Removal
from tpch.check import AnswerCheck, QueryCheck, ScanCheck, choose_targets, compare_rows
from tpch.oracle import ScanName
from tpch.report import check_table, notes, scans_table, write_json

ORDERS = ScanName("orders", 1)


def test_targets_are_different_rows_spread_over_the_output() -> None:
    rows = [(number // 2,) for number in range(200)]
    assert choose_targets(rows, 4) == [(0,), (25,), (50,), (75,)]
    assert choose_targets(rows[:6], 40) == [(0,), (1,), (2,)]
    assert choose_targets([], 40) == []


def test_equal_lineage_is_no_problem() -> None:
    scan = compare_rows(ORDERS, "precise", [{1, 2}, set()], [{1, 2}, set()])
    assert (scan.rows, scan.problem()) == (2, "")


@pytest.mark.parametrize(
    ("label", "found", "words"),
    [
        ("precise", [{1}, set()], "1 rows missing, 0 too many (row 2 for target 0)"),
        ("precise", [{1, 2}, {3}], "0 rows missing, 1 too many (row 3 for target 1)"),
        ("precise", [set(), {1, 2}], "2 rows missing, 2 too many"),
        ("superset", [{1, 2}, set()], "label superset"),
        ("no such scan", [], "2 rows missing"),
    ],
)
def test_every_difference_is_a_problem(label: str, found: list[set[int]], words: str) -> None:
    assert words in compare_rows(ORDERS, label, found, [{1, 2}, set()]).problem()


def test_targets_not_found_are_a_problem() -> None:
    answer = AnswerCheck("duckdb", "minimal", 0.1, (), not_found=2)
    assert answer.problems() == ["stored, duckdb, minimal: 2 targets not found in the output"]


def test_the_report_shows_problems_and_the_papers_bytes(tmp_path: Path) -> None:
    check = _check(("orders 1: 1 rows missing",))
    console = Console(record=True, width=220)
    console.print(check_table([check], "title"))
    for line in notes([check], 0.1):
        console.print(line)
    text = console.export_text()
    for words in ("Q4", "differs", "duckdb 250", "3/4", "Inference took more than 1 s: Q4",
                  "Q4: orders 1: 1 rows missing", "mean 4.5 MB"):  # fmt: skip
        assert words in text
    write_json([check], tmp_path / "new" / "check.json")
    (saved,) = json.loads((tmp_path / "new" / "check.json").read_text())
    assert (saved["number"], saved["problems"]) == (4, ["orders 1: 1 rows missing"])


def test_false_positives_are_shown_by_scan_and_by_mode() -> None:
    scan = compare_rows(ORDERS, "superset", [{1, 2, 3, 4}], [{1}])
    answers = [
        AnswerCheck("duckdb", "minimal", 0.1, (scan,), mode=mode, passes=3, reads={"orders": 2})
        for mode in ("refined", "naive", "stored")
    ]
    assert [bool(answer.problems()) for answer in answers] == [False, False, True]
    check = msgspec.structs.replace(_check(()), answers=tuple(answers))
    console = Console(record=True, width=220)
    table = scans_table([check])
    assert table is not None
    assert table.row_count == 2
    console.print(table)
    for line in notes([check], 0.1):
        console.print(line)
    text = console.export_text()
    assert "False positives, refined: mean 75.0% (Q4 75.0%); the paper: 6.6%." in text
    assert "False positives, naive: mean 75.0% (Q4 75.0%); the paper: 70.7%." in text
    assert scans_table([_check(())]) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--queries", "23"], "no query 23"),
        (["check", "--queries", "4,x"], "'x' is no query number"),
        (["check", "--rows", "0"], "--rows"),
    ],
)
def test_wrong_usage_is_exit_status_2(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_generate_says_where_the_tables_are(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    result = CliRunner().invoke(app, ["generate", "--sf", "0.001", "--out", str(folder)])
    assert result.exit_code == 0
    assert folder.name in result.output
    assert (folder / "lineitem.parquet").is_file()


def _check(problems: tuple[str, ...]) -> QueryCheck:
    scan = ScanCheck(ORDERS, "precise", 7, 1, 0)
    return QueryCheck(
        number=4,
        output_rows=5,
        targets=5,
        trace_seconds=0.5,
        inference_seconds=1.5,
        plain_seconds=1,
        run_seconds=1,
        intermediates=1,
        stored_bytes=1000,
        answers=(AnswerCheck("duckdb", "minimal", 0.25, (scan,)),),
        removals=(Removal(ORDERS, 4, 3, ""),),
        problems=problems,
    )
