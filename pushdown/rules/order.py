"""Rules of sorts, limits and samples."""

from __future__ import annotations

from collections.abc import Iterator

from pushdown.operators.order import Limit, Sample, Sort
from pushdown.rules.base import Context, OutputRow, Proof, Rule, RuleTable, Tables
from pushdown.rules.rows import (
    ANY_COLUMN,
    ANY_CONTEXT,
    lift_unchanged,
    only,
    standing_for_equals,
    unchanged,
)
from symbolic.encode import Encoder
from symbolic.expr import TRUE, Expr, call
from symbolic.logic import ALWAYS, all_of


def same_rows(
    operator: Sort, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """The same rows."""
    return [
        OutputRow(row.exists, row.values, (only(index, tables[0]),))
        for index, row in enumerate(tables[0])
    ]


def limited_rows(
    operator: Limit | Sample, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any choice of rows, with all rows equal to a chosen one as its lineage."""
    chosen = [all_of(row.exists, encoder.fresh_flag("chosen")) for row in tables[0]]
    return standing_for_equals(tables[0], context.inputs[0], chosen)


def any_rows(
    operator: Limit | Sample, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any row may be chosen, and all rows affect the choice."""
    everything = tuple(ALWAYS for _ in tables[0])
    return [OutputRow(row.exists, row.values, (everything,)) for row in tables[0]]


def everything(
    operator: Limit | Sample, above: Expr, context: Context
) -> tuple[tuple[Expr, ...], ...]:
    """All rows are needed below."""
    return ((TRUE,),)


def _any_sorts() -> Iterator[tuple[Sort, Expr, Context]]:
    yield Sort(id=0, input=1, keys=()), call("any", ANY_COLUMN), ANY_CONTEXT


RULES: RuleTable = {
    Sort: Rule(
        unchanged,
        same_rows,
        (2,),
        "the input row equal to the output row",
        lift_unchanged,
        Proof.GENERAL,
        general=_any_sorts,
    ),
    Limit: Rule(
        unchanged,
        limited_rows,
        (2,),
        "the input rows equal to the output row",
        lift_unchanged,
        Proof.ROWS,
        influence=any_rows,
        propose_sufficient=everything,
    ),
    Sample: Rule(
        unchanged,
        limited_rows,
        (2,),
        "the input rows equal to the output row",
        lift_unchanged,
        Proof.ROWS,
        influence=any_rows,
        propose_sufficient=everything,
    ),
}
