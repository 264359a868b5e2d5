"""Lineage requests as SQL queries: bound rows, semi joins, joins that keep targets apart.

Shared by the SQL engines. The relations that queries read are given by name:

- a *bound* relation: ``target`` and the physical columns of a binding's rows, distinct;
- a *scanned* relation: physical columns, and for sources ``file`` and ``row``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from sqlglot import exp

from predtrace.engines.base import (
    TARGET,
    ReplayedBinding,
    ScanRequest,
    physical_name,
)
from predtrace.engines.sql import trees
from predtrace.engines.sql.blocks import filler
from predtrace.engines.sql.compiler import Compiler
from predtrace.engines.sql.listed import Lists, Row
from predtrace.engines.sql.literals import number, sql_literal, sql_type
from predtrace.engines.sql.predicates import Key, filter_form, may_be_null, split
from symbolic.expr import (
    FALSE,
    TRUE,
    Column,
    Expr,
    Literal,
    bind,
    conjuncts,
    params_of,
)
from symbolic.types import LONG

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Spelling
    from predtrace.inference.identities import Identity

FILE = "file"
ROW = "row"


class BoundRows(msgspec.Struct, frozen=True, kw_only=True):
    """A relation of bound rows, and the facts about it.

    `name` is the name of its table; a single row of known values may have no table. `rows` is the
    number of rows, if known. With `values` there is exactly one row, of the target number `target`.
    `never_null` are the columns without NULLs. `listed` are all rows, if the engine prefers lists
    of a few known rows to joins. `carried` has, by node, the place of the identities of a scan's
    lineage rows. `taken` has, by node, a relation with some of a scan's rows that
    include all of its lineage.
    """

    name: str | None = None
    rows: int | None = None
    values: Mapping[int, Literal] | None = None
    target: int = 0
    never_null: frozenset[int] = frozenset()
    listed: tuple[Row, ...] = ()
    carried: Mapping[int, Carried] = {}
    taken: Mapping[int, str] = {}


class Carried(msgspec.Struct, frozen=True):
    """The place of the identities of a scan's lineage rows: two columns of a table.

    Each row of the table has a target, or belongs to all targets of the relation `targets`.
    """

    table: str
    identity: Identity
    targets: exp.Expr | None = None


class Match(msgspec.Struct, frozen=True):
    """FROM, JOIN and WHERE of a query over ``s``; the projection is still open.

    `target` is the number of the target. `repeats` says that a pair of target and scanned row may
    come more than once.
    """

    body: exp.Select
    target: exp.Expr
    repeats: bool = False

    def project(self, *expressions: exp.Expr) -> exp.Select:
        """The query with these output expressions; may be called again."""
        return self.body.copy().select(*expressions, copy=False)

    def finish(self, *expressions: exp.Expr) -> exp.Select:
        """The query with these output expressions; it takes over the body."""
        return self.body.select(*expressions, copy=False)


class Queries:
    """Builds the queries of one question for a dialect; `numbered` keeps targets apart."""

    def __init__(self, dialect: str, spellings: Mapping[str, Spelling], numbered: bool) -> None:
        self.dialect = dialect
        self.numbered = numbered
        self._spellings = spellings

    def telling_apart(self, numbered: bool) -> Queries:
        """The same builder, with targets kept apart or not."""
        return Queries(self.dialect, self._spellings, numbered)

    def bound_rows(
        self, stored: exp.Expr, columns: Sequence[Column], predicate: Expr, parent: BoundRows
    ) -> exp.Select:
        """The rows of a stored relation that some row of `parent` selects, distinct."""
        match = self.match(stored, predicate, parent)
        return match.finish(
            trees.alias(match.target.copy(), TARGET),
            *(trees.column(physical_name(column.id), "s") for column in columns),
        ).distinct(copy=False)

    def united(self, bounds: Sequence[BoundRows], columns: Sequence[Column]) -> exp.Query:
        """The distinct rows of bound relations that have these columns."""
        names = [TARGET, *(physical_name(column.id) for column in columns)]
        rows = (
            trees.select(*map(trees.column, names), source=aliased(self.relation(bound), "b"))
            for bound in bounds
        )
        return exp.union(*rows, distinct=True, copy=False)

    def with_identities(
        self, rows: exp.Expr, binding: ReplayedBinding, parent: BoundRows
    ) -> exp.Select:
        """The rows of `bound_rows`, with repetitions and with their identities.

        They have no targets if the binding is `shared`.
        """
        told = self.telling_apart(self.numbered and not self.shared(binding, parent))
        match = told.match(rows, binding.predicate, parent)
        identities = (c for found in binding.identities.values() for c in (found.file, found.row))
        return match.finish(
            trees.alias(match.target.copy(), TARGET),
            *(
                trees.column(physical_name(column.id), "s")
                for column in (*binding.columns, *identities)
            ),
        )

    def shared(self, binding: ReplayedBinding, parent: BoundRows) -> bool:
        """Whether a binding's rows are many, and the same for every row of its parent."""
        return self.numbered and parent.values is None and not params_of(binding.predicate)

    def bound_again(self, table: str, binding: ReplayedBinding, parent: BoundRows) -> exp.Select:
        """The distinct bound rows among those with identities."""
        names: list[exp.Expr] = [
            trees.column(physical_name(column.id)) for column in binding.columns
        ]
        if not self.shared(binding, parent):
            query = trees.select(trees.column(TARGET), *names, source=trees.table(table))
            return query.distinct(copy=False)
        rows = trees.select(*(names or [exp.true()]), source=trees.table(table))
        body = trees.select(source=rows.distinct(copy=False).subquery("s", copy=False))
        trees.joined(body, self._targets_of(parent), "cross")
        of_rows = (trees.column(physical_name(column.id), "s") for column in binding.columns)
        return body.select(trees.column(TARGET, "b"), *of_rows, copy=False)

    def carried(
        self, table: str, binding: ReplayedBinding, parent: BoundRows
    ) -> dict[int, Carried]:
        """The places of the identities of scans in a binding's rows with identities."""
        targets = self._targets_of(parent) if self.shared(binding, parent) else None
        return {node: Carried(table, found, targets) for node, found in binding.identities.items()}

    def identified(self, carried: Carried) -> Match:
        """The rows of a scan whose identities are known: as ``s``, without other columns."""
        identity = carried.identity
        file, row = (trees.column(physical_name(c.id)) for c in (identity.file, identity.row))
        there = exp.Not(this=exp.Is(this=row.copy(), expression=exp.Null()))
        values: list[exp.Expr] = [trees.alias(file, FILE), trees.alias(row, ROW)]
        if carried.targets is None:
            values.insert(0, trees.column(TARGET))
        rows = trees.select(*values, source=trees.table(carried.table)).where(there, copy=False)
        if carried.targets is None:
            body = trees.select(source=rows.subquery("s", copy=False))
            return Match(body, trees.column(TARGET, "s"), repeats=True)
        body = trees.select(source=rows.distinct(copy=False).subquery("s", copy=False))
        trees.joined(body, carried.targets.copy(), "cross")
        return Match(body, trees.column(TARGET, "b"))

    def _targets_of(self, bound: BoundRows) -> exp.Expr:
        """The numbers of the bound rows' targets, as ``b``."""
        numbers = trees.select(trees.column(TARGET), source=self.relation(bound))
        return numbers.distinct(copy=False).subquery("b", copy=False)

    def restricted(
        self,
        source: exp.Expr,
        request: ScanRequest,
        bound: BoundRows,
        identity: Identity | None = None,
        cut: Callable[[exp.Select], exp.Select] | None = None,
        *,
        numbered: bool = False,
    ) -> exp.Expr:
        """A scan's rows that satisfy its predicate for some bound row, each once.

        `cut` restricts the rows of ``s`` further; `numbered` keeps ``file`` and ``row``.
        """
        if request.predicate == TRUE and identity is None and cut is None:
            return source
        columns: list[exp.Expr] = [
            trees.column(physical_name(column.id), "s") for column in request.columns
        ]
        if identity is not None:
            columns += [
                trees.alias(of_source(name), physical_name(column.id))
                for name, column in ((FILE, identity.file), (ROW, identity.row))
            ]
        if numbered:
            columns += [of_source(FILE), of_source(ROW)]
        plain = self.telling_apart(False)
        match = plain.match(source, request.predicate, bound)
        if cut is not None:
            match = msgspec.structs.replace(match, body=cut(match.body))
        return match.finish(*(columns or [filler()])).subquery(copy=False)

    def match(self, source: exp.Expr, predicate: Expr, bound: BoundRows) -> Match:
        """The rows of `source` (as ``s``) for which `predicate` holds for a bound row."""
        body = trees.select(source=aliased(source, "s"))
        if bound.rows == 0:
            return Match(body.where(exp.false()), self._number(0))
        if bound.values is not None:
            predicate = bind(predicate, bound.values)
        # Params that are still unbound (values of types without literals) need a join.
        if not params_of(predicate) and bound.values is not None:
            return Match(
                self._where(body, conjuncts(filter_form(predicate))), self._number(bound.target)
            )
        return (
            self._numbered(body, predicate, bound)
            if self.numbered
            else self._semi(body, predicate, bound)
        )

    def condition(self, condition: Expr, others: Sequence[Column], table: str) -> exp.Expr:
        """A condition on a row of ``s`` and one of `table`, which has the columns `others`."""
        columns = {c.id: trees.column(physical_name(c.id), table) for c in others}
        return Compiler(self.dialect, self._spellings, columns)(condition)

    def _where(self, body: exp.Select, terms: Sequence[Expr]) -> exp.Select:
        compiler = self._compiler()
        return body.where(*(compiler(term) for term in terms if term != TRUE), copy=False)

    def _semi(self, body: exp.Select, predicate: Expr, bound: BoundRows) -> Match:
        parts = split(predicate)
        compiler = self._compiler()
        self._where(body, parts.scanned)
        lists = Lists(bound.listed, compiler, self.dialect)
        if (conditions := lists.instead(parts)) is not None:
            return Match(body.where(*conditions, copy=False), self._number(0))
        body.where(*lists.narrowing(parts), copy=False)
        kept = trees.select(exp.Star(), source=self._aliased_bound(bound))
        kept = kept.where(*map(compiler, parts.bound), copy=False)
        on = [_equality(key, compiler, bound) for key in parts.keys]
        on += [compiler(term) for term in parts.residual]
        if on:
            trees.joined(body, kept.subquery("b", copy=False), "semi", exp.and_(*on, copy=False))
        elif parts.bound or not bound.rows:
            body.where(exp.Exists(this=kept), copy=False)
        return Match(body, self._number(0))

    def _numbered(self, body: exp.Select, predicate: Expr, bound: BoundRows) -> Match:
        """An inner join with the distinct values that are read, so that pairs do not repeat."""
        parts = split(predicate)
        compiler = self._compiler()
        self._where(body, parts.scanned)
        body.where(*Lists(bound.listed, compiler, self.dialect).narrowing(parts), copy=False)
        values: dict[str, exp.Expr] = {TARGET: trees.column(TARGET, "b")}
        on: list[exp.Expr] = []
        for index, key in enumerate(parts.keys):
            values[f"k{index}"] = compiler(key.bound)
            on.append(_equality(key, compiler, bound, trees.column(f"k{index}", "b")))
        for param in sorted(params_of(*parts.residual), key=lambda param: param.column):
            name = physical_name(param.column)
            values[name] = trees.column(name, "b")
        on += [compiler(term) for term in parts.residual]
        named = (trees.alias(value, name) for name, value in values.items())
        kept = trees.select(*named, source=self._aliased_bound(bound)).distinct(copy=False)
        kept = kept.where(*map(compiler, parts.bound), copy=False)
        condition = exp.and_(*on, copy=False) if on else exp.true()
        trees.joined(body, kept.subquery("b", copy=False), "inner", condition)
        return Match(body, trees.column(TARGET, "b"), repeats=not parts.unique)

    def relation(self, bound: BoundRows) -> exp.Expr:
        """The bound rows as an item of a FROM list: a table, or the only row's values."""
        if bound.name is not None:
            return trees.table(bound.name)
        assert bound.values is not None
        values = {TARGET: self._number(bound.target)}
        for column, value in bound.values.items():
            values[physical_name(column)] = sql_literal(value, self.dialect)
        row = (trees.alias(value, name) for name, value in values.items())
        return exp.Select(expressions=list(row)).subquery(copy=False)

    def _aliased_bound(self, bound: BoundRows) -> exp.Expr:
        return aliased(self.relation(bound), "b")

    def _number(self, target: int) -> exp.Expr:
        return exp.Cast(this=number(target), to=sql_type(LONG, self.dialect))

    def _compiler(self) -> Compiler:
        return Compiler(self.dialect, self._spellings)

    def readable_predicate(self, request: ScanRequest, bound: BoundRows) -> str:
        """The scan's predicate over the source's own column names, for people.

        Params that are not yet values show as columns of ``bound``.
        """
        predicate = request.predicate
        if bound.values is not None:
            predicate = bind(predicate, bound.values)
        names = {column.id: trees.column(column.name, quoted=True) for column in request.columns}
        params = {
            param.column: trees.column(param.name, "bound", quoted=True)
            for param in params_of(predicate)
        }
        compiler = Compiler(self.dialect, self._spellings, names, params)
        predicate = FALSE if bound.rows == 0 else filter_form(predicate)
        return trees.readable(compiler(predicate), self.dialect)


def _equality(
    key: Key, compiler: Compiler, bound: BoundRows, value: exp.Expr | None = None
) -> exp.Expr:
    """The join condition of a key: a plain ``=`` wherever NULL cannot meet NULL.

    Only plain ``=`` lets engines filter the scan by the hashed keys.
    """
    nulls_meet = (
        key.null_safe and may_be_null(key.scanned) and may_be_null(key.bound, bound.never_null)
    )
    kind = exp.NullSafeEQ if nulls_meet else exp.EQ
    return kind(this=compiler(key.scanned), expression=value or compiler(key.bound))


def readable_union(predicates: Iterable[str]) -> str:
    """Predicates of which one must hold, for people."""
    found = list(dict.fromkeys(predicates))
    return found[0] if len(found) == 1 else "\nOR ".join(f"({text})" for text in found)


def aliased(relation: exp.Expr, name: str) -> exp.Expr:
    """The relation under a name; it becomes part of the new tree."""
    return exp.alias_(relation, name, table=True, copy=False)


def of_source(name: str) -> exp.Column:
    """A column of the scanned relation ``s``."""
    return trees.column(name, "s")
