"""Rules of operators that make several rows of each input row."""

from __future__ import annotations

from collections.abc import Mapping

from pushdown.operators.expansion import Expand
from pushdown.rewrite import restrict, simplify
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from pushdown.rules.rows import ANY_COLUMN, ANY_CONTEXT, only
from symbolic.encode import Encoder
from symbolic.expr import (
    Column,
    Expr,
    call,
    column_ids,
    conjunction,
    conjuncts,
    disjunction,
    same,
    substitute,
)
from symbolic.types import LONG


def through_expand(operator: Expand, above: Expr, context: Context) -> Proposals:
    """F over the values of one projection or of another.

    Terms over values that all projections have in common stand outside of the OR.
    """
    common, changing = _values(operator)
    outside = [term for term in conjuncts(above) if column_ids(term).isdisjoint(changing)]
    inside = conjunction(*(term for term in conjuncts(above) if term not in outside))
    by_projection = (
        simplify(substitute(inside, {**common, **values}))
        for values in _by_projection(operator, changing)
    )
    return (
        (
            conjunction(
                *(simplify(substitute(term, common)) for term in outside),
                disjunction(*dict.fromkeys(by_projection)),
            ),
        ),
    )


def _values(operator: Expand) -> tuple[dict[int, Expr], dict[int, int]]:
    """The value of each column that has the same one in all projections; the others' places."""
    common: dict[int, Expr] = {}
    changing: dict[int, int] = {}
    for place, column in enumerate(operator.columns):
        values = set(operator.values(place))
        if len(values) == 1:
            common[column.id] = values.pop()
        else:
            changing[column.id] = place
    return common, changing


def _by_projection(operator: Expand, changing: Mapping[int, int]) -> list[dict[int, Expr]]:
    """For each projection, the values of columns that differ among projections."""
    return [
        {column: projection[place] for column, place in changing.items()}
        for projection in operator.projections
    ]


def expanded(
    operator: Expand, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row once a projection, its values computed."""
    return [
        OutputRow(
            row.exists,
            {
                column.id: encoder.encode(value, row.values)
                for column, value in zip(operator.columns, projection, strict=True)
            },
            (only(index, tables[0]),),
        )
        for index, row in enumerate(tables[0])
        for projection in operator.projections
    ]


def lift_expand(operator: Expand, below: tuple[Expr, ...], context: Context) -> Expr:
    """The part about columns that one projection passes on or renames, or another."""
    return disjunction(
        *dict.fromkeys(_lifted(operator, values, below[0]) for values in operator.projections)
    )


def _lifted(operator: Expand, values: tuple[Expr, ...], below: Expr) -> Expr:
    renamed = [
        same(column, value)
        for column, value in zip(operator.columns, values, strict=True)
        if isinstance(value, Column) and value.id != column.id
    ]
    # A column under its input's id may have another value here.
    taken = {c.id for c, v in zip(operator.columns, values, strict=True) if v != c}
    kept = conjunction(*(t for t in conjuncts(below) if column_ids(t).isdisjoint(taken)))
    return restrict(conjunction(kept, *renamed), operator.columns)


def _any_expand() -> tuple[Expand, Expr, Context]:
    passed, computed = ANY_COLUMN, Column(1, "b", LONG)
    values = (call(f"any function {number}", passed, type=LONG) for number in (1, 2))
    expand = Expand(
        id=0,
        input=1,
        projections=tuple((passed, value) for value in values),
        columns=(passed, computed),
    )
    return expand, conjunction(call("any", passed), call("any pair", passed, computed)), ANY_CONTEXT


RULES: RuleTable = {
    Expand: Rule(
        through_expand,
        expanded,
        (2,),
        "the input row, if any row of its expansion equals the output row",
        lift_expand,
        Proof.GENERAL,
        general=_any_expand,
    ),
}
