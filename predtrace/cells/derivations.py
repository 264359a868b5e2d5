"""The ways of a column's value from scans to the output, one row to one row.

A derivation is the operator tree with one branch chosen at every union that the value passes, and
without the limits and DISTINCTs there. Its rows that are equal to the target are exactly the rows
that the target was made of: the lineage of a limit, or of DISTINCT, is all input rows equal to its
row. But if other columns are dropped above a limit, rows that the limit left out may look the same
in the output; the rows are then a superset.

If an outer join pads the rows of a union or limit, removing or adding rows would change which rows
are padded. Such ways end there, as at aggregates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Assignment,
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
    Operator,
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
from symbolic.expr import TRUE, Column, Expr, column_ids

Ids = frozenset[int]
_KEEPING_ROWS = (Filter, Sort, Limit, Sample, Distinct, DropDuplicates)


class NotDerivable(Exception):
    """An operator that does not pass rows on one by one: its number, and the reason."""

    def __init__(self, node: int, reason: str) -> None:
        super().__init__(reason)
        self.node = node


class Step(NamedTuple):
    """A projection of a derivation that computes a column from others."""

    node: int
    value: Expr


class Derivation(msgspec.Struct, frozen=True):
    """One way: its operator tree; by column id, the step that computes it, or its scan.

    `excess` says why it may have more rows than the lineage; empty if it does not.
    """

    graph: OperatorGraph
    steps: dict[int, Step]
    origins: dict[int, int]
    excess: tuple[str, ...] = ()


class _Way(NamedTuple):
    changed: dict[int, Operator]
    steps: dict[int, Step]
    origins: dict[int, int]
    excess: tuple[str, ...]


def derivations(graph: OperatorGraph, column: Column) -> tuple[Derivation, ...]:
    """All ways of an output column, or NotDerivable if there is an operator in the way."""
    return tuple(
        Derivation(
            OperatorGraph(
                [way.changed.get(node, graph[node]) for node in _left(graph, way)], graph.root
            ),
            way.steps,
            way.origins,
            way.excess,
        )
        for way in _Paths(graph).ways(graph.root, frozenset({column.id}), padded=False)
    )


def _left(graph: OperatorGraph, way: _Way) -> Iterator[int]:
    """The nodes of a way's tree: without the branches of unions that it does not take."""
    pending = [graph.root]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        operator = way.changed.get(node)
        if isinstance(operator, RowTransform):
            pending.append(operator.input)
        else:
            pending.extend(graph.inputs(node))


class _Paths:
    def __init__(self, graph: OperatorGraph) -> None:
        self._graph = graph

    def ways(self, node: int, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        """The ways of the wanted columns of a node's output.

        `padded`: an outer join above pads rows that have no partner here.
        """
        if not wanted:
            yield _Way({}, {}, {}, ())
            return
        operator = self._graph[node]
        if node in self._graph.shared:
            raise NotDerivable(node, "several operators read its rows")
        way = _WAYS.get(type(operator))
        if way is None:
            name = type(operator).__name__.rstrip("_")
            why = MADE_OF_SEVERAL.get(type(operator), "how it passes rows on is not known here")
            raise NotDerivable(node, f"{name}: {why}")
        yield from way(self, operator, wanted, padded=padded)

    def scanned(self, scan: Scan, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield _Way({}, {}, dict.fromkeys(wanted, scan.id), ())

    def nothing(self, one: OneRow, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield _Way({}, {}, {}, ())

    def passed(self, above: Filter | Sort, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield from self.ways(above.input, wanted, padded=padded)

    def distinct(self, above: Distinct, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield from self._open(above.id, above.input, wanted, (), padded=padded)

    def taken(
        self, above: Limit | Sample | DropDuplicates, wanted: Ids, *, padded: bool
    ) -> Iterator[_Way]:
        if padded:
            raise _padded(above.id, f"a {type(above).__name__}")
        excess = self._excess(above.id)
        yield from self._open(above.id, above.input, wanted, excess, padded=False)

    def extended(self, above: OpaqueColumns, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        if wanted & {each.column.id for each in above.made}:
            raise NotDerivable(above.id, "only the run knows how its columns are made")
        excess = self._excess(above.id)
        yield from self._open(above.id, above.input, wanted, excess, padded=padded)

    def projected(self, above: RowTransform, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield from self._computed(above.id, above.assignments, above.input, wanted, padded=padded)

    def inner(self, join: InnerJoin, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield from self._joined(((join.left, padded), (join.right, padded)), wanted)

    def outer(self, join: OuterJoin, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        left, right = padded or join.kind != "left", padded or join.kind != "right"
        yield from self._joined(((join.left, left), (join.right, right)), wanted)

    def selected(self, join: SemiJoin | AntiJoin, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield from self.ways(join.left, wanted, padded=padded)

    def marked(self, join: MarkJoin, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield from self._beside(join, join.mark, wanted, padded=padded)

    def with_value(self, join: ScalarSubquery, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        yield from self._beside(join, join.column, wanted, padded=padded)

    def united(self, union: Union_, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        if padded:
            raise _padded(union.id, "a union")
        yield from self._chosen(
            union.id, zip(union.inputs, union.branches, strict=True), union.columns, wanted
        )

    def expanded(self, expand: Expand, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        if padded:
            raise _padded(expand.id, "an expansion")
        projections = ((expand.input, values) for values in expand.projections)
        yield from self._chosen(expand.id, projections, expand.columns, wanted)

    def generated(self, above: Generate, wanted: Ids, *, padded: bool) -> Iterator[_Way]:
        for column in above.columns:
            if column.id in wanted:
                raise NotDerivable(above.id, f"{column.name} is made by a generator")
        yield from self.ways(above.input, wanted, padded=padded)

    def _beside(
        self, join: MarkJoin | ScalarSubquery, made: Column, wanted: Ids, *, padded: bool
    ) -> Iterator[_Way]:
        """The node adds a column that a subquery gives."""
        if made.id in wanted:
            raise NotDerivable(join.id, f"the subquery of {made.name} passes no single row on")
        yield from self.ways(join.left, wanted, padded=padded)

    def _open(
        self, node: int, below: int, wanted: Ids, excess: tuple[str, ...], *, padded: bool
    ) -> Iterator[_Way]:
        """The node lets all rows through."""
        through = Filter(id=node, input=below, condition=TRUE)
        for way in self.ways(below, wanted, padded=padded):
            yield way._replace(changed={**way.changed, node: through}, excess=excess + way.excess)

    def _computed(
        self, node: int, made: Iterable[Assignment], below: int, wanted: Ids, *, padded: bool
    ) -> Iterator[_Way]:
        steps = {
            a.column.id: Step(node, a.value)
            for a in made
            if a.column.id in wanted and column_ids(a.value) != {a.column.id}
        }
        passed = wanted - steps.keys()
        read = passed | column_ids(*(step.value for step in steps.values()))
        for way in self.ways(below, read, padded=padded):
            yield way._replace(steps={**way.steps, **steps})

    def _joined(self, sides: Iterable[tuple[int, bool]], wanted: Ids) -> Iterator[_Way]:
        found = [
            list(self.ways(node, wanted & self._ids(node), padded=padded)) for node, padded in sides
        ]
        for one, other in itertools.product(*found):
            yield _Way(
                {**one.changed, **other.changed},
                {**one.steps, **other.steps},
                {**one.origins, **other.origins},
                one.excess + other.excess,
            )

    def _chosen(
        self,
        node: int,
        choices: Iterable[tuple[int, Sequence[Expr]]],
        columns: Sequence[Column],
        wanted: Ids,
    ) -> Iterator[_Way]:
        """Every choice, an input and the values of the columns, makes rows of its own."""
        for below, values in choices:
            made = tuple(map(Assignment, columns, values))
            chosen = RowTransform(id=node, input=below, assignments=made)
            for way in self._computed(node, made, below, wanted, padded=False):
                yield way._replace(changed={**way.changed, node: chosen})

    def _ids(self, node: int) -> Ids:
        return frozenset(column.id for column in self._graph.output(node))

    def _excess(self, limit: int) -> tuple[str, ...]:
        """The reason why a limit's rows may not be distinguishable from others; empty if they
        are."""
        node = limit
        while (above := self._graph.consumer(node)) is not None:
            operator = self._graph[above]
            if isinstance(operator, RowTransform):
                values = {assignment.value for assignment in operator.assignments}
                kept = values.issuperset(self._graph.output(node))
            else:
                kept = isinstance(operator, _KEEPING_ROWS)
            if not kept:
                name = type(self._graph[limit]).__name__
                told = "its rows may be indistinguishable from others above"
                return (f"operator {limit}, {name}: {told}",)
            node = above
        return ()


def _padded(node: int, what: str) -> NotDerivable:
    return NotDerivable(node, f"an outer join pads what {what} gives")


_WAYS: Mapping[type[Operator], Callable[..., Iterator[_Way]]] = {
    Scan: _Paths.scanned,
    OneRow: _Paths.nothing,
    Filter: _Paths.passed,
    Sort: _Paths.passed,
    Distinct: _Paths.distinct,
    Limit: _Paths.taken,
    Sample: _Paths.taken,
    DropDuplicates: _Paths.taken,
    RowTransform: _Paths.projected,
    InnerJoin: _Paths.inner,
    OuterJoin: _Paths.outer,
    SemiJoin: _Paths.selected,
    AntiJoin: _Paths.selected,
    MarkJoin: _Paths.marked,
    ScalarSubquery: _Paths.with_value,
    Union_: _Paths.united,
    Expand: _Paths.expanded,
    Generate: _Paths.generated,
    OpaqueColumns: _Paths.extended,
}
"""Operators that pass rows on one by one, and how."""
PASSED_ON = frozenset(_WAYS)
MADE_OF_SEVERAL: Mapping[type[Operator], str] = {
    GroupBy: "it makes one row of several",
    Intersect: "a row stands for equal rows of both inputs",
    Except: "whether it passes a row on depends on how many are equal to it",
    Domain: "it has values of outer rows, and none of the rows",
    Window: "it gives a row values of other rows",
    Opaque: "nobody knows which rows its program made a row of",
}
"""Operators that do not pass rows on one by one, and why."""


def feeding(graph: OperatorGraph, column: Column) -> dict[int, Ids]:
    """The columns that an output column is made of, by scan, through any operators."""
    found: dict[int, Ids] = {}
    wanted = {graph.root: frozenset({column.id})}
    for node in graph.top_down():
        ids = wanted.pop(node, frozenset())
        if not ids:
            continue
        operator = graph[node]
        if isinstance(operator, Scan):
            found[node] = ids
            continue
        made_of = operator.made_of(*graph.input_columns(node))
        read = frozenset().union(*(made_of[column] for column in ids))
        for below in graph.inputs(node):
            output = {column.id for column in graph.output(below)}
            wanted[below] = wanted.get(below, frozenset()) | read & output
    return found
