"""A question with checked names and types, and the usable stored results of its job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from predtrace.errors import PredTraceError, StoreError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job
from predtrace.jobs.results import check_results, check_stored
from predtrace.lineage.source_cache import SourceCache
from predtrace.targets.specs import TargetSpecs
from predtrace.vocabulary import AUTO, STORED, Aggregates
from pushdown.graph import OperatorGraph
from pushdown.operators import GroupBy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class QuestionContext(NamedTuple):
    """A checked question; its plan has the labels for these targets."""

    job: Job
    folder: Path
    plan: LineagePlan
    graph: OperatorGraph
    specs: TargetSpecs
    engine: str
    spark: SparkSession | None
    cache_limit: int | None

    @property
    def cache(self) -> SourceCache:
        """What the job has cached, and may cache for this question."""
        return SourceCache(self.job, self.folder, self.cache_limit)


def usable(job: Job, folder: Path, plan: LineagePlan, mode: str, notes: list[str]) -> Job:
    """The job with those stored results that are as they were written; notes name the others.

    ``auto`` ignores all intermediate results if one that the plan looks up is damaged. Raises
    StoreError if the output is damaged, or an intermediate result that the mode needs.
    """
    if job.output is not None:
        check_stored(job.output, folder)
    if mode not in (AUTO, STORED):
        return job
    looked_up = [item.result for item in job.intermediates if item.aggregates == plan.aggregates]
    try:
        check_results(looked_up, folder)
    except StoreError as error:
        if mode == STORED:
            raise
        notes.append(f"the stored intermediate results were not used: {error}")
        return msgspec.structs.replace(job, intermediates=())
    return job


def choose_plan(job: Job, aggregates: str | None) -> LineagePlan:
    """The job's plan for a reading of min and max; by default ``minimal`` if the job has it.

    Raises PredTraceError for a reading that the job was not run for, unless the pipeline
    has no group whose lineage depends on it.
    """
    plans = {plan.aggregates: plan for plan in job.plans}
    if aggregates is None:
        return plans.get(Aggregates.minimal) or job.plans[0]
    if aggregates not in list(Aggregates):
        raise PredTraceError(
            f"aggregates is 'minimal' or 'whole' in a question, not {aggregates!r}"
        )
    if aggregates in plans:
        return plans[aggregates]
    if not readings_differ(job):
        return job.plans[0]
    raise PredTraceError(
        f"job {job.id} was run with aggregates={job.plans[0].aggregates!r}, and its answers for "
        f"{aggregates!r} differ; run again with aggregates='both'"
    )


def readings_differ(job: Job) -> bool:
    """Whether some group has only min and max, so that the two readings can differ."""
    return any(
        isinstance(operator, GroupBy)
        and operator.aggregations
        and all(a.call.row.attained for a in operator.aggregations)
        for operator in job.graph
    )
