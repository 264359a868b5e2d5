"""Random conditions with subqueries over `r`, and their lineage by the definition.

Whatever stands around it: of a subquery those rows are lineage that match the outer row (the
comparison is true), or that its value was computed from. Which outer rows come out is Spark's
to say.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tests.byhand import TABLES, Expected

Record = Mapping[str, Any]


class Atom(NamedTuple):
    """A part of a condition: its text, the table it reads (none: no subquery), and what matches."""

    text: str
    table: str = ""
    matches: Callable[[Record, Record], bool] = lambda outer, inner: True


def _equal(left: Any, right: Any) -> bool:
    return left is not None and left == right


def _same_a(outer: Record, inner: Record) -> bool:
    return _equal(outer["a"], inner["a"])


def _over(value: int | None, bound: int) -> bool:
    return value is not None and value > bound


ATOMS = (
    Atom("a IN (SELECT a FROM u)", "u", _same_a),
    Atom("a NOT IN (SELECT a FROM s)", "s", _same_a),
    Atom(
        "a NOT IN (SELECT a FROM s WHERE s.id <> 3)",
        "s",
        lambda outer, inner: inner["id"] != 3 and _same_a(outer, inner),
    ),
    Atom(
        "(a, id) NOT IN (SELECT a, id FROM s)",
        "s",
        lambda outer, inner: _same_a(outer, inner) and outer["id"] == inner["id"],
    ),
    Atom("EXISTS (SELECT 1 FROM s WHERE s.a = r.a)", "s", _same_a),
    Atom("NOT EXISTS (SELECT 1 FROM u WHERE u.a = r.a)", "u", _same_a),
    Atom(
        "EXISTS (SELECT 1 FROM u WHERE u.a = r.a AND u.c > r.id + 15)",
        "u",
        lambda outer, inner: _same_a(outer, inner) and _over(inner["c"], outer["id"] + 15),
    ),
    Atom("EXISTS (SELECT 1 FROM u WHERE c > 15)", "u", lambda _, inner: _over(inner["c"], 15)),
    Atom("EXISTS (SELECT 1 FROM u WHERE c > 50)", "u", lambda _, inner: _over(inner["c"], 50)),
    Atom("a < (SELECT sum(a) FROM u)", "u"),
    Atom("id < (SELECT count(*) FROM s WHERE s.a = r.a)", "s", _same_a),
    Atom("a IS NULL"),
    Atom("id > 2"),
    Atom("a = 1"),
    Atom("1 = 1"),
    Atom("1 = 0"),
)


class Condition(NamedTuple):
    """A condition's text and its atoms, in the order of the text."""

    text: str
    atoms: tuple[Atom, ...]


def condition(choose: random.Random, depth: int = 3) -> Condition:
    """A random condition over the columns of `r`."""
    form = choose.choice(_FORMS) if depth else "{}"
    parts = [condition(choose, depth - 1) for _ in range(form.count("{}"))] if form != "{}" else []
    if not parts:
        atom = choose.choice(ATOMS)
        return Condition(atom.text, (atom,))
    text = form.format(*(part.text for part in parts))
    return Condition(text, tuple(atom for part in parts for atom in part.atoms))


_FORMS = (
    "{}",
    "NOT ({})",
    "({} AND {})",
    "({} OR {})",
    "({} OR {})",
    "CASE WHEN {} THEN {} ELSE {} END",
    "coalesce({}, id = 4)",
    "(({}) IS NOT NULL)",
)


def lineage(found: Iterable[tuple[Any, ...]], atoms: Iterable[Atom]) -> Expected:
    """The lineage of output rows, the first column of which is `id` of `r`."""
    outer = _records("r")
    expected: dict[tuple[Any, ...], dict[str, list[int]]] = {}
    for row in found:
        rows = expected[row] = {"r": [row[0]]}
        seen: Counter[str] = Counter()
        for atom in atoms:
            if not atom.table:
                continue
            seen[atom.table] += 1
            name = atom.table if seen[atom.table] == 1 else f"{atom.table}{seen[atom.table]}"
            inner = _records(atom.table)
            rows[name] = [r["id"] for r in inner if atom.matches(outer[row[0]], r)]
    return expected


def _records(table: str) -> list[Record]:
    columns = TABLES[table]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
