"""The requests that an engine gets for scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from predtrace.engines.base import BindingSource, ScanRequest, TargetBinding
from predtrace.inference.plan import ScanLineage
from predtrace.jobs.model import Job
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import FALSE, Expr


def scan_request(job: Job, scan: Scan, predicate: Expr, binding: BindingSource) -> ScanRequest:
    """The rows of the scan that the predicate selects for the rows of the binding."""
    (source,) = (source for source in job.sources if source.name == scan.table)
    return ScanRequest(
        source=source, columns=scan.columns, predicate=predicate, binding=binding, node=scan.id
    )


def bare_requests(job: Job, graph: OperatorGraph) -> dict[int, ScanRequest]:
    """Requests without predicates: the scans' rows are known in another way."""
    return {scan.id: scan_request(job, scan, FALSE, TargetBinding()) for scan in graph.scans()}


def bound_requests(
    job: Job,
    graph: OperatorGraph,
    scans: Sequence[ScanLineage],
    bindings: Mapping[int, BindingSource],
) -> dict[int, ScanRequest]:
    """Requests, by node, with the scans' lineage predicates and what binds their params."""
    by_node = {lineage.node: lineage for lineage in scans}
    return {
        scan.id: _bound_request(job, scan, by_node[scan.id], bindings) for scan in graph.scans()
    }


def _bound_request(
    job: Job, scan: Scan, lineage: ScanLineage, bindings: Mapping[int, BindingSource]
) -> ScanRequest:
    first, *others = (
        scan_request(job, scan, one.predicate, bindings[one.binding]) for one in lineage.selections
    )
    return msgspec.structs.replace(first, also=tuple(others)) if others else first
