"""Phase 4 of iterative refinement: an engine computes value sets and narrows them down.

A value set is a table of tuples, each with the number of its target row. The first pass computes
the sets in the plan's order, each restricted by the sets before it. Later passes go through them
backwards, forwards and so on. A set only loses tuples, so an unchanged number of tuples means an
unchanged set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import msgspec
from sqlglot import exp

from predtrace.engines.base import (
    TARGET,
    RefinedBinding,
    ReplayedBinding,
    SetRequest,
    Targets,
    physical_name,
)
from predtrace.engines.sql import trees
from predtrace.engines.sql.query import BoundRows, Queries
from predtrace.inference.plan import Membership
from symbolic.expr import TRUE, Column, Expr, call, conjuncts, params_of

MOST_PASSES = 12
"""The most passes: cyclic joins may remove one tuple a pass."""
_GIVEN = "given"

Cut: TypeAlias = Callable[[exp.Select], exp.Select]
"""A restriction of the rows of ``s`` in a query."""


class Workspace(Protocol):
    """The engine's part in refinement."""

    def set_source(self, request: SetRequest) -> exp.Expr:
        """The relation that a value set comes from, with physical column names."""

    def materialized(self, query: exp.Query) -> tuple[str, int]:
        """Compute a query once; the name of its result and its number of rows."""


class Refined(msgspec.Struct, frozen=True):
    """The value sets of a question: table names by node, and the number of passes."""

    tables: dict[int, str]
    passes: int
    targets: BoundRows


class Refiner:
    """Computes the value sets of one question; with `together`, one set for all target rows."""

    def __init__(
        self, workspace: Workspace, queries: Queries, targets: BoundRows, *, together: bool = False
    ) -> None:
        self._workspace = workspace
        self._single = together or (targets.rows == 1 and targets.values is not None)
        self._queries = queries.telling_apart(not self._single)
        self._targets = self._numbered(targets)
        self._tables: dict[int, str] = {}
        self._rows: dict[int, int] = {}
        self._columns: dict[int, tuple[Column, ...]] = {}

    def compute(self, sets: Sequence[SetRequest]) -> list[SetRequest]:
        """The first pass: compute the sets that have columns, each restricted by the sets before
        it."""
        used = [request for request in sets if request.columns]
        self._columns = {request.node: request.columns for request in used}
        for request in used:
            self._compute(request)
        return used

    def run(self, sets: Sequence[SetRequest], *, acyclic: bool) -> Refined:
        """Compute and reduce; after two passes an acyclic join has nothing left to lose."""
        used = self.compute(sets)
        passes = 1
        most = 2 if acyclic else MOST_PASSES
        changed = len(used) > 1
        while changed and passes < most:
            passes += 1
            order = used if passes % 2 else used[::-1]
            lost = [self._reduce(request) for request in order]
            changed = any(lost)
        return Refined(self._tables, passes, self._targets)

    def _numbered(self, targets: BoundRows) -> BoundRows:
        """The target rows, each with a number of its own and the number of its target."""
        if self._single:
            return targets
        number = exp.Window(
            this=exp.func("row_number"), order=exp.Order(expressions=[exp.column(TARGET)])
        )
        rows = exp.select(
            exp.alias_(number, TARGET),
            exp.alias_(exp.column(TARGET), _GIVEN),
            exp.Star(except_=[exp.column(TARGET)]),
        ).from_(self._queries.relation(targets))
        name, count = self._workspace.materialized(rows)
        return BoundRows(name=name, rows=count, never_null=targets.never_null)

    def _compute(self, request: SetRequest) -> None:
        source = self._workspace.set_source(request)
        match = self._queries.match(source, request.predicate, self._targets)
        body = self.within(match.body, request.memberships, request.predicate, match.target)
        columns = [_of("s", column.id) for column in request.columns]
        query = body.select(exp.alias_(match.target.copy(), TARGET), *columns).distinct()
        self._keep(request.node, query)

    def _reduce(self, request: SetRequest) -> bool:
        """Drop the tuples that other sets rule out; returns whether there were any."""
        if not any(m.node in self._tables for m in request.memberships):
            return False
        table = exp.alias_(trees.table(self._tables[request.node]), "s", table=True)
        body = self.within(
            exp.Select().from_(table),
            request.memberships,
            request.predicate,
            exp.column(TARGET, table="s"),
        )
        columns = [_of("s", column.id) for column in request.columns]
        query = body.select(exp.column(TARGET, table="s"), *columns)
        before = self._rows[request.node]
        if before:
            self._keep(request.node, query)
        return self._rows[request.node] != before

    def _keep(self, node: int, query: exp.Query) -> None:
        self._tables[node], self._rows[node] = self._workspace.materialized(query)

    def within(
        self,
        body: exp.Select,
        memberships: Sequence[Membership],
        predicate: Expr,
        target: exp.Expr,
    ) -> exp.Select:
        """The rows of ``s`` whose memberships hold in the sets computed so far.

        They are known to satisfy `predicate`.
        """
        present = conjuncts(predicate)
        for number, membership in enumerate(memberships):
            table = self._tables.get(membership.node)
            if table is None:
                continue
            name = f"m{number}"
            on: list[exp.Expr] = [
                (exp.EQ if call("is_not_null", column) in present else exp.NullSafeEQ)(
                    this=_of("s", column.id), expression=_of(name, theirs)
                )
                for theirs, column in pairs(membership)
            ]
            if not self._single:
                on.append(exp.EQ(this=target.copy(), expression=exp.column(TARGET, table=name)))
            if membership.condition != TRUE:
                theirs = self._columns[membership.node]
                on.append(self._queries.condition(membership.condition, theirs, name))
            other = exp.alias_(trees.table(table), name, table=True)
            body = trees.joined(body, other, "semi", exp.and_(*on, copy=False))
        return body


def cuts_of(
    binding: ReplayedBinding, workspace: Workspace, queries: Queries, bound: BoundRows
) -> dict[int, Cut]:
    """The restrictions of a replay's scans to the value sets that it names."""
    refiner = Refiner(workspace, queries, bound, together=True)
    refiner.compute(binding.sets)

    def cut(node: int) -> Cut:
        memberships, predicate = binding.memberships[node], binding.scans[node].predicate
        return lambda body: refiner.within(body, memberships, predicate, exp.null())

    return {node: cut(node) for node, found in binding.memberships.items() if found}


def pairs(membership: Membership) -> list[tuple[int, Column]]:
    """The columns of the other set, each with the column of this set that must equal it."""
    both = zip(membership.columns, membership.args, strict=True)
    return [(theirs, arg) for theirs, arg in both if isinstance(arg, Column)]


def bound_columns(binding: RefinedBinding, targets: Targets) -> tuple[Column, ...]:
    """The columns of a refined scan's bound rows."""
    read = _read_of_targets(binding)
    return (*(column for column in targets.columns if column.id in read), *binding.renamed)


def bound_query(binding: RefinedBinding, queries: Queries, refined: Refined) -> exp.Query:
    """The rows that bind a scan's predicate: its tuples, and the target's values that it reads."""
    targets = refined.targets
    given = _GIVEN if targets.values is None else TARGET
    values: list[exp.Expr] = [exp.alias_(exp.column(given, table="t"), TARGET)]
    values += [_of("t", column) for column in sorted(_read_of_targets(binding))]
    query = exp.select(*values).from_(exp.alias_(queries.relation(targets), "t", table=True))
    renamed = zip(binding.columns, binding.renamed, strict=True)
    taken = [exp.alias_(_of("v", c.id), physical_name(r.id)) for c, r in renamed]
    table = exp.alias_(trees.table(refined.tables[binding.node]), "v", table=True)
    same_row: exp.Expr = exp.true()
    if targets.values is None:
        same_row = exp.EQ(
            this=exp.column(TARGET, table="t"), expression=exp.column(TARGET, table="v")
        )
    return query.select(*taken).join(table, on=same_row, join_type="inner").distinct()


def _of(table: str, column: int) -> exp.Column:
    return exp.column(physical_name(column), table=table)


def _read_of_targets(binding: RefinedBinding) -> set[int]:
    own = {column.id for column in binding.renamed}
    return {param.column for param in params_of(binding.predicate)} - own
