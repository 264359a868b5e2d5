"""Runs a syntax tree on rows, eagerly, and carries the source rows behind every row along.

A set of source rows is an integer, a bit for each row of each scan. Every rule of section 2 of
docs/semantics.md is one place here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.sqltruth import functions, reads
from tests.sqltruth.aggregates import aggregated, attaining
from tests.sqltruth.rows import (
    BITS,
    Env,
    Found,
    Joined,
    Path,
    Row,
    ScanName,
    Traced,
    distinct,
    first_rows,
    matched,
    padding,
    union,
    with_merged,
)
from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Derived,
    Exists,
    Expr,
    Grouping,
    InQuery,
    Item,
    Join,
    Query,
    Ref,
    Scalar,
    Select,
    SetOperation,
    Statement,
    Subquery,
    Table,
    Top,
    View,
    subqueries,
)
from tests.sqltruth.values import (
    RaisesError,
    Settings,
    conjunction,
    disjunction,
    equal,
    negation,
    normalized,
    row_key,
)


@dataclass
class Tracer:
    """Evaluates one statement. `aggregates` is the reading of min and max."""

    tables: Mapping[str, Sequence[Row]]
    settings: Settings
    aggregates: str
    scans: dict[Path, ScanName] = field(default_factory=dict)
    _memo: dict[Any, list[Traced]] = field(default_factory=dict)

    def run(self, statement: Statement) -> list[Traced]:
        """The statement's rows."""
        return self._query(statement.query, {}, reads.every(statement.query), ())

    # Queries.

    def _query(self, query: Query, outer: Env, needed: reads.Places, path: Path) -> list[Traced]:
        match query:
            case Select():
                return self._select(query, outer, needed, path)
            case SetOperation():
                return self._set_operation(query, outer, needed, path)
            case Top():
                return self._top(query, outer, path)

    def _top(self, top: Top, outer: Env, path: Path) -> list[Traced]:
        return first_rows(top, self._query(top.query, outer, reads.every(top), path))

    def _set_operation(
        self, operation: SetOperation, outer: Env, needed: reads.Places, path: Path
    ) -> list[Traced]:
        places = reads.branches_need(operation, needed)
        left, right = (
            self._query(branch, outer, places, path) for branch in (operation.left, operation.right)
        )
        if operation.operator == "UNION":
            return [*left, *right] if operation.all else distinct([*left, *right])
        return matched(operation, left, right)

    def _select(self, select: Select, outer: Env, needed: reads.Places, path: Path) -> list[Traced]:
        clauses = reads.of_select(select, needed)
        rows = list(self._item(select.source, outer, clauses, path))
        for view in select.views:
            rows = list(self._viewed(rows, view, outer, path))
        for term in select.where:
            rows = list(self._kept(rows, term, outer, path))
        if select.grouping is not None:
            rows = self._grouped(select.grouping, rows, outer, clauses, path)
        result = []
        for row in rows:
            env = {**outer, **row.env}
            sources = row.sources
            values = []
            for place, item in enumerate(select.items):
                if place not in needed and not select.distinct:
                    values.append(None)
                    continue
                found = self._value(item, env, path)
                values.append(found.value)
                sources |= found.sources
            for term in select.order:
                sources |= self._value(term, env, path).sources
            result.append(Traced(tuple(values), sources))
        return distinct(result) if select.distinct else result

    def _viewed(
        self, rows: Sequence[Joined], view: View, outer: Env, path: Path
    ) -> Iterator[Joined]:
        for row in rows:
            env = {**outer, **row.env}
            there = view.kept is None or self._value(view.kept, env, path).value is True
            values = [self._value(each, env, path).value for each in view.values] if there else []
            for value in values or [None] * view.outer:
                yield Joined({**row.env, view.relation: (value,)}, row.sources)

    def _kept(
        self, rows: Sequence[Joined], term: Expr, outer: Env, path: Path
    ) -> Iterator[Joined]:  # fmt: skip
        for row in rows:
            found = self._value(term, {**outer, **row.env}, path)
            if found.value is True:
                yield Joined(row.env, row.sources | found.sources)

    def _grouped(
        self,
        grouping: Grouping,
        rows: Sequence[Joined],
        outer: Env,
        clauses: reads.Reads,
        path: Path,
    ) -> list[Joined]:
        computed = reads.aggregates_read(grouping, clauses)
        groups: dict[Row, list[tuple[Row, Joined]]] = {} if grouping.keys else {(): []}
        for row in rows:
            env = {**outer, **row.env}
            keys = [self._value(expr, env, path) for expr in grouping.keys]
            sources = functools.reduce(int.__or__, (k.sources for k in keys), row.sources)
            arguments: list[Any] = []
            for _, aggregate in computed:
                kept = self._filtered(aggregate, env, path)
                value = self._argument(aggregate, env, path)
                sources |= kept.sources | value.sources
                arguments.append((kept.value is True, value.value))
            found_keys = [normalized(found.value) for found in keys]
            everything = tuple(range(len(keys)))
            for level, places in enumerate(grouping.sets or (everything,)):
                values = tuple(v if n in places else None for n, v in enumerate(found_keys))
                found = (level,) * bool(grouping.sets) + row_key(values)
                groups.setdefault(found, []).append(((values, arguments), Joined(row.env, sources)))
        result = [self._group(grouping, computed, members) for members in groups.values()]
        if grouping.having is not None:
            result = list(self._kept(result, grouping.having, outer, path))
        return result

    def _filtered(self, aggregate: Aggregate, env: Env, path: Path) -> Found:
        return Found(True, 0) if aggregate.filter is None else self._value(
            aggregate.filter, env, path
        )  # fmt: skip

    def _argument(self, aggregate: Aggregate, env: Env, path: Path) -> Found:
        return Found(1, 0) if aggregate.argument is None else self._value(
            aggregate.argument, env, path
        )  # fmt: skip

    def _group(
        self,
        grouping: Grouping,
        computed: Sequence[tuple[int, Aggregate]],
        members: Sequence[tuple[Any, Joined]],
    ) -> Joined:
        width = len(grouping.keys) + len(grouping.aggregates)
        values = [None] * width
        if members:
            values[: len(grouping.keys)] = members[0][0][0]
        columns = []
        for number, (place, aggregate) in enumerate(computed):
            column = [pair[0][1][number] for pair in members]
            columns.append((aggregate, column))
            inputs = [value for kept, value in column if kept and value is not None]
            values[place] = aggregated(aggregate, inputs, self.settings)
        sources = [row.sources for _, row in members]
        chosen: Sequence[int] = range(len(members))
        if self.aggregates == "minimal":
            chosen = attaining(columns, len(members))
        total = functools.reduce(int.__or__, (sources[number] for number in chosen), 0)
        return Joined({grouping.relation: tuple(values)}, total)

    # FROM.

    def _item(self, item: Item, outer: Env, above: reads.Reads, path: Path) -> list[Joined]:
        match item:
            case Table():
                scan = self._scan(item, path)
                return [
                    Joined({item.relation: row}, 1 << (scan.number * BITS + place))
                    for place, row in enumerate(self.tables[item.name])
                ]
            case Derived(relation=relation, query=query):
                needed = reads.places_of(relation, above)
                # A CTE's scans are other ones for each reference to it.
                rows = self._query(query, outer, needed, (*path, relation))
                return [Joined({relation: row.values}, row.sources) for row in rows]
            case Join():
                return self._join(item, outer, above | reads.joined(item), path)

    def _join(self, join: Join, outer: Env, above: reads.Reads, path: Path) -> list[Joined]:
        left = self._item(join.left, outer, above, path)
        right = self._item(join.right, outer, above, path)
        matches = [
            (i, j, found.sources)
            for i, j in itertools.product(range(len(left)), range(len(right)))
            if (found := self._matching(join, {**outer, **left[i].env, **right[j].env}, path)).value
            is True
        ]
        if "SEMI" in join.kind or "ANTI" in join.kind:
            return list(_semi(join, left, right, matches))
        pairs = [
            Joined({**left[i].env, **right[j].env}, left[i].sources | right[j].sources | more)
            for i, j, more in matches
        ]
        if "LEFT" in join.kind or "FULL" in join.kind:
            blank = padding(join.right)
            there = {i for i, _, _ in matches}
            pairs += [
                Joined({**row.env, **blank}, row.sources)
                for i, row in enumerate(left)
                if i not in there
            ]
        if "RIGHT" in join.kind or "FULL" in join.kind:
            blank = padding(join.left)
            there = {j for _, j, _ in matches}
            pairs += [
                Joined({**blank, **row.env}, row.sources)
                for j, row in enumerate(right)
                if j not in there
            ]
        return [Joined(with_merged(join, row.env), row.sources) for row in pairs]

    def _matching(self, join: Join, env: Env, path: Path) -> Found:
        if join.merged:
            terms = [
                equal(env[a.relation][a.place], env[b.relation][b.place]) for a, b in join.merged
            ]
            return Found(conjunction(terms), 0)
        return Found(True, 0) if join.on is None else self._value(join.on, env, path)

    def _scan(self, table: Table, path: Path) -> ScanName:
        place = (*path, table.relation)
        if place not in self.scans:
            self.scans[place] = ScanName(table.name, table.alias, len(self.scans))
        return self.scans[place]

    # Expressions.

    def _value(self, expr: Expr, env: Env, path: Path) -> Found:
        """The value, and what its subqueries take along: all of them, whatever CASE picks."""
        inner = {id(sub): self._subquery(sub, env, path) for sub in reversed(subqueries(expr))}
        sources = functools.reduce(int.__or__, (found.sources for found in inner.values()), 0)
        return Found(self._computed(expr, env, inner), sources)

    def _computed(self, expr: Expr, env: Env, inner: Mapping[int, Found]) -> Any:
        match expr:
            case Ref(relation, place):
                return env[relation][place]
            case Constant(value=value):
                return value
            case Call(functions.NOT, (argument,)):
                return self._computed_negation(argument, env, inner)
            case Call(function, arguments):
                given = [self._computed(argument, env, inner) for argument in arguments]
                if not function.nulls and any(value is None for value in given):
                    return None
                return function.compute(self.settings, *given)
            case InQuery(negated=negated):
                # Spark's mark is true or false: NULL, too, counts as not true.
                return inner[id(expr)].value is (not negated)
            case Exists() | Scalar():
                return inner[id(expr)].value

    def _computed_negation(self, expr: Expr, env: Env, inner: Mapping[int, Found]) -> Any:
        """NOT, moved inwards to IN as Spark does: a negated mark is true where IN is false."""
        match expr:
            case Call(functions.NOT, (argument,)):
                return self._computed(argument, env, inner)
            case Call(functions.AND, arguments):
                return disjunction([self._computed_negation(a, env, inner) for a in arguments])
            case Call(functions.OR, arguments):
                return conjunction([self._computed_negation(a, env, inner) for a in arguments])
            case InQuery(negated=negated):
                return inner[id(expr)].value is negated
            case _:
                return negation(self._computed(expr, env, inner))

    def _subquery(self, expr: Subquery, env: Env, path: Path) -> Found:
        rows = self._inner_rows(expr, env, path)
        match expr:
            case Scalar():
                if len(rows) > 1:
                    raise RaisesError("more than one row")
                return Found(rows[0].values[0], rows[0].sources) if rows else Found(None, 0)
            case Exists(negated=negated):
                return Found(bool(rows) != negated, union(rows))
            case InQuery(operands=operands):
                left = [self._value(operand, env, path) for operand in operands]
                verdicts = [
                    conjunction([equal(a.value, b) for a, b in zip(left, row.values, strict=True)])
                    for row in rows
                ]
                # Of the inner rows those that match count: not where the comparison is NULL.
                matching = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict]
                return Found(disjunction(verdicts), union(matching))

    def _inner_rows(self, expr: Subquery, env: Env, path: Path) -> list[Traced]:
        needed = reads.asked(expr)
        outer = sorted(place for place in reads.of_query(expr.query, needed) if place[0] in env)
        memo = (id(expr), path, *(_exactly(env[relation][place]) for relation, place in outer))
        if memo not in self._memo:
            self._memo[memo] = self._query(expr.query, env, needed, (*path, -id(expr)))
        return self._memo[memo]


def _exactly(value: Any) -> Any:
    return repr(value)


def _semi(
    join: Join, left: Sequence[Joined], right: Sequence[Joined], matches: Sequence[Any]
) -> Iterator[Joined]:
    for i, row in enumerate(left):
        inner = [right[j].sources | more for here, j, more in matches if here == i]
        if bool(inner) == ("SEMI" in join.kind):
            yield Joined(row.env, functools.reduce(int.__or__, inner, row.sources))
