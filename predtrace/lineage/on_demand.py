"""Inference on demand, for jobs whose results were not stored; remembered by plan."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import msgspec

from predtrace.inference.costs import BYTES_A_ROW
from predtrace.inference.plan import LineagePlan, RefinedPlan, Replay, ScanLineage
from predtrace.jobs.model import Job
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import Operator, Scan
from pushdown.unfolding import Unfolded, unfold

MOST_REFINED = 200
"""The most operators that a graph may unfold to if it is refined."""


def naive_scans(job: Job, aggregates: str) -> tuple[ScanLineage, ...]:
    """The scans' predicates by pushdown alone, whatever precision it loses."""
    return _inferred_naive(job.graph, job.root, aggregates)


def replays_of_plan(job: Job, plan: LineagePlan) -> dict[int, tuple[Replay, ...]]:
    """The replays that stand in for the plan's intermediate results: one for each selection."""
    found = _inferred_replays(job.graph, job.root, plan, scan_rows(job))
    return {
        item.binding: tuple(replay for replay in found if replay.binding == item.binding)
        for item in plan.intermediates
    }


def refinement(job: Job, aggregates: str) -> RefinedPlan:
    """The refinement of the lineage of the job's targets, in terms of the `unfolded` graph."""
    return _inferred_refinement(job.graph, job.root, aggregates, scan_rows(job))


def refined_scans(job: Job, aggregates: str) -> tuple[ScanLineage, ...]:
    """The predicates and labels that refinement gives every scan of the job's graph."""
    original = unfolded(job.graph, job.root).original
    found: dict[int, ScanLineage] = {}
    for scan in refinement(job, aggregates).scans:
        node = original[scan.node]
        if node not in found or found[node].label == PRECISE:
            found[node] = msgspec.structs.replace(scan, node=node)
    return tuple(found.values())


def unrefinable(graph: OperatorGraph) -> str:
    """The reason why the graph is not refined; empty if it is."""
    if graph.shared and graph.unfolded(graph.root) > MOST_REFINED:
        return (
            "refining follows what several operators read once for each of them, here more than "
            f"{MOST_REFINED} operators in all"
        )
    return ""


@functools.lru_cache(maxsize=64)
def unfolded(operators: tuple[Operator, ...], root: int) -> Unfolded:
    """The graph as a tree, in which every value set belongs to one consumer."""
    return unfold(OperatorGraph(operators, root))


def with_scans(plan: LineagePlan, scans: Sequence[ScanLineage]) -> LineagePlan:
    """The plan with other predicates and labels; which scans must have rows is taken from the
    plan."""
    contributing = {scan.node for scan in plan.scans if scan.contributes}
    return msgspec.structs.replace(
        plan,
        scans=tuple(
            msgspec.structs.replace(scan, contributes=scan.node in contributing) for scan in scans
        ),
    )


def scan_rows(job: Job) -> tuple[tuple[int, float], ...]:
    """The number of rows of every scan, by node; guessed from bytes if the job did not count
    them."""
    rows = {
        source.name: sum(
            file.size / BYTES_A_ROW if file.rows is None else file.rows for file in source.files
        )
        for source in job.sources
    }
    return tuple((op.id, rows[op.table]) for op in job.graph if isinstance(op, Scan))


@functools.lru_cache(maxsize=64)
def _inferred_naive(
    operators: tuple[Operator, ...], root: int, aggregates: str
) -> tuple[ScanLineage, ...]:
    from predtrace.inference.planner import infer_unstored

    return infer_unstored(OperatorGraph(operators, root), aggregates).scans


@functools.lru_cache(maxsize=64)
def _inferred_refinement(
    operators: tuple[Operator, ...], root: int, aggregates: str, rows: tuple[tuple[int, float], ...]
) -> RefinedPlan:
    from predtrace.inference.refinement import infer_refinement

    tree, original = unfolded(operators, root)
    known = dict(rows)
    counted = {node: known[copy] for node, copy in original.items() if copy in known}
    return infer_refinement(tree, aggregates, counted)


@functools.lru_cache(maxsize=64)
def _inferred_replays(
    operators: tuple[Operator, ...],
    root: int,
    plan: LineagePlan,
    rows: tuple[tuple[int, float], ...],
) -> tuple[Replay, ...]:
    # This needs the solver, which questions to stored results do not load.
    from predtrace.inference.replay import infer_replays

    return infer_replays(OperatorGraph(operators, root), plan, dict(rows))
