"""Joins and subqueries: operators over a left and a right input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushdown.operators import (
    AntiJoin,
    InnerJoin,
    MarkJoin,
    OuterJoin,
    ScalarSubquery,
    SemiJoin,
)
from pushdown.rewrite import restrict, restrictions
from pushdown.rules.base import Context, OutputRow, Proposals, Rule, RuleTable, Tables
from pushdown.rules.rows import lift_unchanged, only
from symbolic.encode import Encoder, Value
from symbolic.expr import (
    FALSE,
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

_PRESERVED = {"left": (True, False), "right": (False, True), "full": (True, True)}
"""Kind of outer join to: which sides' rows appear without a partner, too."""


def through_inner_join(operator: InnerJoin | SemiJoin, above: Expr, context: Context) -> Proposals:
    """F AND the join condition, said with each side's columns."""
    both = conjunction(above, operator.condition)
    return tuple(_onto(both, columns) for columns in context.inputs)


def through_outer_join(operator: OuterJoin, above: Expr, context: Context) -> Proposals:
    """A side that may stand alone in the output cannot use the join condition alone.

    Its second candidate says: it matches the pinned row of the other side, or that row
    is padding (all of its pinned columns are NULL).
    """
    both = conjunction(above, operator.condition)
    left, right = context.inputs
    proposals: list[tuple[Expr, ...]] = []
    for own, other, alone in zip(
        (left, right), (right, left), _PRESERVED[operator.kind], strict=True
    ):
        plain = restrict(above, own)
        if not alone:
            proposals.append(_onto(both, own))
            continue
        matched_or_padded = _matched_or_padded(operator.condition, above, own, other)
        proposals.append((plain, conjunction(plain, matched_or_padded)))
    return tuple(proposals)


def _onto(predicate: Expr, columns: tuple[Column, ...]) -> tuple[Expr, ...]:
    """The predicate said with `columns`; if need be with what it says of params alone."""
    plain, full = restrictions(predicate, columns)
    return (plain,) if full == plain else (plain, full)


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


def through_anti_join(operator: AntiJoin, above: Expr, context: Context) -> Proposals:
    """The outer row as it is; nothing from the inner side."""
    return ((above,), (FALSE,))


def through_mark_join(operator: MarkJoin, above: Expr, context: Context) -> Proposals:
    """F on the outer row; the condition for the pinned outer row on the inner side."""
    left, right = context.inputs
    marked = conjunction(above, _matches_of(operator), operator.mark)
    return ((restrict(above, left),), _onto(marked, right))


def through_scalar_subquery(operator: ScalarSubquery, above: Expr, context: Context) -> Proposals:
    """F on the outer row; what F says of the value on the inner side, else all of it."""
    left, right = context.inputs
    (value,) = right
    inner = restrict(substitute(above, {operator.column.id: value}), right)
    return ((restrict(above, left),), (inner,) if inner == TRUE else (inner, TRUE))


def sufficient_outer(operator: OuterJoin, above: Expr, context: Context) -> Proposals:
    """A side that may be padded keeps its partners of the rows that F may select."""
    both = conjunction(above, operator.condition)
    return tuple(
        (restrict(above if alone else both, own),)
        for own, alone in zip(context.inputs, _PRESERVED[operator.kind], strict=True)
    )


def sufficient_anti(operator: AntiJoin, above: Expr, context: Context) -> Proposals:
    """The inner rows that match what F selects: they decide which outer rows stay."""
    both = conjunction(above, operator.condition)
    return ((above,), (restrict(both, context.inputs[1]),))


def sufficient_mark(operator: MarkJoin, above: Expr, context: Context) -> Proposals:
    """The inner rows that match what F selects, whatever the mark."""
    left, right = context.inputs
    plain = restrict(above, left)
    return ((plain,), (restrict(conjunction(plain, operator.condition), right),))


def lift_join(operator: InnerJoin | SemiJoin, below: tuple[Expr, ...], context: Context) -> Expr:
    """Both sides' predicates and the condition, said with the output's columns."""
    left, right = context.inputs
    output = left if isinstance(operator, SemiJoin) else left + right
    return restrict(conjunction(*below, operator.condition), output)


def lift_outer_join(operator: OuterJoin, below: tuple[Expr, ...], context: Context) -> Expr:
    """The predicates of the preserved sides; the solver drops them where both are padded."""
    preserved = zip(below, _PRESERVED[operator.kind], strict=True)
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
    matches = _matches(operator.condition, tables, encoder)
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
    matches = _matches(operator.condition, tables, encoder)
    keeps_left, keeps_right = _PRESERVED[operator.kind]
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
    matching = _matches(_matches_of(operator), tables, encoder)
    return [
        OutputRow(
            row.exists, {**row.values, operator.mark.id: Value(marked, never)}, (own, tuple(rows))
        )
        for (row, marked, own, _), rows in zip(
            _marked(operator.condition, tables, encoder), matching, strict=True
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
    """What is true of an outer row and the inner rows that are its lineage."""
    return operator.condition if operator.matches is None else operator.matches


def _matches(condition: Expr, tables: Tables, encoder: Encoder) -> list[list[Any]]:
    left, right = tables
    return [
        [encoder.truth(condition, {**l_row.values, **r_row.values}) for r_row in right]
        for l_row in left
    ]


def _pairs(condition: Expr, tables: Tables, encoder: Encoder) -> list[tuple[Any, Any, Any]]:
    left, right = tables
    matches = _matches(condition, tables, encoder)
    return [
        ((l_row, only(i, left)), (r_row, only(j, right)), matches[i][j])
        for i, l_row in enumerate(left)
        for j, r_row in enumerate(right)
    ]


def _marked(
    condition: Expr, tables: Tables, encoder: Encoder
) -> list[tuple[Any, Any, tuple[Any, ...], tuple[Any, ...]]]:
    """Each left row, whether it has a match, itself as lineage, and its matches as lineage."""
    left, right = tables
    matches = _matches(condition, tables, encoder)
    return [
        (
            row,
            any_of(*[all_of(r_row.exists, matches[i][j]) for j, r_row in enumerate(right)]),
            only(i, left),
            tuple(matches[i]),
        )
        for i, row in enumerate(left)
    ]


def _nulls(columns: tuple[Column, ...], encoder: Encoder) -> dict[int, Value]:
    null = ALWAYS
    return {c.id: Value(encoder.fresh(c.type, "padding").term, null) for c in columns}


RULES: RuleTable = {
    InnerJoin: Rule(
        through_inner_join, joined_pairs, (2, 2), "the pairs of rows that join", lift_join
    ),
    OuterJoin: Rule(
        through_outer_join,
        outer_joined,
        (2, 2),
        "as an inner join; a padded side contributes nothing",
        lift_outer_join,
        influence=outer_candidates,
        propose_sufficient=sufficient_outer,
    ),
    SemiJoin: Rule(
        through_inner_join,
        semi_joined,
        (2, 2),
        "the outer row and all inner rows that match it",
        lift_join,
    ),
    AntiJoin: Rule(
        through_anti_join,
        anti_joined,
        (2, 2),
        "the outer row; nothing from the inner side",
        lift_unchanged,
        influence=anti_candidates,
        propose_sufficient=sufficient_anti,
    ),
    MarkJoin: Rule(
        through_mark_join,
        mark_joined,
        (2, 2),
        "the outer row, and the matching inner rows where the mark is true",
        lift_unchanged,
        influence=mark_candidates,
        propose_sufficient=sufficient_mark,
    ),
    ScalarSubquery: Rule(
        through_scalar_subquery,
        with_scalar,
        (2, 1),
        "the outer row, and the inner rows used to produce the value",
        lift_unchanged,
        influence=scalar_candidates,
    ),
}
