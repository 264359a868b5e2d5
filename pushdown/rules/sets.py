"""Rules of set operations: they compare rows with ``<=>``."""

from __future__ import annotations

from typing import Any

from pushdown.operators.sets import Except, Intersect, SetOperation, Union_
from pushdown.rewrite import restrict
from pushdown.rules.base import Context, OutputRow, Proof, Rule, RuleTable, Tables
from symbolic.encode import Encoder, Value, equal
from symbolic.expr import FALSE, Column, Expr, conjunction, disjunction, same, substitute
from symbolic.logic import NEVER, all_of, any_of, negate
from symbolic.table import SymbolicRow


def through_branches(
    operator: SetOperation, above: Expr, context: Context
) -> tuple[tuple[Expr, ...], ...]:
    """F over the columns of each branch."""
    return tuple((in_branch(operator, above, index),) for index in range(len(operator.branches)))


def through_except(operator: Except, above: Expr, context: Context) -> tuple[tuple[Expr, ...], ...]:
    """F on the left side; nothing from the right."""
    return ((in_branch(operator, above, 0),), (FALSE,))


def in_branch(operator: SetOperation, predicate: Expr, index: int) -> Expr:
    """The predicate with the output's columns replaced by those of one branch."""
    pairs = zip(operator.columns, operator.branches[index], strict=True)
    return substitute(predicate, {column.id: source for column, source in pairs})


def united(operator: Union_, tables: Tables, encoder: Encoder, context: Context) -> list[OutputRow]:
    """The rows of every branch, each with the equal rows of all branches as lineage."""
    return [
        OutputRow(row.exists, values, _equals(operator, values, tables))
        for index, table in enumerate(tables)
        for row in table
        for values in [_output(operator.columns, operator.branches[index], row)]
    ]


def intersected(
    operator: Intersect, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Left rows that have an equal right row; equal rows of both sides are lineage.

    With ALL the number of copies changes, but not the values or their lineage.
    """
    rows = []
    for row in tables[0]:
        values = _output(operator.columns, operator.branches[0], row)
        lineage = _equals(operator, values, tables)
        partner = any_of(*[all_of(r.exists, e) for r, e in zip(tables[1], lineage[1], strict=True)])
        rows.append(OutputRow(all_of(row.exists, partner), values, lineage))
    return rows


def subtracted(
    operator: Except, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Left rows that have no equal right row; equal left rows are lineage.

    With ALL a value stays while it has more copies on the left: it may or may not.
    """
    nothing = tuple(NEVER for _ in tables[1])
    rows = []
    for row in tables[0]:
        values = _output(operator.columns, operator.branches[0], row)
        left, right = _equals(operator, values, tables)
        alone = negate(
            any_of(*[all_of(r.exists, e) for r, e in zip(tables[1], right, strict=True)])
        )
        stays = any_of(alone, encoder.fresh_flag("more copies")) if operator.all else alone
        rows.append(OutputRow(all_of(row.exists, stays), values, (left, nothing)))
    return rows


def may_be_subtracted(
    operator: Except, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any left row may stay; all rows equal to it, on both sides, affect that."""
    rows = []
    for row in tables[0]:
        values = _output(operator.columns, operator.branches[0], row)
        rows.append(OutputRow(row.exists, values, _equals(operator, values, tables)))
    return rows


def lift_union(operator: Union_, below: tuple[Expr, ...], context: Context) -> Expr:
    """The predicate of one branch or of another."""
    return disjunction(
        *(_lifted(operator, predicate, index) for index, predicate in enumerate(below))
    )


def lift_intersect(operator: Intersect, below: tuple[Expr, ...], context: Context) -> Expr:
    """Both sides' predicates."""
    return conjunction(
        *(_lifted(operator, predicate, index) for index, predicate in enumerate(below))
    )


def lift_except(operator: Except, below: tuple[Expr, ...], context: Context) -> Expr:
    """The left side's predicate."""
    return _lifted(operator, below[0], 0)


def _lifted(operator: SetOperation, predicate: Expr, index: int) -> Expr:
    """A branch's predicate, expressed with the output's columns."""
    pairs = zip(operator.columns, operator.branches[index], strict=True)
    equal_columns = [same(column, source) for column, source in pairs]
    return restrict(conjunction(predicate, *equal_columns), operator.columns)


def _output(
    columns: tuple[Column, ...], branch: tuple[Column, ...], row: SymbolicRow
) -> dict[int, Value]:
    return {
        column.id: row.values[source.id] for column, source in zip(columns, branch, strict=True)
    }


def _equals(
    operator: SetOperation, values: dict[int, Value], tables: Tables
) -> tuple[tuple[Any, ...], ...]:
    """For every input row: whether it is equal to the output row."""
    return tuple(
        tuple(
            all_of(
                *[
                    equal(values[column.id], row.values[source.id])
                    for column, source in zip(operator.columns, branch, strict=True)
                ]
            )
            for row in table
        )
        for branch, table in zip(operator.branches, tables, strict=True)
    )


RULES: RuleTable = {
    Union_: Rule(
        through_branches, united, (2,), "equal rows of every branch", lift_union, Proof.ROWS
    ),
    Intersect: Rule(
        through_branches,
        intersected,
        (2, 2),
        "equal rows of both sides",
        lift_intersect,
        Proof.ROWS,
    ),
    Except: Rule(
        through_except,
        subtracted,
        (2, 2),
        "equal rows of the left side; nothing from the right",
        lift_except,
        Proof.ROWS,
        influence=may_be_subtracted,
        propose_sufficient=through_branches,
    ),
}
