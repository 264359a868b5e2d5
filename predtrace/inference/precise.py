"""Pushing predicates down a region of the graph, and where that loses precision.

A region is what one predicate reaches: the subtree under the node whose rows are bound
(the pipeline's output, or a stored intermediate) or that several operators read, down to the
scans, to the next stored intermediates and to the next nodes that several operators read.
This is the walk of the paper's Algorithm 1, lines 3 to 7.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from predtrace.inference.pins import Pins
from pushdown.graph import OperatorGraph
from pushdown.obligations import LINEAGE
from pushdown.rules import LEAVES
from pushdown.rules.base import Context
from pushdown.verify import Pushed, push
from symbolic.expr import Column, Expr, Param, conjunction, conjuncts, params_of, same, transform
from symbolic.types import comparable


class Visit(msgspec.Struct, frozen=True):
    """One operator of a region: the predicate above it, and the result of pushing it down.

    `pushed` is None at a leaf and at a stored or shared node, where the region ends. `consumer`
    is the operator of the region that asked for it; None for its top.
    """

    node: int
    above: Expr
    witnessed: bool
    pushed: Pushed | None
    consumer: int | None = None

    @property
    def precise(self) -> bool:
        """Whether nothing was lost at this operator."""
        return self.pushed is None or all(self.pushed.precise)


class Pushdown:
    """Pushes predicates through one graph, and remembers proofs.

    `goal` is the purpose: `LINEAGE`, or predicates `SUFFICIENT` for a replay.
    """

    def __init__(self, graph: OperatorGraph, aggregates: str, goal: str = LINEAGE) -> None:
        self.graph = graph
        self.aggregates = aggregates
        self._goal = goal
        self._proved: dict[tuple[int, Expr, bool], Pushed] = {}
        self._pins = Pins(graph, self.context)

    def region(
        self,
        top: int,
        above: Expr,
        ends: Collection[int] = (),
        *,
        past_losses: bool = True,
        witnessed: bool = True,
    ) -> Iterator[Visit]:
        """Visit the region under `top`, consumers first; nodes in `ends` (except `top`) end it.

        Shared nodes do. Without `past_losses` it ends where precision is lost, too. `witnessed`
        says that some row of `top` satisfies `above`.
        """
        # A replay of no rows must give no rows: no row is assumed to exist.
        pending: list[tuple[int, Expr, bool, int | None]]
        pending = [(top, above, witnessed and self._goal == LINEAGE, None)]
        while pending:
            node, predicate, seen, consumer = pending.pop()
            ended = node in ends or node in self.graph.shared
            if type(self.graph[node]) in LEAVES or (ended and node != top):
                yield Visit(node, predicate, seen, None, consumer)
                continue
            pushed = self.push(node, predicate, seen)
            visit = Visit(node, predicate, seen, pushed, consumer)
            yield visit
            if not (visit.precise or past_losses):
                continue
            below = zip(self.graph.inputs(node), pushed.below, pushed.witnessed, strict=True)
            pending.extend((*asked, node) for asked in reversed(list(below)))

    def push(self, node: int, above: Expr, witnessed: bool) -> Pushed:
        """Move one predicate through one operator.

        If that loses precision, tries the predicate together with the equalities of columns.
        """
        key = (node, above, witnessed)
        if key not in self._proved:
            pushed = self._push(node, above, witnessed)
            if self._goal == LINEAGE and not all(pushed.precise):
                stated = self._pins.stated(node, above)
                more = self._push(node, stated, witnessed) if stated != above else pushed
                pushed = more if sum(more.precise) > sum(pushed.precise) else pushed
            self._proved[key] = pushed
        return self._proved[key]

    def _push(self, node: int, above: Expr, witnessed: bool) -> Pushed:
        return push(
            self.graph[node], above, self.context(node), witnessed=witnessed, goal=self._goal
        )

    def context(self, node: int) -> Context:
        """The context of the operator."""
        inputs = tuple(self.graph.output(child) for child in self.graph.inputs(node))
        return Context(inputs, self.aggregates)


def rebind(predicate: Expr, binding: int) -> Expr:
    """The predicate with its params taken from another binding."""
    return transform(
        predicate,
        lambda node: (
            msgspec.structs.replace(node, binding=binding)
            if isinstance(node, Param) and node.binding != binding
            else None
        ),
    )


def row_selection(columns: Collection[Column]) -> Expr:
    """The row-selection predicate (the paper's F_row): every column equals the bound row's.

    SQL does not compare maps; rows that differ only in maps are selected together. Its params are
    of binding 0; results with them hold for any binding (`rebind`).
    """
    return conjunction(
        *(
            same(column, Param(0, column.id, column.name, column.type, column.nullable))
            for column in columns
            if comparable(column.type)
        )
    )


def bound_rows(columns: Collection[Column], lookup: Expr) -> Expr:
    """The predicate that the bound rows of a stored intermediate result are known to satisfy.

    It has their own values, and the conjuncts of the lookup predicate that have no params.
    """
    known = (term for term in conjuncts(lookup) if not params_of(term))
    return conjunction(row_selection(columns), *known)
