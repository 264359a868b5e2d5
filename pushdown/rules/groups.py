"""Rules of grouping and aggregation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import z3

from pushdown.operators.groups import Aggregation, GroupBy
from pushdown.readings import MINIMAL, WHOLE
from pushdown.rewrite import restrict, simplify
from pushdown.rules.base import (
    Context,
    OutputRow,
    Proof,
    Proposals,
    Rule,
    RuleTable,
    Tables,
)
from symbolic.encode import Encoder, Value, equal
from symbolic.expr import (
    Expr,
    Literal,
    call,
    conjunction,
    disjunction,
    same,
    substitute,
)
from symbolic.logic import ALWAYS, all_of, any_of, negate
from symbolic.table import SymbolicRow


def attains(operator: GroupBy, context: Context) -> bool:
    """Whether only the rows that attain a min or max are lineage, not the whole group."""
    return (
        context.aggregates == MINIMAL
        and bool(operator.aggregations)
        and all(
            aggregation.call.row.attained and aggregation.call.filter is None
            for aggregation in operator.aggregations
        )
    )


def through_group_by(operator: GroupBy, above: Expr, context: Context) -> Proposals:
    """F on the keys selects the group; under the minimal reading it selects the attaining rows."""
    keys = tuple(key.column for key in operator.keys)
    group = simplify(
        substitute(restrict(above, keys), {key.column.id: key.value for key in operator.keys})
    )
    if not attains(operator, context):
        return ((group,),)
    attained = disjunction(
        *(_at_value(operator, a, above) for a in operator.aggregations),
        *([_without_value(operator, above)] if len(operator.aggregations) > 1 else []),
    )
    return ((conjunction(group, simplify(attained)),),)


def _at_value(operator: GroupBy, aggregation: Aggregation, above: Expr) -> Expr:
    """F for a row that attains the min or max: its argument takes the place of the result.

    No row attains a NULL result, unless it is the only result: then all arguments in the group are
    NULL, too, and the whole group counts.
    """
    columns = [*(key.column for key in operator.keys), aggregation.column]
    (argument,) = aggregation.call.args
    at_value = _substituted(operator, restrict(above, columns), {aggregation.column.id: argument})
    if len(operator.aggregations) == 1:
        return at_value
    return conjunction(at_value, call("is_not_null", argument))


def _without_value(operator: GroupBy, above: Expr) -> Expr:
    """F for a group whose results, and thus arguments, are all NULL: its rows count."""
    results = [aggregation.column for aggregation in operator.aggregations]
    said = restrict(above, [*(key.column for key in operator.keys), *results])
    without = _substituted(operator, said, {c.id: Literal(None, c.type) for c in results})
    arguments = (aggregation.call.args[0] for aggregation in operator.aggregations)
    return conjunction(without, *(call("is_null", argument) for argument in arguments))


def _substituted(operator: GroupBy, predicate: Expr, results: Mapping[int, Expr]) -> Expr:
    return substitute(predicate, {**{k.column.id: k.value for k in operator.keys}, **results})


def sufficient_group(operator: GroupBy, above: Expr, context: Context) -> Proposals:
    """F on the keys: only whole groups, whatever the aggregates are."""
    return through_group_by(operator, above, _whole(context))


def lift_group(operator: GroupBy, below: tuple[Expr, ...], context: Context) -> Expr:
    """The predicates on the keys, and on the attained values."""
    known = [same(key.column, key.value) for key in operator.keys]
    if attains(operator, context):
        known += [same(a.column, a.call.args[0]) for a in operator.aggregations]
    columns = [key.column for key in operator.keys] + [a.column for a in operator.aggregations]
    return restrict(conjunction(below[0], *known), columns)


def whole_groups(
    operator: GroupBy, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Groups with arbitrary aggregates, since only a part of the group may be there."""
    return grouped(operator, tables, encoder, _whole(context))


def _whole(context: Context) -> Context:
    return msgspec.structs.replace(context, aggregates=WHOLE)


def grouped(
    operator: GroupBy, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """One output row per group, considered from each of the group's lineage rows.

    An aggregate's value is some function of the group's key: a group has one value, whatever the
    rest of the (unbounded) group contributes. Grouping normalises floats, so a key's output value
    compares equal to the row's value but may not be identical.
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
    results = [aggregates[aggregation.column.id] for aggregation in operator.aggregations]
    agrees = [
        equal(encoder.encode(aggregation.call.args[0], row.values), result)
        for aggregation, result in zip(operator.aggregations, results, strict=True)
    ]
    attained = [all_of(negate(r.null), equals) for r, equals in zip(results, agrees, strict=True)]
    # Results are NULL if all arguments in the group are NULL.
    return any_of(*attained, all_of(*(result.null for result in results), *agrees))


RULES: RuleTable = {
    GroupBy: Rule(
        through_group_by,
        grouped,
        (2,),
        "the whole group; for min and max alone the rows that attain them",
        lift_group,
        Proof.KEYS,
        influence=whole_groups,
        propose_sufficient=sufficient_group,
    )
}
