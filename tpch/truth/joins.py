"""FROM and WHERE: rows joined one FROM item after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tpch.truth.origins import Origin, together
from tpch.truth.scopes import Computed, Context, bare

Row = tuple[Any, ...]
Joined = tuple[Row, Origin]
"""A row of all items so far (None for those to come), and what is behind it."""


@dataclass(frozen=True)
class Term:
    """A condition, with both sides if it is an equality."""

    whole: Computed
    sides: tuple[Computed, Computed] | None = None


@dataclass
class Step:
    """A FROM item and how it is joined to the items before it."""

    number: int
    kind: str
    on: list[Term]
    rows: Callable[[], Sequence[Joined]]


def term(node: exp.Expr, compile: Callable[[exp.Expr], Computed]) -> Term:
    """A compiled condition."""
    node = bare(node)
    sides = (compile(node.left), compile(node.right)) if isinstance(node, exp.EQ) else None
    return Term(compile(node), sides)


def kept(rows: Iterable[Joined], terms: Sequence[Term], outer: Any) -> list[Joined]:
    """The rows that satisfy the terms; what their subqueries bring along is added."""
    found = list(rows)
    for each in terms:
        whole = each.whole
        found = [
            (row, together(origin, *(b((row, outer)) for b in whole.behind)))
            for row, origin in found
            if whole.value((row, outer)) is True
        ]
    return found


def joined(
    steps: Sequence[Step], where: Sequence[Term], blanks: Sequence[Row], outer: Any
) -> list[Joined]:
    """The rows of FROM that satisfy WHERE. `blanks` has a row of NULLs for each item.

    A left join keeps the rows before it, so that inner joins after it may as well come first.
    """
    split = next((n for n, step in enumerate(steps) if step.kind != "inner"), len(steps))
    inner, later = list(steps[:split]), list(steps[split:])
    early: Sequence[Term] = ()
    if all(step.kind in ("inner", "left") for step in later):
        early = where
        inner = [step for step in steps if step.kind == "inner"]
        later = [step for step in later if step.kind == "left"]
    conditions = [*(each for step in inner for each in step.on), *early]
    plain = [each for each in conditions if not each.whole.behind]
    rows, unused = _inner(inner, plain, blanks, outer)
    for step in later:
        rows = _outer(rows, step, blanks, outer)
    used = {id(each) for each in plain} - {id(each) for each in unused}
    return kept(rows, [t for t in (*conditions, *where) if id(t) not in used], outer)


def _placed(step: Step, blanks: Sequence[Row]) -> list[Joined]:
    before, after = blanks[: step.number], blanks[step.number + 1 :]
    return [((*before, row, *after), origin) for row, origin in step.rows()]


def _inner(
    steps: Sequence[Step], terms: list[Term], blanks: Sequence[Row], outer: Any
) -> tuple[list[Joined], list[Term]]:
    """Inner joins in an order in which equalities connect the items, fewest pairs first."""
    waiting: dict[int, list[Joined]] = {}
    for step in steps:
        own = [each for each in terms if each.whole.items <= {step.number}]
        waiting[step.number] = kept(_placed(step, blanks), own, outer)
        terms = [each for each in terms if each not in own]
    first = min(waiting, key=lambda number: len(waiting[number]))
    rows, there = waiting.pop(first), {first}
    while waiting:
        linked = [n for n in waiting if _links(terms, there, n)] or list(waiting)
        number = min(linked, key=lambda n: _pair_count(rows, waiting[n], terms, there, n, outer))
        links = _links(terms, there, number)
        rows = [pair for _, _, pair in _pairs(rows, waiting.pop(number), links, number, outer)]
        there.add(number)
        ready = [each for each in terms if each.whole.items <= there]
        rows = kept(rows, ready, outer)
        terms = [each for each in terms if each not in ready]
    return rows, terms


def _links(terms: Sequence[Term], there: set[int], number: int) -> list[tuple[Computed, Computed]]:
    """The equalities between items that are there and a new one: their side, its side."""
    found = []
    for each in terms:
        for theirs, own in (each.sides, each.sides[::-1]) if each.sides else ():
            if theirs.items and theirs.items <= there and own.items == {number}:
                found.append((theirs, own))
    return found


def _pair_count(
    left: Sequence[Joined],
    right: Sequence[Joined],
    terms: Sequence[Term],
    there: set[int],
    number: int,
    outer: Any,
) -> int:
    """The number of pairs that the equalities leave."""
    links = _links(terms, there, number)
    counts = Counter(_key([own for _, own in links], (row, outer)) for row, _ in right)
    return sum(counts[_key([theirs for theirs, _ in links], (row, outer))] for row, _ in left)


def _pairs(
    left: Sequence[Joined],
    right: Sequence[Joined],
    links: Sequence[tuple[Computed, Computed]],
    number: int,
    outer: Any,
) -> Iterable[tuple[int, int, Joined]]:
    by_key: dict[Row, list[int]] = {}
    for place, (row, _) in enumerate(right):
        found = _key([own for _, own in links], (row, outer))
        if None not in found:
            by_key.setdefault(found, []).append(place)
    for here, (row, origin) in enumerate(left):
        for place in by_key.get(_key([theirs for theirs, _ in links], (row, outer)), ()):
            other, behind = right[place]
            both = (*row[:number], other[number], *row[number + 1 :])
            yield here, place, (both, together(origin, behind))


def _key(parts: Sequence[Computed], context: Context) -> Row:
    return tuple(part.value(context) for part in parts)


def _outer(left: Sequence[Joined], step: Step, blanks: Sequence[Row], outer: Any) -> list[Joined]:
    """A left, right or full outer join; a padded side contributes nothing."""
    right = _placed(step, blanks)
    before = set(range(len(blanks))) - {step.number}
    links = _links(step.on, before, step.number)
    found = []
    lefts, rights = set(), set()
    for here, there, pair in _pairs(left, right, links, step.number, outer):
        if kept([pair], step.on, outer):
            found += kept([pair], step.on, outer)
            lefts.add(here)
            rights.add(there)
    if step.kind in ("left", "full"):
        found += [row for place, row in enumerate(left) if place not in lefts]
    if step.kind in ("right", "full"):
        found += [row for place, row in enumerate(right) if place not in rights]
    return found
