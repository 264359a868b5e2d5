"""Traces one row's cells from the output, through its derivation, to the sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from predtrace.arrays.cells import Cells
from predtrace.arrays.query import Direction, TableIndex
from predtrace.cells.derivations import Derivation
from predtrace.cells.functions import rule_of
from predtrace.cells.given import Given
from symbolic.expr import Call, Column, Expr

WitnessKey = tuple[int, Expr]
"""A witness: at which node of the derivation, and the expression."""


class TracedRow(NamedTuple):
    """The target row on one way: its trace, and the source row of each scan."""

    way: Derivation
    trace: RowTrace
    rows: dict[int, tuple[str, int]]


class RowTrace:
    """Traces cells in one row; `values` are those of its witnesses."""

    def __init__(self, derivation: Derivation, values: Mapping[WitnessKey, Any]) -> None:
        self._derivation = derivation
        self._values = values
        self._reached: dict[int, list[Cells]] = {}
        self.reasons: dict[str, None] = {}

    def sources(self, column: int, cells: Cells) -> dict[int, Cells]:
        """The cells of columns of scans, by column id, that cells of a column came from."""
        self._reached = {}
        self._column(column, cells)
        return {
            reached: Cells.union(parts[0].shape, parts) for reached, parts in self._reached.items()
        }

    def _column(self, column: int, cells: Cells) -> None:
        step = self._derivation.steps.get(column)
        if step is not None:
            self._expression(step.node, step.value, cells)
        elif column in self._derivation.origins:
            self._reached.setdefault(column, []).append(cells)

    def _expression(self, node: int, expr: Expr, cells: Cells) -> None:
        if not len(cells):
            return
        if isinstance(expr, Column):
            self._column(expr.id, cells)
        elif isinstance(expr, Call):
            given = Given(self._at(node), self.reasons)
            for part, table in rule_of(expr).tables(expr, given):
                self._expression(node, part, TableIndex(table).hop(cells, Direction.backward))

    def _at(self, node: int) -> Callable[[Expr], Any]:
        return lambda witness: self._values[node, witness]
