"""The operator graph: a pipeline as a DAG of operators over numbered nodes.

A node that several operators read is computed once, and each of them asks it for lineage.
Every read of a source has a scan of its own (SEMANTICS section 1): a CTE that SQL uses n times
stands in the graph n times, while a frame that a program reads once and uses n times is one node.

No two inputs of an operator have a column in common. An operator that reads a node twice, such as a
self-join, reads at least one side through a projection that makes new columns.
"""

from __future__ import annotations

from collections.abc import Iterable

from pushdown.operators import Operator, Scan
from pushdown.operators.base import ids_of
from symbolic.expr import Column


class OperatorGraph:
    """Operators by id, rooted at the one that gives the pipeline's output.

    Raises ValueError if an input is missing, if there is a cycle, if the root has a consumer
    or does not reach a node, or if two inputs of an operator have a column in common.
    """

    def __init__(self, operators: Iterable[Operator], root: int) -> None:
        self.root = root
        self._operators = {operator.id: operator for operator in operators}
        if root not in self._operators:
            raise ValueError("the root is not in the graph")
        consumers: dict[int, list[int]] = {node: [] for node in self._operators}
        for operator in self._operators.values():
            for child in operator.inputs:
                if child not in self._operators:
                    raise ValueError("an operator names an input that is not in the graph")
                consumers[child].append(operator.id)
        self._consumers = {node: tuple(found) for node, found in consumers.items()}
        self._order = self._sorted(root)
        if len(self._order) != len(self._operators):
            raise ValueError("the root does not reach every operator")
        self.shared = frozenset(node for node, found in consumers.items() if len(found) > 1)
        self._outputs: dict[int, tuple[Column, ...]] = {}
        for node in reversed(self._order):
            self._outputs[node] = self._output(node)

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

    def consumers(self, node: int) -> tuple[int, ...]:
        """The operators that read the node, each once per input; none for the root."""
        return self._consumers[node]

    def consumer(self, node: int) -> int | None:
        """The only operator that reads the node; None if there are several, or none."""
        found = self._consumers[node]
        return found[0] if len(found) == 1 else None

    def top_down(self, node: int | None = None) -> tuple[int, ...]:
        """The nodes under (and with) a node, each once, consumers first.

        If no node is shared, left inputs and all nodes below them come before right inputs.
        """
        return self._order if node is None or node == self.root else self._sorted(node)

    def within(self, node: int) -> tuple[int, ...]:
        """The nodes under (and with) a node down to those that are shared, which are left out.

        They form a tree: each has one consumer among them.
        """
        if not self.shared:
            return self.top_down(node)
        found = []
        stack = [node]
        while stack:
            found.append(stack.pop())
            below = reversed(self.inputs(found[-1]))
            stack.extend(child for child in below if child not in self.shared)
        return tuple(found)

    def unfolded(self, node: int) -> int:
        """The number of operators under (and with) a node if shared operators count for each
        use."""
        sizes: dict[int, int] = {}
        for below in self.bottom_up(node):
            sizes[below] = 1 + sum(sizes[child] for child in self.inputs(below))
        return sizes[node]

    def bottom_up(self, node: int | None = None) -> tuple[int, ...]:
        """The nodes under (and with) a node, inputs before consumers."""
        return tuple(reversed(self.top_down(node)))

    def operators(self) -> tuple[Operator, ...]:
        """All operators, consumers first."""
        return tuple(self._operators[node] for node in self._order)

    def scans(self) -> tuple[Scan, ...]:
        """The leaves that read a source, ordered by table, then occurrence."""
        found = [op for op in self._operators.values() if isinstance(op, Scan)]
        return tuple(sorted(found, key=lambda scan: (scan.table, scan.occurrence)))

    def _sorted(self, top: int) -> tuple[int, ...]:
        """The nodes under a node in topological order: a depth-first search, backwards.

        Raises ValueError for a cycle.
        """
        finished: list[int] = []
        entered: dict[int, bool] = {}
        stack = [top]
        while stack:
            node = stack[-1]
            if node not in entered:
                entered[node] = False
                # The right input is finished first, so that it comes last.
                for child in self.inputs(node):
                    if child not in entered:
                        stack.append(child)
                    elif not entered[child]:
                        raise ValueError("the operators form a cycle")
                continue
            stack.pop()
            if not entered[node]:
                entered[node] = True
                finished.append(node)
        return tuple(reversed(finished))

    def _output(self, node: int) -> tuple[Column, ...]:
        inputs = self.input_columns(node)
        if len(inputs) > 1 and len(frozenset().union(*map(ids_of, inputs))) < sum(map(len, inputs)):
            raise ValueError(f"the inputs of operator {node} have a column in common")
        return self._operators[node].output(*inputs)
