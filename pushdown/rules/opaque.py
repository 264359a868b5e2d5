"""The rule of programs over tables: all rows, whatever is asked; over groups, the whole group."""

from __future__ import annotations

from typing import Any

import z3

from pushdown.operators.opaque import Opaque
from pushdown.rewrite import restrict, simplify
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from symbolic.encode import Encoder, Value, equal
from symbolic.expr import FALSE, TRUE, Expr, conjunction, same, substitute
from symbolic.logic import ALWAYS, all_of
from symbolic.table import SymbolicRow


def everything_of_the_group(operator: Opaque, above: Expr, context: Context) -> Proposals:
    """What F says of the keys, of every input; without keys all rows, or nothing for nothing."""
    if above == FALSE:
        return tuple((FALSE,) for _ in context.inputs)
    said = restrict(above, tuple(key.column for key in operator.keys))
    sides = (
        {key.column.id: key.of[place] for key in operator.keys}
        for place, _ in enumerate(context.inputs)
    )
    return tuple((simplify(substitute(said, side)),) for side in sides)


def some_row(
    operator: Opaque, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any row, made of any rows of the inputs; of a group, made of all of its rows."""
    if operator.grouped:
        return _of_groups(operator, tables, encoder)
    lineage = tuple(tuple(encoder.fresh_flag("used") for _ in table) for table in tables)
    return [_any_row(operator, encoder, lineage)]


def some_row_of_all(
    operator: Opaque, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Any row; all rows of the inputs, or of its group, have a say in it."""
    if operator.grouped:
        return _of_groups(operator, tables, encoder)
    return [_any_row(operator, encoder, tuple(tuple(ALWAYS for _ in table) for table in tables))]


def _of_groups(operator: Opaque, tables: Tables, encoder: Encoder) -> list[OutputRow]:
    """For each row of the inputs, any row that the call with its group returned."""
    found = []
    for place, table in enumerate(tables):
        for row in table:
            own = _keys(operator, place, row)
            lineage = tuple(
                tuple(all_of(*map(equal, own, _keys(operator, other, each))) for each in rows)
                for other, rows in enumerate(tables)
            )
            made = _any_row(operator, encoder, lineage)
            values = {**made.values, **_shown(operator, own, encoder)}
            found.append(OutputRow(all_of(row.exists, made.exists), values, lineage))
    return found


def _keys(operator: Opaque, place: int, row: SymbolicRow) -> list[Value]:
    return [row.values[key.of[place].id] for key in operator.keys]


def _shown(operator: Opaque, keys: list[Value], encoder: Encoder) -> dict[int, Value]:
    """The keys as they come out: equal to those of the rows, but not always the same (-0.0)."""
    values: dict[int, Value] = {}
    for key, value in zip(operator.keys, keys, strict=True):
        shown = value
        if value.term.sort().kind() == z3.Z3_UNINTERPRETED_SORT:
            shown = encoder.fresh(key.column.type, key.column.name)
            encoder.assume(equal(shown, value))
        values[key.column.id] = shown
    return values


def _any_row(operator: Opaque, encoder: Encoder, lineage: tuple[tuple[Any, ...], ...]) -> OutputRow:
    values = {
        column.id: encoder.fresh(column.type, column.name, nullable=column.nullable)
        for column in operator.columns
    }
    return OutputRow(encoder.fresh_flag("made"), values, lineage)


def keys_lifted(operator: Opaque, below: tuple[Expr, ...], context: Context) -> Expr:
    """Of the rows of a program over groups of one table: what is known of the keys."""
    if len(below) > 1:
        return TRUE
    known = [same(key.column, key.of[0]) for key in operator.keys]
    return restrict(conjunction(below[0], *known), tuple(key.column for key in operator.keys))


RULES: RuleTable = {
    Opaque: Rule(
        everything_of_the_group,
        some_row,
        (2,),
        "of a program over groups the whole group; of another it is not defined: all input rows, "
        "and the answer is a superset",
        keys_lifted,
        Proof.CONDITION,
        influence=some_row_of_all,
        propose_sufficient=everything_of_the_group,
    )
}
