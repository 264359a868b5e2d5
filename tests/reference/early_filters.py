"""Filters moved below inner joins, so that FROM lists of large tables need no cross product.

Only moves that change no result: through inner joins, through the preserved side of
other joins, and through operators that pass the filter's columns on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Filter,
    InnerJoin,
    MarkJoin,
    Operator,
    OuterJoin,
    RowTransform,
    ScalarSubquery,
    SemiJoin,
    Sort,
    Union_,
)
from symbolic.expr import Expr, column_ids, conjunction, conjuncts
from tests.reference.joins import factored

_LEFT_PRESERVING = (SemiJoin, AntiJoin, MarkJoin, ScalarSubquery)


def push_filters(graph: OperatorGraph) -> OperatorGraph:
    """An equivalent graph with the same scans; only its filters and inner joins differ.

    One that several operators read parts of stays as it is: a filter would be one of them's.
    """
    if graph.shared:
        return graph
    return OperatorGraph(*_Push(graph).run())


class _Push:
    def __init__(self, graph: OperatorGraph) -> None:
        self.graph = graph
        self.operators: list[Operator] = []
        self.new_ids: Iterator[int] = itertools.count(max(graph.top_down()) + 1)

    def run(self) -> tuple[list[Operator], int]:
        root = self._push(self.graph.root, ())
        return self.operators, root

    def _push(self, node: int, pending: tuple[Expr, ...]) -> int:
        """Rebuild the subtree with the pending conditions applied; the id of its root."""
        operator = self.graph[node]
        if isinstance(operator, Filter):
            return self._push(operator.input, (*pending, *conjuncts(factored(operator.condition))))
        if isinstance(operator, InnerJoin):
            pending = (*pending, *conjuncts(factored(operator.condition)))
            below, here = self._divide(operator, pending, (operator.left, operator.right))
            operator = msgspec.structs.replace(operator, condition=conjunction(*here))
            return self._rebuilt(operator, below, ())
        below, here = self._divide(operator, pending, self._open_inputs(operator))
        return self._rebuilt(operator, below, here)

    def _open_inputs(self, operator: Operator) -> tuple[int, ...]:
        """The inputs that a filter on their columns may move to."""
        if isinstance(operator, (RowTransform, Sort)):
            return (operator.input,)
        if isinstance(operator, _LEFT_PRESERVING):
            return (operator.left,)
        if isinstance(operator, OuterJoin) and operator.kind == "left":
            return (operator.left,)
        return ()

    def _divide(
        self, operator: Operator, pending: tuple[Expr, ...], inputs: tuple[int, ...]
    ) -> tuple[dict[int, tuple[Expr, ...]], tuple[Expr, ...]]:
        """Per input the conditions on its columns alone, and the conditions left over."""
        below: dict[int, tuple[Expr, ...]] = {}
        here: list[Expr] = []
        for term in dict.fromkeys(pending):
            needed = column_ids(term)
            for node in inputs:
                if needed and needed <= {column.id for column in self.graph.output(node)}:
                    below[node] = (*below.get(node, ()), term)
                    break
            else:
                here.append(term)
        return below, tuple(here)

    def _rebuilt(
        self, operator: Operator, below: dict[int, tuple[Expr, ...]], here: tuple[Expr, ...]
    ) -> int:
        moved = {node: self._push(node, below.get(node, ())) for node in operator.inputs}
        self.operators.append(_with_inputs(operator, moved))
        if not here:
            return operator.id
        node = next(self.new_ids)
        self.operators.append(Filter(id=node, input=operator.id, condition=conjunction(*here)))
        return node


def _with_inputs(operator: Operator, moved: dict[int, int]) -> Operator:
    if isinstance(operator, Union_):
        inputs = tuple(moved[node] for node in operator.inputs)
        return msgspec.structs.replace(operator, inputs=inputs)
    fields = {
        name: moved[getattr(operator, name)]
        for name in ("input", "left", "right")
        if hasattr(operator, name)
    }
    return msgspec.structs.replace(operator, **fields)
