"""Operators of whose columns nothing is read: they stay, and so do columns that something reads.

Beside `test_unread_columns`: there nothing reads a computed column, here an operator is there
though nothing reads its columns, or reads columns that the output has not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from tests.test_unread_columns import SCALAR, found, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["tables"]

CASES: dict[str, tuple[tuple[Any, ...], dict[str, list[int]]]] = {
    # Joins whose other side nothing reads: pairs are pairs; a padded side contributes nothing.
    "SELECT t.id FROM t LEFT JOIN u ON t.k = u.k": ((2,), {"t": [2], "u": [1, 2]}),
    "SELECT t.id FROM t LEFT JOIN u ON t.k = u.k AND u.a > 9": ((2,), {"t": [2], "u": []}),
    "SELECT u.id FROM t RIGHT JOIN u ON t.k = u.k": ((1,), {"t": [2, 3], "u": [1]}),
    "SELECT t.k FROM t FULL JOIN u ON t.k = u.k GROUP BY t.k": ((None,), {"t": [], "u": [3]}),
    "SELECT t.id FROM t LEFT JOIN (SELECT DISTINCT k FROM u) v ON t.k = v.k": (
        (3,),
        {"t": [3], "u": [1, 2]},
    ),
    "SELECT t.id FROM t CROSS JOIN u": ((4,), {"t": [4], "u": [0, 1, 2, 3]}),
    "SELECT count(*) AS n FROM t LEFT JOIN (SELECT k, max(a) AS m FROM u GROUP BY k) v"
    " ON t.k = v.k": ((5,), {"t": [0, 1, 2, 3, 4], "u": [0, 1, 2]}),
    # A key that nothing reads still groups.
    "SELECT n FROM (SELECT k, a, count(*) AS n FROM t GROUP BY k, a)": (
        (1,),
        {"t": [0, 1, 2, 3, 4]},
    ),
    # Conditions, whole-row comparisons and orders read their columns.
    f"SELECT id FROM (SELECT id, {SCALAR} AS s FROM t) WHERE s > 6": (
        (3,),
        {"t": [3], "u": [2]},
    ),
    f"SELECT k FROM (SELECT k, {SCALAR} AS s FROM t INTERSECT SELECT k, a FROM u)": (
        (2,),
        {"t": [2, 3], "u": [2]},
    ),
    f"SELECT k FROM (SELECT k, {SCALAR} AS s FROM t EXCEPT SELECT k, a FROM u WHERE k = 1)": (
        (2,),
        {"t": [2, 3], "u": [2]},
    ),
    "SELECT k FROM (SELECT k, max(a) AS m, count(*) AS n FROM t GROUP BY k)"
    " ORDER BY n DESC, k LIMIT 2": ((2,), {"t": [2, 3]}),
}
"""A target and the ids of its rows; of a maximum the rows that attain it."""


@pytest.mark.parametrize("query", CASES)
def test_what_is_read_or_there_contributes(
    tables: SparkSession, tmp_path: Path, query: str
) -> None:
    target, wanted = CASES[query]
    job = predtrace.trace(query, tables).run(tmp_path)
    for mode, engine in (("stored", "duckdb"), ("replayed", "duckdb")):
        assert found(job, target, mode, engine) == wanted, mode
