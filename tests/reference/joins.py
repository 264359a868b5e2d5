"""Which rows match: hash lookups on the equalities of a condition, the rest row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from symbolic.expr import Call, Column, Expr, column_ids, conjunction, conjuncts
from tests.reference.expressions import Evaluator, compile_expr
from tests.reference.functions import Settings
from tests.reference.values import Row, value_key


class _Equality(NamedTuple):
    left: Expr
    right: Expr
    null_safe: bool


def matching(
    left: Sequence[Row],
    left_columns: Sequence[Column],
    right: Sequence[Row],
    right_columns: Sequence[Column],
    condition: Expr,
    settings: Settings,
) -> Iterator[list[int]]:
    """For each left row, the indexes of the right rows that make the condition true, in order."""
    equalities, rest = _split(factored(condition), left_columns, right_columns)
    columns = (*left_columns, *right_columns)
    residual = [compile_expr(term, columns, settings) for term in rest]
    candidates = _candidates(left, left_columns, right, right_columns, equalities, settings)
    for row, indexes in zip(left, candidates, strict=True):
        if not residual:
            yield list(indexes)
        else:
            yield [index for index in indexes if _true(residual, row + right[index])]


def _true(terms: list[Evaluator], row: Row) -> bool:
    return all(term(row) is True for term in terms)


def _candidates(
    left: Sequence[Row],
    left_columns: Sequence[Column],
    right: Sequence[Row],
    right_columns: Sequence[Column],
    equalities: list[_Equality],
    settings: Settings,
) -> Iterator[Sequence[int]]:
    if not equalities:
        everything = range(len(right))
        for _ in left:
            yield everything
        return
    null_safe = [equality.null_safe for equality in equalities]
    left_keys = [compile_expr(equality.left, left_columns, settings) for equality in equalities]
    right_keys = [compile_expr(equality.right, right_columns, settings) for equality in equalities]
    table: defaultdict[Any, list[int]] = defaultdict(list)
    for index, row in enumerate(right):
        key = _key(right_keys, null_safe, row)
        if key is not None:
            table[key].append(index)
    for row in left:
        key = _key(left_keys, null_safe, row)
        yield () if key is None else table.get(key, ())


def _key(parts: list[Evaluator], null_safe: list[bool], row: Row) -> Row | None:
    """The row's hash key; None where a NULL lets nothing match."""
    values = []
    for part, safe in zip(parts, null_safe, strict=True):
        value = part(row)
        if value is None and not safe:
            return None
        values.append(value_key(value))
    return tuple(values)


def _split(
    condition: Expr, left_columns: Sequence[Column], right_columns: Sequence[Column]
) -> tuple[list[_Equality], list[Expr]]:
    """The condition's equalities between the two sides, and its other terms."""
    left_ids = {column.id for column in left_columns}
    right_ids = {column.id for column in right_columns}
    equalities: list[_Equality] = []
    rest: list[Expr] = []
    for term in conjuncts(condition):
        equality = _equality(term, left_ids, right_ids)
        if equality is None:
            rest.append(term)
        else:
            equalities.append(equality)
    return equalities, rest


def _equality(term: Expr, left_ids: set[int], right_ids: set[int]) -> _Equality | None:
    if not isinstance(term, Call) or term.function not in ("eq", "nullsafe_eq"):
        return None
    null_safe = term.function == "nullsafe_eq"
    first, second = (column_ids(arg) for arg in term.args)
    if not first or not second:
        return None
    if first <= left_ids and second <= right_ids:
        return _Equality(term.args[0], term.args[1], null_safe)
    if first <= right_ids and second <= left_ids:
        return _Equality(term.args[1], term.args[0], null_safe)
    return None


def factored(condition: Expr) -> Expr:
    """The condition with terms common to all branches of an OR put beside it.

    ``(a AND b) OR (a AND c)`` also implies ``a``, which may be an equality to hash on.
    """
    terms = list(conjuncts(condition))
    for term in conjuncts(condition):
        if isinstance(term, Call) and term.function == "or":
            branches = [set(conjuncts(branch)) for branch in term.args]
            common = set.intersection(*branches)
            terms.extend(sorted(common, key=repr))
    return conjunction(*terms)
