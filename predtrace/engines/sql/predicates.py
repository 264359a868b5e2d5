"""Splits lineage predicates so that an engine can evaluate them as joins.

Rewrites predicates *in filter position*, where NULL counts as false, for any engine.
"""

from __future__ import annotations

import msgspec

from symbolic.expr import (
    FALSE,
    TRUE,
    Call,
    Column,
    Expr,
    Literal,
    Param,
    call,
    columns_of,
    conjunction,
    conjuncts,
    disjunction,
    params_of,
)
from symbolic.functions import row_of
from symbolic.types import Boolean, DataType, Decimal, Float, Integer


def filter_form(predicate: Expr) -> Expr:
    """A predicate that is true on the same rows (it may be NULL where this one is false).

    Folds expressions that bound literals made constant. Turns ``<=>`` into ``=`` or IS NULL, which
    file statistics support. Takes common terms out of ORs, so that joins find keys.
    """
    if not isinstance(predicate, Call):
        return FALSE if predicate in (Literal(None, Boolean()), FALSE) else predicate
    match predicate:
        case Call(function="and", args=args):
            return conjunction(*map(filter_form, args))
        case Call(function="or", args=args):
            return _factored([filter_form(arg) for arg in args])
        case Call(function="nullsafe_eq", args=(left, right)):
            return _filter_same(left, right, predicate)
        case Call(function="is_null", args=(Literal(value=value),)):
            return TRUE if value is None else FALSE
        case Call(function="is_not_null", args=(Literal(value=value),)):
            return FALSE if value is None else TRUE
        case Call(function="not", args=(Call(function="is_null", args=args),)):
            return filter_form(call("is_not_null", *args))
        case Call(function="not", args=(Call(function="is_not_null", args=args),)):
            return filter_form(call("is_null", *args))
        case Call(function="not", args=(Literal(value=value),)):
            return TRUE if value is False else FALSE
        case Call(function=function, args=args) if _propagates_null(function):
            return FALSE if any(_is_null(arg) for arg in args) else predicate
        case _:
            return predicate


def _filter_same(left: Expr, right: Expr, whole: Call) -> Expr:
    if isinstance(left, Literal):
        left, right = right, left
    if not isinstance(right, Literal):
        return whole
    if isinstance(left, Literal):
        return TRUE if left == right else whole
    if right.value is None:
        return call("is_null", left)
    if right.value is True:
        return filter_form(left)
    if right.value is False:
        return filter_form(call("not", left))
    return call("eq", left, right)


def _propagates_null(function: str) -> bool:
    row = row_of(function)
    return row is not None and row.nulls.propagates


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None


def _factored(branches: list[Expr]) -> Expr:
    """``(a AND b) OR (a AND c)`` as ``a AND (b OR c)``; sound in three-valued logic."""
    branches = [branch for branch in branches if branch != FALSE]
    if not branches:
        return FALSE
    terms = [conjuncts(branch) for branch in branches]
    common = [term for term in terms[0] if all(term in other for other in terms[1:])]
    if not common:
        return disjunction(*branches)
    rests = (conjunction(*(term for term in branch if term not in common)) for branch in terms)
    return conjunction(*common, disjunction(*rests))


class Key(msgspec.Struct, frozen=True):
    """An equality between expressions of a scan and of a bound row; `null_safe` if NULL equals
    NULL."""

    scanned: Expr
    bound: Expr
    null_safe: bool

    @property
    def unique(self) -> bool:
        """Whether a scanned value equals at most one distinct bound value."""
        return family(self.scanned.type) == family(self.bound.type)


class Split(msgspec.Struct, frozen=True):
    """A predicate's terms by what they read: the scan, the bound row, or both.

    `keys` are the equalities between both; `residual` are all other terms on both.
    """

    scanned: tuple[Expr, ...]
    bound: tuple[Expr, ...]
    keys: tuple[Key, ...]
    residual: tuple[Expr, ...]

    @property
    def unique(self) -> bool:
        """Whether a scanned row meets at most one distinct tuple of bound key values."""
        return not self.residual and all(key.unique for key in self.keys)


def split(predicate: Expr) -> Split:
    """The terms of a predicate, sorted for a join (constants go with the scan's)."""
    scanned: list[Expr] = []
    bound: list[Expr] = []
    keys: list[Key] = []
    residual: list[Expr] = []
    for term in conjuncts(filter_form(predicate)):
        if not params_of(term):
            scanned.append(term)
        elif not columns_of(term):
            bound.append(term)
        elif key := _key(term):
            keys.append(key)
        else:
            residual.append(term)
    return Split(tuple(scanned), tuple(bound), tuple(keys), tuple(residual))


def _key(term: Expr) -> Key | None:
    if not (isinstance(term, Call) and term.function in ("eq", "nullsafe_eq")):
        return None
    null_safe = term.function == "nullsafe_eq"
    left, right = term.args
    for one, other in ((left, right), (right, left)):
        # Both sides must read something: a constant side belongs to neither.
        if columns_of(one) and not params_of(one) and params_of(other) and not columns_of(other):
            return Key(one, other, null_safe)
    return None


def may_be_null(expr: Expr, never_null: frozenset[int] = frozenset()) -> bool:
    """Whether the value can be NULL; `never_null` are columns known to have none."""
    match expr:
        case Literal(value=value):
            return value is None
        case Column(id=id, nullable=nullable) | Param(column=id, nullable=nullable):
            return nullable and id not in never_null
        case _:
            return expr.nullable


def family(data_type: DataType) -> object:
    """The family of a type: equal values of one family are the same value."""
    match data_type:
        case Integer() | Decimal() | Float():
            return type(data_type)
        case _:
            return data_type
