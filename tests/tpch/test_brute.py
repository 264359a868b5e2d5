"""Removing lineage rows from the source, in DuckDB, with the oracle's lineage."""

from __future__ import annotations

import duckdb
import pytest

from tpch.brute import WITNESSES, Removal, remove_rows
from tpch.check import choose_targets
from tpch.oracle import Oracle, ScanName
from tpch.queries import NUMBERS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", NUMBERS)
def test_removed_lineage_rows_matter(
    database: duckdb.DuckDBPyConnection, folder: object, number: int
) -> None:
    oracle = Oracle(number, database)
    targets = choose_targets(sorted(oracle.output(), key=repr), 40)
    removals = remove_rows(number, database, targets, oracle.lineage(targets), sample=3)
    strict = not str(folder).endswith("twisted")
    assert [problem for r in removals if (problem := r.problem(strict))] == []


def test_a_row_that_is_no_lineage_is_noticed(twisted_database: duckdb.DuckDBPyConnection) -> None:
    oracle = Oracle(4, twisted_database)
    target = next(row for row in oracle.output() if row[0] == "1-URGENT")
    of_others = oracle.lineage([next(row for row in oracle.output() if row[0] == "5-LOW")])
    (removal,) = (
        removal
        for removal in remove_rows(4, twisted_database, [target], of_others, sample=5)
        if removal.scan.table == "orders"
    )
    assert (removal.tried, removal.mattered) == (5, 0)
    assert removal.problem(strict=False)


def test_the_tables_are_as_before_afterwards(twisted_database: duckdb.DuckDBPyConnection) -> None:
    oracle = Oracle(1, twisted_database)
    targets = oracle.output()
    assert remove_rows(1, twisted_database, targets, oracle.lineage(targets), 2)[0].mattered == 2
    assert sorted(Oracle(1, twisted_database).output(), key=repr) == sorted(targets, key=repr)


def test_witnesses_are_scans_of_the_queries(twisted_database: duckdb.DuckDBPyConnection) -> None:
    for number, scan in WITNESSES:
        assert scan in Oracle(number, twisted_database).lineage([])


@pytest.mark.parametrize(
    ("tried", "mattered", "exempt", "strict", "wrong"),
    [
        (3, 3, "", True, False),
        (3, 2, "", True, True),
        (3, 1, "", False, False),
        (3, 0, "", False, True),
        (1, 0, "", False, False),
        (3, 0, "ties", True, False),
        (0, 0, "", True, False),
    ],
)
def test_what_counts_as_a_problem(
    tried: int, mattered: int, exempt: str, strict: bool, wrong: bool
) -> None:
    removal = Removal(ScanName("orders", 1), tried, mattered, exempt)
    assert bool(removal.problem(strict)) == wrong
