"""The choice of intermediate results to store: the paper's Section 5, Algorithms 1 and 2.

If pushing a predicate through an operator loses precision, the output of that operator or of a
later one is stored. Its rows, once bound, make row-selection predicates that push through. Among
the suitable places the smallest wins. It keeps only the columns that the lookup or the pushdown
below needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from predtrace.inference.pins import equal_columns, needs, pinned_columns
from predtrace.inference.precise import Pushdown, Visit, bound_rows
from predtrace.inference.sizes import Sizes, width
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Filter,
    GroupBy,
    InnerJoin,
    MarkJoin,
    RowTransform,
    ScalarSubquery,
    SemiJoin,
)
from symbolic.expr import TRUE, Call, Column, Expr, column_ids, conjuncts
from symbolic.types import BOOLEAN


class Choice(msgspec.Struct, frozen=True):
    """A place for an intermediate: the node, the columns to keep, the guessed total bytes."""

    node: int
    columns: tuple[Column, ...]
    cost: float


class IntermediateChooser:
    """Chooses what to store in one graph, and where.

    `deferring` takes the smallest of all suitable places (Algorithm 2), not the first.
    """

    def __init__(self, pushdown: Pushdown, sizes: Sizes, *, deferring: bool = True) -> None:
        self._deferring = deferring
        self._pushdown = pushdown
        self._graph = pushdown.graph
        self._sizes = sizes
        self._known_equal: dict[int, dict[int, frozenset[int]]] = {}
        self._known_failing: dict[tuple[int, tuple[Column, ...], Expr], frozenset[int]] = {}

    def choose(
        self, failing: int, above: Mapping[int, Expr], top: int, *, with_top: bool = False
    ) -> Choice | None:
        """The best place for an intermediate that makes pushdown through `failing` precise.

        `above` holds the predicates of the region under `top`. None if no place between
        `failing` and `top` helps; the top itself is one only `with_top`.
        """
        # One of several equal columns may be enough: a guess that makes results smaller.
        for apart in (False, True):
            found = self._best(failing, above, top, apart=apart, with_top=with_top)
            if found is not None:
                return found
        return None

    def choose_at(self, node: int, above: Sequence[Expr]) -> Choice | None:
        """The columns to keep of a node that several predicates look up; None if it has no
        columns."""
        if not self._graph.output(node):
            return None
        # Not simplified: each column that one of them reads is kept.
        lookup = Call("or", tuple(above), BOOLEAN) if len(above) > 1 else above[0]
        for apart in (False, True):
            columns = self._columns(node, lookup, apart=apart)
            if node not in self._failing(node, columns, lookup):
                break
        return Choice(node, columns, self._sizes.bytes(node, columns))

    def _best(
        self,
        failing: int,
        above: Mapping[int, Expr],
        top: int,
        *,
        apart: bool,
        with_top: bool,
    ) -> Choice | None:
        choices: list[Choice] = []
        path: list[int] = []
        node: int | None = failing
        while node is not None and (node != top or with_top):
            path.append(node)
            # A stored table has columns.
            if self._graph.output(node):
                columns = self._columns(node, above[node], apart=apart)
                still_failing = self._failing(node, columns, above[node])
                if still_failing.isdisjoint(path):
                    nested = sum(
                        self._sizes.bytes(other, self._graph.output(other))
                        for other in still_failing
                    )
                    cost = self._sizes.bytes(node, columns) + nested
                    choices.append(Choice(node, columns, cost))
                if choices and not (self._deferring and still_failing.isdisjoint(path)):
                    break
            node = None if node == top else self._graph.consumer(node)
        return min(choices, key=lambda choice: choice.cost, default=None)

    def _columns(self, node: int, above: Expr, *, apart: bool) -> tuple[Column, ...]:
        """Column projection: the fewest columns that are as precise as more columns would be.

        Starts with the columns that the lookup reads and that the operators below usually need.
        Takes all columns that they read if that is more precise, then drops columns that are not
        needed. Takes one of several equal columns, or each of them if they are kept `apart`.
        """
        looked_up = column_ids(above)
        kept = self._representing(node, looked_up, needs, apart=apart)
        unavoidable = self._failing(node, kept, above)
        if unavoidable:
            more = self._representing(node, looked_up, _reads, apart=apart)
            still = self._failing(node, more, above)
            if still != unavoidable:
                kept, unavoidable = more, still
        return self._fewest(node, kept, above, unavoidable)

    def _fewest(
        self, node: int, kept: tuple[Column, ...], above: Expr, unavoidable: frozenset[int]
    ) -> tuple[Column, ...]:
        """The columns without the columns that make no difference to precision.

        Columns that nothing reads before precision is lost are dropped together, if possible. The
        keys of joins there are kept without a trial. The others are tried one by one.
        """
        visits = self._visits(node, kept, above)
        equal = self._equal(node)
        staying = column_ids(above) | self._certain(visits, kept, equal)
        reached = frozenset().union(
            *(equal.get(c, {c}) for v in visits for c in _wanted(self._graph, v.node))
        )
        spared = tuple(c for c in kept if c.id in staying or c.id in reached)
        if spared and spared != kept and not self._loses_more(node, spared, above, unavoidable):
            kept = spared
        for column in sorted(kept, key=lambda c: -width(c.type)):
            if column.id not in staying and len(kept) > 1:
                rest = tuple(other for other in kept if other != column)
                if not self._loses_more(node, rest, above, unavoidable):
                    kept = rest
        return kept

    def _visits(self, node: int, columns: tuple[Column, ...], above: Expr) -> tuple[Visit, ...]:
        """The operators under `node` down to the first loss of precision, if `columns` were
        stored."""
        return tuple(self._pushdown.region(node, bound_rows(columns, above), past_losses=False))

    def _loses_more(
        self,
        node: int,
        columns: tuple[Column, ...],
        above: Expr,
        unavoidable: frozenset[int],
    ) -> bool:
        """Whether precision is lost anywhere else; stops at the first such place."""
        visits = self._pushdown.region(node, bound_rows(columns, above), past_losses=False)
        return any(not visit.precise and visit.node not in unavoidable for visit in visits)

    def _failing(self, node: int, columns: tuple[Column, ...], above: Expr) -> frozenset[int]:
        """The first loss of precision in the region under `node`, if its `columns` were stored."""
        key = (node, columns, above)
        if key not in self._known_failing:
            visits = self._visits(node, columns, above)
            self._known_failing[key] = frozenset(v.node for v in visits if not v.precise)
        return self._known_failing[key]

    def _representing(
        self,
        node: int,
        looked_up: frozenset[int],
        wanted: Callable[[OperatorGraph, int], frozenset[int]],
        *,
        apart: bool = False,
    ) -> tuple[Column, ...]:
        """The looked-up columns, and one column for each needed family of equal columns.

        Kept `apart`, every available needed column stands only for itself.
        """
        equal = self._equal(node)
        available = {column.id: column for column in self._graph.output(node)}
        kept = {column: available[column] for column in available if column in looked_up}
        for operator in self._graph.within(node):
            for column in sorted(wanted(self._graph, operator)):
                family = equal.get(column, frozenset((column,)))
                if apart and column in available:
                    family = frozenset((column,))
                if kept.keys().isdisjoint(family):
                    # The operator's own column comes first: it does not know equalities of
                    # operators further down.
                    found = [column, *sorted(family)]
                    best = next((other for other in found if other in available), None)
                    if best is not None:
                        kept[best] = available[best]
        # A stored table has at least one column, though only its rows' existence may matter.
        output = self._graph.output(node)
        return tuple(kept.values()) or tuple(sorted(output, key=lambda c: width(c.type))[:1])

    def _certain(
        self, visits: Iterable[Visit], kept: Iterable[Column], equal: Mapping[int, frozenset[int]]
    ) -> frozenset[int]:
        """The kept columns that are alone in pinning the key of an equality join that loses
        nothing.

        Without such a column, a row with another key and no partner could not be distinguished.
        """
        joins = [
            operator
            for visit in visits
            if visit.precise
            and isinstance(operator := self._graph[visit.node], (InnerJoin, SemiJoin))
        ]
        pins: set[int] = set()
        for term in (term for join in joins for term in conjuncts(join.condition)):
            match term:
                case Call(function="eq", args=(Column(id=left), Column(id=right))):
                    keys = equal.get(left, frozenset((left,))) | {left, right}
                    found = [column.id for column in kept if column.id in keys]
                    if len(found) == 1 and keys.isdisjoint(self._constant):
                        pins.update(found)
        return frozenset(pins)

    @functools.cached_property
    def _constant(self) -> frozenset[int]:
        """The columns that some condition equates with a constant."""
        conditions = [getattr(operator, "condition", TRUE) for operator in self._graph.operators()]
        return frozenset(column for term in conditions for column in pinned_columns(term))

    def _equal(self, node: int) -> dict[int, frozenset[int]]:
        if node not in self._known_equal:
            self._known_equal[node] = equal_columns(self._graph, node)
        return self._known_equal[node]


def _wanted(graph: OperatorGraph, node: int) -> frozenset[int]:
    return needs(graph, node) | _reads(graph, node)


def _reads(graph: OperatorGraph, node: int) -> frozenset[int]:
    """All columns that an operator needs, computes or reads."""
    operator = graph[node]
    match operator:
        case Filter(condition=condition):
            return column_ids(condition)
        case RowTransform(assignments=assignments):
            computed = [a for a in assignments if a.value != a.column]
            return column_ids(*(expr for a in computed for expr in (a.column, a.value)))
        case GroupBy() | MarkJoin() | ScalarSubquery():
            passed_on = frozenset(c.id for child in graph.inputs(node) for c in graph.output(child))
            own = frozenset(column.id for column in graph.output(node))
            return needs(graph, node) | (own - passed_on)
        case _:
            return needs(graph, node)
