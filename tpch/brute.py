"""Brute force: take one lineage row out of its table, run the query again, look at the target.

Removing a row that the target came from makes a difference, with two exceptions. If the definition
of lineage names all witnesses and one is enough, it makes none (`WITNESSES`). It also makes none if
the row adds NULL or 0 to a sum, which happens only in the twisted data; there it is enough that
some of the rows tried make a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb

from tpch.oracle import Row, ScanName
from tpch.queries import read_query

_TIES = "rows that tie for the least cost: one of them is enough"
_EXISTS = "rows that EXISTS or IN found: one of them is enough"
_THRESHOLD = "rows of a sum or mean that others are compared with: few results tip"
_SHARE = "rows of a quotient: a share of 0 stays 0"

WITNESSES: Mapping[tuple[int, ScanName], str] = {
    **{(2, ScanName(table, 2)): _TIES for table in ("partsupp", "supplier", "nation", "region")},
    (4, ScanName("lineitem", 1)): _EXISTS,
    **{
        (8, ScanName(table, occurrence)): _SHARE
        for table, occurrence in (
            ("part", 1), ("supplier", 1), ("lineitem", 1), ("orders", 1), ("customer", 1),
            ("nation", 1), ("nation", 2), ("region", 1),
        )
    },
    **{(11, ScanName(table, 2)): _THRESHOLD for table in ("partsupp", "supplier", "nation")},
    (15, ScanName("lineitem", 2)): "sales of a supplier that ties for the greatest revenue",
    (16, ScanName("part", 1)): "rows of a count(DISTINCT): others may bring the same supplier",
    (16, ScanName("partsupp", 1)): "rows of a count(DISTINCT): others may bring the same supplier",
    (17, ScanName("lineitem", 2)): _THRESHOLD,
    **{(20, ScanName(table, 1)): _EXISTS for table in ("partsupp", "part", "lineitem")},
    (21, ScanName("lineitem", 2)): _EXISTS,
    (22, ScanName("customer", 2)): _THRESHOLD,
}  # fmt: skip
"""Scans in which a single lineage row may make no difference, with the reason."""

_FEW = 3


class Removal(NamedTuple):
    """The number of lineage rows of a scan that were removed one by one, and how many mattered."""

    scan: ScanName
    tried: int
    mattered: int
    exempt: str

    def problem(self, strict: bool) -> str:
        """What is wrong with it; empty if nothing. `strict`: every row has to matter."""
        if self.exempt or not self.tried or self.mattered == self.tried:
            return ""
        if not strict and (self.mattered or self.tried < _FEW):
            return ""
        return f"{self.scan}: only {self.mattered} of {self.tried} removed rows mattered"


def remove_rows(
    number: int,
    database: duckdb.DuckDBPyConnection,
    targets: Sequence[Row],
    lineage: Mapping[ScanName, Sequence[set[int]]],
    sample: int,
) -> list[Removal]:
    """Try `sample` lineage rows of each scan, spread over the targets."""
    cursor = database.cursor()
    sql = read_query(number)
    before = Counter(cursor.execute(sql).fetchall())
    spelled = {_rounded(row): row for row in before}
    removals = []
    for scan, rows_by_target in lineage.items():
        pairs = _spread(
            [(target, row) for target, rows in zip(targets, rows_by_target, strict=True)
             for row in sorted(rows)],
            sample,
        )  # fmt: skip
        mattered = 0
        for target, row in pairs:
            # A temporary view hides the table of the same name.
            cursor.execute(
                f"CREATE OR REPLACE TEMP VIEW {scan.table} AS"
                f" FROM memory.main.{scan.table} WHERE row_id <> {int(row)}"
            )
            after = Counter(cursor.execute(sql).fetchall())
            known = spelled[_rounded(target)]
            mattered += before[known] != after[known]
        cursor.execute(f"DROP VIEW IF EXISTS temp.{scan.table}")
        exempt = WITNESSES.get((number, scan), "")
        removals.append(Removal(scan, len(pairs), mattered, exempt))
    return removals


def _spread(pairs: list[Any], sample: int) -> list[Any]:
    """At most `sample` of them, evenly spread."""
    step = max(1, len(pairs) // sample)
    return pairs[::step][:sample]


def _rounded(row: Row) -> Row:
    """Means and quotients are exact decimals in Spark, floating-point numbers in DuckDB."""
    return tuple(
        round(float(value), 3) if isinstance(value, float | Decimal) else value for value in row
    )
