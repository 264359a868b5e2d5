"""Questions to a rewritten graph, as one DuckDB query each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from sqlglot import exp

from predtrace.engines.base import TARGET, physical_name
from predtrace.engines.dialects import DUCKDB_DIALECT
from predtrace.engines.literals import number, sql_literal
from predtrace.engines.relational import plan_query
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
_NOTHING = f"SELECT 0::BIGINT AS {TARGET}, 0 AS {SCAN}, 0::BIGINT AS {ROW} WHERE FALSE"


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
    ) -> None:
        self.columns = graph.output()
        self._rewritten = rewrite(graph, aggregates, scans)
        inner = self._rewritten.graph
        relations = {
            scan.id: relation(_stored(scan, row), row)
            for scan in inner.scans()
            for row in [self._rewritten.numbered.get(scan.id)]
        }
        self._source = plan_query(inner, inner.root, DUCKDB_DIALECT, relations)

    def of_one(self, target: Row) -> str:
        """The lineage of one output row, whose values stand in the query."""
        conditions = [
            _is_value(exp.column(physical_name(one.id)), value, column)
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
        branches = [
            exp.select(
                exp.column(TARGET),
                exp.alias_(number(scan), SCAN),
                exp.alias_(exp.column(physical_name(column.id)), ROW),
            )
            .from_(_COMBINATIONS)
            .where(exp.column(physical_name(column.id)).is_(exp.Null()).not_())
            .distinct()
            for scan, column in self._rewritten.rows.items()
        ]
        if not branches:
            return _NOTHING
        query = exp.union(*branches, distinct=False) if len(branches) > 1 else branches[0]
        return query.with_(_COMBINATIONS, as_=found, materialized=True).sql("duckdb")


def _stored(scan: Scan, row: Column | None) -> Scan:
    """The scan as its source has it."""
    columns = tuple(column for column in scan.columns if row is None or column.id != row.id)
    return Scan(
        id=scan.id, table=scan.table, occurrence=scan.occurrence, columns=columns, alias=scan.alias
    )


def _is_value(column: exp.Expr, value: Any, of: Column) -> exp.Expr:
    if value is None:
        return exp.Is(this=column, expression=exp.Null())
    return exp.EQ(this=column, expression=sql_literal(Literal(value, of.type), "duckdb"))
