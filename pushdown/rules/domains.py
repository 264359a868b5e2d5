"""The rule of the values for which a correlated subquery is computed."""

from __future__ import annotations

from typing import Any

import z3

from pushdown.operators.domains import Domain
from pushdown.rewrite import simplify
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from symbolic.encode import Encoder, Value, equal
from symbolic.expr import FALSE, TRUE, Expr, substitute
from symbolic.logic import NEVER, all_of


def no_outer_rows(operator: Domain, above: Expr, context: Context) -> Proposals:
    """Nothing: the outer rows are lineage where they are joined with the subquery's rows."""
    return ((FALSE,),)


def distinct_values(
    operator: Domain, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """The values of each row, of which no row is lineage."""
    nothing = tuple(NEVER for _ in tables[0])
    return [
        OutputRow(row.exists, _shown(operator, values, encoder), (nothing,))
        for row, values in zip(tables[0], _values(operator, tables, encoder), strict=True)
    ]


def rows_with_the_values(
    operator: Domain, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """The rows with a row's values decide whether they are there."""
    values = _values(operator, tables, encoder)
    return [
        OutputRow(
            row.exists,
            _shown(operator, own, encoder),
            (tuple(_agree(own, others) for others in values),),
        )
        for row, own in zip(tables[0], values, strict=True)
    ]


def _values(operator: Domain, tables: Tables, encoder: Encoder) -> list[list[Value]]:
    return [
        [encoder.encode(value, row.values) for value in operator.expressions] for row in tables[0]
    ]


def _agree(left: list[Value], right: list[Value]) -> Any:
    return all_of(*(equal(a, b) for a, b in zip(left, right, strict=True)))


def _shown(operator: Domain, values: list[Value], encoder: Encoder) -> dict[int, Value]:
    """The values as DISTINCT gives them: they compare equal, but may not be identical."""
    found: dict[int, Value] = {}
    for assignment, value in zip(operator.assignments, values, strict=True):
        shown = value
        if value.term.sort().kind() == z3.Z3_UNINTERPRETED_SORT:
            shown = encoder.fresh(assignment.column.type, assignment.column.name)
            encoder.assume(equal(shown, value))
        found[assignment.column.id] = shown
    return found


def on_values(operator: Domain, above: Expr, context: Context) -> Proposals:
    """F with the columns replaced by their values."""
    values = {assignment.column.id: assignment.value for assignment in operator.assignments}
    return ((simplify(substitute(above, values)),),)


def lift_nothing(operator: Domain, below: tuple[Expr, ...], context: Context) -> Expr:
    """Nothing: what is known of lineage says nothing of rows without any."""
    return TRUE


RULES: RuleTable = {
    Domain: Rule(
        no_outer_rows,
        distinct_values,
        (2,),
        "nothing: the outer rows are joined with what is computed for them",
        lift_nothing,
        Proof.GENERAL,
        influence=rows_with_the_values,
        propose_sufficient=on_values,
    )
}
