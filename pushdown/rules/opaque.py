"""The rule of functions of whole tables: all rows, whatever is asked."""

from __future__ import annotations

from pushdown.operators.opaque import Opaque
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from symbolic.encode import Encoder
from symbolic.expr import FALSE, TRUE, Expr
from symbolic.logic import ALWAYS


def everything(operator: Opaque, above: Expr, context: Context) -> Proposals:
    """All rows of every input; nothing for nothing."""
    return tuple((FALSE if above == FALSE else TRUE,) for _ in context.inputs)


def some_row(
    operator: Opaque, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any row, made of any rows of the inputs."""
    lineage = tuple(tuple(encoder.fresh_flag("used") for _ in table) for table in tables)
    return [_any_row(operator, encoder, lineage)]


def some_row_of_all(
    operator: Opaque, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any row; all rows of the inputs have a say in it."""
    return [_any_row(operator, encoder, tuple(tuple(ALWAYS for _ in table) for table in tables))]


def _any_row(
    operator: Opaque, encoder: Encoder, lineage: tuple[tuple[object, ...], ...]
) -> OutputRow:
    values = {
        column.id: encoder.fresh(column.type, column.name, nullable=column.nullable)
        for column in operator.columns
    }
    return OutputRow(encoder.fresh_flag("made"), values, lineage)


def nothing_lifted(operator: Opaque, below: tuple[Expr, ...], context: Context) -> Expr:
    """Nothing is known of its rows."""
    return TRUE


RULES: RuleTable = {
    Opaque: Rule(
        everything,
        some_row,
        (1,),
        "not defined: all input rows, and the answer is a superset",
        nothing_lifted,
        Proof.CONDITION,
        influence=some_row_of_all,
        propose_sufficient=everything,
    )
}
