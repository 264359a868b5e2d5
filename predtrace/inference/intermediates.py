"""Which intermediate results to store: the paper's Section 5, Algorithms 1 and 2.

Where pushing a predicate through an operator loses precision, the output of that
operator or of a later one is stored: its rows, once bound, make row-selection
predicates that go through. Among the places that serve, the smallest wins; of its
columns only those stay that the lookup or the pushdown below needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import networkx as nx

from predtrace.inference.precise import Pushdown, row_selection
from predtrace.inference.sizes import Sizes, width
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Distinct,
    Except,
    Filter,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    OuterJoin,
    RowTransform,
    SemiJoin,
)
from symbolic.expr import Call, Column, Expr, column_ids, conjuncts


class Choice(msgspec.Struct, frozen=True):
    """A place for an intermediate: the node, the columns to keep, the guessed total bytes."""

    node: int
    columns: tuple[Column, ...]
    cost: float


class IntermediateChooser:
    """Chooses where to store and what, in one graph."""

    def __init__(self, pushdown: Pushdown, sizes: Sizes) -> None:
        self._pushdown = pushdown
        self._graph = pushdown.graph
        self._sizes = sizes

    def choose(self, failing: int, above: Mapping[int, Expr], top: int) -> Choice | None:
        """The best place for an intermediate that makes pushdown through `failing` precise.

        `above` holds the predicates of the region under `top`. None if no place between
        `failing` and `top` helps.
        """
        choices: list[Choice] = []
        path: list[int] = []
        node: int | None = failing
        while node is not None and node != top:
            path.append(node)
            columns = self._columns(node, above[node])
            still_failing = self._failing(node, columns)
            if still_failing.isdisjoint(path):
                nested = sum(
                    self._sizes.bytes(other, self._graph.output(other)) for other in still_failing
                )
                cost = self._sizes.bytes(node, columns) + nested
                choices.append(Choice(node, columns, cost))
            elif choices:
                break
            node = self._graph.parent(node)
        return min(choices, key=lambda choice: choice.cost, default=None)

    def _columns(self, node: int, above: Expr) -> tuple[Column, ...]:
        """Column projection: the fewest columns that lose nothing the whole row would not."""
        output = self._graph.output(node)
        unavoidable = self._failing(node, output)
        looked_up = column_ids(above)
        kept = [column for column in output if column.id in looked_up]
        while failing := self._failing(node, kept) - unavoidable:
            more = self._more_columns(node, kept, failing)
            if not more:
                kept = list(output)
                break
            kept += more
        return self._without_needless(node, tuple(kept), looked_up, unavoidable)

    def _without_needless(
        self,
        node: int,
        columns: tuple[Column, ...],
        looked_up: frozenset[int],
        unavoidable: frozenset[int],
    ) -> tuple[Column, ...]:
        for column in sorted(columns, key=lambda c: -width(c.type)):
            if column.id not in looked_up:
                rest = tuple(other for other in columns if other != column)
                if self._failing(node, rest) <= unavoidable:
                    columns = rest
        return columns

    def _failing(self, node: int, columns: Iterable[Column]) -> frozenset[int]:
        """Where the region under `node` first loses precision, were `columns` of it stored."""
        predicate = row_selection(-1, tuple(columns))
        visits = self._pushdown.region(node, predicate, past_losses=False)
        return frozenset(visit.node for visit in visits if not visit.precise)

    def _more_columns(self, node: int, kept: list[Column], failing: Iterable[int]) -> list[Column]:
        """Columns of the node's output that the failing operators need pinned, if any are left."""
        equal = equal_columns(self._graph, node)
        available = {column.id: column for column in self._graph.output(node)}
        have = {column.id for column in kept}
        for needs in (_needs, _reads):
            wanted: dict[int, Column] = {}
            for operator in failing:
                for column in sorted(needs(self._graph, operator)):
                    family = equal.get(column, frozenset((column,)))
                    if have.isdisjoint(family) and wanted.keys().isdisjoint(family):
                        found = sorted(family & available.keys())
                        best = min(found, key=lambda c: width(available[c].type), default=None)
                        if best is not None:
                            wanted[best] = available[best]
            if wanted:
                return list(wanted.values())
        return []


def equal_columns(graph: OperatorGraph, node: int) -> dict[int, frozenset[int]]:
    """Columns under a node that have the same value in every row of its output, by id."""
    equal: nx.Graph[int] = nx.Graph()
    for operator in (graph[below] for below in graph.top_down(node)):
        match operator:
            case InnerJoin(condition=condition) | Filter(condition=condition):
                for term in conjuncts(condition):
                    match term:
                        case Call(
                            function="eq" | "nullsafe_eq", args=(Column(id=left), Column(id=right))
                        ):
                            equal.add_edge(left, right)
            case RowTransform(assignments=assignments) | GroupBy(keys=assignments):
                for assignment in assignments:
                    if isinstance(assignment.value, Column):
                        equal.add_edge(assignment.column.id, assignment.value.id)
    return {
        column: frozenset(family) for family in nx.connected_components(equal) for column in family
    }


def _needs(graph: OperatorGraph, node: int) -> frozenset[int]:
    """The columns that an operator's output must have pinned for precise pushdown, as a rule."""
    operator = graph[node]
    match operator:
        case (
            InnerJoin(condition=condition)
            | OuterJoin(condition=condition)
            | SemiJoin(condition=condition)
            | AntiJoin(condition=condition)
            | MarkJoin(condition=condition)
        ):
            return column_ids(condition)
        case GroupBy(keys=keys):
            return frozenset(key.column.id for key in keys)
        case Limit() | Distinct() | Intersect() | Except():
            return frozenset(column.id for column in graph.output(node))
        case _:
            return frozenset()


def _reads(graph: OperatorGraph, node: int) -> frozenset[int]:
    """All columns of an operator's output: the last resort."""
    return frozenset(column.id for column in graph.output(node))
