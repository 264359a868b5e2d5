"""Tracing by specifications: per scan one query, from the output's columns to source rows.

Between the output and a scan lie transformations. Each takes the values that its output is
asked about to those of an input's columns: as they are where the output tells them, else by
looking them up in the augmented output that was stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlglot import exp

from predtrace.sql import TARGET, Dialect, physical_name, plan_query
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Assignment,
    Distinct,
    Filter,
    InnerJoin,
    Operator,
    RowTransform,
    Scan,
)
from symbolic.expr import TRUE, Column, Expr, Literal, call, column_ids, conjunction, same
from symbolic.types import LONG
from tpch.bench.naming import Numbers
from tpch.bench.panda.transformations import Input, Transformation
from tpch.bench.perm_query import ROW, TARGETS, Relation, Row

_STORED = "augmented"


class Augmented(msgspec.Struct, frozen=True):
    """A stored output: its relation, and which of its columns (by id) have no NULL."""

    relation: exp.Expr
    never_null: frozenset[int]


def storing_graph(graph: OperatorGraph, transformation: Transformation) -> OperatorGraph:
    """What computes a transformation's augmented output."""
    inputs = [each.node for each in transformation.inputs]
    operators = [graph[node] for start in inputs for node in graph.top_down(start)]
    free = 1 + max(operator.id for operator in operators)
    last = inputs[0]
    for number, node in enumerate(inputs[1:], free):
        operators.append(InnerJoin(id=number, left=last, right=node, condition=TRUE))
        last = number
    root = free + len(inputs)
    operators.append(Filter(id=root, input=last, condition=transformation.condition))
    operators.append(RowTransform(id=root + 1, input=root, assignments=transformation.stored))
    return OperatorGraph(operators, root + 1)


class Tracer:
    """The tracing queries of a query whose augmented outputs (by node) are stored."""

    def __init__(
        self,
        graph: OperatorGraph,
        top: Transformation,
        dialect: Dialect,
        relation: Relation,
        augmented: Mapping[int, Augmented],
    ) -> None:
        self.columns = graph.output()
        self._paths = dict(_paths(top, ()))
        self._graph = graph
        self._dialect = dialect
        self._relation = relation
        self._augmented = augmented

    @property
    def scans(self) -> tuple[int, ...]:
        """The scans that are traced."""
        return tuple(self._paths)

    def of_one(self, scan: int, target: Row) -> str:
        """``target`` (0) and ``row`` of the scan's rows that one output row is made of."""
        return self._query(scan).ids_of(target)

    def rows_of(self, scan: int, target: Row) -> str:
        """The same rows, with all columns of the source."""
        return self._query(scan).rows_of(target)

    def of_many(self, scan: int, targets: Sequence[Row]) -> str:
        """``target`` and ``row`` for the rows of table ``targets``, which these are."""
        never_null = {
            column.id
            for place, column in enumerate(self.columns)
            if not any(row[place] is None for row in targets)
        }
        return self._query(scan).ids_of_table(frozenset(never_null))

    def _query(self, scan: int) -> _Query:
        return _Query(
            self._graph, self._paths[scan], self._dialect, self._relation, self._augmented
        )


_Path = tuple[tuple[Transformation, Input], ...]


def _paths(top: Transformation, above: _Path) -> Iterator[tuple[int, _Path]]:
    """Per scan the transformations, and the input of each, that lead to it."""
    for each in top.inputs:
        path = (*above, (top, each))
        if each.node in top.below:
            yield from _paths(top.below[each.node], path)
        else:
            yield each.node, path


class _Given(msgspec.Struct, frozen=True):
    """The values that a transformation's output is asked about, by column id.

    They are constants or columns of `node`, whose `target` numbers the targets if there are
    several. `never_null` are the ids of asked columns without NULL. Of `node`, rows of one
    target differ in the columns `looked_up` at least.
    """

    values: dict[int, Expr]
    never_null: frozenset[int]
    node: int | None = None
    target: Column | None = None
    looked_up: tuple[Column, ...] = ()


class _Query:
    """One tracing query in the making: its operators, and what its scans read."""

    def __init__(
        self,
        graph: OperatorGraph,
        path: _Path,
        dialect: Dialect,
        relation: Relation,
        augmented: Mapping[int, Augmented],
    ) -> None:
        ids = (column.id for node in graph.top_down() for column in graph.output(node))
        self._graph = graph
        self._path = path
        self._dialect = dialect
        self._relation = relation
        self._augmented = augmented
        self._operators: list[Operator] = []
        self._relations: dict[int, exp.Expr] = {}
        self._numbers = Numbers(1 + max(ids, default=0))

    def ids_of(self, target: Row) -> str:
        return self._ids(self._constants(target))

    def ids_of_table(self, never_null: frozenset[int]) -> str:
        return self._ids(self._table(never_null))

    def rows_of(self, target: Row) -> str:
        _, each = self._path[-1]
        scan = self._graph[each.node]
        assert isinstance(scan, Scan)
        found = self._found(self._constants(target), scan, None)
        node = self._projected(found[0], {column: column for column in scan.columns})
        return self._text(node, {physical_name(column.id): column for column in scan.columns})

    # -- what is asked about

    def _constants(self, target: Row) -> _Given:
        columns = self._graph.output()
        values: dict[int, Expr] = {
            column.id: Literal(value, column.type)
            for column, value in zip(columns, target, strict=True)
        }
        return _Given(values, frozenset())

    def _table(self, never_null: frozenset[int]) -> _Given:
        columns = self._graph.output()
        copies = {column.id: self._numbers.column(column) for column in columns}
        number = self._numbers.column(Column(0, TARGET, LONG))
        names = {TARGET: number, **{physical_name(c.id): copies[c.id] for c in columns}}
        taken = [exp.alias_(exp.column(n), physical_name(c.id)) for n, c in names.items()]
        node = self._scan(TARGETS, tuple(names.values()))
        self._relations[node] = exp.select(*taken).from_(TARGETS).subquery()
        return _Given(dict(copies), never_null, node, number)

    # -- from output to input

    def _ids(self, given: _Given) -> str:
        _, each = self._path[-1]
        scan = self._graph[each.node]
        assert isinstance(scan, Scan)
        row = self._numbers.column(Column(0, ROW, LONG))
        read = column_ids(each.filter, *(a.column for a in each.mapping))
        columns = tuple(column for column in scan.columns if column.id in read)
        node, target = self._found(given, replace(scan, columns=columns), row)
        number = self._numbers.column(Column(0, TARGET, LONG))
        zero = Literal(0, LONG)
        node = self._projected(node, {number: zero if target is None else target, row: row})
        return self._text(node, {TARGET: number, ROW: row})

    def _found(self, given: _Given, scan: Scan, row: Column | None) -> tuple[int, Column | None]:
        """The rows of the scan at the path's end, and where the target's number is."""
        for transformation, each in self._path:
            if each.augmented:
                given = self._looked_up(given, transformation, each)
            values = {a.column.id: _value(a.value, given) for a in each.mapping}
            never_null = frozenset(
                a.column.id
                for a in each.mapping
                if isinstance(a.value, Column) and a.value.id in given.never_null
            )
            given = replace(given, values=values, never_null=never_null)
        given = self._once(given)
        source = self._scan(scan.table, scan.columns if row is None else (*scan.columns, row))
        self._relations[source] = self._relation(scan, row)
        filtered = self._add(Filter, input=source, condition=each.filter)
        mapped = (_equal(a.column, given, a.column.id) for a in each.mapping)
        return self._restricted(filtered, given, conjunction(*mapped)), given.target

    def _looked_up(self, given: _Given, transformation: Transformation, each: Input) -> _Given:
        """What the stored output has, for the values asked about, in the columns mapped from."""
        stored = self._augmented[transformation.node]
        columns = [assignment.column for assignment in transformation.stored]
        copies = {column.id: self._numbers.column(column) for column in columns}
        node = self._scan(_STORED, tuple(copies.values()))
        taken = [
            exp.alias_(exp.column(physical_name(number)), physical_name(copy.id))
            for number, copy in copies.items()
        ]
        relation = stored.relation.copy()
        self._relations[node] = exp.select(*(taken or [exp.Star()])).from_(relation).subquery()
        asked = [
            _equal(
                copies[output.column.id],
                given,
                output.column.id,
                never_null=output.column.id in stored.never_null,
            )
            for output in transformation.outputs
        ]
        node = self._restricted(node, given, conjunction(*asked))
        needed = {a.value.id for a in each.mapping if isinstance(a.value, Column)}
        found = {number: copies[number] for number in sorted(needed)}
        node = self._distinct(node, given.target, found.values())
        never_null = stored.never_null & needed
        return _Given(dict(found), never_null, node, given.target, tuple(found.values()))

    def _once(self, given: _Given) -> _Given:
        """The values that are still asked about, once for each target."""
        read = column_ids(*given.values.values())
        left = tuple(column for column in given.looked_up if column.id in read)
        if given.node is None or left == given.looked_up:
            return given
        return replace(given, node=self._distinct(given.node, given.target, left), looked_up=left)

    def _distinct(self, node: int, target: Column | None, columns: Iterable[Column]) -> int:
        kept = [*columns, *([] if target is None else [target])]
        projected = self._projected(node, {column: column for column in kept})
        return self._add(Distinct, input=projected)

    def _restricted(self, node: int, given: _Given, condition: Expr) -> int:
        """The node's rows for which the condition on them and what is given holds."""
        if given.node is None:
            return self._add(Filter, input=node, condition=condition)
        return self._add(InnerJoin, left=node, right=given.node, condition=condition)

    # -- operators

    def _add(self, make: Any, **fields: Any) -> int:
        node: int = self._numbers.node()
        self._operators.append(make(id=node, **fields))
        return node

    def _scan(self, table: str, columns: tuple[Column, ...]) -> int:
        return self._add(Scan, table=table, occurrence=1, columns=columns)

    def _projected(self, node: int, values: Mapping[Column, Expr]) -> int:
        assignments = tuple(Assignment(column, value) for column, value in values.items())
        return self._add(RowTransform, input=node, assignments=assignments)

    def _text(self, node: int, names: Mapping[str, Column]) -> str:
        graph = OperatorGraph(self._operators, node)
        found = plan_query(graph, node, self._dialect, self._relations).subquery("found")
        taken = [exp.alias_(exp.column(physical_name(c.id)), name) for name, c in names.items()]
        return exp.select(*taken).from_(found).sql(self._dialect.name)


def _value(value: Expr, given: _Given) -> Expr:
    return given.values[value.id] if isinstance(value, Column) else value


def _equal(column: Column, given: _Given, asked: int, *, never_null: bool = False) -> Expr:
    """That a column has the value given for the asked one."""
    value = given.values[asked]
    if isinstance(value, Literal):
        return call("is_null", column) if value.value is None else call("eq", column, value)
    plain = never_null or asked in given.never_null
    return call("eq", column, value) if plain else same(column, value)
