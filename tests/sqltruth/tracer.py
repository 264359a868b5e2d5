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

from tests.sqltruth import functions, reads, windows
from tests.sqltruth.aggregates import LEVELS, aggregated, attaining
from tests.sqltruth.expansions import generated, pivoted, unpivoted
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
    Pivot,
    Query,
    Ref,
    Scalar,
    Select,
    SetOperation,
    Statement,
    Subquery,
    Table,
    Top,
    Unpivot,
    Values,
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
        if select.windows is not None:
            rows = self._windowed(select, rows, outer, needed, path)
        if select.qualify is not None:
            rows = list(self._kept(rows, select.qualify, outer, path))
        result = []
        for row in rows:
            env = {**outer, **row.env}
            sources = row.sources
            values: list[Any] = []
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
            read = functools.partial(self._plain_value, env, path)
            for made in generated(view, there, read):
                yield Joined({**row.env, view.relation: made}, row.sources)

    def _plain_value(self, env: Env, path: Path, expr: Expr) -> Any:
        return self._value(expr, env, path).value

    def _windowed(
        self, select: Select, rows: Sequence[Joined], outer: Env, needed: reads.Places, path: Path
    ) -> list[Joined]:
        assert select.windows is not None
        computed = reads.windows_read(select, reads.of_select(select, needed))
        envs = [{**outer, **row.env} for row in rows]
        return windows.windowed(
            select.windows,
            computed,
            list(reads.passing(select, needed, computed)),
            rows,
            lambda row, expr: self._plain_value(envs[row], path, expr),
            windows.Reading(self.settings, self.aggregates == "minimal"),
        )

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
                if aggregate.name in LEVELS:
                    arguments.append((True, 0))
                    continue
                kept = self._filtered(aggregate, env, path)
                value = self._argument(aggregate, env, path)
                sources |= kept.sources | value.sources
                arguments.append((kept.value is True, value.value))
            found_keys = [normalized(found.value) for found in keys]
            everything = tuple(range(len(keys)))
            for level, places in enumerate(grouping.sets or (everything,)):
                values = tuple(v if n in places else None for n, v in enumerate(found_keys))
                found = (level,) * bool(grouping.sets) + row_key(values)
                given = [
                    (True, places) if a.name in LEVELS else pair
                    for (_, a), pair in zip(computed, arguments, strict=True)
                ]
                groups.setdefault(found, []).append(((values, given), Joined(row.env, sources)))
        result = [self._group(grouping, computed, members) for members in groups.values()]
        if grouping.having is not None:
            result = list(self._kept(result, grouping.having, outer, path))
        return result

    def _filtered(self, aggregate: Aggregate, env: Env, path: Path) -> Found:
        return Found(True, 0) if aggregate.filter is None else self._value(
            aggregate.filter, env, path
        )  # fmt: skip

    def _argument(self, aggregate: Aggregate, env: Env, path: Path) -> Found:
        if aggregate.argument is None:
            return Found(1, 0)
        found = self._value(aggregate.argument, env, path)
        if aggregate.by is None:
            return found
        by = self._value(aggregate.by, env, path)
        return Found((found.value, by.value), found.sources | by.sources)

    def _group(
        self,
        grouping: Grouping,
        computed: Sequence[tuple[int, Aggregate]],
        members: Sequence[tuple[Any, Joined]],
    ) -> Joined:
        width = len(grouping.keys) + len(grouping.aggregates)
        values: list[Any] = [None] * width
        if members:
            values[: len(grouping.keys)] = members[0][0][0]
        columns = []
        for number, (place, aggregate) in enumerate(computed):
            column = [pair[0][1][number] for pair in members]
            if aggregate.name in LEVELS:
                values[place] = _level(grouping, aggregate, column[0][1]) if members else None
                continue
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
                rows = () if item.sample.startswith("0 ") else self.tables[item.name]
                return [
                    Joined({item.relation: row}, 1 << (scan.number * BITS + place))
                    for place, row in enumerate(rows)
                ]
            case Values(relation=relation, rows=values):
                scan = self._scan(item, path)
                return [
                    Joined({relation: row}, 1 << (scan.number * BITS + place))
                    for place, row in enumerate(values)
                ]
            case Derived() | Pivot() | Unpivot():
                # A CTE's scans are other ones for each reference to it.
                inner = (*path, item.relation)
                rows = self._query(item.query, outer, reads.asked_of(item, above), inner)
                match item:
                    case Pivot():
                        return list(pivoted(item, rows, self.settings))
                    case Unpivot():
                        return list(unpivoted(item, rows))
                return [Joined({item.relation: row.values}, row.sources) for row in rows]
            case Join(right=Derived(lateral=True)):
                return self._lateral(item, outer, above | reads.joined(item, above), path)
            case Join():
                return self._join(item, outer, above | reads.joined(item, above), path)

    def _lateral(self, join: Join, outer: Env, above: reads.Reads, path: Path) -> list[Joined]:
        """The right side, computed for every row of the left one."""
        result = []
        for left in self._item(join.left, outer, above, path):
            env = {**outer, **left.env}
            pairs = [
                Joined({**left.env, **right.env}, left.sources | right.sources | found.sources)
                for right in self._item(join.right, env, above, path)
                if (found := self._matching(join, {**env, **right.env}, path)).value is True
            ]
            blank = Joined({**left.env, **padding(join.right)}, left.sources)
            result += pairs or [blank] * ("LEFT" in join.kind)
        return result

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

    def _scan(self, item: Table | Values, path: Path) -> ScanName:
        place = (*path, item.relation)
        if place not in self.scans:
            table, alias = (item.name, item.alias) if isinstance(item, Table) else ("rows", None)
            self.scans[place] = ScanName(table, alias, len(self.scans))
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


def _level(grouping: Grouping, call: Aggregate, places: Sequence[int]) -> int:
    """What grouping() and grouping_id() give where the groups are by the keys at `places`."""
    absent = [int(place not in places) for place in range(len(grouping.keys))]
    if call.argument is not None:
        return absent[[*grouping.keys].index(call.argument)]
    return int("".join(map(str, absent)), 2)


def _exactly(value: Any) -> Any:
    return repr(value)


def _semi(
    join: Join, left: Sequence[Joined], right: Sequence[Joined], matches: Sequence[Any]
) -> Iterator[Joined]:
    for i, row in enumerate(left):
        inner = [right[j].sources | more for here, j, more in matches if here == i]
        if bool(inner) == ("SEMI" in join.kind):
            yield Joined(row.env, functools.reduce(int.__or__, inner, row.sources))
