"""Iterative refinement: lineage from the sources alone (the paper's Section 6, Algorithm 3).

1. The target's row-selection predicate is pushed down without storing anything.
2. For every scan the *value sets* of the columns that tie it to other scans are pushed
   up as predicates ``(columns) IN values of the scan`` (`pushdown.verify.lift`).
3. The target's predicate is pushed down again, together with what was pushed up. Where
   it reaches a scan it says which tuples of that scan's columns must be in the value
   sets of others.
4. At question time the value sets are computed and narrowed down until they are stable
   (`predtrace.engines.refining`).

A value set is a set of tuples, one component for each family of equal columns that ties
two scans, so that joins on composite keys lose nothing. Besides the scans, a GROUP BY
whose aggregates the target pins (``HAVING count(*) = :n``) has a value set: its result,
replayed. When the scans are joined without cycles, two passes over the value sets leave
exactly the rows that join (Yannakakis 1981): then the answer is called precise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import networkx as nx

from predtrace.inference.conditions import pair_conditions
from predtrace.inference.plan import PRECISE, Membership, RefinedPlan, ValueSet
from predtrace.inference.planner import infer_unstored
from predtrace.inference.precise import Pushdown, Visit, row_selection
from predtrace.inference.reduction import Ties, fully_reduced
from predtrace.inference.replay import sufficient, unrepeatable
from pushdown.graph import OperatorGraph
from pushdown.operators import GroupBy, Intersect, RowTransform, Scan
from pushdown.rules.groups import attains
from pushdown.verify import lift
from symbolic.expr import (
    TRUE,
    Call,
    Column,
    Expr,
    ParamSet,
    column_ids,
    conjunction,
    conjuncts,
    walk,
)


def infer_refinement(
    graph: OperatorGraph, aggregates: str, rows: Mapping[int, float] | None = None
) -> RefinedPlan:
    """Infer how to refine a target's lineage. `rows` gives row counts of scans by node."""
    return _Refinement(graph, aggregates, rows or {}).run()


class _Refinement:
    def __init__(self, graph: OperatorGraph, aggregates: str, rows: Mapping[int, float]) -> None:
        self._graph = graph
        self._rows = rows
        self._pushdown = Pushdown(graph, aggregates)
        self._aggregates = aggregates
        self._families = _families(graph, self._pushdown)

    def run(self) -> RefinedPlan:
        naive = infer_unstored(self._graph, self._aggregates)
        target = row_selection(self._graph.output())
        visits = self._down(target, {})
        members = [node for node in self._graph.bottom_up() if self._has_set(visits[node])]
        conditions = pair_conditions(self._graph, members, self._families)
        ties = Ties(self._graph, members, self._families, conditions)
        facts = self._up({node: ties.facts(node) for node in members})
        refined = self._down(target, facts, visits)
        sets = self._sets({node: refined[node].above for node in members}, ties)
        order, acyclic = ties.join_tree(self._rows)
        reduced = fully_reduced(self._graph, visits, sets, ties) if acyclic else frozenset()
        return RefinedPlan(
            aggregates=self._aggregates,
            sets=tuple(sets[node] for node in order),
            scans=tuple(
                msgspec.structs.replace(
                    scan,
                    predicate=sets[scan.node].predicate,
                    label=PRECISE if scan.node in reduced else scan.label,
                    reason="" if scan.node in reduced else scan.reason,
                )
                for scan in naive.scans
            ),
            acyclic=acyclic,
        )

    def _down(
        self, target: Expr, facts: Mapping[int, Expr], before: Mapping[int, Visit] | None = None
    ) -> dict[int, Visit]:
        """Push down, with what is known at every node added; by node."""
        root = self._graph.root
        pending = [(root, conjunction(target, facts.get(root, TRUE)), True)]
        visits: dict[int, Visit] = {}
        while pending:
            node, above, witnessed = pending.pop()
            if before is not None:
                above = conjunction(above, before[node].above)
            inputs = self._graph.inputs(node)
            pushed = self._pushdown.push(node, above, witnessed) if inputs else None
            visits[node] = Visit(node, above, witnessed, pushed)
            if pushed is not None:
                below = zip(inputs, pushed.below, pushed.witnessed, strict=True)
                pending.extend(
                    (child, conjunction(predicate, facts.get(child, TRUE)), seen)
                    for child, predicate, seen in below
                )
        return visits

    def _up(self, own: Mapping[int, Expr]) -> dict[int, Expr]:
        """Push the facts of scans and groups up; what is known at every node."""
        facts: dict[int, Expr] = {}
        for node in self._graph.bottom_up():
            below = tuple(facts[child] for child in self._graph.inputs(node))
            lifted: Expr = TRUE
            if below:
                lifted = lift(self._graph[node], below, self._pushdown.context(node))
            facts[node] = conjunction(*filter(_travels, conjuncts(lifted)), own.get(node, TRUE))
        return facts

    def _has_set(self, visit: Visit) -> bool:
        """Whether the node is a scan, or a GROUP BY that only its result can narrow down."""
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
            node: tuple(_with_conditions(node, _memberships(node, predicate), ties))
            for node, predicate in above.items()
        }
        everyone = [m for found in memberships.values() for m in found]
        compared = column_ids(*(m.condition for m in everyone))
        sets: dict[int, ValueSet] = {}
        for node, predicate in above.items():
            read = {c for m in everyone if m.node == node for c in m.columns}
            read |= compared | column_ids(*(arg for m in memberships[node] for arg in m.args))
            own = conjunction(*(t for t in conjuncts(predicate) if not _reads_sets(t)))
            is_scan = isinstance(self._graph[node], Scan)
            sets[node] = ValueSet(
                node=node,
                columns=tuple(c for c in self._graph.output(node) if c.id in read),
                predicate=own,
                memberships=memberships[node],
                restrictions=() if is_scan else sufficient(self._graph, node, own),
            )
        return sets


def _memberships(node: int, predicate: Expr) -> Iterator[Membership]:
    """What the predicate says of other value sets; nothing that another one implies."""
    found = []
    for term in conjuncts(predicate):
        match term:
            case Call(function="member", args=(ParamSet() as values, *args)) if values.scan != node:
                pairs = zip(values.columns, args, strict=True)
                own = [(theirs, arg) for theirs, arg in pairs if isinstance(arg, Column)]
                if own:
                    found.append(_membership(values.scan, own))
    for one in found:
        own_pairs = set(zip(one.columns, one.args, strict=True))
        if not any(
            other.node == one.node and own_pairs < set(zip(other.columns, other.args, strict=True))
            for other in found
        ):
            yield one


def _membership(node: int, pairs: Sequence[tuple[int, Column]]) -> Membership:
    return Membership(node, tuple(theirs for theirs, _ in pairs), tuple(own for _, own in pairs))


def _with_conditions(
    node: int, memberships: Iterable[Membership], ties: Ties
) -> Iterator[Membership]:
    """The memberships with what the joins' other conditions say of the two sets' tuples."""
    conditions = {other: ties.condition(node, other) for other in ties.members}
    for one in memberships:
        yield msgspec.structs.replace(one, condition=conditions.pop(one.node, TRUE))
    for other, condition in conditions.items():
        if condition != TRUE:
            yield Membership(other, (), (), condition)


def _reads_sets(expr: Expr) -> bool:
    return any(isinstance(node, ParamSet) for node in walk(expr))


def _travels(term: Expr) -> bool:
    """Whether a fact is worth pushing up: about a value set, or an equality of columns."""
    match term:
        case Call(function="member"):
            return True
        case Call(function="eq" | "nullsafe_eq", args=(Column(), Column())):
            return True
    return False


def _families(graph: OperatorGraph, pushdown: Pushdown) -> dict[int, int]:
    """Columns that joins, renames and groups tie together: column id to family number.

    Which of these ties carry lineage is for the verified rules to find out.
    """
    tied: nx.Graph[int] = nx.Graph()
    for operator in graph.operators():
        for term in conjuncts(getattr(operator, "condition", TRUE)):
            match term:
                case Call(function="eq" | "nullsafe_eq", args=(Column(id=left), Column(id=right))):
                    tied.add_edge(left, right)
        match operator:
            case RowTransform(assignments=assignments) | GroupBy(keys=assignments):
                for assignment in assignments:
                    if isinstance(assignment.value, Column):
                        tied.add_edge(assignment.column.id, assignment.value.id)
            case Intersect(columns=columns, branches=branches):
                for branch in branches:
                    tied.add_edges_from((c.id, b.id) for c, b in zip(columns, branch, strict=True))
        if isinstance(operator, GroupBy) and attains(operator, pushdown.context(operator.id)):
            for aggregation in operator.aggregations:
                argument = aggregation.call.args[0]
                if isinstance(argument, Column):
                    tied.add_edge(aggregation.column.id, argument.id)
    return {
        column: number
        for number, family in enumerate(nx.connected_components(tied))
        for column in family
    }
