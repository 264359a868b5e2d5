"""Scans restricted to what a replay needs of them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from sqlglot import exp

from predtrace.engines.duckdb.dialect import DUCKDB_DIALECT
from predtrace.engines.sql.query import BoundRows, Queries
from symbolic.expr import Column, Literal, same
from symbolic.types import LONG
from tests.engines.tables import param, request, source

K, CONSTANT = Column(1, "k", LONG), Column(2, "c", LONG)


@pytest.mark.parametrize(("constant", "rows"), [(7, 3), (8, 0)])
def test_a_scan_of_which_no_column_is_needed(constant: int, rows: int, tmp_path: Path) -> None:
    """A constant of the output is compared with the target's: that reads no column."""
    (tmp_path / "t").touch()
    asked = request(source("t", tmp_path / "t", [K]), (), same(param(CONSTANT), Literal(7, LONG)))
    queries = Queries("duckdb", DUCKDB_DIALECT.functions, numbered=False)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS c1 FROM range(3)")
        connection.execute(f"CREATE TABLE b AS SELECT 0 AS target, {constant} AS c2")
        found = queries.restricted(exp.to_table("t"), asked, BoundRows(name="b", rows=1))
        query = exp.select(exp.Count(this=exp.Star())).from_(found)
        assert connection.execute(query.sql("duckdb")).fetchall() == [(rows,)]
