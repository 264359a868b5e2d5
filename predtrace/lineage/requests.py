"""The requests that an engine gets for scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from predtrace.engines.base import Link, ScanRequest, TargetLink
from predtrace.inference.plan import ScanLineage
from predtrace.jobs.model import Job
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import FALSE, Expr


def scan_request(job: Job, scan: Scan, predicate: Expr, link: Link) -> ScanRequest:
    """The rows of the scan that the predicate selects for the rows of the link."""
    (source,) = (source for source in job.sources if source.name == scan.table)
    return ScanRequest(
        source=source, columns=scan.columns, predicate=predicate, link=link, node=scan.id
    )


def bare_requests(job: Job, graph: OperatorGraph) -> dict[int, ScanRequest]:
    """Requests without predicates: the scans' rows are known in another way."""
    return {scan.id: scan_request(job, scan, FALSE, TargetLink()) for scan in graph.scans()}


def linked_requests(
    job: Job, graph: OperatorGraph, scans: Sequence[ScanLineage], links: Mapping[int, Link]
) -> dict[int, ScanRequest]:
    """Requests with the scans' lineage predicates, bound by the links of their bindings, by
    node."""
    by_node = {lineage.node: lineage for lineage in scans}
    return {scan.id: _linked(job, scan, by_node[scan.id], links) for scan in graph.scans()}


def _linked(job: Job, scan: Scan, lineage: ScanLineage, links: Mapping[int, Link]) -> ScanRequest:
    first, *others = (
        scan_request(job, scan, one.predicate, links[one.binding]) for one in lineage.selections
    )
    return msgspec.structs.replace(first, also=tuple(others)) if others else first
