"""Grouping and aggregation."""

from __future__ import annotations

from typing import Any

import z3

from pushdown.operators import Aggregation, GroupBy
from pushdown.rewrite import restrict, simplify, stand_ins
from pushdown.rules.base import MINIMAL, Context, OutputRow, Rule, RuleTable, Tables
from symbolic.encode import Encoder, Value, equal
from symbolic.expr import Expr, Param, call, conjunction, conjuncts, disjunction, same, substitute
from symbolic.functions import AGGREGATES
from symbolic.logic import ALWAYS, all_of, any_of
from symbolic.table import SymbolicRow


def attains(operator: GroupBy, context: Context) -> bool:
    """Whether only the rows that attain a min or max are lineage, not the whole group."""
    return (
        context.aggregates == MINIMAL
        and bool(operator.aggregations)
        and all(
            AGGREGATES[aggregation.call.function].attained and aggregation.call.filter is None
            for aggregation in operator.aggregations
        )
    )


def through_group_by(
    operator: GroupBy, above: Expr, context: Context
) -> tuple[tuple[Expr, ...], ...]:
    """F on the keys selects the group; where min and max are minimal, rows that attain them.

    If a min or max is NULL, its whole group is lineage.
    """
    keys = tuple(key.column for key in operator.keys)
    group = simplify(
        substitute(restrict(above, keys), {key.column.id: key.value for key in operator.keys})
    )
    if not attains(operator, context):
        return ((group,),)
    pinned = stand_ins(conjuncts(above), ())
    attained: list[Expr] = []
    for aggregation in operator.aggregations:
        value = pinned.get(aggregation.column.id)
        if not isinstance(value, Param):
            return ((group,),)
        attained += [same(aggregation.call.args[0], value), call("is_null", value)]
    return ((conjunction(group, simplify(disjunction(*attained))),),)


def grouped(
    operator: GroupBy, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """One output row per group, seen from each of the group's lineage rows.

    An aggregate's value is some function of the group's key: whatever the rest of the
    (unbounded) group does to it, a group has one value. Grouping normalises floats, so
    a key's output value only compares equal to the row's.
    """
    (table,) = tables
    if not operator.keys:
        values = _aggregates(operator, [], encoder)
        lineage = tuple(_contributes(operator, row, values, encoder, context) for row in table)
        return [OutputRow(ALWAYS, values, (lineage,))]
    keys = [[encoder.encode(key.value, row.values) for key in operator.keys] for row in table]
    rows = []
    for row, own in zip(table, keys, strict=True):
        aggregates = _aggregates(operator, own, encoder)
        lineage = tuple(
            all_of(
                *(equal(a, b) for a, b in zip(own, others, strict=True)),
                _contributes(operator, other, aggregates, encoder, context),
            )
            for other, others in zip(table, keys, strict=True)
        )
        exists = all_of(row.exists, _contributes(operator, row, aggregates, encoder, context))
        rows.append(
            OutputRow(exists, {**_key_values(operator, own, encoder), **aggregates}, (lineage,))
        )
    return rows


def _key_values(operator: GroupBy, keys: list[Value], encoder: Encoder) -> dict[int, Value]:
    values: dict[int, Value] = {}
    for key, value in zip(operator.keys, keys, strict=True):
        shown = value
        if value.term.sort().kind() == z3.Z3_UNINTERPRETED_SORT:
            shown = encoder.fresh(key.column.type, key.column.name)
            encoder.assume(equal(shown, value))
        values[key.column.id] = shown
    return values


def _aggregates(operator: GroupBy, keys: list[Value], encoder: Encoder) -> dict[int, Value]:
    return {
        aggregation.column.id: encoder.dependent(
            aggregation.column.type, f"aggregate {aggregation.column.id}", keys
        )
        for aggregation in operator.aggregations
    }


def _contributes(
    operator: GroupBy,
    row: SymbolicRow,
    aggregates: dict[int, Value],
    encoder: Encoder,
    context: Context,
) -> Any:
    """Z3 Bool: a row of the group is lineage of the group's output row."""
    if not attains(operator, context):
        return ALWAYS
    return any_of(*[_attained(a, row, aggregates, encoder) for a in operator.aggregations])


def _attained(
    aggregation: Aggregation, row: SymbolicRow, aggregates: dict[int, Value], encoder: Encoder
) -> Any:
    result = aggregates[aggregation.column.id]
    return any_of(result.null, equal(encoder.encode(aggregation.call.args[0], row.values), result))


RULES: RuleTable = {
    GroupBy: Rule(
        through_group_by,
        grouped,
        (2,),
        "the whole group; for min and max alone the rows that attain them",
    )
}
