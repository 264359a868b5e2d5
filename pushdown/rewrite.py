"""Rewriting a predicate onto some of its columns: the step that all join-like rules share."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping

import networkx as nx

from symbolic.expr import (
    FALSE,
    TRUE,
    Call,
    Column,
    Expr,
    Literal,
    Param,
    call,
    column_ids,
    conjunction,
    conjuncts,
    disjunction,
    substitute,
    transform,
)
from symbolic.types import Record


def restrict(predicate: Expr, columns: Collection[Column], *, constants: bool = False) -> Expr:
    """The conjuncts of `predicate` that can be expressed with `columns` alone.

    Other columns are replaced by values that the predicate equates them with: a literal or param,
    else one of `columns`. If that fails for an OR, the part that all its branches imply remains. If
    it fails for another conjunct, the conjunct is dropped. Conjuncts without any column are
    dropped, too, unless `constants` asks for them. The verifier decides whether the replacement was
    right (floats compare equal without being identical).
    """
    terms, wanted = _rewritten(predicate, columns)
    return _weakest(terms, wanted, constants=constants)


def restrictions(predicate: Expr, columns: Collection[Column]) -> tuple[Expr, Expr]:
    """The results of `restrict` without and with constants."""
    terms, wanted = _rewritten(predicate, columns)
    return _weakest(terms, wanted, constants=False), _weakest(terms, wanted, constants=True)


def _rewritten(
    predicate: Expr, columns: Collection[Column]
) -> tuple[tuple[Expr, ...], frozenset[int]]:
    wanted = frozenset(column.id for column in columns)
    terms = conjuncts(predicate)
    known = {
        column: expr for column, expr in stand_ins(terms, wanted).items() if column not in wanted
    }
    return tuple(_tidied(_substituted(term, known)) for term in terms), wanted


def _substituted(term: Expr, known: Mapping[int, Expr]) -> Expr:
    return term if known.keys().isdisjoint(column_ids(term)) else substitute(term, known)


def _weakest(terms: Iterable[Expr], wanted: frozenset[int], *, constants: bool) -> Expr:
    return _without_implied(
        conjunction(*(_weakened(term, wanted, constants=constants) for term in terms))
    )


def stand_ins(terms: Iterable[Expr], columns: Collection[int]) -> Mapping[int, Expr]:
    """The replacement of each equated column: a constant, else one of `columns`."""
    found: dict[int, Expr] = {}
    for members in _classes(tuple(terms)):
        best = min(members, key=lambda member: _preference(member, columns))
        if _preference(best, columns)[0] < _OTHER_COLUMN:
            found.update((member.id, best) for member in members if isinstance(member, Column))
    return found


@functools.lru_cache(maxsize=1_000)
def _classes(terms: tuple[Expr, ...]) -> tuple[frozenset[Expr], ...]:
    """The classes of expressions that the terms equate; both sides of a join ask for them."""
    classes: nx.Graph[Expr] = nx.Graph()
    for term in terms:
        match term:
            case Call(function="eq" | "nullsafe_eq", args=(left, right)) if not (
                isinstance(left, Call) or isinstance(right, Call)
            ):
                classes.add_edge(left, right)
    return tuple(map(frozenset, nx.connected_components(classes)))


def simplify(expr: Expr) -> Expr:
    """Fold terms that replacing columns leaves behind: ``x <=> x``, NULL, constants in AND and
    OR, fields of structs just made."""
    return transform(expr, _fold)


@functools.lru_cache(maxsize=10_000)
def _tidied(term: Expr) -> Expr:
    """Conjuncts as people write them: columns first; ``x = x`` says that x is not NULL."""
    term = simplify(term)
    match term:
        case Call(function="eq", args=(left, right)) if left == right:
            return call("is_not_null", left)
        case Call(function="eq" | "nullsafe_eq", args=(Param() | Literal() as left, right)):
            return Call(term.function, (right, left), term.type, term.nullable)
    return term


def _without_implied(predicate: Expr) -> Expr:
    """Drop ``x <=> y`` beside ``x = y``."""
    terms = conjuncts(predicate)
    equal = {term.args for term in terms if isinstance(term, Call) and term.function == "eq"}
    return conjunction(
        *(
            term
            for term in terms
            if not (
                isinstance(term, Call) and term.function == "nullsafe_eq" and term.args in equal
            )
        )
    )


def _fold(expr: Expr) -> Expr | None:
    match expr:
        case Call(function="nullsafe_eq", args=(left, right)) if left == right:
            return TRUE
        case Call(function="nullsafe_eq", args=(Literal(value=None), other)):
            return call("is_null", other)
        case Call(function="nullsafe_eq", args=(other, Literal(value=None))):
            return call("is_null", other)
        case Call(
            function="get_field",
            args=(Call(function="make_struct", type=Record(fields), args=args), Literal(name)),
        ):
            named = [arg for field, arg in zip(fields, args, strict=True) if field.name == name]
            return named[0] if len(named) == 1 else None
        case Call(function="and", args=args):
            return conjunction(*args)
        case Call(function="or", args=args) if TRUE in args:
            return TRUE
        case Call(function="or", args=args) if FALSE in args:
            rest = tuple(arg for arg in args if arg != FALSE)
            if not rest:
                return FALSE
            return rest[0] if len(rest) == 1 else Call("or", rest, expr.type, expr.nullable)
    return None


_OTHER_COLUMN = 3


def _preference(expr: Expr, columns: Collection[int]) -> tuple[int, str, int]:
    match expr:
        case Literal():
            return (0, repr(expr.value), 0)
        case Param(column=column, name=name):
            return (1, name, column)
        case Column(id=column, name=name):
            return (2 if column in columns else _OTHER_COLUMN, name, column)
    return (_OTHER_COLUMN, "", 0)


def _weakened(term: Expr, columns: frozenset[int], *, constants: bool) -> Expr:
    """The part of a conjunct over `columns`: itself, for an OR one part per branch, or TRUE."""
    read = column_ids(term)
    if term == FALSE or (bool(read or constants) and read <= columns):
        return term
    match term:
        case Call(function="or", args=branches) if read & columns:
            # A branch may also keep terms over params alone, since it is one of several branches.
            parts = [
                conjunction(
                    *(_weakened(part, columns, constants=True) for part in conjuncts(branch))
                )
                for branch in branches
            ]
            weaker = disjunction(*parts)
            return weaker if column_ids(weaker) else TRUE
    return TRUE
