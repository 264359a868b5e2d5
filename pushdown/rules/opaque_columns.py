"""The rule of columns whose values only the run knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushdown.operators.opaque_columns import OpaqueColumns
from pushdown.rewrite import restrict
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from pushdown.rules.order import everything
from pushdown.rules.rows import equal_rows, lift_unchanged
from symbolic.encode import Encoder, Value
from symbolic.expr import Expr
from symbolic.logic import ALWAYS


def passed_on(operator: OpaqueColumns, above: Expr, context: Context) -> Proposals:
    """What F says of the input's columns; nothing is known of the others."""
    return ((restrict(above, context.inputs[0]),),)


def extended_rows(
    operator: OpaqueColumns, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row with any values, made of all rows equal to it."""
    (table,), (columns,) = tables, context.inputs
    return [
        OutputRow(
            row.exists,
            _with_any(operator, row.values, encoder),
            (tuple(equal_rows(columns, row.values, other.values) for other in table),),
        )
        for row in table
    ]


def any_values(
    operator: OpaqueColumns, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row with any values, which may depend on all rows."""
    all_rows = tuple(ALWAYS for _ in tables[0])
    return [
        OutputRow(row.exists, _with_any(operator, row.values, encoder), (all_rows,))
        for row in tables[0]
    ]


def _with_any(operator: OpaqueColumns, values: Any, encoder: Encoder) -> Mapping[int, Value]:
    found = {
        each.column.id: encoder.fresh(
            each.column.type, each.column.name, nullable=each.column.nullable
        )
        for each in operator.made
    }
    return {**values, **found}


RULES: RuleTable = {
    OpaqueColumns: Rule(
        passed_on,
        extended_rows,
        (2,),
        "the input rows equal to the output row in all columns that are passed on",
        lift_unchanged,
        Proof.ROWS,
        influence=any_values,
        propose_sufficient=everything,
    ),
}
