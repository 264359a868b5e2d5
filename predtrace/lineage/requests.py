"""What an engine is asked for each scan, in each mode of answering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from predtrace.engines.base import (
    Link,
    RefinedLink,
    ReplayedLink,
    ScanRequest,
    SetRequest,
    StoredLink,
    TargetLink,
)
from predtrace.errors import NonDeterministicError
from predtrace.inference.identities import Identity, carrying
from predtrace.inference.plan import (
    Intermediate,
    LineagePlan,
    RefinedPlan,
    Restriction,
    ValueSet,
)
from predtrace.jobs.model import Job, StoredResult
from predtrace.lineage.modes import NAIVE, REFINED, STORED
from predtrace.lineage.on_demand import naive_scans, refinement, replays_of_plan
from pushdown.graph import OperatorGraph
from pushdown.needs import pruned
from pushdown.operators import Scan
from symbolic.expr import FALSE, Column, Expr, Param, column_ids, conjunction, same


def scan_requests(
    job: Job, graph: OperatorGraph, plan: LineagePlan, mode: str, folder: Path
) -> dict[int, ScanRequest]:
    """What to ask an engine for each scan, by node.

    Raises NonDeterministicError if a replay would not repeat what the job did.
    """
    if mode == REFINED:
        return _refined_requests(job, graph, refinement(job, plan.aggregates))
    scans = plan.scans
    if mode == NAIVE:
        scans = naive_scans(job, plan.aggregates)
        links: dict[int, Link] = {0: TargetLink()}
    else:
        links = _stored_links(job, plan, folder) if mode == STORED else _replayed(job, graph, plan)
    by_node = {lineage.node: lineage for lineage in scans}
    return {
        scan.id: _request(job, scan, by_node[scan.id].predicate, links[by_node[scan.id].binding])
        for scan in graph.scans()
    }


def replayed_output(
    job: Job, graph: OperatorGraph, columns: tuple[Column, ...], lookup: Expr
) -> ReplayedLink:
    """The output rows that a lookup selects, computed again; params are those of the target.

    Raises NonDeterministicError if another run need not give the same output.
    """
    from predtrace.inference.replay import sufficient

    refuse_unrepeatable(graph, job.root)
    target = TargetLink()
    return ReplayedLink(
        graph=graph,
        node=job.root,
        scans=_restricted(job, graph, sufficient(graph, job.root, lookup), target),
        columns=columns,
        predicate=lookup,
        parent=target,
    )


def replayed_with_identities(
    job: Job,
    graph: OperatorGraph,
    carried: OperatorGraph,
    columns: tuple[Column, ...],
    lookup: Expr,
    identities: dict[int, Identity],
) -> ReplayedLink:
    """The rows of a graph's root that a lookup selects, beside the source rows they are made of.

    `carried` is the graph with the identities of scans carried up to its root. Params are
    those of the target. Raises NonDeterministicError if another run need not give the same.
    """
    from predtrace.inference.replay import sufficient

    refuse_unrepeatable(graph, graph.root)
    target = TargetLink()
    restrictions = sufficient(graph, graph.root, lookup)
    return ReplayedLink(
        graph=carried,
        node=graph.root,
        scans=_restricted(job, graph, restrictions, target, carried),
        columns=columns,
        predicate=lookup,
        parent=target,
        identities=identities,
    )


def bare_requests(job: Job, graph: OperatorGraph) -> dict[int, ScanRequest]:
    """The scans as requests that select nothing: their rows are known otherwise."""
    return {scan.id: _request(job, scan, FALSE, TargetLink()) for scan in graph.scans()}


def _request(job: Job, scan: Scan, predicate: Expr, link: Link) -> ScanRequest:
    (source,) = (source for source in job.sources if source.name == scan.table)
    return ScanRequest(
        source=source, columns=scan.columns, predicate=predicate, link=link, node=scan.id
    )


def _refined_requests(
    job: Job, graph: OperatorGraph, refined: RefinedPlan
) -> dict[int, ScanRequest]:
    target = TargetLink()
    sets = _set_requests(job, graph, refined.sets, target)
    # A scan may have columns that the target has, too: the set's get ids of their own.
    first = 1 + max(column.id for node in graph.top_down() for column in graph.output(node))
    requests = {}
    for found in refined.sets:
        scan = graph[found.node]
        if not isinstance(scan, Scan):
            continue
        if not found.columns:
            requests[scan.id] = _request(job, scan, found.predicate, target)
            continue
        renamed = tuple(
            msgspec.structs.replace(column, id=first + column.id) for column in found.columns
        )
        in_set = (
            same(column, Param(0, other.id, other.name, other.type, other.nullable))
            for column, other in zip(found.columns, renamed, strict=True)
        )
        predicate = conjunction(found.predicate, *in_set)
        link = RefinedLink(
            sets=sets,
            acyclic=refined.acyclic,
            node=found.node,
            columns=found.columns,
            renamed=renamed,
            predicate=predicate,
            parent=target,
        )
        requests[scan.id] = _request(job, scan, predicate, link)
    return requests


def _set_requests(
    job: Job, graph: OperatorGraph, sets: Sequence[ValueSet], parent: Link
) -> tuple[SetRequest, ...]:
    return tuple(
        SetRequest(
            node=found.node,
            source=_set_source(job, graph, found, parent),
            columns=found.columns,
            predicate=found.predicate,
            memberships=found.memberships,
        )
        for found in sets
    )


def _set_source(
    job: Job, graph: OperatorGraph, found: ValueSet, target: Link
) -> ScanRequest | ReplayedLink:
    operator = graph[found.node]
    if isinstance(operator, Scan):
        return _request(job, operator, found.predicate, target)
    return ReplayedLink(
        graph=graph,
        node=found.node,
        scans=_restricted(job, graph, found.restrictions, target),
        columns=graph.output(found.node),
        predicate=found.predicate,
        parent=target,
    )


def _stored_links(job: Job, plan: LineagePlan, folder: Path) -> dict[int, Link]:
    links: dict[int, Link] = {0: TargetLink()}
    stored = {
        item.binding: item.result
        for item in job.intermediates
        if item.aggregates == plan.aggregates
    }
    for item in plan.intermediates:
        links[item.binding] = stored_link(
            job, folder, item, stored[item.binding], links[item.parent]
        )
    return links


def stored_link(
    job: Job, folder: Path, item: Intermediate, stored: StoredResult, parent: Link
) -> StoredLink:
    """The rows of a stored intermediate result that rows of `parent` look up."""
    return StoredLink(
        folder=str(folder / stored.folder),
        columns=item.columns,
        predicate=item.predicate,
        parent=parent,
        numbers=stored.numbers,
        output="" if job.output is None else str(folder / job.output.folder),
        files=stored.files,
        output_files=() if job.output is None else job.output.files,
    )


def _replayed(job: Job, graph: OperatorGraph, plan: LineagePlan) -> dict[int, Link]:
    links: dict[int, Link] = {0: TargetLink()}
    if not plan.intermediates:
        return links
    replays = replays_of_plan(job, plan)
    sources = {source.name for source in job.sources if source.has_row_numbers}
    numbered = {scan.id for scan in graph.scans() if scan.table in sources}
    for item in plan.intermediates:
        refuse_unrepeatable(graph, item.node)
        parent, replay = links[item.parent], replays[item.binding]
        bound = {scan.node for scan in plan.scans if scan.binding == item.binding}
        carried, identities = carrying(graph, item.node, bound & numbered)
        wanted = {column.id for column in item.columns} | column_ids(item.predicate)
        wanted.update(c.id for found in identities.values() for c in (found.file, found.row))
        kept = pruned(carried, item.node, frozenset(wanted))
        taken = bound & numbered & set(replay.selective) - identities.keys()
        looked_up = {
            scan.node: column_ids(scan.predicate) for scan in plan.scans if scan.node in taken
        }
        links[item.binding] = ReplayedLink(
            graph=kept,
            node=item.node,
            scans=_restricted(job, graph, replay.restrictions, parent, kept, looked_up),
            columns=item.columns,
            predicate=item.predicate,
            parent=parent,
            identities=identities,
            sets=_set_requests(job, graph, replay.sets, parent),
            memberships={one.node: one.memberships for one in replay.restrictions},
            selective=frozenset(looked_up),
        )
    return links


def _restricted(
    job: Job,
    graph: OperatorGraph,
    restrictions: Sequence[Restriction],
    parent: Link,
    kept: OperatorGraph | None = None,
    looked_up: Mapping[int, frozenset[int]] | None = None,
) -> dict[int, ScanRequest]:
    """What scans must give; only columns that the graph `kept` has, or a condition reads.

    `looked_up` are the columns that lineage will be looked up by, for scans whose rows are
    taken before anything else is computed.
    """
    # Inference takes the solver to be there, which a question to stored results is not.
    from predtrace.inference.replay import unapplied, without_null_tests

    requests = {}
    for restriction in restrictions:
        scan = graph[restriction.node]
        assert isinstance(scan, Scan)
        first = looked_up is not None and scan.id in looked_up
        predicate = restriction.predicate if first else unapplied(graph, restriction)
        if not restriction.memberships:
            # With them it tells that no NULL meets a NULL, which makes plain joins of them.
            predicate = without_null_tests(predicate)
        columns = scan.columns
        if kept is not None:
            read = {column.id for column in kept.output(scan.id)} | column_ids(predicate)
            read |= column_ids(*(arg for m in restriction.memberships for arg in m.args))
            read |= column_ids(*(m.condition for m in restriction.memberships))
            read |= (looked_up or {}).get(scan.id, frozenset())
            columns = tuple(column for column in columns if column.id in read)
        requests[scan.id] = msgspec.structs.replace(
            _request(job, scan, predicate, parent), columns=columns
        )
    return requests


def refuse_unrepeatable(graph: OperatorGraph, node: int) -> None:
    """Raise NonDeterministicError if computing a node again may give other rows.

    Whether limits do, and sums of integers as doubles, engines find out.
    """
    from predtrace.inference.repeating import unrepeatable

    for operator in unrepeatable(graph, node, for_sure=True):
        name = type(operator).__name__
        where = f" ({operator.origin.text})" if operator.origin else ""
        raise NonDeterministicError(
            f"the job has not stored what operator {operator.id}, {name}{where}, gave, and "
            "another run need not give the same; run the pipeline with keep='inline'"
        )
