"""Smaller replays: restricts scans under a GROUP BY to the values that the replay will join with.

An engine moves conditions through joins by itself, but rarely through a GROUP BY: it would compute
the groups of all keys, and drop most of them in the join above. Value sets of the other inputs, as
in refinement, say in advance which keys will be joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from predtrace.inference import costs
from predtrace.inference.facts import Flow, families_of_columns, memberships_in
from predtrace.inference.plan import Membership, Restriction, ValueSet
from predtrace.inference.precise import Pushdown, Visit
from predtrace.inference.reduction import Ties
from predtrace.inference.sizes import selectivity
from pushdown.graph import OperatorGraph
from pushdown.operators import Filter, RowTransform, ScalarSubquery, Sort
from pushdown.operators.matches import Matching
from symbolic.expr import Expr, column_ids

_OPEN = (Matching, ScalarSubquery, Filter, RowTransform, Sort)
"""Operators that engines move conditions through."""


def narrowed(
    pushdown: Pushdown,
    top: int,
    lookup: Expr,
    restrictions: tuple[Restriction, ...],
    rows: Mapping[int, float],
) -> tuple[tuple[Restriction, ...], tuple[ValueSet, ...]]:
    """Restrictions that are enough for a replay of `top`, with memberships where these pay off.

    `restrictions` are the restrictions without memberships; `rows` has the row counts of scans by
    node. All predicates have params of binding 0.
    """
    graph = pushdown.graph
    members = [restriction.node for restriction in restrictions]
    below = graph.top_down(top)
    # A value set would have to hold for every consumer of a shared node.
    if not graph.shared.isdisjoint(below) or not any(_closed(graph, n, top) for n in members):
        return restrictions, ()
    ties = Ties(graph, members, families_of_columns(graph, pushdown), {})
    flow = Flow(pushdown, top, witnessed=False)
    facts = flow.up({node: ties.facts(node) for node in members})
    visits = flow.down(lookup, facts, flow.down(lookup))
    return _Choice(graph, top, visits, restrictions, rows).made()


def _closed(graph: OperatorGraph, node: int, top: int) -> bool:
    """Whether some operator up to `top` stops conditions on their way to a scan."""
    return _block(graph, node, top) != top


def _block(graph: OperatorGraph, node: int, top: int) -> int:
    """The highest operator from which conditions still reach the scan."""
    while node != top:
        parent = graph.consumer(node)
        assert parent is not None
        if not isinstance(graph[parent], _OPEN):
            return node
        node = parent
    return node


class _Choice:
    """The memberships that pay off, by estimated rows."""

    def __init__(
        self,
        graph: OperatorGraph,
        top: int,
        visits: Mapping[int, Visit],
        restrictions: tuple[Restriction, ...],
        rows: Mapping[int, float],
    ) -> None:
        self._graph = graph
        self._top = top
        self._restrictions = {item.node: item for item in restrictions}
        self._all = {node: rows.get(node, costs.DEFAULT_ROWS) for node in self._restrictions}
        self._kept = {
            node: self._all[node] * selectivity(item.predicate)
            for node, item in self._restrictions.items()
        }
        self._memberships = {
            node: tuple(m for m in memberships_in(node, visits[node].above) if m.columns)
            for node in self._restrictions
        }

    def made(self) -> tuple[tuple[Restriction, ...], tuple[ValueSet, ...]]:
        """The restrictions and the value sets that they name."""
        chosen = {node: tuple(self._worthwhile(node)) for node in self._restrictions}
        first = {m.node for found in chosen.values() for m in found}
        helping = {node: tuple(self._helping(node)) for node in first}
        before = {m.node for found in helping.values() for m in found} - first
        used = [*chosen.values(), *helping.values()]
        sets = [self._set(node, (), used) for node in sorted(before)]
        sets += [self._set(node, helping[node], used) for node in sorted(first)]
        restrictions = tuple(
            msgspec.structs.replace(item, memberships=chosen[node])
            for node, item in self._restrictions.items()
        )
        return restrictions, tuple(sets)

    def _worthwhile(self, node: int) -> Iterator[Membership]:
        """Memberships in much smaller sets that the engine would not use by itself."""
        block = _block(self._graph, node, self._top)
        beside = set(self._graph.top_down(block))
        candidates = [m for m in self._memberships[node] if m.node not in beside]
        tied: set[int] = set()
        for membership in sorted(candidates, key=lambda m: (-len(m.args), self._all[m.node])):
            columns = column_ids(*membership.args)
            if not columns <= tied and self._pays_off(membership.node, node):
                tied |= columns
                yield membership

    def _pays_off(self, by: int, node: int) -> bool:
        """Whether reading one set costs less than it saves at another scan."""
        helping = [m.node for m in self._helping(by)]
        rows, cost = self._kept[by], self._all[by]
        for other in helping:
            rows *= self._kept[other] / self._all[other]
            cost += self._all[other]
        return (
            rows <= costs.MUCH_SMALLER * self._kept[node]
            and cost <= costs.READ_COST * self._kept[node]
        )

    def _helping(self, node: int) -> Iterator[Membership]:
        """Memberships in smaller sets beside it, which restrict a set in turn."""
        beside = set(self._graph.top_down(_block(self._graph, node, self._top)))
        for membership in self._memberships[node]:
            other = membership.node
            joined = other in beside and _block(self._graph, other, self._top) in beside
            if (
                joined
                and self._all[other] <= self._all[node]
                and self._kept[other] <= costs.MUCH_SMALLER * self._all[other]
            ):
                yield membership

    def _set(
        self, node: int, memberships: tuple[Membership, ...], used: list[tuple[Membership, ...]]
    ) -> ValueSet:
        read = {c for found in used for m in found if m.node == node for c in m.columns}
        read |= column_ids(*(arg for m in memberships for arg in m.args))
        return ValueSet(
            node=node,
            columns=tuple(c for c in self._graph.output(node) if c.id in read),
            predicate=self._restrictions[node].predicate,
            memberships=memberships,
        )
