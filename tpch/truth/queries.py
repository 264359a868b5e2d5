"""Queries: SELECT, set operations, CTEs and subqueries, each compiled once and run when read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlglot import exp

from tpch.truth import values
from tpch.truth.expressions import Compiler, Inner, Traced
from tpch.truth.groups import Aggregate, aggregates_in, grouped
from tpch.truth.joins import Joined, Row, Step, Term, joined, kept, term
from tpch.truth.origins import Leaf, Under, together
from tpch.truth.scopes import (
    Computed,
    Context,
    Item,
    Outer,
    Place,
    Scope,
    bare,
    canonical,
    conjuncts,
)
from tpch.truth.windows import Key, Window, windowed

Ctes = Mapping[str, exp.Expr]
_KINDS = {"": "inner", "INNER": "inner", "CROSS": "inner", "LEFT": "left", "RIGHT": "right"}
_RANKINGS = (exp.Rank, exp.RowNumber)


@dataclass(frozen=True)
class Table:
    """A table: its columns' names, and its rows in the order of their numbers."""

    names: Sequence[str]
    rows: Sequence[Row]


@dataclass
class Queries:
    """Compiles the queries of one statement; `reading` is that of min and max."""

    tables: Mapping[str, Table]
    reading: str
    numbers: dict[int, int] = field(default_factory=dict)
    """The number of each FROM item that reads a table or a CTE, by its node's identity."""
    _ctes: dict[Any, Inner] = field(default_factory=dict)

    def compile(
        self,
        node: exp.Expr,
        ctes: Ctes,
        outer: Scope | None,
        needed: frozenset[int] | None = None,
        silent: frozenset[int] = frozenset(),
        *,
        top: bool = False,
    ) -> Inner:
        """A query. Of its columns those `needed` are read (None: all), and of these the `silent`
        ones by a filter on rankings alone. The ORDER BY and LIMIT of the `top` query are left to
        whoever reads it."""
        node = _unwrapped(node)
        if not top and (node.args.get("limit") or node.args.get("offset")):
            raise NotImplementedError(f"a LIMIT inside: {node.sql()[:80]}")
        ctes = with_ctes(node, ctes)
        if isinstance(node, exp.SetOperation):
            return _Both(self, node, ctes, outer, needed)
        if not isinstance(node, exp.Select):
            raise NotImplementedError(type(node).__name__)
        every = frozenset(range(len(self.names(node, ctes))))
        # DISTINCT compares whole rows.
        wanted = every if needed is None or node.args.get("distinct") else needed
        return _Select(self, node, ctes, outer, wanted, silent)

    def names(self, node: exp.Expr, ctes: Ctes) -> list[str]:
        """The names of a query's columns."""
        node = _unwrapped(node)
        ctes = with_ctes(node, ctes)
        if isinstance(node, exp.SetOperation):
            return self.names(node.left, ctes)
        assert isinstance(node, exp.Select)
        items = [self.item(each, ctes) for each in sources(node)]
        return [part.alias_or_name.lower() for part in self.projections(node, items)]

    def projections(self, node: exp.Select, items: Sequence[Item]) -> list[exp.Expr]:
        """The expressions of SELECT, stars spelled out."""
        found: list[exp.Expr] = []
        for part in node.expressions:
            if not part.is_star or isinstance(part, exp.Count):
                found.append(part)
                continue
            alias = part.table.lower() if isinstance(part, exp.Column) else ""
            found += [
                exp.column(name, table=item.alias)
                for item in items
                if alias in ("", item.alias)
                for name in item.names
            ]
        return found

    def item(self, node: exp.Expr, ctes: Ctes) -> Item:
        """A FROM item's alias and columns."""
        alias = node.alias_or_name.lower()
        if isinstance(node, exp.Table):
            name = node.name.lower()
            inner = self.names(ctes[name], ctes) if name in ctes else self.tables[name].names
        else:
            inner = self.names(node, ctes)
        given = [column.name.lower() for column in _column_aliases(node)]
        return Item(alias, given or list(inner))

    def read(
        self, node: exp.Expr, ctes: Ctes, needed: frozenset[int], silent: frozenset[int]
    ) -> Sequence[Joined]:
        """The rows of a FROM item."""
        if not isinstance(node, exp.Table):
            return self.compile(node, ctes, None, needed, silent).rows(None)
        number = self.number(node)
        name = node.name.lower()
        if name not in ctes:
            return [(row, Leaf(number, n)) for n, row in enumerate(self.tables[name].rows)]
        key = (id(ctes[name]), needed, silent)
        if key not in self._ctes:
            self._ctes[key] = self.compile(ctes[name], ctes, None, needed, silent)
        return [(row, Under(number, origin)) for row, origin in self._ctes[key].rows(None)]

    def number(self, node: exp.Expr) -> int:
        """The number of a FROM item."""
        return self.numbers.setdefault(id(node), len(self.numbers))


def with_ctes(node: exp.Expr, ctes: Ctes) -> Ctes:
    """The CTEs in sight inside a query."""
    found = dict(ctes)
    clause = node.args.get("with_") or node.args.get("with")
    for cte in clause.expressions if clause is not None else ():
        found[cte.alias.lower()] = cte.this
    return found


def sources(node: exp.Select) -> list[exp.Expr]:
    """The FROM items, left to right."""
    first = node.args.get("from_") or node.args.get("from")
    return [first.this, *(join.this for join in node.args.get("joins") or ())] if first else []


def _unwrapped(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery | exp.Paren):
        node = node.this
    return node


def _column_aliases(node: exp.Expr) -> Sequence[exp.Expr]:
    alias = node.args.get("alias")
    return alias.columns if isinstance(alias, exp.TableAlias) else ()


class _Both:
    """UNION, INTERSECT, EXCEPT."""

    def __init__(
        self, queries: Queries, node: Any, ctes: Ctes, outer: Scope | None, needed: Any
    ) -> None:
        self._node = node
        every = isinstance(node, exp.Union) and not node.args.get("distinct")
        self._all = every
        wanted = needed if every else None
        self._sides = [
            queries.compile(side, ctes, outer, wanted) for side in (node.left, node.right)
        ]
        self.outer = self._sides[0].outer | self._sides[1].outer

    def rows(self, outer: Context | None) -> list[Traced]:
        """The rows of both sides, or those that are equal."""
        left, right = (side.rows(outer) for side in self._sides)
        if isinstance(self._node, exp.Union):
            return [*left, *right] if self._all else distinct([*left, *right])
        if self._node.args.get("distinct") is False:
            raise NotImplementedError(f"{type(self._node).__name__} ALL")
        theirs = {_key(row): origin for row, origin in distinct(right)}
        if isinstance(self._node, exp.Intersect):
            return [
                (row, together(origin, theirs[_key(row)]))
                for row, origin in distinct(left)
                if _key(row) in theirs
            ]
        return [each for each in distinct(left) if _key(each[0]) not in theirs]


def _key(row: Row) -> Row:
    return tuple(map(values.key, row))


def distinct(rows: Sequence[Traced]) -> list[Traced]:
    """One row for equal ones, from all of them."""
    same: dict[Row, list[Traced]] = {}
    for row, origin in rows:
        same.setdefault(_key(row), []).append((row, origin))
    return [(found[0][0], together(*(o for _, o in found))) for found in same.values()]


class _Select:
    """A SELECT, compiled from its end: what its columns read decides what is read below."""

    def __init__(
        self,
        queries: Queries,
        node: exp.Select,
        ctes: Ctes,
        outer: Scope | None,
        wanted: frozenset[int],
        silent: frozenset[int],
    ) -> None:
        self._queries, self._node, self._ctes, self._outer_scope = queries, node, ctes, outer
        self._sources = sources(node)
        self._items = [queries.item(each, ctes) for each in self._sources]
        self._scope = Scope(self._items, outer)
        self._parts = queries.projections(node, self._items)
        self._wanted, self._silent = wanted, silent
        self._needed = [part for n, part in enumerate(self._parts) if n in wanted]
        self._quiet: set[Place] = set()
        self._compiled: list[Computed] = []
        self._prepare()
        self.outer = frozenset(o for each in self._compiled for o in each.outer)
        self._correlated = [each for each in self._where if _looks_outside(each)]
        self._links, self._unlinked = _links(self._correlated)
        self._kept: dict[Any, list[Traced]] = {}

    # Compiling.

    def _inner(self, node: exp.Expr, scope: Scope, valued: bool) -> Inner:
        needed = None if valued else frozenset[int]()
        return self._queries.compile(node, self._ctes, scope, needed)

    def _compile(self, node: exp.Expr, compiler: Compiler) -> Computed:
        found = compiler.compile(node)
        self._compiled.append(found)
        return found

    def _prepare(self) -> None:
        plain = Compiler(self._scope, self._inner)
        where = conjuncts(self._node.args["where"].this if self._node.args.get("where") else None)
        rankings = [each for each in where if self._bounds_ranking(each)]
        before = set(self._scope.read)
        self._where = [self._term(each, plain) for each in where if each not in rankings]
        self._steps_on = [
            [self._term(each, plain) for each in conjuncts(join.args.get("on"))]
            for join in self._node.args.get("joins") or ()
        ]
        having = self._node.args.get("having")
        tail = [*self._needed, *([having.this] if having else [])]
        self._group(tail, plain)
        self._finish(having)
        after = set(self._scope.read)
        self._where += [self._term(each, plain) for each in rankings]
        self._quiet = set(self._scope.read) - after - before

    def _term(self, node: exp.Expr, compiler: Compiler) -> Term:
        return term(node, lambda part: self._compile(part, compiler))

    def _bounds_ranking(self, node: exp.Expr) -> bool:
        """Whether a condition has the form of a filter on a ranking: ``column <= number``."""
        node = bare(node)
        return isinstance(node, exp.LTE | exp.LT) and (
            isinstance(node.left, exp.Column) and isinstance(node.right, exp.Literal)
        )

    def _group(self, tail: Sequence[exp.Expr], plain: Compiler) -> None:
        """GROUP BY: its keys, the levels of a ROLLUP, and the aggregates that are read."""
        group = self._node.args.get("group")
        nodes: list[exp.Expr] = []
        for part in tail:
            nodes += [each for each in aggregates_in(part) if each not in nodes]
        self._grouped = group is not None or bool(nodes)
        self._keys: list[Computed] = []
        self._levels = [frozenset[int]()]
        self._aggregates: list[Aggregate] = []
        self._known: dict[str, Place] = {}
        self._after = self._scope
        if not self._grouped:
            return
        plain_keys, rollups = _group_clause(group)
        keys = [self._written(key) for key in plain_keys]
        rolled = [self._written(key) for rollup in rollups for key in rollup.expressions]
        everything = [*keys, *rolled]
        self._levels = [frozenset(range(len(keys) + more)) for more in range(len(rolled), -1, -1)]
        self._keys = [self._compile(key, plain) for key in everything]
        names = [key.name.lower() if isinstance(key, exp.Column) else "" for key in everything]
        for place, key in enumerate(everything):
            self._known[canonical(key, self._scope)] = (0, place)
        level = len(everything)
        for each in nodes:
            if isinstance(each, exp.Grouping):
                continue
            self._known[canonical(each, self._scope)] = (0, level + 1 + len(self._aggregates))
            argument = each.this
            if isinstance(argument, exp.Distinct):
                (argument,) = argument.expressions
            counted = isinstance(argument, exp.Star)
            self._aggregates.append(
                Aggregate(each, None if counted else self._compile(argument, plain))
            )
        self._groupings = {
            canonical(each, self._scope): self._known[canonical(_grouping(each), self._scope)][1]
            for each in nodes
            if isinstance(each, exp.Grouping)
        }
        width = level + 1 + len(self._aggregates)
        for text in self._groupings:
            self._known[text] = (0, width)
            width += 1
        filler = [""] * (width - level)
        self._after = Scope([Item("", [*names, *filler])], self._outer_scope)

    def _written(self, key: exp.Expr) -> exp.Expr:
        """A key of GROUP BY: by place, by an alias of SELECT, or an expression."""
        key = bare(key)
        if isinstance(key, exp.Literal) and not key.is_string:
            return bare(self._parts[int(key.name) - 1])
        if isinstance(key, exp.Column) and not key.table and self._scope.find(key) is None:
            named = {part.alias_or_name.lower(): part for part in self._parts}
            return bare(named[key.name.lower()])
        return key

    def _finish(self, having: exp.Expr | None) -> None:
        """HAVING, windows and the columns, over rows of FROM or groups."""
        over = Compiler(self._after, self._inner, self._known, self._scope)
        self._having = [self._term(e, over) for e in conjuncts(having.this)] if having else []
        nodes = [(part, n) for n, part in enumerate(self._parts) if n in self._wanted]
        windows: list[tuple[exp.Window, bool]] = []
        for part, place in nodes:
            for each in _windows_in(part):
                quiet = place in self._silent and bare(part) is each
                windows.append((each, quiet and isinstance(each.this, _RANKINGS)))
        self._windows = [self._window(each, quiet, over) for each, quiet in windows]
        known = dict(self._known)
        scope = self._after
        if windows:
            last = len(scope.items)
            scope = Scope([*scope.items, Item("", [""] * len(windows))], self._outer_scope)
            for place, (each, _) in enumerate(windows):
                known[canonical(each, self._scope)] = (last, place)
        final = Compiler(scope, self._inner, known, self._scope)
        self._values = {n: self._compile(part, final) for part, n in nodes}
        if scope is not self._after:
            self._after.read |= {place for place in scope.read if place[0] < len(self._after.items)}

    def _window(self, node: exp.Window, quiet: bool, over: Compiler) -> Window:
        function: Any = node.this
        argument = None
        if type(function) in values.AGGREGATES and not isinstance(function.this, exp.Star):
            argument = self._compile(function.this, over)
        order = node.args.get("order")
        keys = [
            Key(
                self._compile(part.this, over),
                bool(part.args.get("desc")),
                bool(part.args.get("nulls_first")),
            )
            for part in (order.expressions if order else ())
        ]
        partition = [self._compile(part, over) for part in node.args.get("partition_by") or ()]
        return Window(node, argument, partition, keys, quiet)

    # Running.

    def rows(self, outer: Context | None) -> list[Traced]:
        """The rows, for a row of the query around it."""
        name = tuple(sorted((place, repr(_at(outer, place))) for place in self.outer))
        if name not in self._kept:
            self._kept[name] = self._rows(outer)
        return self._kept[name]

    def _rows(self, outer: Context | None) -> list[Traced]:
        rows = self._source(outer)
        if self._grouped:
            rows = grouped(
                rows, self._keys, self._levels, self._aggregates, self._queries.reading, outer
            )
            rows = kept([self._with_groupings(row) for row in rows], self._having, outer)
        if self._windows:
            rows = windowed(rows, self._windows, self._queries.reading, outer)
        width = len(self._parts)
        found = []
        for row, origin in rows:
            context = (row, outer)
            shown = [None] * width
            for place, each in self._values.items():
                shown[place] = each.value(context)
                origin = together(origin, *(b(context) for b in each.behind))
            found.append((tuple(shown), origin))
        return distinct(found) if self._node.args.get("distinct") else found

    def _with_groupings(self, row: Joined) -> Joined:
        (only,), origin = row
        level = only[len(self._keys)]
        flags = [int(place not in level) for place in self._groupings.values()]
        return ((*only, *flags),), origin

    def _source(self, outer: Context | None) -> list[Joined]:
        """The rows of FROM that satisfy WHERE; conditions on the query around come last."""
        if not self._links:
            return kept(self._base, self._correlated, outer)
        blank: Row = tuple((None,) * len(item.names) for item in self._items)
        wanted = tuple(values.key(theirs.value((blank, outer))) for _, theirs in self._links)
        return kept(self._by_key.get(wanted, ()), self._unlinked, outer)

    @cached_property
    def _base(self) -> list[Joined]:
        """The rows that satisfy the conditions on this query alone."""
        return self._joined([term for term in self._where if not _looks_outside(term)])

    @cached_property
    def _by_key(self) -> dict[Row, list[Joined]]:
        """These rows by what has to equal something of the query around."""
        found: dict[Row, list[Joined]] = {}
        for row in self._base:
            name = tuple(values.key(own.value((row[0], None))) for own, _ in self._links)
            if None not in name:
                found.setdefault(name, []).append(row)
        return found

    def _joined(self, where: Sequence[Term]) -> list[Joined]:
        if not self._sources:
            return [((), together())]
        kinds = ["inner", *map(_kind, self._node.args.get("joins") or ())]
        conditions = [[], *self._steps_on]
        steps = [
            Step(n, kinds[n], conditions[n], self._reader(n)) for n in range(len(self._sources))
        ]
        blanks = [(None,) * len(item.names) for item in self._items]
        return joined(steps, where, blanks, None)

    def _reader(self, number: int) -> Callable[[], Sequence[Joined]]:
        needed = frozenset(place for item, place in self._scope.read if item == number)
        silent = frozenset(place for item, place in self._quiet if item == number)
        node = self._sources[number]
        return lambda: self._queries.read(node, self._ctes, needed, silent)


def _grouping(node: exp.Expr) -> exp.Expr:
    """The key that ``grouping(key)`` asks about."""
    key: exp.Expr = node.expressions[0] if node.expressions else node.this
    return key


def _group_clause(
    group: exp.Group | None,
) -> tuple[list[exp.Expr], list[exp.Rollup]]:
    """The plain keys of GROUP BY, and its ROLLUPs."""
    if group is None:
        return [], []
    written = [*group.expressions, *(group.args.get("rollup") or ())]
    rollups = [part for part in written if isinstance(part, exp.Rollup)]
    other = [p for p in written if isinstance(p, exp.Cube | exp.GroupingSets)]
    if other or len(rollups) > 1 or group.args.get("cube") or group.args.get("grouping_sets"):
        raise NotImplementedError(group.sql())
    return [part for part in written if part not in rollups], rollups


def _looks_outside(term: Term) -> bool:
    """Whether a condition reads the query around, or has a subquery."""
    return bool(term.whole.outer or term.whole.behind)


def _links(terms: Sequence[Term]) -> tuple[list[tuple[Computed, Computed]], list[Term]]:
    """Equalities of an own expression with one of the query around, and the other terms."""
    links, rest = [], []
    for each in terms:
        for own, theirs in (each.sides, each.sides[::-1]) if each.sides else ():
            plain = not own.outer and own.reads and not own.behind
            if plain and theirs.outer and not theirs.reads and not theirs.behind:
                links.append((own, theirs))
                break
        else:
            rest.append(each)
    return links, rest


def _windows_in(node: Any) -> list[exp.Window]:
    if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
        return []
    if isinstance(node, exp.Window):
        return [node]
    found = []
    for part in node.args.values():
        for each in part if isinstance(part, list) else [part]:
            if isinstance(each, exp.Expr):
                found += _windows_in(each)
    return found


def _kind(join: exp.Join) -> str:
    side = (join.side or "").upper()
    if side == "FULL" or (join.kind or "").upper() == "FULL":
        return "full"
    if join.args.get("using"):
        raise NotImplementedError(join.sql())
    return _KINDS[side or (join.kind or "").upper()]


def _at(outer: Context | None, found: Outer) -> Any:
    depth, (item, number) = found
    context: Any = outer
    for _ in range(depth - 1):
        context = context[1]
    return context[0][item][number]
