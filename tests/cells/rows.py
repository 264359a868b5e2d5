"""One projection over one scan, its cells traced with witnesses of the reference interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from predtrace.cells.derivations import derivations
from predtrace.cells.functions import witnesses
from predtrace.cells.layouts import cells_at, depth, every_cell, layout_of_value
from predtrace.cells.tracing import RowTrace
from pushdown.graph import OperatorGraph
from pushdown.operators import Assignment, RowTransform, Scan
from symbolic.expr import Column, Expr
from symbolic.types import DOUBLE, INTEGER, Array
from tests.reference.expressions import compile_expr
from tests.reference.functions import Settings

NUMBERS = Array(DOUBLE)
A, B, F = Column(1, "a", NUMBERS), Column(2, "b", NUMBERS), Column(3, "f", DOUBLE)
N, P = Column(4, "n", Array(NUMBERS)), Column(5, "p", INTEGER)
COLUMNS = (A, B, F, N, P)
Row = tuple[Any, ...]
Cell = tuple[int, ...]
Behind = dict[Cell, set[tuple[str, Cell]]]


def evaluated(expr: Expr, row: Row) -> Any:
    """The expression's value, by the reference."""
    return compile_expr(expr, COLUMNS, Settings())(row)


def cells_of(value: Any, axes: int) -> list[Cell]:
    """The positions of all cells of a value."""
    layout = layout_of_value(value, axes)
    return [tuple(cell) for cell in every_cell(layout, axes).cells().tolist()]


def traced(expr: Expr, row: Row) -> tuple[Behind, list[str]]:
    """Behind each cell of the expression's value the cells of columns, and the reasons."""
    made = Column(9, "e", expr.type)
    scan = Scan(id=1, table="t", occurrence=1, columns=COLUMNS)
    top = RowTransform(id=2, input=1, assignments=(Assignment(made, expr),))
    (way,) = derivations(OperatorGraph([scan, top], 2), made)
    values = {(2, witness): evaluated(witness, row) for witness in witnesses(expr)}
    trace = RowTrace(way, values)
    axes = depth(expr.type)
    layout = layout_of_value(evaluated(expr, row), axes)
    found: Behind = {}
    names = {column.id: column.name for column in COLUMNS}
    for cell in every_cell(layout, axes).cells().tolist():
        sources = trace.sources(made.id, cells_at(layout, axes, [cell]))
        found[tuple(cell)] = {
            (names[column], tuple(at))
            for column, cells in sources.items()
            for at in cells.cells().tolist()
        }
    return found, list(trace.reasons)


def replaced(value: Any, cell: Cell, new: Any) -> Any:
    """The value with another cell."""
    if not cell:
        return new
    inner = replaced(value[cell[0]], cell[1:], new)
    return (*value[: cell[0]], inner, *value[cell[0] + 1 :])


def at(value: Any, cell: Sequence[int]) -> Any:
    """The value of a cell."""
    for place in cell:
        value = value[place]
    return value
