"""Questions to a rewritten graph, as one query each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sqlglot import exp

from predtrace.sql import (
    DUCKDB_DIALECT,
    TARGET,
    Dialect,
    number,
    physical_name,
    plan_query,
    sql_literal,
)
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import Column, Literal
from tpch.bench.perm import rewrite

Row = tuple[Any, ...]
Relation = Callable[[Scan, "Column | None"], exp.Expr]
"""The relation of a scan: its columns under physical names, with row numbers if asked for."""

SCAN = "scan"
ROW = "row"
TARGETS = "targets"
_ASKED = "asked"
_FOUND = "found"
_COMBINATIONS = "combinations"
_NOTHING = (
    f"SELECT CAST(0 AS BIGINT) AS {TARGET}, 0 AS {SCAN}, CAST(0 AS BIGINT) AS {ROW} WHERE FALSE"
)


class PermQuery:
    """A rewritten graph whose rows are filtered to the targets' values.

    It traces `scans`, all without. `relation` gives what scans read. Answers have the columns
    ``target`` (position in the list), ``scan`` (number in the original graph) and ``row``,
    without repetitions.
    """

    def __init__(
        self,
        graph: OperatorGraph,
        relation: Relation,
        aggregates: str,
        scans: Collection[int] | None = None,
        dialect: Dialect = DUCKDB_DIALECT,
    ) -> None:
        self.columns = graph.output()
        self._dialect = dialect.name
        self._rewritten = rewrite(graph, aggregates, scans)
        inner = self._rewritten.graph
        relations = {
            scan.id: relation(_stored(scan, row), row)
            for scan in inner.scans()
            for row in [self._rewritten.numbered.get(scan.id)]
        }
        self._source = plan_query(inner, inner.root, dialect, relations)

    def of_one(self, target: Row) -> str:
        """The lineage of one output row, whose values stand in the query."""
        conditions = [
            _is_value(exp.column(physical_name(one.id)), value, column, self._dialect)
            for column, value in zip(self.columns, target, strict=True)
            for one in self._alike(column)
        ]
        found = self._rows().select(exp.alias_(exp.cast(number(0), "BIGINT"), TARGET))
        return self._by_scan(found.where(*conditions) if conditions else found)

    def of_many(self, targets: Sequence[Row]) -> str:
        """The lineage of the rows of table ``targets``: ``target``, then a ``c<id>`` per column.

        `targets` are these rows: columns without NULL are compared by ``=``, which
        engines know more about.
        """
        conditions: list[exp.Expr] = []
        for place, column in enumerate(self.columns):
            absent = any(row[place] is None for row in targets)
            compare = exp.NullSafeEQ if absent else exp.EQ
            asked = exp.column(physical_name(column.id), _ASKED)
            conditions += [
                compare(this=exp.column(physical_name(one.id), _FOUND), expression=asked.copy())
                for one in self._alike(column)
            ]
        table = exp.alias_(exp.to_table(TARGETS), _ASKED, table=True)
        found = self._rows().select(exp.column(TARGET, _ASKED))
        return self._by_scan(found.join(table, on=exp.and_(*conditions) if conditions else None))

    def _alike(self, column: Column) -> tuple[Column, ...]:
        return (column, *self._rewritten.equal.get(column.id, ()))

    def _rows(self) -> exp.Select:
        names = [physical_name(column.id) for column in self._rewritten.rows.values()]
        return exp.select(*(exp.column(name, _FOUND) for name in names)).from_(
            self._source.copy().subquery(_FOUND)
        )

    def _by_scan(self, found: exp.Select) -> str:
        """The combinations once, of which every scan takes its different numbers."""
        rows = {scan: exp.column(physical_name(c.id)) for scan, c in self._rewritten.rows.items()}
        if not rows:
            return _NOTHING
        return _SEPARATED[self._dialect](found, rows).sql(self._dialect)


def _branches(found: exp.Select, rows: Mapping[int, exp.Column]) -> exp.Query:
    """A branch for each scan, over the combinations as a table."""
    branches = [
        exp.select(exp.column(TARGET), exp.alias_(number(scan), SCAN), exp.alias_(row.copy(), ROW))
        .from_(_COMBINATIONS)
        .where(row.is_(exp.Null()).not_())
        .distinct()
        for scan, row in rows.items()
    ]
    query = exp.union(*branches, distinct=False) if len(branches) > 1 else branches[0]
    return query.with_(_COMBINATIONS, as_=found, materialized=True)


def _generated(found: exp.Select, rows: Mapping[int, exp.Column]) -> exp.Query:
    """A row for each scan of a combination: Spark computes a CTE again wherever it is read."""
    pairs = [
        exp.Struct(
            expressions=[
                exp.PropertyEQ(this=exp.to_identifier(SCAN), expression=number(scan)),
                exp.PropertyEQ(this=exp.to_identifier(ROW), expression=row.copy()),
            ]
        )
        for scan, row in rows.items()
    ]
    generated = exp.Anonymous(this="inline", expressions=[exp.Array(expressions=pairs)])
    each = exp.select(exp.column(TARGET), generated).from_(found.subquery(_COMBINATIONS))
    names = map(exp.column, (TARGET, SCAN, ROW))
    return (
        exp.select(*names)
        .distinct()
        .from_(each.subquery(_FOUND))
        .where(exp.column(ROW).is_(exp.Null()).not_())
    )


_SEPARATED: dict[str, Callable[[exp.Select, Mapping[int, exp.Column]], exp.Query]] = {
    "duckdb": _branches,
    "spark": _generated,
}
"""By SQL dialect, how combinations of row numbers become numbers of each scan."""


def _stored(scan: Scan, row: Column | None) -> Scan:
    """The scan as its source has it."""
    columns = tuple(column for column in scan.columns if row is None or column.id != row.id)
    return Scan(
        id=scan.id, table=scan.table, occurrence=scan.occurrence, columns=columns, alias=scan.alias
    )


def _is_value(column: exp.Expr, value: Any, of: Column, dialect: str) -> exp.Expr:
    if value is None:
        return exp.Is(this=column, expression=exp.Null())
    return exp.EQ(this=column, expression=sql_literal(Literal(value, of.type), dialect))
