"""The predicates by which the consumers of a shared node ask for its rows.

A node with several consumers has the union of the lineages that they ask of it (SEMANTICS section
1). Each consumer asks by one predicate, for the rows of its binding. `docs/soundness.md` argues why
each predicate may be pushed down by itself, and why one that implies another may be dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from symbolic.expr import FALSE, Expr, conjunction, conjuncts, disjunction

MOST_KEPT_APART = 4
"""The most predicates that are pushed down from a shared node one by one.

Their number may double at the next shared node.
"""


class Asked(msgspec.Struct, frozen=True):
    """A consumer's request: the rows that `predicate` selects for bound rows of `binding`.

    The predicate has params of binding 0 until it is recorded. `lost` is the reason why precision
    was lost above the node; empty if it was not. `witnessed` says that every bound row has such a
    row.
    """

    binding: int
    predicate: Expr
    lost: str
    witnessed: bool


def merged(asked: Iterable[Asked]) -> tuple[Asked, ...]:
    """The predicates without those that imply another one of the same binding, and without FALSE.

    A predicate implies another predicate if it has all of the other's terms. The other predicate
    then selects all of its rows, so its own precision no longer matters.
    """
    found = tuple(asked)
    kept: list[Asked] = []
    for one in sorted(found, key=lambda one: len(conjuncts(one.predicate))):
        wider = [place for place, other in enumerate(kept) if _implies(one, other)]
        if not wider:
            kept.append(one)
        for place in wider:
            other = kept[place]
            same = set(conjuncts(one.predicate)) == set(conjuncts(other.predicate))
            kept[place] = msgspec.structs.replace(
                other,
                witnessed=other.witnessed or one.witnessed,
                lost="" if same and not one.lost else other.lost,
            )
    needed = tuple(one for one in kept if one.predicate != FALSE)
    return needed or tuple(kept[:1])


def _implies(one: Asked, other: Asked) -> bool:
    return one.binding == other.binding and set(conjuncts(other.predicate)) <= set(
        conjuncts(one.predicate)
    )


def common_terms(predicates: Sequence[Expr]) -> Expr:
    """The terms that all of the predicates have."""
    first, *others = (conjuncts(predicate) for predicate in predicates)
    return conjunction(*(term for term in first if all(term in other for other in others)))


def alternatives(predicates: Sequence[Expr]) -> tuple[Expr, ...]:
    """Predicates that together select at least the rows of the given ones; more rows if those are
    many."""
    asked = (Asked(0, predicate, "", witnessed=False) for predicate in predicates)
    found = tuple(one.predicate for one in merged(asked))
    return found if len(found) <= MOST_KEPT_APART else (common_terms(found),)


def any_of(predicates: Sequence[Expr]) -> Expr:
    """One predicate that selects at least the rows of the given ones; more rows if they are
    many."""
    found = alternatives(predicates)
    shared = common_terms(found)
    known = set(conjuncts(shared))
    rest = (conjunction(*(t for t in conjuncts(p) if t not in known)) for p in found)
    return conjunction(shared, disjunction(*rest))
