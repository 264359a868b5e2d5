"""Rules of operators whose output rows are input rows, changed or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pushdown.operators.base import Assignment
from pushdown.operators.rows import Distinct, Filter, RowTransform
from pushdown.rewrite import restrict, simplify
from pushdown.rules.base import Context, OutputRow, Proof, Rule, RuleTable, Tables
from symbolic.encode import Encoder, Value, equal
from symbolic.expr import (
    Column,
    Expr,
    call,
    conjunction,
    same,
    substitute,
)
from symbolic.logic import ALWAYS, NEVER, all_of
from symbolic.table import SymbolicRow
from symbolic.types import LONG


def through_filter(operator: Filter, above: Expr, context: Context) -> tuple[tuple[Expr, ...], ...]:
    """F above becomes F AND the filter's condition."""
    return ((conjunction(above, operator.condition),),)


def filtered(
    operator: Filter, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row for which the condition is true."""
    return [
        OutputRow(
            all_of(row.exists, encoder.truth(operator.condition, row.values)),
            row.values,
            (only(index, tables[0]),),
        )
        for index, row in enumerate(tables[0])
    ]


def through_row_transform(
    operator: RowTransform, above: Expr, context: Context
) -> tuple[tuple[Expr, ...], ...]:
    """Each computed column becomes the expression that computes it."""
    values = {
        assignment.column.id: assignment.value
        for assignment in operator.assignments
        if assignment.value != assignment.column
    }
    return ((simplify(substitute(above, values)),),)


def transformed(
    operator: RowTransform, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row, its columns computed."""
    return [
        OutputRow(
            row.exists,
            {a.column.id: encoder.encode(a.value, row.values) for a in operator.assignments},
            (only(index, tables[0]),),
        )
        for index, row in enumerate(tables[0])
    ]


def unchanged(operator: Any, above: Expr, context: Context) -> tuple[tuple[Expr, ...], ...]:
    """The predicate above holds below as it is."""
    return ((above,),)


def distinct_rows(
    operator: Distinct, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """One of each set of equal rows, with all of the set as lineage.

    Which one stands for the set is open, so each of them may.
    """
    return standing_for_equals(tables[0], context.inputs[0], [row.exists for row in tables[0]])


def lift_unchanged(operator: Any, below: tuple[Expr, ...], context: Context) -> Expr:
    """Predicates on the first input's rows hold for the output's rows."""
    return below[0]


def lift_filter(operator: Filter, below: tuple[Expr, ...], context: Context) -> Expr:
    """The predicate below, and the condition."""
    return conjunction(below[0], operator.condition)


def lift_row_transform(operator: RowTransform, below: tuple[Expr, ...], context: Context) -> Expr:
    """The part that can be expressed with columns that are passed on or renamed."""
    renamed = [
        same(a.column, a.value)
        for a in operator.assignments
        if isinstance(a.value, Column) and a.value != a.column
    ]
    return restrict(conjunction(below[0], *renamed), [a.column for a in operator.assignments])


def only(index: int, table: tuple[SymbolicRow, ...]) -> tuple[Any, ...]:
    """Lineage that consists of the input row `index` alone."""
    return tuple(ALWAYS if other == index else NEVER for other in range(len(table)))


def equal_rows(
    columns: Iterable[Column],
    left: dict[int, Value] | Any,
    right: dict[int, Value] | Any,
) -> Any:
    """Z3 Bool: two rows agree (``<=>``) on the columns."""
    return all_of(*[equal(left[column.id], right[column.id]) for column in columns])


ANY_COLUMN = Column(0, "a", LONG)


ANY_CONTEXT = Context(((ANY_COLUMN,),))


def _any_filters() -> Iterator[tuple[Filter, Expr, Context]]:
    condition = call("any condition", ANY_COLUMN)
    yield Filter(id=0, input=1, condition=condition), call("any", ANY_COLUMN), ANY_CONTEXT


def _any_transforms() -> Iterator[tuple[RowTransform, Expr, Context]]:
    computed = Column(1, "b", LONG)
    value = call("any function", ANY_COLUMN, type=LONG)
    transform = RowTransform(id=0, input=1, assignments=(Assignment(computed, value),))
    yield transform, call("any", computed), ANY_CONTEXT


def standing_for_equals(
    table: tuple[SymbolicRow, ...], columns: tuple[Column, ...], exists: list[Any]
) -> list[OutputRow]:
    """Rows that exist as `exists` says, each made of all rows equal to it."""
    return [
        OutputRow(
            exists[index],
            row.values,
            (tuple(equal_rows(columns, row.values, other.values) for other in table),),
        )
        for index, row in enumerate(table)
    ]


RULES: RuleTable = {
    Filter: Rule(
        through_filter,
        filtered,
        (2,),
        "the input row equal to the output row",
        lift_filter,
        Proof.GENERAL,
        general=_any_filters,
    ),
    RowTransform: Rule(
        through_row_transform,
        transformed,
        (2,),
        "the input rows that transform into the row",
        lift_row_transform,
        Proof.GENERAL,
        general=_any_transforms,
    ),
    Distinct: Rule(
        unchanged, distinct_rows, (2,), "all equal input rows", lift_unchanged, Proof.ROWS
    ),
}
