"""Writes random statements: a seed gives a syntax tree, which `spelling` renders to SQL.

Only deterministic statements come out: ORDER BY names every column where a LIMIT follows.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

from tests.sqltruth.functions import INT, UNSTEADY
from tests.sqltruth.joining import CommonTable, Joining
from tests.sqltruth.names import Column, Scope, names_of
from tests.sqltruth.spelling import text
from tests.sqltruth.syntax import (
    Call,
    Expr,
    Grouping,
    Item,
    Join,
    Query,
    Ref,
    Select,
    SetOperation,
    Statement,
    Top,
    View,
)
from tests.sqltruth.windows import RANKINGS

_SETS = (("UNION", True), ("UNION", False), ("INTERSECT", False), ("INTERSECT", True),
         ("EXCEPT", False), ("EXCEPT", True))  # fmt: skip


class Writer(Joining):
    """Writes one statement."""

    def __init__(self, rng: random.Random, ansi: bool) -> None:
        super().__init__(rng, ansi)
        self._steady = True

    def statement(self) -> Statement:
        """A statement: perhaps CTEs, a query, perhaps its first rows."""
        for _ in range(self.pick((0, 0, 0, 1, 1, 2))):
            query, types = self.query(self.pick((0, 0, 1)))
            columns = tuple(zip(names_of(query), types, strict=True))
            self.common.append(CommonTable(f"c{self.number()}", query, columns))
        self._steady = False
        query, types = self.query(self.pick((0, 0, 1, 1, 1, 2)))
        query = self._sorted(query, types)
        ctes = tuple((common.name, common.query) for common in self.common)
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
        source, columns = self.from_clause(depth)
        views = tuple(self._view(columns) for _ in range(self.chance(0.12)))
        scope = self.local(columns)
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
        wanted = list(types or [self.some_type(scope) for _ in range(self.pick((1, 2, 2, 3)))])
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
        """Perhaps the same value, written with random ones.

        Not in a CTE: Spark computes such a one once for all references.
        """
        if self._steady:
            return expr
        same = [function for function in UNSTEADY if function.result == expr.type]
        return Call(self.pick(same), (expr,)) if same and self.chance(probability) else expr

    def _view(self, columns: list[Column]) -> View:
        """A LATERAL VIEW over the columns, to which its own are added."""
        scope = [column.ref for column in columns]
        kind = self.pick(("explode", "explode", "posexplode", "inline", "stack"))
        wide = 1 if "explode" in kind else self.pick((1, 2))
        types = [self.some_type(scope) for _ in range(wide)]
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
        keys = self.keys(scope, depth) if with_keys else []
        relation = self.number()
        aggregates = [self.aggregate(scope, depth) for _ in range(self.pick((0, 1, 1, 2)))]
        if not keys and not aggregates:
            aggregates = [self.aggregate(scope, depth)]
        if types and not any(each.type in types for each in [*keys, *aggregates]):
            aggregates.append(self.aggregate(scope, depth, types[0]))
        sets, levels = self.levels(keys) if keys and self.chance(0.25) else ((), "")
        if sets and self.chance(0.4):
            aggregates.append(self.level(keys, levels))
        parts = [*keys, *aggregates]
        columns = [Ref(relation, n, part.type, of=part) for n, part in enumerate(parts)]
        outer = [
            ref for ref in columns if isinstance(ref.of, Ref) and "`.`" in ref.of.text and not sets
        ]
        if types is None:
            items = [c if self.chance(0.8) else self.value(c.type, columns, 0, outer, 1)
                     for c in columns if self.chance(0.9)] or [columns[0]]  # fmt: skip
        else:
            items = [self.of_group(data_type, columns) for data_type in types]
        names = self.fresh(len(items))
        having = None
        if self.chance(0.3):
            having = self.condition(columns, depth, outer)
        grouping = Grouping(
            relation, tuple(keys), tuple(aggregates),
            tuple(self.written(key, items, names) for key in keys), having, sets, levels,
        )  # fmt: skip
        distinct = self.chance(0.08)
        found = Select(tuple(items), names, source, where, grouping, distinct)
        if types is None and self.chance(0.2):
            plain = dataclasses.replace(grouping, written=tuple(map(text, keys)))
            return self._with_windows(dataclasses.replace(found, grouping=plain), columns)
        return found, [item.type for item in items]
