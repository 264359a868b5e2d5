"""Rules of joins that give pairs of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushdown.operators.base import (
    Columns,
)
from pushdown.operators.joins import PRESERVED, InnerJoin, OuterJoin
from pushdown.operators.matches import Matching
from pushdown.rewrite import restrict
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from pushdown.rules.matches import matching, onto
from pushdown.rules.rows import only
from symbolic.encode import Encoder, Value
from symbolic.expr import (
    TRUE,
    Column,
    Expr,
    Param,
    call,
    column_ids,
    conjunction,
    conjuncts,
    disjunction,
    substitute,
)
from symbolic.logic import ALWAYS, NEVER, all_of, any_of, negate


def through_inner_join(operator: Matching, above: Expr, context: Context) -> Proposals:
    """F AND the join condition, expressed with each side's columns."""
    both = conjunction(above, operator.condition)
    return tuple(onto(both, columns) for columns in context.inputs)


def through_outer_join(operator: OuterJoin, above: Expr, context: Context) -> Proposals:
    """A side that may stand alone in the output cannot use the join condition alone.

    Its second candidate says that its row matches the pinned row of the other side, or that the
    pinned row is padding (all of its pinned columns are NULL).
    """
    both = conjunction(above, operator.condition)
    left, right = context.inputs
    proposals: list[tuple[Expr, ...]] = []
    for own, other, alone in zip(
        (left, right), (right, left), PRESERVED[operator.kind], strict=True
    ):
        plain = restrict(above, own)
        if not alone:
            proposals.append(onto(both, own))
            continue
        matched_or_padded = _matched_or_padded(operator.condition, above, own, other)
        proposals.append((plain, conjunction(plain, matched_or_padded)))
    return tuple(proposals)


def _matched_or_padded(
    condition: Expr, above: Expr, own: tuple[Column, ...], other: tuple[Column, ...]
) -> Expr:
    pinned = _pinned(above)
    others = [pinned[column.id] for column in other if column.id in pinned]
    matched = substitute(condition, {c.id: pinned[c.id] for c in other if c.id in pinned})
    if not others or not column_ids(matched) <= {column.id for column in own}:
        return TRUE
    padded = conjunction(*(call("is_null", param) for param in others))
    return disjunction(matched, padded)


def _pinned(predicate: Expr) -> Mapping[int, Expr]:
    """The columns that the predicate equates with a param."""
    found: dict[int, Expr] = {}
    for term in conjuncts(predicate):
        match getattr(term, "function", None), getattr(term, "args", ()):
            case "nullsafe_eq", (Column(id=column), Param() as param):
                found[column] = param
    return found


def sufficient_outer(operator: OuterJoin, above: Expr, context: Context) -> Proposals:
    """A side that may be padded keeps the partners of the rows that F may select."""
    both = conjunction(above, operator.condition)
    return tuple(
        (restrict(above if alone else both, own),)
        for own, alone in zip(context.inputs, PRESERVED[operator.kind], strict=True)
    )


def lift_join(operator: Matching, below: tuple[Expr, ...], context: Context) -> Expr:
    """Both sides' predicates and the condition, expressed with the output's columns."""
    return restrict(conjunction(*below, operator.condition), operator.output(*context.inputs))


def lift_outer_join(operator: OuterJoin, below: tuple[Expr, ...], context: Context) -> Expr:
    """The predicates of the preserved sides; the solver drops them where both are padded."""
    preserved = zip(below, PRESERVED[operator.kind], strict=True)
    return conjunction(*(predicate for predicate, alone in preserved if alone))


def joined_pairs(
    operator: InnerJoin | OuterJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Pairs of rows that satisfy the condition."""
    return [
        OutputRow(
            all_of(l_row.exists, r_row.exists, match), {**l_row.values, **r_row.values}, (ls, rs)
        )
        for (l_row, ls), (r_row, rs), match in _pairs(operator.condition, tables, encoder)
    ]


def outer_joined(
    operator: OuterJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Pairs, and rows of the preserved side without a partner, padded with NULLs."""
    left, right = tables
    rows = joined_pairs(operator, tables, encoder, context)
    matches = matching(operator.condition, tables, encoder)
    nothing = tuple(tuple(NEVER for _ in table) for table in tables)
    if operator.kind in ("left", "full"):
        padding = _nulls(context.inputs[1], encoder)
        for i, row in enumerate(left):
            alone = negate(
                any_of(*[all_of(other.exists, matches[i][j]) for j, other in enumerate(right)])
            )
            rows.append(
                OutputRow(
                    all_of(row.exists, alone),
                    {**row.values, **padding},
                    (only(i, left), nothing[1]),
                )
            )
    if operator.kind in ("right", "full"):
        padding = _nulls(context.inputs[0], encoder)
        for j, row in enumerate(right):
            alone = negate(
                any_of(*[all_of(other.exists, matches[i][j]) for i, other in enumerate(left)])
            )
            rows.append(
                OutputRow(
                    all_of(row.exists, alone),
                    {**padding, **row.values},
                    (nothing[0], only(j, right)),
                )
            )
    return rows


def outer_candidates(
    operator: OuterJoin, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Pairs, and every row of a preserved side, padded: its partners decide whether it is."""
    left, right = tables
    rows = joined_pairs(operator, tables, encoder, context)
    matches = matching(operator.condition, tables, encoder)
    keeps_left, keeps_right = PRESERVED[operator.kind]
    if keeps_left:
        padding = _nulls(context.inputs[1], encoder)
        rows += [
            OutputRow(row.exists, {**row.values, **padding}, (only(i, left), tuple(matches[i])))
            for i, row in enumerate(left)
        ]
    if keeps_right:
        padding = _nulls(context.inputs[0], encoder)
        rows += [
            OutputRow(
                row.exists,
                {**padding, **row.values},
                (tuple(partners[j] for partners in matches), only(j, right)),
            )
            for j, row in enumerate(right)
        ]
    return rows


def _nulls(columns: Columns, encoder: Encoder) -> dict[int, Value]:
    null = ALWAYS
    return {c.id: Value(encoder.fresh(c.type, "padding").term, null) for c in columns}


def _pairs(condition: Expr, tables: Tables, encoder: Encoder) -> list[tuple[Any, Any, Any]]:
    left, right = tables
    matches = matching(condition, tables, encoder)
    return [
        ((l_row, only(i, left)), (r_row, only(j, right)), matches[i][j])
        for i, l_row in enumerate(left)
        for j, r_row in enumerate(right)
    ]


RULES: RuleTable = {
    InnerJoin: Rule(
        through_inner_join,
        joined_pairs,
        (2, 2),
        "the pairs of rows that join",
        lift_join,
        Proof.CONDITION,
    ),
    OuterJoin: Rule(
        through_outer_join,
        outer_joined,
        (2, 2),
        "as an inner join; a padded side contributes nothing",
        lift_outer_join,
        Proof.CONDITION,
        influence=outer_candidates,
        propose_sufficient=sufficient_outer,
    ),
}
