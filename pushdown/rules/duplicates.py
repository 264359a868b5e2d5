"""The rule of dropping duplicates on some columns."""

from __future__ import annotations

import z3

from pushdown.operators.duplicates import DropDuplicates
from pushdown.rewrite import restrict
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from pushdown.rules.rows import equal_rows, lift_unchanged, standing_for_equals, unchanged
from symbolic.encode import Encoder, Value, equal
from symbolic.expr import Expr
from symbolic.logic import all_of
from symbolic.table import SymbolicRow


def kept_rows(
    operator: DropDuplicates, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any choice of rows, with all rows equal to a chosen one as its lineage."""
    chosen = [all_of(row.exists, encoder.fresh_flag("kept")) for row in tables[0]]
    return [
        OutputRow(output.exists, shown(operator, row, encoder), output.lineage)
        for row, output in zip(
            tables[0],
            standing_for_equals(tables[0], context.inputs[0], chosen),
            strict=True,
        )
    ]


def any_of_a_set(
    operator: DropDuplicates, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any row may be kept; the rows with its keys affect which one is."""
    return [
        OutputRow(
            row.exists,
            shown(operator, row, encoder),
            (tuple(equal_rows(operator.keys, row.values, other.values) for other in tables[0]),),
        )
        for row in tables[0]
    ]


def shown(operator: DropDuplicates, row: SymbolicRow, encoder: Encoder) -> dict[int, Value]:
    """The values of a kept row: as grouping does, it gives keys that compare equal to the row's,
    but may not be identical."""
    values = dict(row.values)
    for key in operator.keys:
        if values[key.id].term.sort().kind() == z3.Z3_UNINTERPRETED_SORT:
            values[key.id] = encoder.fresh(key.type, key.name)
            encoder.assume(equal(values[key.id], row.values[key.id]))
    return values


def on_keys(operator: DropDuplicates, above: Expr, context: Context) -> Proposals:
    """F on the keys: only whole sets."""
    return ((restrict(above, operator.keys),),)


RULES: RuleTable = {
    DropDuplicates: Rule(
        unchanged,
        kept_rows,
        (2,),
        "the input rows equal to the output row",
        lift_unchanged,
        Proof.ROWS,
        influence=any_of_a_set,
        propose_sufficient=on_keys,
    )
}
