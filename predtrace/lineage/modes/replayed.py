"""Mode ``replayed``: computes intermediate results again from just enough of the sources."""

from __future__ import annotations

from pathlib import Path

from predtrace.engines.base import BindingSource, ReplayedBinding, ScanRequest, TargetBinding
from predtrace.inference.identities import carrying
from predtrace.inference.plan import Intermediate, LineagePlan, Replay, Selection
from predtrace.jobs.model import Job
from predtrace.lineage.modes.from_sources import SourceMode
from predtrace.lineage.on_demand import replays_of_plan
from predtrace.lineage.replays import refuse_unrepeatable, restricted, set_requests
from predtrace.lineage.requests import bound_requests
from predtrace.lineage.stored_results import united
from predtrace.vocabulary import REPLAYED
from pushdown.graph import OperatorGraph
from pushdown.needs import pruned
from symbolic.expr import column_ids


class ReplayedMode(SourceMode):
    """Target rows and rows computed again bind the predicates."""

    @property
    def name(self) -> str:
        """``replayed``."""
        return REPLAYED

    def refuse(self, job: Job, plan: LineagePlan) -> None:
        """Never refuses: nothing needs to be stored. `requests` refuses unrepeatable operators."""

    def labelled(self, job: Job, plan: LineagePlan) -> LineagePlan:
        """The unchanged plan."""
        return plan

    def requests(
        self, job: Job, graph: OperatorGraph, plan: LineagePlan, folder: Path
    ) -> dict[int, ScanRequest]:
        """Requests for the scans, bound by target rows and replayed rows."""
        return bound_requests(job, graph, plan.scans, _replayed_bindings(job, graph, plan))


def _replayed_bindings(
    job: Job, graph: OperatorGraph, plan: LineagePlan
) -> dict[int, BindingSource]:
    bindings: dict[int, BindingSource] = {0: TargetBinding()}
    if not plan.intermediates:
        return bindings
    replays = replays_of_plan(job, plan)
    sources = {source.name for source in job.sources if source.has_row_numbers}
    numbered = {scan.id for scan in graph.scans() if scan.table in sources}
    for item in plan.intermediates:
        refuse_unrepeatable(graph, item.node)
        bound = {
            scan.node
            for scan in plan.scans
            if scan.binding == item.binding and not scan.also and not item.also
        }
        bindings[item.binding] = united(
            _replayed_link(
                job, graph, plan, replay, item, one, bindings[one.binding], bound & numbered
            )
            for one, replay in zip(item.selections, replays[item.binding], strict=True)
        )
    return bindings


def _replayed_link(
    job: Job,
    graph: OperatorGraph,
    plan: LineagePlan,
    replay: Replay,
    item: Intermediate,
    asked: Selection,
    parent: BindingSource,
    numbered: set[int],
) -> ReplayedBinding:
    """The rows of an intermediate that one selection looks up.

    Of the scans `numbered` lineage may be told by row numbers that the replay comes by.
    """
    carried, identities = carrying(graph, item.node, numbered)
    wanted = {column.id for column in item.columns} | column_ids(asked.predicate)
    wanted.update(c.id for found in identities.values() for c in (found.file, found.row))
    kept = pruned(carried, item.node, frozenset(wanted))
    taken = numbered & set(replay.selective) - identities.keys()
    looked_up = {scan.node: column_ids(scan.predicate) for scan in plan.scans if scan.node in taken}
    return ReplayedBinding(
        graph=kept,
        node=item.node,
        scans=restricted(job, graph, replay.restrictions, parent, kept, looked_up),
        columns=item.columns,
        predicate=asked.predicate,
        parent=parent,
        identities=identities,
        sets=set_requests(job, graph, replay.sets, parent),
        memberships={one.node: one.memberships for one in replay.restrictions},
        selective=frozenset(looked_up),
    )
