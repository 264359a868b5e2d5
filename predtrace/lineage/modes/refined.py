"""Mode ``refined``: narrows the sources down by value sets, pass by pass; nothing is stored."""

from __future__ import annotations

from pathlib import Path

import msgspec

from predtrace.engines.base import RefinedBinding, ScanRequest, TargetBinding
from predtrace.errors import PredTraceError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job
from predtrace.lineage.modes.from_sources import SourceMode
from predtrace.lineage.on_demand import (
    refined_scans,
    refinement,
    unfolded,
    unrefinable,
    with_scans,
)
from predtrace.lineage.replays import set_requests
from predtrace.lineage.requests import scan_request
from predtrace.vocabulary import REFINED
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import Param, conjunction, same


class RefinedMode(SourceMode):
    """Iterative refinement (the paper's Section 6)."""

    @property
    def name(self) -> str:
        """``refined``."""
        return REFINED

    def refuse(self, job: Job, plan: LineagePlan) -> None:
        """Raise PredTraceError if the graph unfolds to too many operators."""
        reason = unrefinable(OperatorGraph(job.graph, job.root))
        if reason:
            raise PredTraceError(
                f"job {job.id} cannot be asked in mode {REFINED!r}: {reason}; use mode='replayed'"
            )

    def labelled(self, job: Job, plan: LineagePlan) -> LineagePlan:
        """The plan with the predicates and labels of refinement."""
        return with_scans(plan, refined_scans(job, plan.aggregates))

    def requests(
        self, job: Job, graph: OperatorGraph, plan: LineagePlan, folder: Path
    ) -> dict[int, ScanRequest]:
        """Requests for the scans' rows whose values are in the value sets."""
        original = unfolded(job.graph, job.root).original
        found: dict[int, list[ScanRequest]] = {}
        for node, request in _tree_requests(job, plan).items():
            request = msgspec.structs.replace(request, node=original[node])
            found.setdefault(original[node], []).append(request)
        return {
            node: msgspec.structs.replace(first, also=tuple(others)) if others else first
            for node, (first, *others) in found.items()
        }


def _tree_requests(job: Job, plan: LineagePlan) -> dict[int, ScanRequest]:
    """The requests by scan of the graph as a tree."""
    graph = unfolded(job.graph, job.root).graph
    refined = refinement(job, plan.aggregates)
    target = TargetBinding()
    sets = set_requests(job, graph, refined.sets, target)
    # A scan and the target may share columns: the columns of the set get ids of their own.
    first = 1 + max(column.id for node in graph.top_down() for column in graph.output(node))
    requests = {}
    for found in refined.sets:
        scan = graph[found.node]
        if not isinstance(scan, Scan):
            continue
        if not found.columns:
            requests[scan.id] = scan_request(job, scan, found.predicate, target)
            continue
        renamed = tuple(
            msgspec.structs.replace(column, id=first + column.id) for column in found.columns
        )
        in_set = (
            same(column, Param(0, other.id, other.name, other.type, other.nullable))
            for column, other in zip(found.columns, renamed, strict=True)
        )
        predicate = conjunction(found.predicate, *in_set)
        binding = RefinedBinding(
            sets=sets,
            acyclic=refined.acyclic,
            node=found.node,
            columns=found.columns,
            renamed=renamed,
            predicate=predicate,
            parent=target,
        )
        requests[scan.id] = scan_request(job, scan, predicate, binding)
    return requests
