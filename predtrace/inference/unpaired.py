"""Subqueries in the condition of an outer or anti join: they are defined on pairs of rows.

A row without a partner is not a pair, so the matches of its subqueries contribute nothing (section
2 of semantics.md). The plan computes such a subquery once for each row of the side that it reads,
below the join, where it is not known yet whether the row will find a partner. If that side is
preserved, the answers for the subquery's scans are therefore supersets.

A subquery that the pipeline computes before the join (in a SELECT list, say) belongs to the row,
with or without a partner: a projection then stands between it and the join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from predtrace.inference.plan import ScanLineage
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.graph import OperatorGraph
from pushdown.operators import AntiJoin, MarkJoin, Operator, OuterJoin, ScalarSubquery
from pushdown.operators.joins import PRESERVED


def with_unpaired_rows(
    graph: OperatorGraph, scans: Iterable[ScanLineage]
) -> tuple[ScanLineage, ...]:
    """The scans; scans read by subqueries of rows without a partner become supersets."""
    reasons = {
        node: f"operator {join} ({type(graph[join]).__name__}): a subquery in its condition is "
        "asked of a row before the row has a partner"
        for join, subquery in _asked_of_pairs(graph)
        for node in graph.top_down(subquery)
    }
    return tuple(
        msgspec.structs.replace(scan, label=SUPERSET, reason=reasons[scan.node])
        if scan.label == PRECISE and scan.node in reasons
        else scan
        for scan in scans
    )


def _asked_of_pairs(graph: OperatorGraph) -> Iterator[tuple[int, int]]:
    """Every join with the subqueries in its condition that read rows of a preserved side."""
    for join in graph.operators():
        for child in _kept(join):
            operator = graph[child]
            while isinstance(operator, (MarkJoin, ScalarSubquery)):
                yield join.id, operator.right
                operator = graph[operator.left]


def _kept(join: Operator) -> Iterator[int]:
    """The inputs whose rows also leave the join without a partner."""
    if isinstance(join, OuterJoin):
        pairs = zip(join.inputs, PRESERVED[join.kind], strict=True)
        yield from (child for child, kept in pairs if kept)
    elif isinstance(join, AntiJoin):
        yield join.left
