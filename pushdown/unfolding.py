"""A graph as a tree: what several operators read is copied for each of them.

A DAG of n operators may unfold to 2^n: ask `OperatorGraph.unfolded` first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.operators import Assignment, Operator, RowTransform
from pushdown.operators.base import rebuilt
from symbolic.expr import Column, Expr, transform


class Unfolded(NamedTuple):
    """A tree with the same output, and by node of the tree the node that it is a copy of."""

    graph: OperatorGraph
    original: Mapping[int, int]


def unfold(graph: OperatorGraph) -> Unfolded:
    """The tree; the graph itself if it is one.

    Of what is copied all columns are new; a projection gives the output its own ones again.
    """
    if not graph.shared:
        return Unfolded(graph, {node: node for node in graph.top_down()})
    copies = _Copies(graph)
    root, columns = copies.copied(graph.root)
    kept = tuple(Assignment(column, columns[column.id]) for column in graph.output())
    top = RowTransform(id=copies.number(graph.root), input=root, assignments=kept)
    return Unfolded(OperatorGraph([*copies.operators, top], top.id), copies.original)


class _Copies:
    def __init__(self, graph: OperatorGraph) -> None:
        self._graph = graph
        self.operators: list[Operator] = []
        self.original: dict[int, int] = {}
        ids = (column.id for node in graph.top_down() for column in graph.output(node))
        self._columns = itertools.count(1 + max(ids, default=0))
        self._numbers = itertools.count(1 + max(graph.top_down()))

    def number(self, node: int) -> int:
        """The number of a new copy of a node."""
        number = next(self._numbers)
        self.original[number] = node
        return number

    def copied(self, node: int) -> tuple[int, dict[int, Column]]:
        """A copy of all under a node: its number, and what has become of its columns, by id."""
        inputs, known = [], dict[int, Column]()
        for child in self._graph.inputs(node):
            below, columns = self.copied(child)
            inputs.append(below)
            known |= columns

        def change(expr: Expr) -> Expr | None:
            if not isinstance(expr, Column):
                return None
            if expr.id not in known:
                known[expr.id] = msgspec.structs.replace(expr, id=next(self._columns))
            return msgspec.structs.replace(known[expr.id], nullable=expr.nullable)

        operator = rebuilt(self._graph[node], lambda expr: transform(expr, change))
        operator = msgspec.structs.replace(operator.with_inputs(*inputs), id=self.number(node))
        self.operators.append(operator)
        # Outer joins make columns of their inputs nullable.
        found = {
            column.id: msgspec.structs.replace(
                known.get(column.id) or column, nullable=column.nullable
            )
            for column in self._graph.output(node)
        }
        return operator.id, found
