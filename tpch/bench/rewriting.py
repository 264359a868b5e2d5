"""What a rewriting of operator graphs works with: copies of nodes, and new operators above them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Assignment,
    InnerJoin,
    Limit,
    Operator,
    OuterJoin,
    RowTransform,
    SemiJoin,
    Sort,
)
from symbolic.expr import Column, Expr
from tpch.bench.naming import Names, Numbers, placed
from tpch.errors import TpchError


class Carried(msgspec.Struct, frozen=True):
    """A rewritten node, and its columns with row numbers, by the original graph's scans.

    It may have more columns than those of the original node. Of these, `equal` names those that
    have the value of another, by the other's id.
    """

    node: int
    rows: dict[int, Column]
    equal: dict[int, tuple[Column, ...]] = {}

    @property
    def added(self) -> tuple[Column, ...]:
        """The columns that projections are to keep."""
        beside = (column for columns in self.equal.values() for column in columns)
        return tuple(dict.fromkeys((*self.rows.values(), *beside)))


_JOINS: dict[str, Callable[..., Operator]] = {
    "inner": InnerJoin,
    "left": partial(OuterJoin, kind="left"),
    "semi": SemiJoin,
    "anti": AntiJoin,
}

Rule = Callable[["Rewriter", Any, Names], Carried]
"""Rewrites an operator, under the names of a copy of the graph."""


class Rewriter:
    """Collects the operators of the rewritten graph."""

    def __init__(
        self,
        graph: OperatorGraph,
        scans: Collection[int],
        rules: Mapping[type[Operator], Rule],
        *,
        minimal: bool,
    ) -> None:
        self.graph = graph
        self._rules = rules
        self._holding = {
            node for node in graph.top_down() if not {*graph.top_down(node)}.isdisjoint(scans)
        }
        self.minimal = minimal
        self.operators: list[Operator] = []
        self.numbered: dict[int, Column] = {}
        ids = [column.id for node in graph.top_down() for column in graph.output(node)]
        self.numbers = Numbers(1 + max(ids, default=0))
        self.last = _last(graph)

    def plain(self, node: int, names: Names) -> int:
        """The node as it is."""
        inputs = [self.plain(child, names) for child in self.graph.inputs(node)]
        return self.copy(names(self.graph[node]), inputs)

    def carried(self, node: int, names: Names) -> Carried:
        """The node with row numbers; as it is, if they are of no scan under it."""
        if node not in self._holding:
            return Carried(self.plain(node, names), {})
        operator = self.graph[node]
        rule = self._rules.get(type(operator))
        if rule is None:
            raise TpchError(f"Perm's rewriting has no rule for {type(operator).__name__}")
        return rule(self, operator, names)

    def copy(self, operator: Operator, inputs: Sequence[int]) -> int:
        """Add an operator over these nodes."""
        node = self.numbers.node()
        self.operators.append(placed(operator, node, inputs))
        return node

    def joined(self, left: int, right: int, condition: Expr, kind: str = "inner") -> int:
        """Add a join: inner, left, semi or anti."""
        return self.copy(_JOINS[kind](id=0, left=0, right=0, condition=condition), [left, right])

    def projected(self, node: int, columns: Mapping[Column, Expr], rows: Iterable[Column]) -> int:
        """Add a projection to computed columns that keeps the row numbers."""
        computed = (Assignment(column, value) for column, value in columns.items())
        passed = (Assignment(column, column) for column in rows)
        return self.copy(RowTransform(id=0, input=0, assignments=(*computed, *passed)), [node])


def _last(graph: OperatorGraph) -> frozenset[int]:
    """The limits and sorts at the graph's top."""
    found: list[int] = []
    operator = graph[graph.root]
    while isinstance(operator, (Limit, Sort)):
        found.append(operator.id)
        operator = graph[operator.input]
    return frozenset(found)
