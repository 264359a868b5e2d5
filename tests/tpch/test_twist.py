"""On the twisted data every query has output, and every condition of every query matters."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from tests.tpch.conjuncts import weakened
from tpch.queries import NUMBERS, read_query

pytestmark = pytest.mark.slow
CONDITIONS = [
    pytest.param(number, weaker, id=f"q{number:02}-{' '.join(condition.split())[:60]}")
    for number in NUMBERS
    for condition, weaker in weakened(read_query(number))
]


@pytest.mark.parametrize("number", NUMBERS)
def test_every_query_has_output(twisted_database: duckdb.DuckDBPyConnection, number: int) -> None:
    rows = twisted_database.sql(read_query(number)).fetchall()
    assert any(any(value is not None for value in row) for row in rows)


@pytest.mark.parametrize(("number", "weaker"), CONDITIONS)
def test_every_condition_matters(
    twisted_database: duckdb.DuckDBPyConnection, number: int, weaker: str
) -> None:
    rows = Counter(twisted_database.sql(read_query(number)).fetchall())
    assert Counter(twisted_database.sql(weaker).fetchall()) != rows


def test_conditions_are_taken_out_one_by_one() -> None:
    sql = "SELECT a FROM t WHERE a = 1 AND (b = 2 OR c = 3 AND d = 4) GROUP BY a HAVING e = 5"
    assert [condition for condition, _ in weakened(sql)] == [
        "a = 1", "b = 2 OR c = 3 AND d = 4", "b = 2", "c = 3 AND d = 4", "c = 3", "d = 4", "e = 5",
    ]  # fmt: skip
    assert {weaker for _, weaker in weakened("SELECT a FROM t WHERE a = 1 OR b = 2")} == {
        "SELECT a FROM t WHERE FALSE OR b = 2",
        "SELECT a FROM t WHERE a = 1 OR FALSE",
        "SELECT a FROM t WHERE TRUE",
    }
