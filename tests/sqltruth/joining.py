"""Random FROM clauses: tables, CTEs, subqueries, and joins of all kinds."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.sqltruth.functions import BOOL
from tests.sqltruth.names import Column, names_of
from tests.sqltruth.sources import Sources
from tests.sqltruth.syntax import (
    Constant,
    Derived,
    Expr,
    Item,
    Join,
    Pivot,
    Query,
    Ref,
    Select,
    SetOperation,
    Table,
    Top,
    Unpivot,
    Values,
    Window,
    quoted,
    width,
)
from tests.sqltruth.tables import TABLES
from tests.sqltruth.windows import RANKINGS

_JOINS = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN",
          "LEFT SEMI JOIN", "LEFT ANTI JOIN")  # fmt: skip
_MOST_SCANS = 7
_TRUE = Constant(True, BOOL, "true")


class CommonTable(NamedTuple):
    """A CTE and the names and types of its columns."""

    name: str
    query: Query
    columns: tuple[tuple[str, str], ...]


class Joining(Sources):
    """Draws FROM clauses."""

    def __init__(self, rng: random.Random, ansi: bool) -> None:
        super().__init__(rng, ansi)
        self._unaliased: set[str] = set()
        self.common: list[CommonTable] = []
        self.scans = 0

    def from_clause(self, depth: int) -> tuple[Item, list[Column]]:
        item, columns = self._item(depth)
        for number in range(self.pick((0, 0, 1, 1, 1, 2)) if depth else self.pick((0, 0, 1))):
            if self.scans >= _MOST_SCANS:
                break
            if depth and self.chance(0.15):
                item, columns = self._lateral(item, columns, depth)
                continue
            other, more = self._item(depth - 1 if depth else 0)
            item, columns = self._join(item, columns, other, more, simple=not number)
        return item, columns

    def _item(self, depth: int) -> tuple[Item, list[Column]]:
        if self.common and self.scans < _MOST_SCANS and self.chance(0.4):
            common = self.pick(self.common)
            self.scans += _count_scans(common.query)
            return self._derived(common.query, common.columns, common.name)
        if depth and self.scans < _MOST_SCANS and self.chance(0.3):
            query, types = self.query(depth - 1)
            columns = tuple(zip(names_of(query), types, strict=True))
            return self._derived(self.topped(query, 0.08), columns, None)
        if depth and self.chance(0.1):
            made = self.pivot_item if self.chance(0.5) else self.unpivot_item
            return made(depth - 1)
        if self.chance(0.08):
            self.scans += 1
            return self.values_item()
        if self.chance(0.08):
            return self.ranked_item(*self._table())
        return self._table()

    def _lateral(
        self, left: Item, ours: list[Column], depth: int
    ) -> tuple[Item, list[Column]]:  # fmt: skip
        """A join with a subquery that reads the rows before it."""
        outer = [column.ref for column in ours if "`.`" in column.ref.text]
        query, types = self.query(depth - 1, outer=outer)
        columns = tuple(zip(names_of(query), types, strict=True))
        item, theirs = self._derived(self.topped(query, 0.3), columns, None)
        kind = self.pick(("JOIN", "LEFT JOIN", "CROSS JOIN"))
        both = [*ours, *theirs]
        on = None
        if kind != "CROSS JOIN":
            on = self.condition([c.ref for c in both], 0, ()) if self.chance(0.3) else _TRUE
        assert isinstance(item, Derived)
        return Join(kind, left, dataclasses.replace(item, lateral=True), on), both

    def _table(self) -> tuple[Item, list[Column]]:
        self.scans += 1
        name = self.pick(("r", "r", "r", "s", "s", "s", "u", "u", "v", "v", "w", "z"))
        relation = self.number()
        alias = None
        if name in self._unaliased or self.chance(0.75):
            alias = self.alias(relation)
        self._unaliased |= {name} if alias is None else set()
        columns = tuple(TABLES[name].items())
        item = self.sampled(Table(relation, name, alias, len(columns)))
        return item, self.columns(relation, alias or name, columns)

    def _derived(
        self, query: Query, columns: Sequence[tuple[str, str]], cte: str | None
    ) -> tuple[Item, list[Column]]:
        relation = self.number()
        alias = self.alias(relation)
        item = Derived(relation, query, alias, width(query), cte)
        self.rankings |= {(relation, place) for place in self._ranks(query)}
        return item, self.columns(relation, alias, columns)

    def _ranks(self, query: Query) -> set[int]:
        """The places of a query's columns that are rankings."""
        match query:
            case Top(query=inner):
                return self._ranks(inner)
            case SetOperation(left=left, right=right):
                return self._ranks(left) | self._ranks(right)
            case Select(items=items):
                return {n for n, item in enumerate(items) if self._is_ranking(item)}

    def _is_ranking(self, item: Expr) -> bool:
        if not isinstance(item, Ref):
            return False
        if isinstance(item.of, Window):
            return item.of.name in RANKINGS
        of = item.of if isinstance(item.of, Ref) else item
        return (of.relation, of.place) in self.rankings

    def local(self, columns: Sequence[Column]) -> list[Ref]:
        """References as the SELECT itself writes them: some names without their alias."""
        names = Counter(column.name.casefold() for column in columns)
        return [
            dataclasses.replace(ref, text=quoted(name))
            if names[name.casefold()] == 1 and self.chance(0.25)
            else ref
            for ref, name in columns
        ]

    def _join(
        self, left: Item, ours: list[Column], right: Item, theirs: list[Column], simple: bool
    ) -> tuple[Item, list[Column]]:
        kind = self.pick(_JOINS)
        half = "SEMI" in kind or "ANTI" in kind
        if simple and self.chance(0.25):
            merged = self._merged(kind, left, ours, right, theirs)
            if merged is not None:
                return merged
        both = [*ours, *theirs]
        if not half and self.chance(0.06):
            return Join("CROSS JOIN", left, right), both
        terms: list[Expr] = [self.linking([c.ref for c in ours], [c.ref for c in theirs])]
        if self.chance(0.2):
            refs = [column.ref for column in both]
            depth = 1 if self.chance(0.2) else 0
            terms.append(self.condition(refs, depth, refs))
        on = terms[0] if len(terms) == 1 else self.joined(terms)
        return Join(kind, left, right, on), ours if half else both

    def _merged(
        self, kind: str, left: Item, ours: list[Column], right: Item, theirs: list[Column]
    ) -> tuple[Item, list[Column]] | None:
        """USING or NATURAL, if columns of one name are of one type."""
        mine = {column.name.casefold(): column for column in ours}
        yours = {column.name.casefold(): column for column in theirs}
        shared = [name for name in mine if name in yours]
        if not shared or any(mine[n].ref.type != yours[n].ref.type for n in shared):
            return None
        if len(mine) < len(ours) or len(yours) < len(theirs):
            return None
        half = "SEMI" in kind or "ANTI" in kind
        natural = not half and self.chance(0.4)
        if not natural:
            shared = self.rng.sample(shared, self.rng.randint(1, min(2, len(shared))))
        relation = self.number()
        pairs = tuple((mine[name].ref, yours[name].ref) for name in shared)
        using = tuple(mine[name].name for name in shared)
        join = Join(kind, left, right, None, pairs, using, natural, relation)
        if half:
            return join, ours
        merged = [
            Column(Ref(relation, place, a.type, quoted(name)), name)
            for place, ((a, _), name) in enumerate(zip(pairs, using, strict=True))
        ]
        # The merged columns are known by their names alone, so no later join may bring one again;
        # `_from` joins what has fresh names or is qualified, and the names stay unique below.
        return join, [*ours, *theirs, *merged]


def _count_scans(query: Query) -> int:
    match query:
        case Top(query=inner):
            return _count_scans(inner)
        case SetOperation(left=left, right=right):
            return _count_scans(left) + _count_scans(right)
        case Select(source=source):
            return _count_items(source)


def _count_items(item: Item) -> int:
    match item:
        case Table() | Values():
            return 1
        case Derived(query=query) | Pivot(query=query) | Unpivot(query=query):
            return _count_scans(query)
        case Join(left=left, right=right):
            return _count_items(left) + _count_items(right)
