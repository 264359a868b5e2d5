"""Rules of semi and anti joins, and of subqueries as values."""

from __future__ import annotations

from typing import Any

from pushdown.operators.subqueries import AntiJoin, MarkJoin, ScalarSubquery, SemiJoin
from pushdown.rewrite import restrict
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from pushdown.rules.joins import lift_join, through_inner_join
from pushdown.rules.matches import matching, onto
from pushdown.rules.rows import lift_unchanged, only
from symbolic.encode import Encoder, Value
from symbolic.expr import FALSE, TRUE, Expr, conjunction, substitute
from symbolic.logic import ALWAYS, NEVER, all_of, any_of, negate


def through_anti_join(operator: AntiJoin, above: Expr, context: Context) -> Proposals:
    """The outer row as it is; nothing from the inner side."""
    return ((above,), (FALSE,))


def through_mark_join(operator: MarkJoin, above: Expr, context: Context) -> Proposals:
    """F on the outer row; the condition for the pinned outer row on the inner side."""
    left, right = context.inputs
    marked = conjunction(above, _matches_of(operator), operator.mark)
    return ((restrict(above, left),), onto(marked, right))


def through_scalar_subquery(operator: ScalarSubquery, above: Expr, context: Context) -> Proposals:
    """F on the outer row; on the inner side F's terms over the value, or else all rows."""
    left, right = context.inputs
    (value,) = right
    inner = restrict(substitute(above, {operator.column.id: value}), right)
    return ((restrict(above, left),), (inner,) if inner == TRUE else (inner, TRUE))


def sufficient_anti(operator: AntiJoin, above: Expr, context: Context) -> Proposals:
    """The inner rows that match what F selects: they decide which outer rows stay."""
    both = conjunction(above, operator.condition)
    return ((above,), (restrict(both, context.inputs[1]),))


def sufficient_mark(operator: MarkJoin, above: Expr, context: Context) -> Proposals:
    """The inner rows that match what F selects, whatever the mark."""
    left, right = context.inputs
    plain = restrict(above, left)
    return ((plain,), (restrict(conjunction(plain, operator.condition), right),))


def semi_joined(
    operator: SemiJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Left rows with a match; all matching right rows are lineage."""
    return [
        OutputRow(all_of(row.exists, marked), row.values, (own, partners))
        for row, marked, own, partners in _marked(operator.condition, tables, encoder)
    ]


def anti_joined(
    operator: AntiJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Left rows without a match; no right row is lineage."""
    nothing = tuple(NEVER for _ in tables[1])
    return [
        OutputRow(all_of(row.exists, negate(marked)), row.values, (own, nothing))
        for row, marked, own, _ in _marked(operator.condition, tables, encoder)
    ]


def anti_candidates(
    operator: AntiJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Every left row; the right rows that match it decide whether it stays."""
    return [
        OutputRow(row.exists, row.values, (own, partners))
        for row, _, own, partners in _marked(operator.condition, tables, encoder)
    ]


def mark_candidates(
    operator: MarkJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Every left row with either mark; the right rows that match it decide which."""
    never = NEVER
    return [
        OutputRow(
            row.exists,
            {**row.values, operator.mark.id: Value(encoder.fresh_flag("mark"), never)},
            (own, partners),
        )
        for row, _, own, partners in _marked(operator.condition, tables, encoder)
    ]


def scalar_candidates(
    operator: ScalarSubquery, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Every left row with any value: the right side decides which."""
    left, right = tables
    everything = tuple(ALWAYS for _ in right)
    value = encoder.fresh(operator.column.type, "value")
    return [
        OutputRow(
            row.exists, {**row.values, operator.column.id: value}, (only(i, left), everything)
        )
        for i, row in enumerate(left)
    ]


def mark_joined(
    operator: MarkJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Every left row with its mark; the matching right rows are lineage (so the mark is true)."""
    never = NEVER
    partners = matching(_matches_of(operator), tables, encoder)
    return [
        OutputRow(
            row.exists, {**row.values, operator.mark.id: Value(marked, never)}, (own, tuple(rows))
        )
        for (row, marked, own, _), rows in zip(
            _marked(operator.condition, tables, encoder), partners, strict=True
        )
    ]


def with_scalar(
    operator: ScalarSubquery, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Every left row with the one value of the right side, NULL where that has no row."""
    left, (single,) = tables
    (column,) = context.inputs[1]
    inner = single.values[column.id]
    value = Value(inner.term, any_of(negate(single.exists), inner.null))
    return [
        OutputRow(
            row.exists,
            {**row.values, operator.column.id: value},
            (only(index, left), (ALWAYS,)),
        )
        for index, row in enumerate(left)
    ]


def _matches_of(operator: MarkJoin) -> Expr:
    """The predicate that holds for an outer row and the inner rows in its lineage."""
    return operator.condition if operator.matches is None else operator.matches


def _marked(
    condition: Expr, tables: Tables, encoder: Encoder
) -> list[tuple[Any, Any, tuple[Any, ...], tuple[Any, ...]]]:
    """Each left row, whether it has a match, itself as lineage, and its matches as lineage."""
    left, right = tables
    matches = matching(condition, tables, encoder)
    return [
        (
            row,
            any_of(*[all_of(r_row.exists, matches[i][j]) for j, r_row in enumerate(right)]),
            only(i, left),
            tuple(matches[i]),
        )
        for i, row in enumerate(left)
    ]


RULES: RuleTable = {
    SemiJoin: Rule(
        through_inner_join,
        semi_joined,
        (2, 2),
        "the outer row and all inner rows that match it",
        lift_join,
        Proof.CONDITION,
    ),
    AntiJoin: Rule(
        through_anti_join,
        anti_joined,
        (2, 2),
        "the outer row; nothing from the inner side",
        lift_unchanged,
        Proof.CONDITION,
        influence=anti_candidates,
        propose_sufficient=sufficient_anti,
    ),
    MarkJoin: Rule(
        through_mark_join,
        mark_joined,
        (2, 2),
        "the outer row, and the matching inner rows where the mark is true",
        lift_unchanged,
        Proof.CONDITION,
        influence=mark_candidates,
        propose_sufficient=sufficient_mark,
    ),
    ScalarSubquery: Rule(
        through_scalar_subquery,
        with_scalar,
        (2, 1),
        "the outer row, and the inner rows used to produce the value",
        lift_unchanged,
        Proof.CONDITION,
        influence=scalar_candidates,
    ),
}
