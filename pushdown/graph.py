"""The operator graph: a pipeline as a tree of operators over numbered nodes.

Every operator has one consumer: a subplan that is used n times (a CTE, a view, the
two sides of a self-join) stands in the graph n times, since SEMANTICS section 1 gives
every read of a source a scan of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from pushdown.operators import Operator, Scan
from symbolic.expr import Column

_NO_TREE = "the operators do not form one tree under the root"


class OperatorGraph:
    """Operators by id, rooted at the one that gives the pipeline's output.

    Raises ValueError if the nodes are no tree rooted at `root` or an input is missing.
    """

    def __init__(self, operators: Iterable[Operator], root: int) -> None:
        self.root = root
        self._operators = {operator.id: operator for operator in operators}
        self._parents: dict[int, int] = {}
        for operator in self._operators.values():
            for child in operator.inputs:
                if child not in self._operators:
                    raise ValueError("an operator names an input that is not in the graph")
                # A second consumer, of a node or of the root, makes it no tree.
                if child in self._parents or child == root:
                    raise ValueError(_NO_TREE)
                self._parents[child] = operator.id
        # Every node but the root is under another: what the root does not reach is a cycle.
        if len(self._parents) != len(self._operators) - 1 or root not in self._operators:
            raise ValueError(_NO_TREE)
        order = self.top_down()
        if len(order) != len(self._operators):
            raise ValueError(_NO_TREE)
        self._outputs: dict[int, tuple[Column, ...]] = {}
        for node in reversed(order):
            operator = self._operators[node]
            inputs = (self._outputs[child] for child in operator.inputs)
            self._outputs[node] = operator.output(*inputs)

    def __getitem__(self, node: int) -> Operator:
        return self._operators[node]

    def __len__(self) -> int:
        return len(self._operators)

    def output(self, node: int | None = None) -> tuple[Column, ...]:
        """The output columns of a node; of the pipeline without one."""
        return self._outputs[self.root if node is None else node]

    def inputs(self, node: int) -> tuple[int, ...]:
        """The node's inputs, left to right."""
        return self._operators[node].inputs

    def input_columns(self, node: int) -> tuple[tuple[Column, ...], ...]:
        """The output columns of the node's inputs."""
        return tuple(self._outputs[child] for child in self.inputs(node))

    def parent(self, node: int) -> int | None:
        """The node's consumer; None for the root."""
        return self._parents.get(node)

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
