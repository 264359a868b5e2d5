"""Columns that a predicate pins to one value: the pins an operator needs, and equal columns.

All rows of a join on ``a = b`` agree in a and b, so a predicate that pins `a` also pins `b` in
these rows. An operator further up does not see that by itself. `Pins.stated` adds it to the
predicate: the equality is proved from the scans upwards, operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import networkx as nx

from pushdown.graph import OperatorGraph
from pushdown.rules.base import Context
from pushdown.verify import lift
from symbolic.expr import (
    TRUE,
    Call,
    Column,
    Expr,
    Literal,
    Param,
    column_ids,
    conjunction,
    conjuncts,
    same,
)


class Pins:
    """The pins that equal columns add to the predicates above the operators of one graph.

    `context` returns the context of an operator, by node.
    """

    def __init__(self, graph: OperatorGraph, context: Callable[[int], Context]) -> None:
        self._graph = graph
        self._context = context
        self._equal: dict[int, dict[int, frozenset[int]]] = {}
        self._proved: dict[tuple[int, frozenset[int]], dict[int, frozenset[int]]] = {}

    def stated(self, node: int, above: Expr) -> Expr:
        """`above`, with equalities between columns that the operator needs and columns that `above`
        pins.

        Both predicates select the same rows of the operator's output, since all of its rows satisfy
        the equalities. Without such equalities the result is `above` itself.
        """
        pinned = set(pinned_columns(above))
        columns = {column.id: column for column in self._graph.output(node)}
        added = [
            same(columns[needed], columns[other])
            for needed in sorted((needs(self._graph, node) & columns.keys()) - pinned)
            if (other := self._equal_pin(node, needed, pinned & columns.keys())) is not None
        ]
        return conjunction(above, *added)

    def _equal_pin(self, node: int, column: int, pinned: set[int]) -> int | None:
        """A pinned column that is proved to equal `column` in all rows of the node."""
        if node not in self._equal:
            self._equal[node] = equal_columns(self._graph, node)
        family = self._equal[node].get(column, frozenset())
        if family.isdisjoint(pinned):
            return None
        key = (node, family)
        if key not in self._proved:
            self._proved[key] = _families(self._lifted(node, family))
        return min(self._proved[key].get(column, frozenset()) & pinned, default=None)

    def _lifted(self, top: int, family: frozenset[int]) -> Expr:
        """The equalities among a family's columns that are proved for all rows of `top`."""

        def within(term: Expr) -> bool:
            return _equated(term) is not None and column_ids(term) <= family

        facts: dict[int, Expr] = {}
        for node in reversed(self._graph.within(top)):
            below = tuple(facts.get(child, TRUE) for child in self._graph.inputs(node))
            several = sum(column.id in family for column in self._graph.output(node)) > 1
            facts[node] = TRUE
            if below and several:
                facts[node] = lift(self._graph[node], below, self._context(node), within)
        return facts[top]


def pinned_columns(predicate: Expr) -> Iterator[int]:
    """The columns (ids) that a predicate equates with a constant."""
    for term in conjuncts(predicate):
        match term:
            case Call(
                function="eq" | "nullsafe_eq",
                args=(Column(id=column), Param() | Literal())
                | (Param() | Literal(), Column(id=column)),
            ):
                yield column


def equal_columns(graph: OperatorGraph, node: int) -> dict[int, frozenset[int]]:
    """Columns under a node that have the same value in every row of its output, by id.

    According to conditions and renames; not all of these equalities need be provable.
    Columns are not followed below shared nodes: the copies that two operators make of a column are
    equal to it in different rows.
    """
    terms = [
        term
        for operator in (graph[below] for below in graph.within(node))
        for term in operator.equalities
    ]
    return _families(conjunction(*terms))


def _families(predicate: Expr) -> dict[int, frozenset[int]]:
    """The columns that the equalities of a predicate tie together, by id."""
    equal: nx.Graph[int] = nx.Graph()
    equal.add_edges_from(filter(None, map(_equated, conjuncts(predicate))))
    return {
        column: frozenset(family) for family in nx.connected_components(equal) for column in family
    }


def _equated(term: Expr) -> tuple[int, int] | None:
    match term:
        case Call(function="eq" | "nullsafe_eq", args=(Column(id=left), Column(id=right))):
            return left, right
    return None


def needs(graph: OperatorGraph, node: int) -> frozenset[int]:
    """The output columns of an operator that usually must be pinned for precise pushdown."""
    return graph[node].pins(*graph.input_columns(node))
