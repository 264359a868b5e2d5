"""How a question is answered: from stored results, or from the sources alone."""

from __future__ import annotations

import functools
from pathlib import Path

from predtrace.engines.base import Link, ReplayedLink, ScanRequest, StoredLink, TargetLink
from predtrace.errors import NonDeterministicError, PredTraceError
from predtrace.inference.plan import Intermediate, LineagePlan, Replay
from predtrace.jobs.model import Job, Source
from pushdown.graph import OperatorGraph
from pushdown.operators import Operator, Scan

AUTO = "auto"
STORED = "stored"
REPLAYED = "replayed"
MODES = (AUTO, STORED, REPLAYED)
"""The modes of answering that there are."""
_PLANNED = ("indexed", "refined")


def choose_mode(job: Job, plan: LineagePlan, mode: str) -> tuple[str, str]:
    """The mode to answer in, and why.

    ``auto`` looks up what is stored, else replays: both are precise, and looking up
    reads less. Raises PredTraceError for a mode that there is not, or that needs what
    the job lacks.
    """
    if mode not in MODES:
        known = "is not available yet" if mode in _PLANNED else "does not exist"
        raise PredTraceError(f"the mode {mode!r} {known}; use one of {', '.join(MODES)}")
    missing = missing_intermediates(job, plan)
    if mode == STORED and missing:
        numbers = ", ".join(str(item.binding) for item in missing)
        raise PredTraceError(
            f"job {job.id} has not stored intermediate {numbers} of its plan; use mode='replayed', "
            f"or store it now with build_intermediates() or: predtrace build {job.id}"
        )
    if mode != AUTO:
        return mode, "asked for"
    if not plan.intermediates:
        return STORED, "the predicates select the lineage on the sources; nothing is looked up"
    if not missing:
        return STORED, "all intermediate results that lineage needs are stored"
    return REPLAYED, "the job has not stored the intermediate results that lineage needs"


def missing_intermediates(job: Job, plan: LineagePlan) -> tuple[Intermediate, ...]:
    """The intermediates of the plan that the job has not stored."""
    there = {item.binding for item in job.intermediates if item.aggregates == plan.aggregates}
    return tuple(item for item in plan.intermediates if item.binding not in there)


def scan_requests(
    job: Job, graph: OperatorGraph, plan: LineagePlan, mode: str, folder: Path
) -> dict[int, ScanRequest]:
    """What to ask an engine for each scan, by node.

    Raises NonDeterministicError if a replay would not repeat what the job did.
    """
    sources = {source.name: source for source in job.sources}
    links = _stored_links(job, plan, folder) if mode == STORED else _replayed(job, graph, plan)
    by_node = {lineage.node: lineage for lineage in plan.scans}
    return {
        scan.id: ScanRequest(
            source=sources[scan.table],
            columns=scan.columns,
            predicate=by_node[scan.id].predicate,
            link=links[by_node[scan.id].binding],
        )
        for scan in graph.scans()
    }


def _stored_links(job: Job, plan: LineagePlan, folder: Path) -> dict[int, Link]:
    links: dict[int, Link] = {0: TargetLink()}
    stored = {
        item.binding: item.result
        for item in job.intermediates
        if item.aggregates == plan.aggregates
    }
    for item in plan.intermediates:
        links[item.binding] = StoredLink(
            folder=str(folder / stored[item.binding].folder),
            columns=item.columns,
            predicate=item.predicate,
            parent=links[item.parent],
        )
    return links


def _replayed(job: Job, graph: OperatorGraph, plan: LineagePlan) -> dict[int, Link]:
    links: dict[int, Link] = {0: TargetLink()}
    if not plan.intermediates:
        return links
    sources = {source.name: source for source in job.sources}
    replays = {replay.binding: replay for replay in _replays(job.graph, job.root, plan)}
    for item in plan.intermediates:
        refuse_unrepeatable(graph, item.node)
        parent = links[item.parent]
        links[item.binding] = ReplayedLink(
            graph=graph,
            node=item.node,
            scans=_restricted(graph, sources, replays[item.binding], parent),
            columns=item.columns,
            predicate=item.predicate,
            parent=parent,
        )
    return links


def _restricted(
    graph: OperatorGraph, sources: dict[str, Source], replay: Replay, parent: Link
) -> dict[int, ScanRequest]:
    requests = {}
    for restriction in replay.restrictions:
        scan = graph[restriction.node]
        assert isinstance(scan, Scan)
        requests[scan.id] = ScanRequest(
            source=sources[scan.table],
            columns=scan.columns,
            predicate=restriction.predicate,
            link=parent,
        )
    return requests


@functools.lru_cache(maxsize=64)
def _replays(operators: tuple[Operator, ...], root: int, plan: LineagePlan) -> tuple[Replay, ...]:
    # Finding them takes the solver, which a question to stored results does without.
    from predtrace.inference.replay import infer_replays

    return infer_replays(OperatorGraph(operators, root), plan)


def refuse_unrepeatable(graph: OperatorGraph, node: int) -> None:
    """Raise NonDeterministicError if computing a node again may give other rows."""
    from predtrace.inference.replay import unrepeatable

    for operator in unrepeatable(graph, node):
        name = type(operator).__name__
        where = f" ({operator.origin.text})" if operator.origin else ""
        raise NonDeterministicError(
            f"the job has not stored what operator {operator.id}, {name}{where}, gave, and "
            "another run need not give the same; run the pipeline with keep='inline'"
        )
