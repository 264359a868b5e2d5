"""Row identities, carried from scans to a node above as additional columns.

Operators that only combine, extend and drop rows do not show which source rows a row is made of. A
projection that also keeps the rows' numbers shows it. So a replay of such a node finds the lineage
of its rows at once, and the sources need not be read again to look it up. (Perm does so for whole
queries: Glavic and Alonso 2009. Here it stops where rows are no longer combinations of single rows:
at groups, DISTINCT, limits and set operations, at nodes that several operators read, and at the
inner side of semi joins, where pairs may far outnumber the rows.)
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.operators import Assignment, Expand, Operator, RowTransform, Scan
from symbolic.expr import Column
from symbolic.types import LONG, STRING


class Identity(msgspec.Struct, frozen=True):
    """The columns that identify the scan's row that a row comes from: its file, and its number
    there."""

    file: Column
    row: Column


def carrying(
    graph: OperatorGraph, top: int, scans: Collection[int]
) -> tuple[OperatorGraph, dict[int, Identity]]:
    """The subtree under `top`, with the identities of `scans` beside its columns.

    Scans whose rows do not keep their identity up to `top` are left out. Where an outer join pads,
    identities are NULL.
    """
    taken = (column.id for node in graph.top_down() for column in graph.output(node))
    numbers = itertools.count(1 + max(taken, default=0))
    region = tuple(_region(graph, top))
    found = {
        node: Identity(
            Column(next(numbers), "file", STRING, True), Column(next(numbers), "row", LONG, True)
        )
        for node in region
        if node in scans
    }
    below: dict[int, tuple[Column, ...]] = {}
    changed: dict[int, Operator] = {}
    for node in reversed(region):
        below[node] = tuple(c for child in graph.inputs(node) for c in below.get(child, ()))
        operator = graph[node]
        if isinstance(operator, Scan) and node in found:
            below[node] = (found[node].file, found[node].row)
            changed[node] = msgspec.structs.replace(
                operator, columns=(*operator.columns, *below[node])
            )
        elif isinstance(operator, RowTransform):
            passed = (Assignment(column, column) for column in below[node])
            changed[node] = msgspec.structs.replace(
                operator, assignments=(*operator.assignments, *passed)
            )
        elif isinstance(operator, Expand):
            changed[node] = operator.passing(below[node])
    operators = [changed.get(node, graph[node]) for node in graph.top_down(top)]
    return OperatorGraph(operators, top), found


def _region(graph: OperatorGraph, top: int) -> Iterator[int]:
    """The nodes whose rows are only combined up to `top`; consumers first."""
    pending = [top]
    while pending:
        node = pending.pop()
        yield node
        operator = graph[node]
        below = (operator.inputs[place] for place in reversed(operator.keeps_apart))
        pending.extend(child for child in below if child not in graph.shared)
