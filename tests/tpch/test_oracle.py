"""The oracle against the queries themselves, in DuckDB.

It gives the output of the query; from its source rows alone the query gives the target
again; and it names the scans as the query's text orders them.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from tests.tpch.restriction import with_scans
from tpch.errors import TpchError
from tpch.oracle import AGGREGATES, Oracle, ScanName, read_sections
from tpch.queries import NUMBERS, read_query

# The inner side of these has no lineage: the query needs it all to give the target again.
pytestmark = pytest.mark.slow
ANTI_JOINED = {
    16: {ScanName("supplier", 1)},
    21: {ScanName("lineitem", 3)},
    22: {ScanName("orders", 1)},
}
TARGETS = 8


@pytest.mark.parametrize("number", NUMBERS)
def test_the_output_is_the_querys(database: duckdb.DuckDBPyConnection, number: int) -> None:
    expected = database.sql(read_query(number)).fetchall()
    assert _approximately(Oracle(number, database).output()) == _approximately(expected)


@pytest.mark.parametrize("aggregates", AGGREGATES)
@pytest.mark.parametrize("number", NUMBERS)
def test_lineage_gives_the_target_again(
    database: duckdb.DuckDBPyConnection, number: int, aggregates: str
) -> None:
    oracle = Oracle(number, database)
    targets = sorted(set(oracle.output()), key=repr)[:TARGETS]
    lineage = oracle.lineage(targets, aggregates)
    cursor = database.cursor()
    for position, target in enumerate(targets):
        for scan, rows in lineage.items():
            _restrict(cursor, scan, rows[position], scan in ANTI_JOINED.get(number, ()))
        rerun = cursor.execute(with_scans(read_query(number), _relation)).fetchall()
        assert _approximately([target]).keys() <= _approximately(rerun).keys()


@pytest.mark.parametrize("number", NUMBERS)
def test_it_names_the_scans_of_the_query(database: duckdb.DuckDBPyConnection, number: int) -> None:
    scans: set[ScanName] = set()

    def note(scan: ScanName) -> str:
        scans.add(scan)
        return _relation(scan)

    with_scans(read_query(number), note)
    for aggregates in AGGREGATES:
        assert set(Oracle(number, database).lineage([], aggregates)) == scans


def test_minimal_lineage_is_part_of_the_whole(twisted_database: duckdb.DuckDBPyConnection) -> None:
    oracles = {number: Oracle(number, twisted_database) for number in NUMBERS}
    differing = [number for number, oracle in oracles.items() if oracle.has_readings]
    assert differing == [2, 15]
    for number in differing:
        targets = oracles[number].output()
        minimal, whole = (oracles[number].lineage(targets, choice) for choice in AGGREGATES)
        assert minimal != whole
        for scan, rows in minimal.items():
            assert all(few <= many for few, many in zip(rows, whole[scan], strict=True))


def test_a_row_that_is_no_output_has_no_lineage(
    twisted_database: duckdb.DuckDBPyConnection,
) -> None:
    lineage = Oracle(4, twisted_database).lineage([("6-NEVER", 1)])
    assert lineage == {ScanName("lineitem", 1): [set()], ScanName("orders", 1): [set()]}


def test_a_query_without_oracle_is_named() -> None:
    with pytest.raises(TpchError, match="no oracle for query 23"):
        read_sections(23)


def test_ratios_are_rounded_half_up(twisted_database: duckdb.DuckDBPyConnection) -> None:
    Oracle(6, twisted_database)
    cursor = Oracle(6, twisted_database)._database
    cases = {(1, 3): "0.333333", (2, 3): "0.666667", (-2, 3): "-0.666667", (1, 2_000_000): "1E-6",
             (-1, 2_000_000): "-1E-6", (1, 2_000_001): "0"}  # fmt: skip
    for (numerator, denominator), expected in cases.items():
        ratio = f"SELECT ratio({numerator}::HUGEINT, {denominator}::HUGEINT)"
        assert cursor.execute(ratio).fetchall()[0][0] == Decimal(expected)


def _relation(scan: ScanName) -> str:
    return f"only_{scan.table}_{scan.occurrence}"


def _restrict(
    cursor: duckdb.DuckDBPyConnection, scan: ScanName, rows: set[int], everything: bool
) -> None:
    cursor.execute("CREATE OR REPLACE TEMP TABLE chosen_rows (id BIGINT)")
    if rows:
        cursor.execute("INSERT INTO chosen_rows SELECT unnest(?::BIGINT[])", [list(rows)])
    condition = "TRUE" if everything else "row_id IN (FROM chosen_rows)"
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {_relation(scan)} AS FROM {scan.table} WHERE {condition}"
    )


def _approximately(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Quotients are floating-point numbers in DuckDB, six places in the oracle: compare four."""
    return Counter(tuple(_four_places(value) for value in row) for row in rows)


def _four_places(value: Any) -> Any:
    if isinstance(value, Decimal) and value.as_tuple().exponent != -6:
        return value
    return round(float(value), 4) if isinstance(value, float | Decimal) else value
