"""Simplifies proof obligations: terms that an operator does not look at become one symbol.

The rows of real tables have dozens of columns, most of which a join merely passes on. Terms of the
predicate above that read only such columns of one side are replaced, all together, by one
uninterpreted predicate over one column that stands for them. A proof with an arbitrary predicate
holds for the terms it stands for: replacing an uninterpreted symbol in a valid formula leaves it
valid. Columns and params are then numbered in the order of appearance, so that obligations of one
shape are proved once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from pushdown.merging import merged_keys, merged_rows, replaced
from pushdown.obligations import Obligation
from pushdown.operators.base import ids_of, rebuilt
from pushdown.passing import merged_passed_on
from pushdown.rules import RULES
from pushdown.rules.base import Proof
from symbolic.expr import (
    Call,
    Column,
    Expr,
    Lambda,
    Param,
    call,
    column_ids,
    columns_of,
    conjunction,
    conjuncts,
    params_of,
    transform,
    walk,
)
from symbolic.functions import OF_COMPARED, SAME_FOR_EQUALS, STRICT_TEST, row_of
from symbolic.types import BOOLEAN, LONG, Float


def simplified(obligation: Obligation) -> Obligation:
    """The obligation over the columns it depends on, under canonical names."""
    return _SIMPLIFIED[RULES[type(obligation.operator)].proof](obligation)


def _by_condition(obligation: Obligation) -> Obligation:
    return _canonical(_with_opaque_atoms(_without_bystanders(obligation)))


def _by_keys(obligation: Obligation) -> Obligation:
    return _canonical(merged_keys(obligation))


def _by_rows(obligation: Obligation) -> Obligation:
    return _canonical(merged_rows(obligation))


def _by_order(obligation: Obligation) -> Obligation:
    return _canonical(merged_passed_on(obligation, _looked_at))


_SIMPLIFIED: dict[Proof, Callable[[Obligation], Obligation]] = {
    Proof.GENERAL: lambda obligation: obligation,
    Proof.CONDITION: _by_condition,
    Proof.KEYS: _by_keys,
    Proof.ROWS: _by_rows,
    Proof.ORDER: _by_order,
}


def _without_bystanders(obligation: Obligation) -> Obligation:
    sides = [{column.id for column in columns} for columns in obligation.context.inputs]
    terms = conjuncts(obligation.above)
    looked_at = _looked_at(obligation, terms, sides)
    above = list(terms)
    proposals = list(obligation.proposals)
    for index, side in enumerate(sides):
        group = [term for term in terms if (read := column_ids(term)) and read <= side - looked_at]
        stand_in = call("any", Column(-1 - index, "others", LONG))
        below = [replaced(candidate, group, stand_in) for candidate in proposals[index]]
        if group and None not in below:
            above = [term for term in above if term not in group] + [stand_in]
            proposals[index] = tuple(expr for expr in below if expr is not None)
    return msgspec.structs.replace(
        obligation, above=conjunction(*above), proposals=tuple(proposals)
    )


def _looked_at(
    obligation: Obligation, terms: Iterable[Expr], sides: list[set[int]]
) -> frozenset[int]:
    """Columns of the operator's condition, and all that terms or params connect with them."""
    new_terms = {
        term
        for candidate in sum(obligation.proposals, ())
        for term in conjuncts(candidate)
        if term not in terms
    }
    params = params_of(*new_terms)
    seen = column_ids(*obligation.operator.expressions) | column_ids(
        *(term for term in terms if params_of(term) & params)
    )
    while True:
        more = {
            column
            for read in map(column_ids, terms)
            if not any(read <= side for side in sides) or read & seen
            for column in read
        }
        if more <= seen:
            return seen
        seen |= more


_CONNECTIVES = ("and", "or", "not", "is_null", "is_not_null")
"""Functions that the proof must see through, or may need unchanged."""


def _with_opaque_atoms(obligation: Obligation) -> Obligation:
    """Replace tests of one value, like ``c IN ('x', 'y')``, by an uninterpreted predicate on it.

    The same test of another value becomes the same predicate. Equalities at the top stay: they pin
    their column. IS NULL stays, and so does the fact that a test of NULL is NULL.
    """
    opaque = _Tests()
    return msgspec.structs.replace(
        obligation,
        operator=rebuilt(obligation.operator, opaque),
        above=opaque(obligation.above),
        proposals=tuple(tuple(map(opaque, candidates)) for candidates in obligation.proposals),
    )


def _pins(term: Expr) -> bool:
    return isinstance(term, Call) and term.function in ("eq", "nullsafe_eq")


class _Tests:
    """Replaces tests by predicates that are numbered in the order in which they are met.

    Different tests get different numbers, whatever literals they hold: obligations that
    differ in literals only are the same obligation.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Expr, ...], int] = {}
        self._known: dict[Expr, Expr] = {}

    def __call__(self, predicate: Expr) -> Expr:
        """The predicate with its tests replaced; equalities stay at its top."""
        terms = (term if _pins(term) else self._opaque(term) for term in conjuncts(predicate))
        return conjunction(*terms)

    def _opaque(self, expr: Expr) -> Expr:
        if expr not in self._known:
            self._known[expr] = self._replaced(expr)
        return self._known[expr]

    def _replaced(self, expr: Expr) -> Expr:
        if not isinstance(expr, Call) or row_of(expr.function) is None:
            return expr
        if (value := _tested(expr)) is not None:
            return self._test((expr,), value)
        if expr.function == "and":
            return conjunction(*self._by_value(expr))
        if expr.function in ("is_null", "is_not_null"):
            return expr
        return Call(expr.function, tuple(map(self._opaque, expr.args)), expr.type, expr.nullable)

    def _by_value(self, expr: Expr) -> Iterator[Expr]:
        """The terms of an AND below the top; terms that test one value become one test."""
        tests: dict[Expr, list[Expr]] = {}
        for term in conjuncts(expr):
            value = _tested(term)
            if value is None:
                yield self._opaque(term)
            else:
                tests.setdefault(value, []).append(term)
        for value, terms in tests.items():
            yield self._test(tuple(terms), value)

    def _test(self, terms: tuple[Expr, ...], value: Expr) -> Expr:
        hole = Column(0, "\N{WHITE SQUARE}", value.type)
        shape = tuple(
            transform(term, lambda node: hole if node == value else None) for term in terms
        )
        number = self._numbers.setdefault(shape, len(self._numbers))
        strict = all(map(_propagates_null, terms))
        seen = OF_COMPARED if _sees_no_signs(terms, value) else ""
        return call(f"{STRICT_TEST if strict else 'test '}{number}{seen}", value)


def _tested(expr: Expr) -> Expr | None:
    """The only column or param that a test reads; None if it reads several or none."""
    if not isinstance(expr, Call) or row_of(expr.function) is None or expr.type != BOOLEAN:
        return None
    if expr.function in _CONNECTIVES:
        return None
    read = {node for node in walk(expr) if isinstance(node, (Column, Param))}
    return read.pop() if len(read) == 1 else None


def _sees_no_signs(terms: Iterable[Expr], value: Expr) -> bool:
    """Whether the terms have the same results for 0.0 and -0.0, which are one value to
    comparisons."""
    return isinstance(value.type, Float) and all(
        isinstance(node, Call) and node.function in SAME_FOR_EQUALS
        for term in terms
        for node in walk(term)
        if isinstance(node, (Call, Lambda))
    )


def _propagates_null(expr: Expr) -> bool:
    # A NULL that a lambda captures need not make the result NULL.
    return all(
        isinstance(node, Call) and (row := row_of(node.function)) and row.nulls.propagates
        for node in walk(expr)
        if isinstance(node, (Call, Lambda))
    )


def _canonical(obligation: Obligation) -> Obligation:
    rename = _Renaming()
    operator = rebuilt(obligation.operator, rename)
    operator = operator.with_inputs(*range(1, 1 + len(operator.inputs)))
    operator = msgspec.structs.replace(operator, id=0, origin=None)
    above = rename(obligation.above)
    proposals = tuple(tuple(map(rename, candidates)) for candidates in obligation.proposals)
    inputs = tuple(
        tuple(rename.column(column) for column in used) for used in _used_columns(obligation)
    )
    context = msgspec.structs.replace(obligation.context, inputs=inputs)
    return msgspec.structs.replace(
        obligation, operator=operator, above=above, proposals=proposals, context=context
    )


def _used_columns(obligation: Obligation) -> list[list[Column]]:
    """For each input the columns that anything reads, in the order of their ids.

    All columns if whole rows are compared.
    """
    operator, inputs = obligation.operator, obligation.context.inputs
    if RULES[type(operator)].proof in (Proof.ROWS, Proof.ORDER):
        return [list(columns) for columns in inputs]
    read = columns_of(*operator.expressions, obligation.above, *sum(obligation.proposals, ()))
    used: list[list[Column]] = []
    for index, (columns, needed) in enumerate(
        zip(inputs, operator.needs(frozenset(), *inputs), strict=True)
    ):
        own = ids_of(columns) | {-1 - index}
        found = {column.id: column for column in columns if column.id in needed}
        found |= {column.id: column for column in read if column.id in own}
        used.append([found[column] for column in sorted(found)])
    return used


class _Renaming:
    """Numbers columns and params in the order in which it meets them."""

    def __init__(self) -> None:
        self._columns: dict[int, int] = {}
        self._params: dict[int, int] = {}
        self._known: dict[Expr, Expr] = {}

    def __call__(self, expr: Expr) -> Expr:
        if isinstance(expr, Call) and expr.function == "and":
            # The terms of the predicate above occur again below it.
            return Call("and", tuple(map(self, expr.args)), expr.type, expr.nullable)
        if expr not in self._known:
            self._known[expr] = transform(expr, self._change)
        return self._known[expr]

    def column(self, column: Column) -> Column:
        number = self._columns.setdefault(column.id, len(self._columns))
        return Column(number, f"c{number}", column.type, column.nullable)

    def _change(self, node: Expr) -> Expr | None:
        if isinstance(node, Column):
            return self.column(node)
        if isinstance(node, Param):
            number = self._params.setdefault(node.column, len(self._params))
            return Param(0, number, f"p{number}", node.type, node.nullable)
        return None
