"""Subqueries in the condition of an outer join, which are asked of pairs of rows.

A row that found no partner is no pair: it is padded, and what its subqueries match contributes
nothing (semantics.md section 2). The plan computes such a subquery once a row of the side that it
reads, below the join, where a row does not know yet whether it will find a partner. On a side
whose rows are kept, the answers for the subquery's scans are therefore supersets.

A subquery that the pipeline computes before the join (in a SELECT list, say) belongs to the row,
with or without a partner: a projection then stands between it and the join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from predtrace.inference.plan import PRECISE, SUPERSET, ScanLineage
from pushdown.graph import OperatorGraph
from pushdown.operators import MarkJoin, OuterJoin, ScalarSubquery
from pushdown.operators.joins import PRESERVED


def with_unpaired_rows(
    graph: OperatorGraph, scans: Iterable[ScanLineage]
) -> tuple[ScanLineage, ...]:
    """The scans, those as supersets that subqueries of rows without a partner read."""
    reasons = {
        node: f"operator {join} (OuterJoin): a subquery in its condition is asked of a row before "
        "the row has a partner"
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
    """Every outer join with the subqueries in its condition that are asked of kept rows."""
    for join in graph.operators():
        if not isinstance(join, OuterJoin):
            continue
        for child, kept in zip(join.inputs, PRESERVED[join.kind], strict=True):
            operator = graph[child]
            if not kept:
                continue
            while isinstance(operator, (MarkJoin, ScalarSubquery)):
                yield join.id, operator.right
                operator = graph[operator.left]
