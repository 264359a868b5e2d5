"""Rules of operators that make several rows of each input row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pushdown.operators.expansion import Expand, Generate
from pushdown.rewrite import restrict, simplify
from pushdown.rules.base import Context, OutputRow, Proof, Proposals, Rule, RuleTable, Tables
from pushdown.rules.rows import ANY_COLUMN, ANY_CONTEXT, lift_unchanged, only
from symbolic.encode import Encoder
from symbolic.expr import (
    FALSE,
    TRUE,
    Column,
    Expr,
    Lambda,
    Literal,
    Variable,
    call,
    column_ids,
    conjunction,
    conjuncts,
    disjunction,
    same,
    substitute,
    walk,
)
from symbolic.logic import all_of, negate
from symbolic.types import LONG, Array


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


def _any_expands() -> Iterator[tuple[Expand, Expr, Context]]:
    passed, computed = ANY_COLUMN, Column(1, "b", LONG)
    values = (call(f"any function {number}", passed, type=LONG) for number in (1, 2))
    expand = Expand(
        id=0,
        input=1,
        projections=tuple((passed, value) for value in values),
        columns=(passed, computed),
    )
    above = conjunction(call("any", passed), call("any pair", passed, computed))
    yield expand, above, ANY_CONTEXT


def through_generate(operator: Generate, above: Expr, context: Context) -> Proposals:
    """Terms over passed columns as they are; the others hold for some generated row.

    An outer generator also gives a row of NULLs where there is none. Of an opaque one only the
    terms over passed columns remain.
    """
    generated = {column.id for column in operator.columns}
    terms = conjuncts(above)
    passed = [term for term in terms if column_ids(term).isdisjoint(generated)]
    if operator.opaque:
        return ((conjunction(*passed),),)
    said = conjunction(*(term for term in terms if term not in passed))
    if said == TRUE and operator.outer:
        return ((conjunction(*passed),),)
    found = _some(operator, said)
    if operator.outer:
        nulls = {column.id: Literal(None, column.type) for column in operator.columns}
        none = call("not", call("coalesce", _some(operator, TRUE), FALSE))
        found = disjunction(found, conjunction(none, simplify(substitute(said, nulls))))
    return ((conjunction(*passed, found),),)


def _some(operator: Generate, said: Expr) -> Expr:
    """That some generated row satisfies a predicate."""
    taken = (node for part in walk(said) for node in _variables(part))
    element = Variable(1 + max((v.id for v in taken), default=-1), "row", operator.element)
    values = zip(operator.columns, operator.values(element), strict=True)
    test = substitute(said, {column.id: value for column, value in values})
    return call("array_exists", operator.rows, Lambda((element,), test))


def _variables(part: Expr) -> tuple[Variable, ...]:
    if isinstance(part, Variable):
        return (part,)
    return part.parameters if isinstance(part, Lambda) else ()


def generated(
    operator: Generate, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row with each of the few elements of its array; alone, if there is none and it may."""
    hole = Column(-1, "row", operator.element)
    found = []
    for index, row in enumerate(tables[0]):
        rows = encoder.encode(operator.rows, row.values)
        elements = encoder.elements(rows, operator.element, known=not operator.opaque)
        for there, element in elements:
            given = {
                column.id: encoder.encode(value, {hole.id: element})
                for column, value in zip(operator.columns, operator.values(hole), strict=True)
            }
            exists, lineage = all_of(row.exists, there), (only(index, tables[0]),)
            found.append(OutputRow(exists, {**row.values, **given}, lineage))
        if operator.outer:
            nulls = {c.id: encoder.encode(Literal(None, c.type), {}) for c in operator.columns}
            alone = all_of(row.exists, *(negate(there) for there, _ in elements))
            found.append(OutputRow(alone, {**row.values, **nulls}, (only(index, tables[0]),)))
    return found


def _any_generates() -> Iterator[tuple[Generate, Expr, Context]]:
    passed, made = ANY_COLUMN, Column(1, "b", LONG)
    rows = call("any rows", passed, type=Array(LONG))
    above = conjunction(call("any", passed), call("any pair", passed, made))
    for outer in (False, True):
        for said in (above, call("any", passed)):
            yield (
                Generate(id=0, input=1, rows=rows, columns=(made,), outer=outer),
                said,
                ANY_CONTEXT,
            )


RULES: RuleTable = {
    Expand: Rule(
        through_expand,
        expanded,
        (2,),
        "the input row, if any row of its expansion equals the output row",
        lift_expand,
        Proof.GENERAL,
        general=_any_expands,
    ),
    Generate: Rule(
        through_generate,
        generated,
        (2,),
        "the input row, if any row of its expansion equals the output row",
        lift_unchanged,
        Proof.GENERAL,
        general=_any_generates,
        is_general=lambda operator: not operator.opaque,
    ),
}
