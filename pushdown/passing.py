"""Merges columns that a window passes on and compares only as parts of whole rows.

Pinned ones become one pinned column, whose values stand for the tuples; the others become one
column, and the terms that read them one arbitrary predicate over it. This needs equal values to be
identical: a column of floats that a term reads stays by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from pushdown.merging import replaced
from pushdown.obligations import Obligation
from pushdown.operators.base import ids_of
from symbolic.expr import (
    Call,
    Column,
    Expr,
    Param,
    call,
    column_ids,
    conjunction,
    conjuncts,
    disjunction,
    params_of,
    same,
)
from symbolic.types import LONG, same_if_equal

_PINNED = Column(-1, "pinned", LONG, nullable=False)
_OTHERS = Column(-2, "others", LONG, nullable=False)
_PIN = same(_PINNED, Param(0, -1, "pinned", LONG, nullable=False))
_ABOUT = call("any pinned", _PINNED)
_SAID = call("any", _OTHERS)

LookedAt = Callable[[Obligation, Sequence[Expr], list[set[int]]], frozenset[int]]
"""The columns that an obligation's operator looks at, given the terms above and its inputs' ids."""


def merged_passed_on(obligation: Obligation, looked_at: LookedAt) -> Obligation:
    """For operators that pass all columns on: the columns that they do not look at, merged."""
    (columns,) = obligation.context.inputs
    (candidates,) = obligation.proposals
    terms = conjuncts(obligation.above)
    seen = _seen(obligation, terms, looked_at)
    passed = [column.id for column in columns if column.id not in seen]
    pins = _pins(passed, terms)
    held = column_ids(*pins) if pins else frozenset()
    about = [t for t in terms if t not in pins and (read := column_ids(t)) and read <= held]
    pinned_terms = [*pins, *about]
    group = [
        t for t in terms if (read := column_ids(t)) and not read & seen and t not in pinned_terms
    ]
    pinned_said = conjunction(_PIN, _ABOUT) if about else _PIN
    merges = [(pinned_terms, pinned_said), (group, _SAID)]
    below = [_merged(candidate, merges) for candidate in candidates]
    if None in below:
        return obligation
    left = [term for term in terms if term not in pinned_terms and term not in group]
    kept = [column for column in columns if column.id in seen]
    return msgspec.structs.replace(
        obligation,
        above=conjunction(*left, *(said for merged, said in merges if merged)),
        proposals=(tuple(expr for expr in below if expr is not None),),
        context=msgspec.structs.replace(
            obligation.context,
            inputs=(
                (
                    *kept,
                    *([_PINNED] if pins else []),
                    *([_OTHERS] if set(passed) - held else []),
                ),
            ),
        ),
    )


def _seen(obligation: Obligation, terms: Sequence[Expr], looked_at: LookedAt) -> frozenset[int]:
    """The columns that must stay, with all columns that terms connect with them."""
    (columns,) = obligation.context.inputs
    apart = tuple(conjunction(*_leaves(candidate)) for candidate in obligation.proposals[0])
    said = msgspec.structs.replace(obligation, proposals=(apart,))
    seen = looked_at(said, terms, [set(ids_of(columns))])
    odd = {column.id for column in columns if not same_if_equal((column.type,))}
    while True:
        reading = (read for read in map(column_ids, terms) if read & (odd | seen))
        more = frozenset(column for read in reading for column in read)
        if more <= seen:
            return seen
        seen |= more


def _leaves(candidate: Expr) -> Iterator[Expr]:
    """The terms of a candidate, and of the branches of an OR among them."""
    for term in conjuncts(candidate):
        if isinstance(term, Call) and term.function == "or":
            for branch in term.args:
                yield from _leaves(branch)
        else:
            yield term


def _pins(columns: Sequence[int], terms: Sequence[Expr]) -> list[Expr]:
    """The terms that pin a column to a param of its own; other terms may read that column alone."""
    reading: dict[int, list[Expr]] = {}
    asking: dict[Param, int] = {}
    for term in terms:
        for column in column_ids(term):
            reading.setdefault(column, []).append(term)
        for param in params_of(term):
            asking[param] = asking.get(param, 0) + 1
    found: list[Expr] = []
    for column in columns:
        own = [term for term in reading.get(column, ()) if _is_pin(term, asking)]
        others = [term for term in reading.get(column, ()) if term not in own]
        if len(own) == 1 and all(column_ids(o) == {column} and not params_of(o) for o in others):
            found.extend(own)
    return found


def _is_pin(term: Expr, asking: dict[Param, int]) -> bool:
    match term:
        case Call(function="nullsafe_eq", args=(Column(), Param() as param)):
            return asking[param] == 1
    return False


def _merged(candidate: Expr, merges: Sequence[tuple[Sequence[Expr], Expr]]) -> Expr | None:
    """The candidate with each group of terms replaced, also in the branches of an OR among its
    terms; None if a group does not stand together."""
    terms: list[Expr] = []
    for term in conjuncts(candidate):
        if isinstance(term, Call) and term.function == "or":
            branches = [_replaced(branch, merges) for branch in term.args]
            if None in branches:
                return None
            term = disjunction(*(branch for branch in branches if branch is not None))
        terms.append(term)
    return _replaced(conjunction(*terms), merges)


def _replaced(candidate: Expr, merges: Sequence[tuple[Sequence[Expr], Expr]]) -> Expr | None:
    below: Expr | None = candidate
    for group, said in merges:
        if group and below is not None:
            below = replaced(below, group, said)
    return below
