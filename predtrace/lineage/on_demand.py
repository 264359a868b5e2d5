"""Inference on demand, for jobs whose results were not stored; remembered by plan."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import msgspec

from predtrace.inference.costs import BYTES_A_ROW
from predtrace.inference.plan import LineagePlan, RefinedPlan, Replay, ScanLineage
from predtrace.jobs.model import Job
from pushdown.graph import OperatorGraph
from pushdown.operators import Operator, Scan


def naive_scans(job: Job, aggregates: str) -> tuple[ScanLineage, ...]:
    """The scans' predicates by pushdown alone, whatever precision it loses."""
    return _inferred_naive(job.graph, job.root, aggregates)


def replays_of_plan(job: Job, plan: LineagePlan) -> dict[int, Replay]:
    """The replays that stand in for the plan's intermediate results, by binding."""
    found = _inferred_replays(job.graph, job.root, plan, scan_rows(job))
    return {replay.binding: replay for replay in found}


def refinement(job: Job, aggregates: str) -> RefinedPlan:
    """The refinement of the lineage of the job's targets."""
    return _inferred_refinement(job.graph, job.root, aggregates, scan_rows(job))


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

    return infer_refinement(OperatorGraph(operators, root), aggregates, dict(rows))


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
