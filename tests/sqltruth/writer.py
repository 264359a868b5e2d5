"""Writes random statements: a seed gives a syntax tree, which `syntax` renders to SQL.

Only deterministic statements come out: ORDER BY names every column where a LIMIT follows.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.sqltruth.functions import BOOL, DOUBLE, INT, LONG, TEXT, TYPES, UNSTEADY
from tests.sqltruth.names import Column, Scope, names_of
from tests.sqltruth.sources import Sources
from tests.sqltruth.spelling import text
from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Derived,
    Expr,
    Grouping,
    Item,
    Join,
    Pivot,
    Query,
    Ref,
    Select,
    SetOperation,
    Statement,
    Table,
    Top,
    Unpivot,
    Values,
    View,
    Window,
    quoted,
    subexpressions,
    width,
)
from tests.sqltruth.tables import TABLES
from tests.sqltruth.windows import RANKINGS

_JOINS = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN",
          "LEFT SEMI JOIN", "LEFT ANTI JOIN")  # fmt: skip
_SETS = (("UNION", True), ("UNION", False), ("INTERSECT", False), ("INTERSECT", True),
         ("EXCEPT", False), ("EXCEPT", True))  # fmt: skip
_MOST_SCANS = 7
_TRUE = Constant(True, BOOL, "true")


class CommonTable(NamedTuple):
    """A CTE and the names and types of its columns."""

    name: str
    query: Query
    columns: tuple[tuple[str, str], ...]


class Writer(Sources):
    """Writes one statement."""

    def __init__(self, rng: random.Random, ansi: bool) -> None:
        super().__init__(rng, ansi)
        self._unaliased: set[str] = set()
        self._common: list[CommonTable] = []
        self._scans = 0

    def statement(self) -> Statement:
        """A statement: perhaps CTEs, a query, perhaps its first rows."""
        for _ in range(self.pick((0, 0, 0, 1, 1, 2))):
            query, types = self.query(self.pick((0, 0, 1)))
            columns = tuple(zip(names_of(query), types, strict=True))
            self._common.append(CommonTable(f"c{self.number()}", query, columns))
        query, types = self.query(self.pick((0, 0, 1, 1, 1, 2)))
        query = self._sorted(query, types)
        ctes = tuple((common.name, common.query) for common in self._common)
        return Statement(query, ctes)

    def _sorted(self, query: Query, types: Sequence[str]) -> Query:
        """The query, perhaps its first rows, perhaps sorted by a column that is not in its
        output.
        """
        if (
            isinstance(query, Select)
            and query.grouping
            and not query.distinct
            and self.chance(0.1)
            and not query.grouping.sets
            and not query.windows
        ):
            grouping = query.grouping
            part = self.pick([*grouping.keys, *grouping.aggregates])
            place = [*grouping.keys, *grouping.aggregates].index(part)
            by = Ref(grouping.relation, place, part.type, of=part)
            return dataclasses.replace(query, order=(by,))
        if not self.chance(0.15):
            return query
        order = tuple(
            (place, self.pick(("ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST")))
            for place in self.rng.sample(range(len(types)), len(types))
        )
        limit = self.pick((None, 1, 2, 3))
        return Top(query, order, limit, self.pick((0, 0, 1)) if limit else 0)

    def query(
        self, depth: int, types: Sequence[str] | None = None, outer: Scope = ()
    ) -> tuple[Query, list[str]]:
        """A SELECT or a set operation, of columns of `types` if given, and its types."""
        if depth and self.chance(0.2):
            left, types = self.query(depth - 1, types, outer)
            right, _ = self.query(depth - 1, types, outer)
            operator, every = self.pick(_SETS)
            return SetOperation(operator, every, left, right), list(types)
        return self.select(depth, types, outer)

    def select(
        self,
        depth: int,
        types: Sequence[str] | None = None,
        outer: Scope = (),
        grouped: float = 0.35,
        keys: bool = True,
    ) -> tuple[Select, list[str]]:
        """A SELECT, correlated with `outer` if that is given."""
        source, columns = self._from(depth)
        views = tuple(self._view(columns) for _ in range(self.chance(0.12)))
        scope = self._local(columns)
        # A merged column has no qualifier: in a subquery its name may be that of a column there.
        qualified = [column.ref for column in columns if "`.`" in column.ref.text]
        where = [self.condition(scope, depth, qualified) for _ in range(self.pick((0, 0, 0, 1, 1)))]
        if outer:
            where.append(self._correlation(scope, outer))
        if self.chance(grouped):
            found, kinds = self._grouped(source, tuple(where), scope, depth, types, keys)
            return dataclasses.replace(found, views=views), kinds
        if types is None and self.chance(0.2):
            plain = Select((), (), source, tuple(where), views=views)
            return self._with_windows(plain, scope)
        if types is None and self._plain(source) and self.chance(0.1):
            items: list[Expr] = [column.ref for column in columns]
            names = [column.name for column in columns]
            found = Select(tuple(items), tuple(names), source, tuple(where), star=True, views=views)
            return found, [item.type for item in items]
        if not outer:
            where = [self._unsteady(term, 0.05) for term in where]
        wanted = list(types or [self._some_type(scope) for _ in range(self.pick((1, 2, 2, 3)))])
        items = [self.value(data_type, scope, depth, qualified, 1) for data_type in wanted]
        if not outer:
            items = [self._unsteady(item, 0.04) for item in items]
        distinct = self.chance(0.15)
        return (
            Select(
                tuple(items),
                self.fresh(len(items)),
                source,
                tuple(where),
                distinct=distinct,
                views=views,
            ),
            wanted,
        )

    def _with_windows(self, select: Select, scope: Scope) -> tuple[Select, list[str]]:
        """The SELECT with columns of the scope and windows over it, perhaps with QUALIFY."""
        windows, pool, made = self.windows(scope)
        qualify: Expr | None = None
        if self.chance(0.2) and not select.grouping:
            ranking = self.ranking(pool)
            functions = (*windows.functions, ranking)
            windows = dataclasses.replace(windows, functions=functions)
            *made, number = self.window_columns(windows)
            made = made if self.chance(0.5) else []
            qualify = self.cut(number)
        elif self.chance(0.1) and not select.grouping:
            ranks = {(windows.relation, n) for n, f in enumerate(windows.functions)
                     if f.name in RANKINGS}  # fmt: skip
            self.rankings |= ranks
            qualify = self.condition(made, 0, ())
        shown = [ref for ref in pool if self.chance(0.7)] or pool[:1]
        items = [*shown, *(self.window_item(ref) for ref in made)]
        found = dataclasses.replace(
            select, items=tuple(items), names=self.fresh(len(items)), windows=windows,
            qualify=qualify, distinct=self.chance(0.08),
        )  # fmt: skip
        return found, [item.type for item in items]

    def _unsteady(self, expr: Expr, probability: float) -> Expr:
        """Perhaps the same value, written with random ones."""
        same = [function for function in UNSTEADY if function.result == expr.type]
        return Call(self.pick(same), (expr,)) if same and self.chance(probability) else expr

    def _view(self, columns: list[Column]) -> View:
        """A LATERAL VIEW over the columns, to which its own are added."""
        scope = [column.ref for column in columns]
        kind = self.pick(("explode", "explode", "posexplode", "inline", "stack"))
        wide = 1 if "explode" in kind else self.pick((1, 2))
        types = [self._some_type(scope) for _ in range(wide)]
        rows = tuple(
            tuple(self.value(data_type, scope, 0, (), 2) for data_type in types)
            for _ in range(self.pick((1, 2, 2, 3)))
        )
        relation = self.number()
        types = [INT, *types] if kind == "posexplode" else types
        alias, names = self.alias(relation), self.fresh(len(types))
        columns += self.columns(relation, alias, list(zip(names, types, strict=True)))
        kept = self.condition(scope, 0, ()) if self.chance(0.4) and kind != "stack" else None
        return View(relation, kind, rows, alias, names, kept, self.chance(0.5))

    def _plain(self, source: Item) -> bool:
        """Whether ``*`` gives columns of different names that are all there is."""
        return not isinstance(source, Join)

    def _some_type(self, scope: Scope) -> str:
        known = [ref.type for ref in scope]
        return self.pick(known) if self.chance(0.85) else self.pick(TYPES)

    # Groups.

    def _grouped(
        self,
        source: Item,
        where: tuple[Expr, ...],
        scope: Scope,
        depth: int,
        types: Sequence[str] | None,
        with_keys: bool,
    ) -> tuple[Select, list[str]]:
        keys = self._keys(scope, depth) if with_keys else []
        relation = self.number()
        aggregates = [self._aggregate(scope, depth) for _ in range(self.pick((0, 1, 1, 2)))]
        if not keys and not aggregates:
            aggregates = [self._aggregate(scope, depth)]
        if types and not any(each.type in types for each in [*keys, *aggregates]):
            aggregates.append(self._aggregate(scope, depth, types[0]))
        sets, levels = self._levels(keys) if keys and self.chance(0.25) else ((), "")
        if sets and self.chance(0.4):
            aggregates.append(self._level(keys, levels))
        parts = [*keys, *aggregates]
        columns = [Ref(relation, n, part.type, of=part) for n, part in enumerate(parts)]
        outer = [
            ref for ref in columns if isinstance(ref.of, Ref) and "`.`" in ref.of.text and not sets
        ]
        if types is None:
            items = [c if self.chance(0.8) else self.value(c.type, columns, 0, outer, 1)
                     for c in columns if self.chance(0.9)] or [columns[0]]  # fmt: skip
        else:
            items = [self._of_group(data_type, columns) for data_type in types]
        names = self.fresh(len(items))
        having = None
        if self.chance(0.3):
            having = self.condition(columns, depth, outer)
        grouping = Grouping(
            relation, tuple(keys), tuple(aggregates),
            tuple(self._written(key, items, names) for key in keys), having, sets, levels,
        )  # fmt: skip
        distinct = self.chance(0.08)
        found = Select(tuple(items), names, source, where, grouping, distinct)
        if types is None and self.chance(0.2):
            plain = dataclasses.replace(grouping, written=tuple(map(text, keys)))
            return self._with_windows(dataclasses.replace(found, grouping=plain), columns)
        return found, [item.type for item in items]

    def _levels(self, keys: Sequence[Expr]) -> tuple[tuple[tuple[int, ...], ...], str]:
        """Grouping sets of the keys: a ROLLUP, a CUBE, or some of all."""
        places = range(len(keys))
        every = tuple(c for n in places for c in itertools.combinations(places, n + 1))
        written = ", ".join(map(text, keys))
        kind = self.pick(("ROLLUP", "CUBE", "SETS"))
        if kind == "ROLLUP":
            return tuple(tuple(places[:n]) for n in range(len(keys), -1, -1)), f"ROLLUP ({written})"
        if kind == "CUBE":
            return (*every, ()), f"CUBE ({written})"
        chosen = tuple(self.rng.choices((*every, ()), k=2))
        if {place for each in chosen for place in each} != set(places):
            chosen = (*chosen, tuple(places))
        sets = ", ".join(f"({', '.join(text(keys[place]) for place in each)})" for each in chosen)
        return chosen, f"GROUPING SETS ({sets})"

    def _level(self, keys: Sequence[Expr], levels: str) -> Aggregate:
        """A function of a group's level; the text decides the bits' order in GROUPING SETS."""
        if levels.startswith("GROUPING") or self.chance(0.4):
            return Aggregate("grouping", self.pick(keys), INT)
        return Aggregate("grouping_id", None, LONG)

    def _of_group(self, data_type: str, columns: Scope) -> Expr:
        fitting = [column for column in columns if column.type == data_type]
        return self.pick(fitting) if fitting else self.value(data_type, columns, 0, (), 1)

    def _keys(self, scope: Scope, depth: int) -> list[Expr]:
        keys: list[Expr] = []
        for _ in range(self.pick((0, 1, 1, 1, 2))):
            ref = self.pick(scope)
            key: Expr = ref
            if self.chance(0.25):
                made = self.value(self._some_type(scope), scope, 0, (), 2)
                key = made if any(isinstance(e, Ref) for e in subexpressions(made)) else ref
            if text(key) not in map(text, keys):
                keys.append(key)
        return keys

    def _written(self, key: Expr, items: Sequence[Expr], names: Sequence[str]) -> str:
        """The key in GROUP BY: itself, or the place or the name of the item that is the key."""
        for place, item in enumerate(items):
            if isinstance(item, Ref) and item.of is key and self.chance(0.4):
                # Spark reads a dot in the alias as a field, in backticks or not.
                alias = text(key) if "." in names[place] else quoted(names[place])
                return self.pick((str(place + 1), alias))
        return text(key)

    def _aggregate(self, scope: Scope, depth: int, data_type: str | None = None) -> Aggregate:
        argument = (
            self.pick(scope) if self.chance(0.8)
            else self.value(self._some_type(scope), scope, 0, (), 2)
        )  # fmt: skip
        if data_type is not None:
            argument = self.value(data_type, scope, 0, (), 1)
            return Aggregate(self.pick(("min", "max")), argument, data_type)
        kept = self.condition(scope, 0, ()) if self.chance(0.12) else None
        choices = [("min", argument.type), ("max", argument.type), ("min", argument.type),
                   ("max", argument.type), ("count", LONG)]  # fmt: skip
        if argument.type == INT:
            choices += [("sum", LONG), ("try_sum", LONG), ("avg", DOUBLE)]
        if argument.type == LONG:
            choices += [("sum", LONG), ("try_sum", LONG)]
        if argument.type in (INT, LONG) and self.chance(0.3):
            choices = [(name, argument.type) for name in ("bit_and", "bit_or", "bit_xor")]
            choices += [("sizes of sets", INT), ("sorted lists", TEXT), ("texts together", TEXT)]
            choices += [("halves", DOUBLE), ("lower halves", DOUBLE), ("median", DOUBLE)] * (
                argument.type == INT
            )
        if argument.type in (INT, LONG, TEXT) and self.chance(0.12):
            choices = [("sizes of lists", INT), ("max by itself", argument.type)]
        if argument.type not in (BOOL, DOUBLE) and self.chance(0.08):
            name = self.pick(("largest by", "least by"))
            return Aggregate(name, argument, argument.type, filter=kept, by=self.pick(scope))
        if argument.type == BOOL:
            choices += [("bool_and", BOOL), ("bool_or", BOOL), ("count_if", LONG)]
        name, result = self.pick(choices)
        if name == "count" and self.chance(0.5):
            return Aggregate("count", None, LONG, filter=kept)
        distinct = name in ("count", "sum", "sizes of lists", "bit_xor") and self.chance(0.3)
        return Aggregate(name, argument, result, distinct, kept)

    # FROM.

    def _from(self, depth: int) -> tuple[Item, list[Column]]:
        item, columns = self._item(depth)
        for number in range(self.pick((0, 0, 1, 1, 1, 2)) if depth else self.pick((0, 0, 1))):
            if self._scans >= _MOST_SCANS:
                break
            if depth and self.chance(0.15):
                item, columns = self._lateral(item, columns, depth)
                continue
            other, more = self._item(depth - 1 if depth else 0)
            item, columns = self._join(item, columns, other, more, simple=not number)
        return item, columns

    def _item(self, depth: int) -> tuple[Item, list[Column]]:
        if self._common and self._scans < _MOST_SCANS and self.chance(0.4):
            common = self.pick(self._common)
            self._scans += _count_scans(common.query)
            return self._derived(common.query, common.columns, common.name)
        if depth and self._scans < _MOST_SCANS and self.chance(0.3):
            query, types = self.query(depth - 1)
            columns = tuple(zip(names_of(query), types, strict=True))
            return self._derived(self.topped(query, 0.08), columns, None)
        if depth and self.chance(0.1):
            made = self.pivot_item if self.chance(0.5) else self.unpivot_item
            return made(depth - 1)
        if self.chance(0.08):
            self._scans += 1
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
        self._scans += 1
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

    def _local(self, columns: Sequence[Column]) -> list[Ref]:
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
