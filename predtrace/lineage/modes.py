"""How a question is answered: from stored results, or from the sources alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from predtrace.errors import PredTraceError
from predtrace.inference.plan import PRECISE, Intermediate, LineagePlan
from predtrace.jobs.model import Job
from predtrace.lineage.on_demand import naive_scans, refinement, scan_rows

AUTO = "auto"
INDEXED = "indexed"
STORED = "stored"
REPLAYED = "replayed"
REFINED = "refined"
NAIVE = "naive"
MODES = (AUTO, INDEXED, STORED, REPLAYED, REFINED, NAIVE)
"""The modes of answering that there are."""
_MUCH_LARGER = 5.0


def choose_mode(job: Job, plan: LineagePlan, mode: str) -> tuple[str, str]:
    """The mode to answer in without a row-id index, and why.

    ``auto`` looks up what is stored, else replays: both are precise, and looking up
    reads less. It refines where that is precise, too, and a replay would compute results
    much larger than the sources. Raises PredTraceError for a mode that there is not, or
    that needs what the job lacks.
    """
    if mode not in MODES:
        raise PredTraceError(f"there is no mode {mode!r}; use one of {', '.join(MODES)}")
    if mode == INDEXED:
        raise PredTraceError(
            f"job {job.id} has no row-id index for aggregates={plan.aggregates!r}; build one with "
            f"build_index() or: predtrace index {job.id}"
        )
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
    if _joins_are_large(job, missing) and job.output is not None:
        refined = refinement(job, plan.aggregates)
        if all(scan.label == PRECISE for scan in refined.scans):
            return REFINED, (
                "the job has not stored the intermediate results that lineage needs; they are "
                "much larger than the sources, and refining is precise without them"
            )
    return REPLAYED, (
        "the job has not stored the intermediate results that lineage needs; a replay is precise "
        "and reads no source more often than refining would"
    )


def _joins_are_large(job: Job, missing: Sequence[Intermediate]) -> bool:
    """Whether replaying is expected to give many times the rows that refining would read."""
    read = 2 * sum(rows for _, rows in scan_rows(job))
    return any((item.estimated_rows or 0.0) > _MUCH_LARGER * read for item in missing)


def missing_intermediates(job: Job, plan: LineagePlan) -> tuple[Intermediate, ...]:
    """The intermediates of the plan that the job has not stored."""
    there = {item.binding for item in job.intermediates if item.aggregates == plan.aggregates}
    return tuple(item for item in plan.intermediates if item.binding not in there)


def labelled_plan(job: Job, plan: LineagePlan, mode: str) -> LineagePlan:
    """The plan with the scans' predicates and labels as the mode has them."""
    if mode not in (REFINED, NAIVE):
        return plan
    refined = mode == REFINED
    scans = refinement(job, plan.aggregates).scans if refined else naive_scans(job, plan.aggregates)
    contributing = {scan.node for scan in plan.scans if scan.contributes}
    return msgspec.structs.replace(
        plan,
        scans=tuple(
            msgspec.structs.replace(scan, contributes=scan.node in contributing) for scan in scans
        ),
    )
