"""Results computed again from just enough of the sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from predtrace.engines.base import (
    BindingSource,
    ReplayedBinding,
    ScanRequest,
    SetRequest,
    TargetBinding,
)
from predtrace.errors import STORED_INLINE, NonDeterministicError
from predtrace.inference.identities import Identity
from predtrace.inference.plan import Restriction, ValueSet
from predtrace.jobs.model import Job
from predtrace.lineage.requests import scan_request
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan, kind_of
from symbolic.expr import Column, Expr, column_ids


def replayed_output(
    job: Job, graph: OperatorGraph, columns: tuple[Column, ...], lookup: Expr
) -> ReplayedBinding:
    """The output rows that a lookup selects, computed again; its params are the target's.

    Raises NonDeterministicError if another run may not give the same output.
    """
    from predtrace.inference.replay import sufficient

    refuse_unrepeatable(graph, job.root)
    target = TargetBinding()
    return ReplayedBinding(
        graph=graph,
        node=job.root,
        scans=restricted(job, graph, sufficient(graph, job.root, lookup), target),
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
) -> ReplayedBinding:
    """The rows of a graph's root that a lookup selects, with the source rows they are made of.

    `carried` is the graph with the identities of scans carried up to its root. The lookup's params
    are the target's. Raises NonDeterministicError if another run may not give the same rows.
    """
    from predtrace.inference.replay import sufficient

    refuse_unrepeatable(graph, graph.root)
    target = TargetBinding()
    restrictions = sufficient(graph, graph.root, lookup)
    return ReplayedBinding(
        graph=carried,
        node=graph.root,
        scans=restricted(job, graph, restrictions, target, carried),
        columns=columns,
        predicate=lookup,
        parent=target,
        identities=identities,
    )


def set_requests(
    job: Job, graph: OperatorGraph, sets: Sequence[ValueSet], parent: BindingSource
) -> tuple[SetRequest, ...]:
    """The value sets to be computed, in order."""
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
    job: Job, graph: OperatorGraph, found: ValueSet, target: BindingSource
) -> ScanRequest | ReplayedBinding:
    operator = graph[found.node]
    if isinstance(operator, Scan):
        return scan_request(job, operator, found.predicate, target)
    return ReplayedBinding(
        graph=graph,
        node=found.node,
        scans=restricted(job, graph, found.restrictions, target),
        columns=graph.output(found.node),
        predicate=found.predicate,
        parent=target,
    )


def restricted(
    job: Job,
    graph: OperatorGraph,
    restrictions: Sequence[Restriction],
    parent: BindingSource,
    kept: OperatorGraph | None = None,
    looked_up: Mapping[int, frozenset[int]] | None = None,
) -> dict[int, ScanRequest]:
    """The requests for scans, with only the columns that the graph `kept` has or a condition reads.

    `looked_up` are the columns by which lineage will be looked up, for scans whose rows are fetched
    before anything else is computed.
    """
    # Inference loads the solver, which questions to stored results do not need.
    from predtrace.inference.replay import unapplied, without_null_tests

    requests = {}
    for restriction in restrictions:
        scan = graph[restriction.node]
        assert isinstance(scan, Scan)
        first = looked_up is not None and scan.id in looked_up
        predicate = restriction.predicate if first else unapplied(graph, restriction)
        if not restriction.memberships:
            # Joins with value sets need the tests: without NULLs they are plain joins, not
            # null-safe ones.
            predicate = without_null_tests(predicate)
        columns = scan.columns
        if kept is not None:
            read = {column.id for column in kept.output(scan.id)} | column_ids(predicate)
            read |= column_ids(*(arg for m in restriction.memberships for arg in m.args))
            read |= column_ids(*(m.condition for m in restriction.memberships))
            read |= (looked_up or {}).get(scan.id, frozenset())
            columns = tuple(column for column in columns if column.id in read)
        requests[scan.id] = msgspec.structs.replace(
            scan_request(job, scan, predicate, parent), columns=columns
        )
    return requests


def refuse_unrepeatable(graph: OperatorGraph, node: int) -> None:
    """Raise NonDeterministicError if computing a node again may give other rows.

    Engines decide about limits, and about sums of integers as doubles.
    """
    from predtrace.inference.repeating import unrepeatable

    for operator in unrepeatable(graph, node, for_sure=True):
        name = kind_of(operator)
        where = f" ({operator.origin.text})" if operator.origin else ""
        raise NonDeterministicError(
            f"a replay need not give what operator {operator.id}, {name}{where}, gave when the "
            f"pipeline ran; {STORED_INLINE}"
        )
