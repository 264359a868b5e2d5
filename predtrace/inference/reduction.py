"""The ties between the value sets of refinement, and the cases in which reduction is exact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import networkx as nx

from predtrace.inference.conditions import JOINING, flattened
from predtrace.inference.plan import ValueSet
from predtrace.inference.precise import Visit
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.encode import Encoder, Value
from symbolic.expr import (
    TRUE,
    Call,
    Column,
    Expr,
    ParamSet,
    call,
    column_ids,
    conjunction,
    conjuncts,
    member,
    same,
)
from symbolic.logic import all_of, implies
from symbolic.solver import LOCK, Verdict, prove
from symbolic.table import symbolic_table


class Ties:
    """The families of equal columns that value sets share.

    `members` are the nodes with value sets. `families` has the family's number by column id.
    `conditions` are further conditions between the tuples of two sets.
    """

    def __init__(
        self,
        graph: OperatorGraph,
        members: Sequence[int],
        families: Mapping[int, int],
        conditions: Mapping[tuple[int, int], Expr],
    ) -> None:
        self.members = tuple(members)
        self._conditions = conditions
        self.families = families
        self._columns = {node: self._by_family(graph.output(node)) for node in members}
        shared: dict[tuple[int, int], tuple[int, ...]] = {
            (one, other): tuple(sorted(self._columns[one].keys() & self._columns[other].keys()))
            for one, other in itertools.combinations(sorted(members), 2)
        }
        self.pairs = {pair: found for pair, found in shared.items() if found}

    def shared(self, one: int, other: int) -> tuple[int, ...]:
        """The families that two members share."""
        return self.pairs.get(_pair(one, other), ())

    def condition(self, one: int, other: int) -> Expr:
        """The condition between the tuples of two members, in addition to equal families."""
        return self._conditions.get(_pair(one, other), TRUE)

    def _by_family(self, columns: Sequence[Column]) -> dict[int, list[Column]]:
        found: dict[int, list[Column]] = {}
        for column in columns:
            if column.id in self.families:
                found.setdefault(self.families[column.id], []).append(column)
        return found

    def columns(self, node: int, families: Sequence[int]) -> tuple[Column, ...]:
        """The node's first column of each of these families."""
        return tuple(self._columns[node][family][0] for family in families)

    def repeats(self, node: int) -> bool:
        """Whether a shared family has several columns of the node."""
        return any(
            len(self._columns[node][family]) > 1
            for pair, families in self.pairs.items()
            for family in families
            if node in pair
        )

    def facts(self, node: int) -> Expr:
        """The facts pushed up from a node: for each partner, the node's tuples are in its value
        set.

        The components of a tuple are separate facts, too, in case only some can be expressed.
        """
        tuples = dict.fromkeys(families for pair, families in self.pairs.items() if node in pair)
        parts = [(family,) for families in tuples for family in families]
        return conjunction(*(self._fact(node, families) for families in [*tuples, *parts]))

    def _fact(self, node: int, families: Sequence[int]) -> Expr:
        columns = self.columns(node, families)
        return member(ParamSet(node, tuple(column.id for column in columns)), *columns)

    def join_tree(self, rows: Mapping[int, float]) -> tuple[list[int], bool]:
        """The members, leaves of the join tree first, and whether a join tree exists.

        Let the weight of two members be the number of families that they share. A spanning tree of
        greatest weight is a join tree if there is one (Bernstein and Goodman 1981). Its root is the
        member with the most rows: it is read last, when all others can narrow it down.
        """
        tree = self.spanning_tree()
        order: list[int] = []
        for component in nx.connected_components(tree):
            root = max(component, key=lambda node: (rows.get(node, 0.0), -node))
            order += nx.dfs_postorder_nodes(tree, root)
        weight = sum(len(self.shared(*edge)) for edge in tree.edges)
        holders: dict[int, set[int]] = {}
        for pair, families in self.pairs.items():
            for family in families:
                holders.setdefault(family, set()).update(pair)
        return order, weight == sum(len(nodes) - 1 for nodes in holders.values())

    def spanning_tree(self) -> nx.Graph[int]:
        """A spanning tree (or forest) of greatest weight."""
        joined: nx.Graph[int] = nx.Graph()
        joined.add_nodes_from(self.members)
        for (one, other), families in self.pairs.items():
            joined.add_edge(one, other, weight=len(families))
        for pair in self._conditions:
            if pair not in self.pairs:
                joined.add_edge(*pair, weight=0)
        return nx.maximum_spanning_tree(joined)


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def fully_reduced(
    graph: OperatorGraph,
    visits: Mapping[int, Visit],
    sets: Mapping[int, ValueSet],
    ties: Ties,
) -> frozenset[int]:
    """The scans whose reduced value sets select exactly the lineage.

    They are the scans of a region of inner and semi joins under operators that lose nothing. Every
    condition of the region must satisfy one of these: it reads one scan and is proved to follow
    from that scan's predicate; it equates columns of two scans that the join tree ties together; it
    is checked between the tuples of two neighbours in that tree. Reducing an acyclic join along its
    tree leaves the rows of each table that are part of some result row (Yannakakis 1981);
    `docs/soundness.md` has the rest.
    """
    exact: set[int] = set()
    for top in _tops_of_losses(graph, visits):
        region = _Region(graph, visits[top], sets, ties)
        if region.is_exact():
            exact.update(region.scans)
    return frozenset(exact)


def _tops_of_losses(graph: OperatorGraph, visits: Mapping[int, Visit]) -> Iterator[int]:
    """The highest operators at which pushdown alone loses precision."""
    pending = [graph.root]
    while pending:
        node = pending.pop()
        if not visits[node].precise:
            yield node
        else:
            pending.extend(graph.inputs(node))


class _Region:
    """The subtree under an operator that lost precision, flattened to scans and conditions."""

    def __init__(
        self,
        graph: OperatorGraph,
        top: Visit,
        sets: Mapping[int, ValueSet],
        ties: Ties,
    ) -> None:
        self._sets = sets
        self._ties = ties
        self._witnessed = top.witnessed
        self.operators = [graph[node] for node in graph.top_down(top.node)]
        self.scans = frozenset(op.id for op in self.operators if isinstance(op, Scan))
        self._scan_of = {
            column.id: op.id
            for op in self.operators
            if isinstance(op, Scan)
            for column in op.columns
        }
        self._columns = {op.id: op.columns for op in self.operators if isinstance(op, Scan)}
        self._terms = list(flattened(self.operators, top.above))

    def is_exact(self) -> bool:
        """Whether reducing the value sets leaves exactly the rows that join."""
        if not all(isinstance(operator, (*JOINING, Scan)) for operator in self.operators):
            return False
        return (
            all(map(self._is_kept, self._terms))
            and not any(map(self._ties.repeats, self.scans))
            and self._is_connected()
            and all(self._is_tied(*edge) for edge in self._ties.spanning_tree().edges)
        )

    def _is_connected(self) -> bool:
        """Whether no scan is joined with others unconditionally, or some joined row is known to
        exist."""
        tree = self._ties.spanning_tree().subgraph(self.scans)
        return self._witnessed or len(self.scans) < 2 or nx.is_connected(tree)

    def _is_kept(self, term: Expr) -> bool:
        """Whether the reduction enforces a condition."""
        read = column_ids(term)
        if not read <= self._scan_of.keys():
            return False
        if not read or self._follows(term):
            return True
        if self._is_compared(term):
            return True
        match term:
            case Call(function="eq" | "nullsafe_eq", args=(Column() as left, Column() as right)):
                families = self._ties.families
                return families.get(left.id, -1) == families.get(right.id, -2) and (
                    term.function == "nullsafe_eq" or self._follows(call("is_not_null", left))
                )
        return False

    def _is_compared(self, term: Expr) -> bool:
        """Whether a condition is checked between the tuples of neighbours in the join tree."""
        scans = {self._scan_of[column] for column in column_ids(term)}
        if len(scans) != 2 or not self._ties.spanning_tree().has_edge(*scans):
            return False
        return term in conjuncts(self._ties.condition(*scans))

    def _follows(self, term: Expr) -> bool:
        """Whether the predicates of the scans that a term reads imply the term."""
        scans = {self._scan_of[column] for column in column_ids(term)}
        with LOCK:
            encoder = Encoder()
            values: dict[int, Value] = {}
            for scan in scans:
                (row,) = symbolic_table(encoder, self._columns[scan], 1, f"row of {scan}")
                values |= row.values
            known = [encoder.truth(self._sets[scan].predicate, values) for scan in scans]
            goal = implies(all_of(*known), encoder.truth(term, values))
            return prove(goal, encoder.assumptions) is Verdict.PROVED

    def _is_tied(self, one: int, other: int) -> bool:
        """Whether two neighbours in the join tree narrow each other down."""
        if not {one, other} & self.scans:
            return True
        families = [f for f in self._ties.shared(one, other) if not self._pinned(one, other, f)]
        if not families and self._ties.condition(one, other) == TRUE:
            return self._witnessed
        return self._narrows(one, other, families) and self._narrows(other, one, families)

    def _pinned(self, one: int, other: int, family: int) -> bool:
        """Whether the target gives both sides of an equality the same value."""
        (left,), (right,) = (self._ties.columns(node, [family]) for node in (one, other))
        return {one, other} <= self.scans and self._follows(same(left, right))

    def _narrows(self, by: int, node: int, families: Sequence[int]) -> bool:
        theirs = (column.id for column in self._ties.columns(by, families))
        wanted = set(zip(theirs, self._ties.columns(node, families), strict=True))
        return any(
            m.node == by and wanted <= set(zip(m.columns, m.args, strict=True))
            for m in self._sets[node].memberships
        )
