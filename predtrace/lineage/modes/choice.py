"""The choice of a mode for jobs without a row-id index."""

from __future__ import annotations

from collections.abc import Sequence

from predtrace.inference.costs import MUCH_LARGER
from predtrace.inference.plan import Intermediate, LineagePlan
from predtrace.jobs.model import Job
from predtrace.lineage.functions import is_complete
from predtrace.lineage.modes.from_sources import SourceMode
from predtrace.lineage.modes.naive import NaiveMode
from predtrace.lineage.modes.refined import RefinedMode
from predtrace.lineage.modes.replayed import ReplayedMode
from predtrace.lineage.modes.stored import StoredMode
from predtrace.lineage.on_demand import refinement, scan_rows, unrefinable
from predtrace.lineage.stored_results import missing_intermediates
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import Opaque


def choose(job: Job, plan: LineagePlan) -> tuple[SourceMode, str]:
    """The mode for a question without a row-id index, and why.

    It is ``stored`` if all results are stored, else ``replayed``: both are precise, and ``stored``
    reads less. It is ``refined`` if that is precise, too, and a replay would compute results much
    larger than the sources. It is ``naive`` if a function that a replay calls is not at hand, or if
    it would run a program over groups.
    """
    missing = missing_intermediates(job, plan)
    if not plan.intermediates:
        return (
            StoredMode(),
            "the predicates select the lineage on the sources; nothing is looked up",
        )
    if not missing:
        return StoredMode(), "all intermediate results that lineage needs are stored"
    if _is_refinable(job) and _joins_are_large(job, missing):
        refined = refinement(job, plan.aggregates)
        if all(scan.label == PRECISE for scan in refined.scans):
            return RefinedMode(), (
                "the job has not stored the intermediate results that lineage needs; they are "
                "much larger than the sources, and refining is precise without them"
            )
    if not is_complete(job):
        return NaiveMode(), (
            "the job has not stored the intermediate results that lineage needs, and a Python "
            "function that a replay calls is not at hand"
        )
    if _calls_programs(job, missing):
        return NaiveMode(), (
            "the job has not stored the rows of a program over groups with their keys, and no "
            "question runs it again"
        )
    return ReplayedMode(), (
        "the job has not stored the intermediate results that lineage needs; a replay is precise "
        "and reads no source more often than refining would"
    )


def _is_refinable(job: Job) -> bool:
    return job.output is not None and not unrefinable(OperatorGraph(job.graph, job.root))


def _calls_programs(job: Job, missing: Sequence[Intermediate]) -> bool:
    graph = OperatorGraph(job.graph, job.root)
    below = (graph[node] for item in missing for node in graph.top_down(item.node))
    return any(isinstance(operator, Opaque) and operator.grouped for operator in below)


def _joins_are_large(job: Job, missing: Sequence[Intermediate]) -> bool:
    """Whether a replay is expected to give many times the rows that refinement would read."""
    read = 2 * sum(rows for _, rows in scan_rows(job))
    return any((item.estimated_rows or 0.0) > MUCH_LARGER * read for item in missing)
