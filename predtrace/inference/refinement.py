"""Iterative refinement: lineage from the sources alone (the paper's Section 6, Algorithm 3).

1. The target's row-selection predicate is pushed down without storing anything.
2. For every scan the *value sets* of the columns that join it to other scans are pushed up as
   predicates ``(columns) IN values of the scan`` (`pushdown.verify.lift`).
3. The target's predicate is pushed down again, together with the facts that were pushed up. At a
   scan it says which tuples of that scan's columns must be in the value sets of other scans.
4. At question time the value sets are computed and narrowed down until they are stable
   (`predtrace.engines.sql.refining`).

A value set is a set of tuples with one component for each family of equal columns that joins two
scans, so that joins on composite keys lose nothing. A GROUP BY whose aggregates the target pins
(``HAVING count(*) = :n``) has a value set, too: its replayed result. If the scans are joined
without cycles, two passes over the value sets leave exactly the rows that join (Yannakakis 1981),
and the answer is labelled precise.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from predtrace.inference.conditions import pair_conditions
from predtrace.inference.facts import (
    Flow,
    families_of_columns,
    memberships_in,
    reads_sets,
    with_conditions,
)
from predtrace.inference.plan import RefinedPlan, ValueSet
from predtrace.inference.planner import infer_unstored
from predtrace.inference.precise import Pushdown, Visit, row_selection
from predtrace.inference.reduction import Ties, fully_reduced
from predtrace.inference.repeating import unrepeatable
from predtrace.inference.replay import sufficient
from predtrace.inference.unpaired import with_unpaired_rows
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import GroupBy, Scan
from pushdown.rules.groups import attains
from symbolic.expr import (
    Expr,
    column_ids,
    conjunction,
    conjuncts,
)


def infer_refinement(
    graph: OperatorGraph, aggregates: str, rows: Mapping[int, float] | None = None
) -> RefinedPlan:
    """Infer how to refine a target's lineage. `rows` has the row counts of scans by node."""
    return _Refinement(graph, aggregates, rows or {}).run()


class _Refinement:
    def __init__(self, graph: OperatorGraph, aggregates: str, rows: Mapping[int, float]) -> None:
        self._graph = graph
        self._rows = rows
        self._pushdown = Pushdown(graph, aggregates)
        self._aggregates = aggregates
        self._families = families_of_columns(graph, self._pushdown)
        self._flow = Flow(self._pushdown, graph.root)

    def run(self) -> RefinedPlan:
        naive = infer_unstored(self._graph, self._aggregates)
        target = row_selection(self._graph.output())
        visits = self._flow.down(target)
        members = [node for node in self._graph.bottom_up() if self._has_set(visits[node])]
        conditions = pair_conditions(self._graph, members, self._families)
        ties = Ties(self._graph, members, self._families, conditions)
        facts = self._flow.up({node: ties.facts(node) for node in members})
        refined = self._flow.down(target, facts, visits)
        sets = self._sets({node: refined[node].above for node in members}, ties)
        order, acyclic = ties.join_tree(self._rows)
        reduced = fully_reduced(self._graph, visits, sets, ties) if acyclic else frozenset()
        return RefinedPlan(
            aggregates=self._aggregates,
            sets=tuple(sets[node] for node in order),
            scans=with_unpaired_rows(
                self._graph,
                (
                    msgspec.structs.replace(
                        scan,
                        predicate=sets[scan.node].predicate,
                        label=PRECISE if scan.node in reduced else scan.label,
                        reason="" if scan.node in reduced else scan.reason,
                    )
                    for scan in naive.scans
                ),
            ),
            acyclic=acyclic,
        )

    def _has_set(self, visit: Visit) -> bool:
        """Whether the node is a scan, or a GROUP BY that can only be narrowed down by its
        result."""
        operator = self._graph[visit.node]
        if isinstance(operator, Scan):
            return True
        if not isinstance(operator, GroupBy) or not operator.keys or visit.precise:
            return False
        results = {aggregation.column.id for aggregation in operator.aggregations}
        return (
            bool(results & column_ids(visit.above))
            and not attains(operator, self._pushdown.context(visit.node))
            and not unrepeatable(self._graph, visit.node)
        )

    def _sets(self, above: Mapping[int, Expr], ties: Ties) -> dict[int, ValueSet]:
        """The value sets, by node, of the columns that some membership reads."""
        memberships = {
            node: tuple(with_conditions(node, memberships_in(node, predicate), ties))
            for node, predicate in above.items()
        }
        everyone = [m for found in memberships.values() for m in found]
        compared = column_ids(*(m.condition for m in everyone))
        sets: dict[int, ValueSet] = {}
        for node, predicate in above.items():
            read = {c for m in everyone if m.node == node for c in m.columns}
            read |= compared | column_ids(*(arg for m in memberships[node] for arg in m.args))
            own = conjunction(*(t for t in conjuncts(predicate) if not reads_sets(t)))
            is_scan = isinstance(self._graph[node], Scan)
            sets[node] = ValueSet(
                node=node,
                columns=tuple(c for c in self._graph.output(node) if c.id in read),
                predicate=own,
                memberships=memberships[node],
                restrictions=() if is_scan else sufficient(self._graph, node, own),
            )
        return sets
