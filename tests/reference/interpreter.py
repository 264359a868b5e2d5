"""The eager interpreter: every operator's rows, each with its provenance.

The rules are those of docs/semantics.md, section 2, read forwards: an operator gives
each output row the union of its input rows' provenances. Lineage is a matter of values,
so wherever an operator may tell equal rows apart (set operations, DISTINCT, LIMIT) the
provenances of equal rows are united first.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    Expand,
    Filter,
    Generate,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    OneRow,
    Opaque,
    OpaqueColumns,
    OuterJoin,
    RowTransform,
    Sample,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    Union_,
    Window,
)
from symbolic.expr import Column, Expr
from symbolic.types import DOUBLE, INTEGER, LONG, STRING, DataType
from tests.reference.aggregates import ATTAINED, attaining, compile_aggregate
from tests.reference.expressions import UnsupportedInReference, compile_expr
from tests.reference.functions import Settings
from tests.reference.joins import matching
from tests.reference.provenance import NOTHING, Provenance, both, union
from tests.reference.relation import (
    Relation,
    aligned,
    both_aligned,
    counted,
    free_choice,
    picked,
    provenances_by_value,
    sorted_by,
    united,
)
from tests.reference.values import Row, key_maker, load, needs_load, row_key
from tests.reference.windows import evaluate_window


class Run:
    """One run of a graph; a method per operator, found by the operator's class."""

    def __init__(self, graph: OperatorGraph, tables: Mapping[str, Sequence[Row]], minimal: bool,
                 settings: Settings, chosen: Mapping[int, Sequence[Row]]) -> None:  # fmt: skip
        self.graph = graph
        self.tables = tables
        self.minimal = minimal
        self.settings = settings
        self.chosen = chosen
        self.ambiguous: set[int] = set()
        self.starts: dict[int, int] = {}
        start = 0
        for scan in graph.scans():
            self.starts[scan.id] = start
            start += len(tables[scan.table])

    def relations(self, keep: bool) -> dict[int, Relation]:
        """The relation of every node, or of the root alone; each is computed once."""
        known: dict[int, Relation] = {}
        unread = Counter(child for op in self.graph.operators() for child in op.inputs)
        for node in self.graph.bottom_up():
            operator = self.graph[node]
            inputs = self.graph.inputs(node)
            evaluate = EVALUATORS[type(operator)]
            known[node] = evaluate(self, operator, *(known[child] for child in inputs))
            unread.subtract(inputs)
            if not keep:
                for child in set(inputs):
                    if not unread[child]:
                        del known[child]
        return known

    def scan(self, operator: Scan) -> Relation:
        types = [column.type for column in operator.columns]
        rows = [tuple(row) for row in self.tables[operator.table]]
        if any(map(needs_load, types)):
            rows = [tuple(map(load, row, types)) for row in rows]
        start = self.starts[operator.id]
        return Relation(operator.columns, rows, list(range(start, start + len(rows))))

    def one_row(self, operator: OneRow) -> Relation:
        return Relation((), [()], [NOTHING])

    def filter(self, operator: Filter, source: Relation) -> Relation:
        condition = compile_expr(operator.condition, source.columns, self.settings)
        return picked(source, (i for i, row in enumerate(source.rows) if condition(row) is True))

    def row_transform(self, operator: RowTransform, source: Relation) -> Relation:
        rows = self._assigned([a.value for a in operator.assignments], source)
        return source._replace(columns=self.graph.output(operator.id), rows=rows)

    def expand(self, operator: Expand, source: Relation) -> Relation:
        made = [self._assigned(values, source) for values in operator.projections]
        return Relation(
            operator.columns,
            [rows[index] for index in range(len(source.rows)) for rows in made],
            [provenance for provenance in source.provenances for _ in made],
        )

    def generate(self, operator: Generate, source: Relation) -> Relation:
        if operator.opaque:
            raise UnsupportedInReference("what an opaque generator makes is not known")
        element = Column(-1, "row", operator.element)
        values = [compile_expr(v, (element,), self.settings) for v in operator.values(element)]
        result = Relation(self.graph.output(operator.id), [], [])
        nothing = (None,) * len(operator.columns)
        arrays = self._assigned([operator.rows], source)
        for row, (array,), provenance in zip(source.rows, arrays, source.provenances, strict=True):
            made = [tuple(value((item,)) for value in values) for item in array or ()]
            for generated in made or [nothing] * operator.outer:
                result.rows.append(row + generated)
                result.provenances.append(provenance)
        return result

    def _assigned(self, values: Iterable[Expr], source: Relation) -> list[Row]:
        compiled = [compile_expr(value, source.columns, self.settings) for value in values]
        return [tuple([value(row) for value in compiled]) for row in source.rows]

    def _matches(self, left: Relation, right: Relation, condition: Expr) -> Iterable[list[int]]:
        return matching(
            left.rows, left.columns, right.rows, right.columns, condition, self.settings
        )

    def inner_join(self, operator: InnerJoin, left: Relation, right: Relation) -> Relation:
        return self._joined(operator, left, right, pad_left=False, pad_right=False)

    def outer_join(self, operator: OuterJoin, left: Relation, right: Relation) -> Relation:
        kind = operator.kind
        return self._joined(operator, left, right, kind in ("right", "full"), kind != "right")

    def _joined(
        self, operator: InnerJoin | OuterJoin, left: Relation, right: Relation,
        pad_left: bool, pad_right: bool,
    ) -> Relation:  # fmt: skip
        """The pairs; `pad_right` keeps lone left rows, `pad_left` lone right rows."""
        rows: list[Row] = []
        provenances: list[Provenance] = []
        partnered = [False] * len(right.rows)
        nothing_right = (None,) * len(right.columns)
        matches = self._matches(left, right, operator.condition)
        for row, provenance, indexes in zip(left.rows, left.provenances, matches, strict=True):
            for index in indexes:
                partnered[index] = True
                rows.append(row + right.rows[index])
                provenances.append(both(provenance, right.provenances[index]))
            if pad_right and not indexes:
                rows.append(row + nothing_right)
                provenances.append(provenance)
        if pad_left:
            nothing_left = (None,) * len(left.columns)
            for index, found in enumerate(partnered):
                if not found:
                    rows.append(nothing_left + right.rows[index])
                    provenances.append(right.provenances[index])
        return Relation(self.graph.output(operator.id), rows, provenances)

    def semi_join(self, operator: SemiJoin, left: Relation, right: Relation) -> Relation:
        kept = Relation(left.columns, [], [])
        matches = self._matches(left, right, operator.condition)
        for row, provenance, indexes in zip(left.rows, left.provenances, matches, strict=True):
            if indexes:
                inner = union(right.provenances[index] for index in indexes)
                kept.rows.append(row)
                kept.provenances.append(both(provenance, inner))
        return kept

    def anti_join(self, operator: AntiJoin, left: Relation, right: Relation) -> Relation:
        matches = self._matches(left, right, operator.condition)
        return picked(left, (i for i, indexes in enumerate(matches) if not indexes))

    def mark_join(self, operator: MarkJoin, left: Relation, right: Relation) -> Relation:
        marked = Relation((*left.columns, operator.mark), [], [])
        with_partner = self._matches(left, right, operator.condition)
        matched = operator.condition if operator.matches is None else operator.matches
        matches = self._matches(left, right, matched)
        for row, provenance, partners, indexes in zip(
            left.rows, left.provenances, with_partner, matches, strict=True
        ):
            inner = union(right.provenances[index] for index in indexes)
            marked.rows.append((*row, bool(partners)))
            marked.provenances.append(both(provenance, inner))
        return marked

    def scalar_subquery(
        self, operator: ScalarSubquery, left: Relation, right: Relation
    ) -> Relation:
        if len(right.rows) > 1 or len(right.columns) != 1:
            raise ValueError(f"scalar subquery {operator.id} has more than one value")
        value = right.rows[0][0] if right.rows else None
        inner = union(right.provenances)
        return Relation(
            (*left.columns, operator.column),
            [(*row, value) for row in left.rows],
            [both(provenance, inner) for provenance in left.provenances],
        )

    def group_by(self, operator: GroupBy, source: Relation) -> Relation:
        keys = self._assigned([key.value for key in operator.keys], source)
        to_key = key_maker([key.column.type for key in operator.keys])
        groups: dict[Row, list[int]] = {} if operator.keys else {(): []}
        for index, key in enumerate(keys):
            groups.setdefault(to_key(key), []).append(index)
        calls = [aggregation.call for aggregation in operator.aggregations]
        compute = [compile_aggregate(call, source.columns, self.settings) for call in calls]
        result = Relation(self.graph.output(operator.id), [], [])
        for members in groups.values():
            rows = [source.rows[index] for index in members]
            values = tuple(evaluate(rows) for evaluate in compute)
            contributing = self._contributing(operator, source.columns, rows, values)
            kept = members if contributing is None else [members[i] for i in contributing]
            result.rows.append((keys[members[0]] if operator.keys else ()) + values)
            result.provenances.append(union(source.provenances[index] for index in kept))
        return result

    def _contributing(
        self, operator: GroupBy, columns: tuple[Column, ...], rows: list[Row], values: Row
    ) -> list[int] | None:
        """Which rows of a group are its lineage; None for all of them."""
        calls = [aggregation.call for aggregation in operator.aggregations]
        plain = all(c.function in ATTAINED and c.filter is None and not c.distinct for c in calls)
        if not self.minimal or not calls or not plain or values == (None,) * len(calls):
            return None
        contributing: set[int] = set()
        for call, value in zip(calls, values, strict=True):
            contributing.update(attaining(call, columns, self.settings)(rows, value))
        return sorted(contributing)

    def distinct(self, operator: Distinct, source: Relation) -> Relation:
        firsts = {row_key(row): row for row in reversed(source.rows)}
        provenances = provenances_by_value(source)
        kept = [key for key in provenances if key in firsts]
        return Relation(
            source.columns,
            [firsts[key] for key in kept],
            [union(provenances[key]) for key in kept],
        )

    def domain(self, operator: Domain, source: Relation) -> Relation:
        """The different values, made of nothing."""
        rows = self._assigned(operator.expressions, source)
        found = {row_key(row): row for row in reversed(rows)}
        kept = list(found.values())
        return Relation(self.graph.output(operator.id), kept, [NOTHING for _ in kept])

    def drop_duplicates(self, operator: DropDuplicates, source: Relation) -> Relation:
        """The first row of each key, which is a choice if the key has other rows, too."""
        keys = key_maker([key.type for key in operator.keys])
        sets: dict[Row, list[int]] = {}
        for index, key in enumerate(self._assigned(operator.keys, source)):
            sets.setdefault(keys(key), []).append(index)
        if any(len({row_key(source.rows[i]) for i in members}) > 1 for members in sets.values()):
            self.ambiguous.add(operator.id)
        kept = (members[0] for members in sets.values())
        if operator.id in self.chosen:
            return self._chosen(operator, united(source), len(sets))
        return picked(united(source), kept)._replace(ranks=None)

    def union_all(self, operator: Union_, *inputs: Relation) -> Relation:
        result = Relation(operator.columns, [], [])
        for source, branch in zip(inputs, operator.branches, strict=True):
            part = aligned(source, branch, operator.columns)
            result.rows.extend(part.rows)
            result.provenances.extend(part.provenances)
        return result

    def intersect(self, operator: Intersect, left: Relation, right: Relation) -> Relation:
        left, right = both_aligned(operator, left, right)
        counts = Counter(map(row_key, right.rows))
        ours, theirs = provenances_by_value(left), provenances_by_value(right)
        result = Relation(operator.columns, [], [])
        for key, row, count in counted(left, operator.all):
            for _ in range(min(count, counts[key])):
                result.rows.append(row)
                result.provenances.append(both(union(ours[key]), union(theirs[key])))
        return result

    def except_(self, operator: Except, left: Relation, right: Relation) -> Relation:
        left, right = both_aligned(operator, left, right)
        counts = Counter(map(row_key, right.rows))
        ours = provenances_by_value(left)
        result = Relation(operator.columns, [], [])
        for key, row, count in counted(left, operator.all):
            for _ in range(max(count - counts[key], 0)):
                result.rows.append(row)
                result.provenances.append(union(ours[key]))
        return result

    def sort(self, operator: Sort, source: Relation) -> Relation:
        keys = self._assigned([key.value for key in operator.keys], source)
        order = list(range(len(keys)))
        for place in reversed(range(len(operator.keys))):
            order = sorted_by(order, keys, place, operator.keys[place])
        ranks: list[int] = []
        for previous, current in zip([None, *order], order):  # noqa: B905
            tied = previous is not None and row_key(keys[previous]) == row_key(keys[current])
            ranks.append(0 if previous is None else ranks[-1] + (not tied))
        return picked(source, order)._replace(ranks=ranks)

    def limit(self, operator: Limit, source: Relation) -> Relation:
        source = united(source)
        end = None if operator.count is None else operator.offset + operator.count
        if operator.id in self.chosen:
            return self._chosen(operator, source, len(source.rows[operator.offset : end]))
        if any(free_choice(source, cut) for cut in (operator.offset, end) if cut is not None):
            self.ambiguous.add(operator.id)
        return picked(source, range(len(source.rows))[operator.offset : end])

    def sample(self, operator: Sample, source: Relation) -> Relation:
        """Rows drawn by the seed; equal rows are one, drawn or not."""
        drawn = random.Random(operator.seed)
        share = operator.upper - operator.lower
        times = [int(drawn.random() < share) for _ in source.rows]
        if operator.with_replacement:
            times = [drawn.choice((0, 1, 2)) for _ in source.rows]
        places = (index for index, count in enumerate(times) for _ in range(count))
        return picked(united(source), places)

    def window(self, operator: Window, source: Relation) -> Relation:
        equal = united(source)
        rows, provenances, ambiguous = evaluate_window(
            operator, source.columns, source.rows, equal.provenances, self.minimal, self.settings
        )
        if ambiguous:
            self.ambiguous.add(operator.id)
        return Relation(self.graph.output(operator.id), rows, provenances)

    def opaque(self, operator: Opaque, *sources: Relation) -> Relation:
        """A few rows with values that depend on how many rows there are, made of all of them."""
        if operator.grouped:
            return self._over_groups(operator, sources)
        count = sum(len(source.rows) for source in sources)
        row = tuple(_some_value(column.type, count) for column in operator.columns)
        everything = union(each for source in sources for each in source.provenances)
        return Relation(operator.columns, [row] * (count % 3), [everything] * (count % 3))

    def _over_groups(self, operator: Opaque, sources: Sequence[Relation]) -> Relation:
        """The same for each group, with its key."""
        to_key = key_maker([key.column.type for key in operator.keys])
        firsts: dict[Row, Row] = {}
        groups: dict[Row, list[Any]] = {}
        for place, source in enumerate(sources):
            keys = self._assigned([key.of[place] for key in operator.keys], source)
            for key, provenance in zip(keys, source.provenances, strict=True):
                firsts.setdefault(to_key(key), key)
                groups.setdefault(to_key(key), []).append(provenance)
        result = Relation(self.graph.output(operator.id), [], [])
        for key, members in groups.items():
            row = tuple(_some_value(column.type, len(members)) for column in operator.columns)
            result.rows.extend([(*row, *firsts[key])] * (len(members) % 3))
            result.provenances.extend([union(members)] * (len(members) % 3))
        return result

    def opaque_columns(self, operator: OpaqueColumns, source: Relation) -> Relation:
        """A value for each row, drawn by the operator's number; equal rows are one."""
        drawn = random.Random(operator.id)
        values = [tuple(drawn.choice((None, 0, 1)) for _ in operator.made) for _ in source.rows]
        rows = [(*row, *more) for row, more in zip(source.rows, values, strict=True)]
        return united(source)._replace(columns=self.graph.output(operator.id), rows=rows)

    def _chosen(self, operator: Limit | DropDuplicates, source: Relation, size: int) -> Relation:
        rows = [tuple(row) for row in self.chosen[operator.id]]
        available = Counter(map(row_key, source.rows))
        if len(rows) != size or Counter(map(row_key, rows)) - available:
            raise ValueError(f"operator {operator.id} cannot have kept the chosen rows")
        places = {row_key(row): index for index, row in enumerate(source.rows)}
        return picked(source, [places[row_key(row)] for row in rows])


def _some_value(kind: DataType, count: int) -> Any:
    return {LONG: count, INTEGER: count, STRING: str(count), DOUBLE: float(count)}.get(kind)


EVALUATORS: dict[type, Any] = {
    Scan: Run.scan,
    OneRow: Run.one_row,
    Filter: Run.filter,
    RowTransform: Run.row_transform,
    Expand: Run.expand,
    Generate: Run.generate,
    InnerJoin: Run.inner_join,
    OuterJoin: Run.outer_join,
    SemiJoin: Run.semi_join,
    AntiJoin: Run.anti_join,
    MarkJoin: Run.mark_join,
    ScalarSubquery: Run.scalar_subquery,
    GroupBy: Run.group_by,
    Distinct: Run.distinct,
    Domain: Run.domain,
    DropDuplicates: Run.drop_duplicates,
    Union_: Run.union_all,
    Intersect: Run.intersect,
    Except: Run.except_,
    Sort: Run.sort,
    Limit: Run.limit,
    Sample: Run.sample,
    Window: Run.window,
    Opaque: Run.opaque,
    OpaqueColumns: Run.opaque_columns,
}
"""How each operator is run."""
