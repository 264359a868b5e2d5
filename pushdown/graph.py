"""The operator graph: a pipeline as a tree of operators over numbered nodes.

Every operator has one consumer: a subplan that is used n times (a CTE, a view, the
two sides of a self-join) stands in the graph n times, since SEMANTICS section 1 gives
every read of a source a scan of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from pushdown.operators import Operator, Scan, inputs_of, output_columns
from symbolic.expr import Column


class OperatorGraph:
    """Operators by id, rooted at the one that gives the pipeline's output.

    Raises ValueError if the nodes are no tree rooted at `root` or an input is missing.
    """

    def __init__(self, operators: Iterable[Operator], root: int) -> None:
        self.root = root
        self._operators = {operator.id: operator for operator in operators}
        self._digraph = nx.DiGraph()
        self._digraph.add_nodes_from(self._operators)
        for operator in self._operators.values():
            self._digraph.add_edges_from((operator.id, child) for child in inputs_of(operator))
        if set(self._digraph) != set(self._operators):
            raise ValueError("an operator names an input that is not in the graph")
        if not nx.is_arborescence(self._digraph) or self._digraph.in_degree(root):
            raise ValueError("the operators do not form one tree under the root")
        self._outputs: dict[int, tuple[Column, ...]] = {}
        for node in nx.dfs_postorder_nodes(self._digraph, root):
            operator = self._operators[node]
            inputs = (self._outputs[child] for child in inputs_of(operator))
            self._outputs[node] = output_columns(operator, *inputs)

    def __getitem__(self, node: int) -> Operator:
        return self._operators[node]

    def __len__(self) -> int:
        return len(self._operators)

    def output(self, node: int | None = None) -> tuple[Column, ...]:
        """The output columns of a node; of the pipeline without one."""
        return self._outputs[self.root if node is None else node]

    def inputs(self, node: int) -> tuple[int, ...]:
        """The node's inputs, left to right."""
        return inputs_of(self._operators[node])

    def parent(self, node: int) -> int | None:
        """The node's consumer; None for the root."""
        return next(iter(self._digraph.predecessors(node)), None)

    def top_down(self, node: int | None = None) -> tuple[int, ...]:
        """The nodes under (and with) a node, consumers first, left inputs before right."""
        order: list[int] = []
        stack = [self.root if node is None else node]
        while stack:
            current = stack.pop()
            order.append(current)
            stack.extend(reversed(self.inputs(current)))
        return tuple(order)

    def bottom_up(self, node: int | None = None) -> tuple[int, ...]:
        """The nodes under (and with) a node, inputs before consumers."""
        return tuple(reversed(self.top_down(node)))

    def operators(self) -> tuple[Operator, ...]:
        """All operators, consumers first."""
        return tuple(self._operators[node] for node in self.top_down())

    def scans(self) -> tuple[Scan, ...]:
        """The leaves that read a source, ordered by table, then occurrence."""
        found = [op for op in self._operators.values() if isinstance(op, Scan)]
        return tuple(sorted(found, key=lambda scan: (scan.table, scan.occurrence)))
