"""The lineage of the 22 queries as hand-written SQL, not derived by any rule.

Each ``qNN.sql`` gives the lineage of every output row by the definition of precise
lineage (docs/semantics.md, section 2) in DuckDB's dialect. Its sections, in order:

``[let NAME]``
    a relation for later sections;
``[output]``
    the query's output (relation ``output``), decimals as Spark computes them;
``[pairs]``, ``[pairs minimal]``, ``[pairs whole]``
    the columns of the output, by position, then one column of source row ids per scan,
    named after table and occurrence: one row per output row (by value) and source row;
    NULL is no row. `minimal` and `whole` give the scans whose lineage depends on how
    min and max are read;
``[none SCAN]``
    a scan without lineage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tpch.errors import TpchError

AGGREGATES = ("minimal", "whole")

Row = tuple[Any, ...]
"""An output row: its values by position."""

_SECTION = re.compile(r"^-- \[(\w+)(?: (\w+))?\].*$", re.MULTILINE)

# Spark's decimal division to six places, rounding half up; DuckDB divides in floating point.
_MACROS = (
    """CREATE OR REPLACE TEMP MACRO ratio(numerator, denominator) AS
       CASE WHEN denominator > 0 THEN
         (CASE WHEN numerator < 0 THEN -1 ELSE 1 END
           * ((2000000::HUGEINT * abs(numerator) + denominator) // (2 * denominator))
         )::DECIMAL(38, 0) * 0.000001
       END""",
    """CREATE OR REPLACE TEMP MACRO mean_of_cents(total, number) AS
       ratio((total * 100)::HUGEINT, 100 * number::HUGEINT)""",
)


class ScanName(NamedTuple):
    """A scan of a query: the table, and which of its reads (from 1, in plan order)."""

    table: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.table} {self.occurrence}"


class Section(NamedTuple):
    """One section of an oracle file."""

    kind: str
    name: str
    sql: str


Lineage = dict[ScanName, list[set[int]]]
"""Per scan, per target: the source rows' ids (`tpch.database.row_id`)."""


class Oracle:
    """The oracle of query `number` over the tables in `database`.

    Building it evaluates the query. Raises TpchError if there is no oracle file.
    """

    def __init__(self, number: int, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database.cursor()
        self._pairs: dict[str, list[str]] = {name: [] for name in ("", *AGGREGATES)}
        self._none: list[ScanName] = []
        for macro in _MACROS:
            self._database.execute(macro)
        for section in read_sections(number):
            self._evaluate(section)

    @property
    def has_readings(self) -> bool:
        """Whether the lineage depends on how min and max are read."""
        return any(self._pairs[name] for name in AGGREGATES)

    def output(self) -> list[Row]:
        """The query's output rows, in no order."""
        return self._database.execute("FROM output").fetchall()

    def lineage(self, targets: Sequence[Row], aggregates: str = "minimal") -> Lineage:
        """The source rows of each target in each scan. The targets are whole output rows."""
        width = self._store_targets(targets)
        answer: Lineage = {scan: [set() for _ in targets] for scan in self._none}
        for sql in self._pairs[""] + self._pairs[aggregates]:
            for scan, target, row in self._ask(sql, width):
                rows = answer.setdefault(scan, [set() for _ in targets])
                if row is not None:
                    rows[target].add(row)
        return dict(sorted(answer.items()))

    def _evaluate(self, section: Section) -> None:
        if section.kind == "none":
            self._none.append(_scan_name(section.name))
        elif section.kind == "pairs":
            self._pairs[section.name].append(section.sql)
        else:
            name = section.name or section.kind
            self._database.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {section.sql}")

    def _store_targets(self, targets: Sequence[Row]) -> int:
        width = len(self._database.execute("FROM output LIMIT 0").description)
        columns = ", ".join(f"t{i}" for i in range(width))
        self._database.execute(
            f"CREATE OR REPLACE TEMP TABLE asked AS SELECT 0 AS target, * "
            f"FROM (FROM output LIMIT 0) AS o ({columns})"
        )
        marks = ", ".join("?" * (width + 1))
        for number, target in enumerate(targets):
            self._database.execute(f"INSERT INTO asked VALUES ({marks})", [number, *target])
        return width

    def _ask(self, sql: str, width: int) -> Iterator[tuple[ScanName, int, int | None]]:
        """Join the pairs with the targets. A scan with no pair at all comes with a None row."""
        names = [column[0] for column in self._database.execute(f"{sql} LIMIT 0").description]
        values = [f"v{i}" for i in range(width)]
        scans = names[width:]
        match = " AND ".join(f"t{i} IS NOT DISTINCT FROM v{i}" for i in range(width))
        for scan in scans:
            yield _scan_name(scan), 0, None
            found = self._database.execute(
                f"SELECT DISTINCT target, {scan} "
                f"FROM ({sql}) AS p ({', '.join(values + scans)}) JOIN asked ON {match}"
            )
            for target, row in found.fetchall():
                yield _scan_name(scan), target, row


def read_sections(number: int) -> tuple[Section, ...]:
    """The sections of the oracle file of a query. TpchError if there is none."""
    path = Path(__file__).parent / f"q{number:02}.sql"
    if not path.exists():
        raise TpchError(f"no oracle for query {number}: {path.name} is missing")
    text = path.read_text(encoding="utf-8")
    heads = list(_SECTION.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return tuple(
        Section(head[1], head[2] or "", text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    )


def _scan_name(column: str) -> ScanName:
    table, _, occurrence = column.rpartition("_")
    return ScanName(table, int(occurrence))
