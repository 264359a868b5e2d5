"""The public API: trace a pipeline, run it, ask its job for lineage."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from predtrace.environment.recursion import reads_deep_trees
from predtrace.errors import NonDeterministicError, PredTraceError
from predtrace.frontends.installed import front_end_of
from predtrace.handle import JobHandle
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Source, Written
from predtrace.jobs.snapshot import SINCE_READ, unchanged, with_fingerprints
from predtrace.jobs.store import JobStore, JobWriter, read_record, record_version
from predtrace.lineage.functions import give
from predtrace.maintenance.commit import Commit
from predtrace.vocabulary import (
    BOTH,
    FULL,
    INLINE,
    LATE,
    NONE,
    QUICK,
    ROWS_LIMIT,
    Fingerprint,
    Keep,
)
from pushdown.readings import MINIMAL, WHOLE
from pushdown.topk import NumberCut, number_cuts, with_ranks
from symbolic.expr import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from predtrace.frontends.base import Pipeline
    from predtrace.report.explanation import Explanation
    from pushdown.graph import OperatorGraph
    from pushdown.operators import Origin

_READINGS = {**{reading: (reading,) for reading in (MINIMAL, WHOLE)}, BOTH: (MINIMAL, WHOLE)}


@reads_deep_trees
def trace(
    pipeline: DataFrame | str,
    spark: SparkSession | None = None,
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
) -> Trace:
    """Read a pipeline: a Spark DataFrame, or SQL text (over the active session's tables).

    `functions` are Python functions that it calls, by the names that it has for them:
    ``{"clean": clean}``. Functions that are not given are looked for in the callers' frames and in
    modules. Runs nothing. Raises UnsupportedOperatorError or NonDeterministicError if the pipeline
    cannot be traced, SourceError if sources cannot be read or distinguished.
    """
    return Trace(front_end_of(pipeline).read(pipeline, spark, functions))


class Trace:
    """A pipeline that was read, with its lineage plans (inferred when first needed)."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._plans: dict[str, LineagePlan] = {}
        self._seconds: dict[str, float] = {}

    @property
    def graph(self) -> OperatorGraph:
        """The pipeline's operators."""
        return self._pipeline.graph

    @property
    def call_sites(self) -> Mapping[int, Origin]:
        """The lines of the user's code that operators came from, by operator id, where known."""
        return self._pipeline.call_sites

    @property
    def plans(self) -> dict[str, LineagePlan]:
        """The lineage plans for both readings of min and max: ``minimal`` and ``whole``."""
        return {aggregates: self.plan(aggregates) for aggregates in _READINGS[BOTH]}

    @property
    def inference_seconds(self) -> float:
        """Seconds that inferring the ``minimal`` plan took."""
        self.plan(MINIMAL)
        return self._seconds[MINIMAL]

    @reads_deep_trees
    def plan(self, aggregates: str = MINIMAL) -> LineagePlan:
        """The lineage plan for one reading of min and max."""
        (reading,) = _readings(aggregates, one=True)
        if reading not in self._plans:
            from predtrace.inference import infer

            estimates = self._pipeline.estimates()
            started = time.perf_counter()
            self._plans[reading] = infer(self.graph, aggregates=reading, estimates=estimates)
            self._seconds[reading] = time.perf_counter() - started
        return self._plans[reading]

    def explain(self, aggregates: str = MINIMAL) -> Explanation:
        """For each operator its predicates and verdict; what is stored, and why.

        With ``both`` the plan for ``minimal`` is shown.
        """
        from predtrace.report.explanation import Explanation

        reading = _readings(aggregates)[0]
        return Explanation(self.graph, self.plan(reading))

    @reads_deep_trees
    def run(
        self,
        store: str | os.PathLike[str],
        keep: str = INLINE,
        aggregates: str = MINIMAL,
        keep_output: bool = True,
        fingerprint: str = QUICK,
        rows_limit: int | None = ROWS_LIMIT,
    ) -> JobHandle:
        """Run the pipeline once and keep in `store` what lineage needs.

        `keep` says when intermediate results are stored. ``inline``: during the run. ``late``: in
        the background, after an untouched run (call `JobHandle.wait` before stopping Spark).
        ``none``: only the output is stored; questions are answered by replay, and
        `JobHandle.build_intermediates` can store the rest later. `aggregates` says which readings
        of min and max questions may use: ``minimal``, ``whole`` or ``both``. `fingerprint` says
        which bytes of the sources later questions compare: ``quick`` (a sample) or ``full`` (all).
        `rows_limit` is the number of bytes that rows of the program itself (VALUES,
        createDataFrame, RDDs, checkpoints) may take in the job; with 0 they are not kept, and
        questions about them are refused; None stands for no limit. Raises StoreError if the store
        cannot be written or these rows are more, SourceError if a source changed since the
        pipeline was read; errors of the pipeline are Spark's own. A run that fails or is
        interrupted leaves no job.
        """
        return self._kept_in(store, keep, aggregates, keep_output, fingerprint, rows_limit)

    def record(
        self,
        store: str | os.PathLike[str],
        aggregates: str = MINIMAL,
        fingerprint: str = QUICK,
        rows_limit: int | None = ROWS_LIMIT,
        written: Written | None = None,
    ) -> JobHandle:
        """Keep the pipeline in `store` as a job that ran before, without running it.

        Questions are answered from the sources as they are now, which must not have changed since
        the job ran. `written` is the place of the job's own output, if known. Raises
        NonDeterministicError for a pipeline that reads the clock, since it would not be the
        pipeline that ran, or rows that an RDD makes, which may not be the same.
        """
        if self._pipeline.time_dependent:
            raise NonDeterministicError(
                "the pipeline reads the current date or time, which was different when it ran; "
                "replace it by the value of that time"
            )
        if self._pipeline.unrepeatable:
            raise NonDeterministicError(
                f"the rows of {', '.join(self._pipeline.unrepeatable)} are made by an RDD, which "
                "may have made others when the job ran; run it with trace.run, or write these rows "
                "to Parquet and read that"
            )
        return self._kept_in(
            store, NONE, aggregates, False, fingerprint, rows_limit, written=written
        )

    def _kept_in(
        self,
        store: str | os.PathLike[str],
        keep: str,
        aggregates: str,
        keep_output: bool,
        fingerprint: str,
        rows_limit: int | None,
        written: Written | None = None,
    ) -> JobHandle:
        if keep not in list(Keep):
            raise PredTraceError(f"keep is 'inline', 'late' or 'none', not {keep!r}")
        if fingerprint not in list(Fingerprint):
            raise PredTraceError(f"fingerprint is 'quick' or 'full', not {fingerprint!r}")
        self._pipeline.check_runnable()
        _check_limit(rows_limit)
        sources = [source for source in self._pipeline.sources if not source.kept]
        job_store = JobStore(store)
        writer = job_store.begin()
        try:
            with unchanged(sources, SINCE_READ, after=False):
                if fingerprint == FULL:
                    sources = [with_fingerprints(source, FULL) for source in sources]
                traced = self if keep == NONE else self._settled(aggregates)
                plans = [traced.plan(reading) for reading in _readings(aggregates)]
                return traced._run(writer, plans, keep, keep_output, sources, rows_limit, written)
        except BaseException:
            writer.abort()
            raise

    def _settled(self, aggregates: str) -> Trace:
        """The pipeline with ranks in place of the numbers that the data show to be the same.

        The data are read only if less is to be stored then.
        """
        if not (cuts := number_cuts(self.graph)):
            return self
        ranked = self._ranked(cuts)
        readings = _readings(aggregates)
        if all(_stored(self.plan(each)) == _stored(ranked.plan(each)) for each in readings):
            return self
        untied = self._pipeline.untied(cuts)
        return ranked if len(untied) == len(cuts) else self._ranked(untied)

    def _ranked(self, cuts: Sequence[NumberCut]) -> Trace:
        if not cuts:
            return self
        return Trace(replace(self._pipeline, graph=with_ranks(self.graph, cuts)))

    def _run(
        self,
        writer: JobWriter,
        plans: list[LineagePlan],
        keep: str,
        keep_output: bool,
        files: Sequence[Source],
        rows_limit: int | None,
        written: Written | None,
    ) -> JobHandle:
        started = time.perf_counter()
        # Absolute, because the process may change its working directory before late
        # results are stored, or before a DataFrame over these files is read.
        folder = writer.folder.resolve()
        splitting = LATE if keep == LATE else INLINE
        cuts = [item for plan in plans for item in plan.intermediates if keep != NONE]
        result = self._pipeline.run(folder, cuts, splitting, keep_output, rows_limit)
        found = {source.name: source for source in (*files, *result.brought)}
        sources = tuple(found[source.name] for source in self._pipeline.sources)
        work = Commit(self._pipeline, sources, writer, plans, keep, result, started, written)
        if keep == LATE and any(cut.node not in result.intermediates for cut in cuts):
            work.start()
            return JobHandle(
                writer.id,
                self._pipeline.spark,
                early=lambda: result.dataframe,
                work=work,
                front_end=self._pipeline.front_end,
            )
        # A stored output is read where it is when somebody asks for it.
        frame = None if result.output is not None else result.dataframe
        record, final = work.commit()
        return JobHandle(
            writer.id,
            self._pipeline.spark,
            frame,
            record=record,
            folder=final,
            front_end=record.front_end,
        )


def _stored(plan: LineagePlan) -> list[tuple[int, tuple[Column, ...], bool]]:
    return [(item.node, item.columns, item.inline) for item in plan.intermediates]


def _check_limit(rows_limit: int | None) -> None:
    if rows_limit is not None and (isinstance(rows_limit, bool) or rows_limit < 0):
        raise PredTraceError(f"rows_limit is a number of bytes or None, not {rows_limit!r}")


def _readings(aggregates: str, one: bool = False) -> tuple[str, ...]:
    found = _READINGS.get(aggregates)
    if found is None or (one and len(found) > 1):
        allowed = " or ".join(repr(name) for name in _READINGS if not one or name != BOTH)
        raise PredTraceError(f"aggregates is {allowed}, not {aggregates!r}")
    return found


@reads_deep_trees
def open_job(
    store: str | os.PathLike[str],
    job_id: str,
    spark: SparkSession | None = None,
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
) -> JobHandle:
    """A job saved earlier, also by another process; `job_id` may be the beginning of an id.

    `functions` are the Python functions that the job calls, by name. Needs no Spark. Raises
    StoreError if there is no such job, JobFormatError if its file is corrupt or from a newer
    version, PredTraceError for a function that is not the job's.
    """
    found = JobStore(store)
    folder = found.folder(job_id).resolve()
    version = record_version(folder)
    record = read_record(folder)
    give(record, functions)
    return JobHandle(
        record.id,
        spark,
        record=record,
        folder=folder,
        version=version,
        front_end=record.front_end,
    )
