"""Facts about value sets: pushed up from scans, pushed down again, and read off at scans.

A fact is a predicate that holds for all relevant rows at a node, such as "its key is among the keys
of the chosen parts". `docs/soundness.md` says why pushing facts both ways loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import networkx as nx

from predtrace.inference.plan import Membership
from predtrace.inference.precise import Pushdown, Visit
from predtrace.inference.reduction import Ties
from pushdown.graph import OperatorGraph
from pushdown.operators import Filter, GroupBy, Intersect
from pushdown.operators.matches import Matching
from pushdown.rules.groups import attains
from pushdown.verify import lift
from symbolic.expr import (
    TRUE,
    Call,
    Column,
    Expr,
    ParamSet,
    conjunction,
    conjuncts,
    walk,
)


class Flow:
    """Predicates on their way through the subtree under `top`, for one goal of pushdown."""

    def __init__(self, pushdown: Pushdown, top: int, *, witnessed: bool = True) -> None:
        self._pushdown = pushdown
        self._graph = pushdown.graph
        self._top = top
        self._witnessed = witnessed

    def down(
        self,
        above: Expr,
        facts: Mapping[int, Expr] | None = None,
        before: Mapping[int, Visit] | None = None,
    ) -> dict[int, Visit]:
        """Push down, with the facts known at every node added; by node."""
        known = facts or {}
        pending = [(self._top, conjunction(above, known.get(self._top, TRUE)), self._witnessed)]
        visits: dict[int, Visit] = {}
        while pending:
            node, predicate, witnessed = pending.pop()
            if before is not None:
                predicate = conjunction(predicate, before[node].above)
            inputs = self._graph.inputs(node)
            pushed = self._pushdown.push(node, predicate, witnessed) if inputs else None
            visits[node] = Visit(node, predicate, witnessed, pushed)
            if pushed is not None:
                below = zip(inputs, pushed.below, pushed.witnessed, strict=True)
                pending.extend(
                    (child, conjunction(predicate, known.get(child, TRUE)), seen)
                    for child, predicate, seen in below
                )
        return visits

    def up(self, own: Mapping[int, Expr]) -> dict[int, Expr]:
        """Push facts up from the nodes that have them; returns the facts at every node."""
        facts: dict[int, Expr] = {}
        for node in self._graph.bottom_up(self._top):
            below = tuple(facts[child] for child in self._graph.inputs(node))
            lifted: Expr = TRUE
            if below:
                lifted = lift(self._graph[node], below, self._pushdown.context(node))
            facts[node] = conjunction(*filter(_travels, conjuncts(lifted)), own.get(node, TRUE))
        return facts


def memberships_in(node: int, predicate: Expr) -> Iterator[Membership]:
    """The predicate's memberships in other value sets, without implied ones."""
    found = []
    for term in conjuncts(predicate):
        match term:
            case Call(function="member", args=(ParamSet() as values, *args)) if values.scan != node:
                pairs = zip(values.columns, args, strict=True)
                own = [(theirs, arg) for theirs, arg in pairs if isinstance(arg, Column)]
                if own:
                    found.append(_membership(values.scan, own))
    for one in dict.fromkeys(found):
        own_pairs = set(zip(one.columns, one.args, strict=True))
        if not any(
            other.node == one.node and own_pairs < set(zip(other.columns, other.args, strict=True))
            for other in found
        ):
            yield one


def _membership(node: int, pairs: Sequence[tuple[int, Column]]) -> Membership:
    return Membership(node, tuple(theirs for theirs, _ in pairs), tuple(own for _, own in pairs))


def with_conditions(
    node: int, memberships: Iterable[Membership], ties: Ties
) -> Iterator[Membership]:
    """The memberships, with the joins' other conditions on the tuples of both sets."""
    conditions = {other: ties.condition(node, other) for other in ties.members}
    for one in memberships:
        yield msgspec.structs.replace(one, condition=conditions.pop(one.node, TRUE))
    for other, condition in conditions.items():
        if condition != TRUE:
            yield Membership(other, (), (), condition)


def reads_sets(expr: Expr) -> bool:
    """Whether an expression is about value sets."""
    return any(isinstance(node, ParamSet) for node in walk(expr))


def _travels(term: Expr) -> bool:
    """Whether a fact is worth pushing up: it is about a value set, or an equality of columns."""
    match term:
        case Call(function="member"):
            return True
        case Call(function="eq" | "nullsafe_eq", args=(Column(), Column())):
            return True
    return False


def families_of_columns(graph: OperatorGraph, pushdown: Pushdown) -> dict[int, int]:
    """Families of columns that joins, renames and groups equate: column id to family number.

    The verified rules decide which of these equalities carry lineage.
    """
    tied: nx.Graph[int] = nx.Graph()
    for operator in graph.operators():
        conditions = operator.expressions if isinstance(operator, (Filter, Matching)) else ()
        for term in (*operator.equalities, *conjuncts(conjunction(*conditions))):
            match term:
                case Call(function="eq" | "nullsafe_eq", args=(Column(id=left), Column(id=right))):
                    tied.add_edge(left, right)
        if isinstance(operator, Intersect):
            for branch in operator.branches:
                pairs = zip(operator.columns, branch, strict=True)
                tied.add_edges_from((column.id, fed.id) for column, fed in pairs)
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
