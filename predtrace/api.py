"""The public API: trace a pipeline, run it, ask its job for lineage."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.environment.recursion import reads_deep_trees
from predtrace.environment.sessions import is_running
from predtrace.errors import NonDeterministicError, PredTraceError
from predtrace.frontends.installed import front_end_of, named_front_end
from predtrace.inference.plan import Intermediate, LineagePlan
from predtrace.jobs.boundary import of_record
from predtrace.jobs.model import Job, Source, StoredResult
from predtrace.jobs.results import check_stored
from predtrace.jobs.snapshot import SINCE_READ, unchanged, with_fingerprints
from predtrace.jobs.store import JobStore, JobWriter, read_record, record_version
from predtrace.lineage.answer import Lineage
from predtrace.lineage.ask import ask
from predtrace.lineage.engine_choice import check_engine
from predtrace.maintenance.commit import Commit
from predtrace.vocabulary import AUTO, BOTH, FULL, INLINE, LATE, NONE, QUICK, Fingerprint, Keep
from pushdown.readings import MINIMAL, WHOLE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from predtrace.frontends.base import Pipeline
    from predtrace.index.summary import IndexSummary
    from predtrace.lineage.forward import Reached
    from predtrace.maintenance.indexing import Steps
    from predtrace.report.explanation import Explanation
    from pushdown.graph import OperatorGraph
    from pushdown.operators import Origin

_READINGS = {**{reading: (reading,) for reading in (MINIMAL, WHOLE)}, BOTH: (MINIMAL, WHOLE)}


@reads_deep_trees
def trace(pipeline: DataFrame | str, spark: SparkSession | None = None) -> Trace:
    """Read a pipeline: a Spark DataFrame, or SQL text (over the active session's tables).

    Runs nothing. Raises UnsupportedOperatorError or NonDeterministicError for what
    cannot be traced, SourceError for sources that cannot be told apart or read.
    """
    return Trace(front_end_of(pipeline).read(pipeline, spark))


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
        """Where in the user's code the operators came from, by id, as far as it is known."""
        return self._pipeline.call_sites

    @property
    def plans(self) -> dict[str, LineagePlan]:
        """The lineage plans for both readings of min and max: ``minimal`` and ``whole``."""
        return {aggregates: self.plan(aggregates) for aggregates in _READINGS[BOTH]}

    @property
    def inference_seconds(self) -> float:
        """What inferring the ``minimal`` plan took."""
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
        """Per operator the predicates and the verdict, and what is stored and why.

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
    ) -> JobHandle:
        """Run the pipeline once and keep in `store` what lineage needs.

        `keep` is ``inline`` (intermediates are stored on the way), ``late`` (the
        pipeline runs untouched; they are stored in the background afterwards: call
        `JobHandle.wait` before stopping Spark) or ``none`` (nothing but the output is
        stored: questions are answered by replay, and
        `JobHandle.build_intermediates` can make up for it later).
        `aggregates` says which readings of min and max can be asked for later:
        ``minimal``, ``whole`` or ``both``. `fingerprint` is ``quick`` or ``full``: what
        questions compare of the sources' content (a sample, or all bytes). Raises
        StoreError if the store cannot be written, SourceError if a source changed since the
        pipeline was read; errors of the pipeline are Spark's own. A run that fails or is
        interrupted leaves no job.
        """
        if keep not in list(Keep):
            raise PredTraceError(f"keep is 'inline', 'late' or 'none', not {keep!r}")
        if fingerprint not in list(Fingerprint):
            raise PredTraceError(f"fingerprint is 'quick' or 'full', not {fingerprint!r}")
        self._pipeline.check_runnable()
        plans = [self.plan(reading) for reading in _readings(aggregates)]
        cuts = [item for plan in plans for item in plan.intermediates if keep != NONE]
        sources = self._pipeline.sources
        job_store = JobStore(store)
        writer = job_store.begin()
        try:
            with unchanged(sources, SINCE_READ, after=False):
                if fingerprint == FULL:
                    sources = tuple(with_fingerprints(source, FULL) for source in sources)
                return self._run(writer, plans, cuts, keep, keep_output, sources)
        except BaseException:
            writer.abort()
            raise

    def record(
        self,
        store: str | os.PathLike[str],
        aggregates: str = MINIMAL,
        fingerprint: str = QUICK,
    ) -> JobHandle:
        """Keep the pipeline in `store` as a job that ran before; nothing is run.

        Questions are answered from the sources, which must still be what the job read:
        they are taken as they are now. Raises NonDeterministicError for a pipeline that
        reads the clock, since it would not be the pipeline that ran.
        """
        if self._pipeline.time_dependent:
            raise NonDeterministicError(
                "the pipeline reads the current date or time, which was another when it ran; "
                "write the values of that time in their place"
            )
        return self.run(
            store, keep=NONE, aggregates=aggregates, keep_output=False, fingerprint=fingerprint
        )

    def _run(
        self,
        writer: JobWriter,
        plans: list[LineagePlan],
        cuts: list[Intermediate],
        keep: str,
        keep_output: bool,
        sources: tuple[Source, ...],
    ) -> JobHandle:
        started = time.perf_counter()
        # Absolute, because the process may change its working directory before late
        # results are stored, or before a DataFrame over these files is read.
        folder = writer.folder.resolve()
        splitting = LATE if keep == LATE else INLINE
        result = self._pipeline.run(folder, cuts, splitting, keep_output)
        work = Commit(self._pipeline, sources, writer, plans, keep, result, started)
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


def _readings(aggregates: str, one: bool = False) -> tuple[str, ...]:
    found = _READINGS.get(aggregates)
    if found is None or (one and len(found) > 1):
        allowed = " or ".join(repr(name) for name in _READINGS if not one or name != BOTH)
        raise PredTraceError(f"aggregates is {allowed}, not {aggregates!r}")
    return found


class JobHandle:
    """A finished run: its output and its lineage.

    After ``keep="late"`` the output is there at once; everything else waits until the
    intermediates are stored, and raises StoreError if that failed.
    """

    def __init__(
        self,
        job_id: str,
        spark: SparkSession | None,
        frame: DataFrame | None = None,
        *,
        record: Job | None = None,
        folder: Path | None = None,
        work: Commit | None = None,
        early: Callable[[], DataFrame] | None = None,
        version: tuple[int, int] | None = None,
        front_end: str = "spark",
    ) -> None:
        self.id = job_id
        self._spark = spark
        self._frame = frame
        self._record = record
        self._folder = folder
        self._work = work
        self._early = early
        self._version = version
        self._front_end = front_end

    def wait(self) -> JobHandle:
        """Wait until the job is saved; the handle itself. Raises StoreError if it cannot be."""
        if self._record is None:
            assert self._work is not None
            self._record, self._folder = self._work.wait()
        return self

    @property
    @reads_deep_trees
    def record(self) -> Job:
        """What is saved of the job, also what others have built since.

        Raises StoreError if the job is gone.
        """
        self.wait()
        assert self._record is not None
        version = record_version(self.folder)
        if version != self._version:
            self._record, self._version = read_record(self.folder), version
        return self._record

    @property
    def folder(self) -> Path:
        """Where the job lies."""
        self.wait()
        assert self._folder is not None
        return self._folder

    @property
    def output(self) -> DataFrame:
        """The pipeline's output as a Spark DataFrame: its names, types, metadata and order.

        What is read back from where it was stored may be NULL by its schema.
        Raises PredTraceError if the output was not kept, or there is no Spark session.
        """
        front_end = named_front_end(self._front_end)
        if self._frame is not None and not front_end.is_readable(self._frame):
            self._frame = None
        if self._frame is None:
            at_once = self._early if self._record is None else None
            self._frame = (at_once or self._read_output)()
        return self._frame

    def _read_output(self) -> DataFrame:
        check_stored(self._stored_output(), self.folder)
        front_end = named_front_end(self.record.front_end)
        frame: DataFrame = front_end.read_output(self.record, self.folder, self._session)
        return frame

    def output_arrow(self) -> pa.Table:
        """The stored output as an Arrow table, in its order, without Spark.

        Raises PredTraceError if the output was not kept.
        """
        from predtrace.engines.values import stored_table

        stored = self._stored_output()
        with of_record(self.id):
            return stored_table(stored, self.folder, self._names)

    @property
    def _session(self) -> SparkSession | None:
        """The session that the job was run or opened with, unless it was stopped since."""
        return self._spark if self._spark is not None and is_running(self._spark) else None

    @property
    def _names(self) -> list[str]:
        """What the output's columns are called; names may repeat."""
        from pushdown.graph import OperatorGraph

        return [c.name for c in OperatorGraph(self.record.graph, self.record.root).output()]

    def _stored_output(self) -> StoredResult:
        if self.record.output is None:
            raise PredTraceError(
                f"job {self.id} did not keep its output; run again with keep_output=True"
            )
        return self.record.output

    @reads_deep_trees
    def lineage(
        self,
        target: Any,
        mode: str = AUTO,
        engine: str = AUTO,
        aggregates: str | None = None,
        spark: SparkSession | None = None,
    ) -> Lineage:
        """The source rows behind output rows.

        `target` is a row, a tuple with all values, a dict with some columns, a SQL
        predicate over the output columns, or a list of these (the answer then has a
        ``target`` column, the position in the list). `engine` is ``duckdb`` (local
        Parquet, no JVM), ``spark``, or ``auto``: DuckDB where it is exact. `mode` is
        ``indexed`` (looks up row numbers; see `build_index`), ``stored`` (looks up the
        stored intermediate results), ``replayed`` (computes them again from just enough
        of the sources), or ``auto``: what is there, in this order; or ``refined``.
        `aggregates` is the reading of min and max, where the job has both. Names, types
        and sources are checked now, rows are computed when read. Raises TargetError,
        SourceError, EngineError, NonDeterministicError or PredTraceError.
        """
        session = spark or self._session
        with of_record(self.id):
            return ask(self.record, self.folder, target, mode, engine, aggregates, session)

    @reads_deep_trees
    def build_intermediates(
        self, engine: str = AUTO, spark: SparkSession | None = None
    ) -> JobHandle:
        """Store now, from unchanged sources, the intermediate results that the job lacks.

        Many questions are then look-ups. What is stored, now or by the run, is made as small
        as the output allows (`predtrace.maintenance.compaction`). Raises SourceError if a
        source changed since the job, NonDeterministicError if another run need not give what
        the job had, EngineError or StoreError if it cannot be done; the job stays as it was then.
        """
        from predtrace.maintenance.backfill import build

        with of_record(self.id):
            self._record = build(self.folder, engine, spark or self._session)
        return self

    @reads_deep_trees
    def build_index(
        self,
        targets: Any = None,
        scans: Collection[str] | None = None,
        aggregates: str | None = None,
        limit: int | None = None,
        engine: str = AUTO,
        spark: SparkSession | None = None,
        steps: Steps | None = None,
        rebuild: bool = False,
    ) -> IndexSummary:
        """Index the output rows by the numbers of their source rows, from unchanged sources.

        Questions are then look-ups (mode ``indexed``), and `forward` ones can be asked.
        `targets` restricts the index to some output rows (as in `lineage`), `scans` to
        some tables, aliases or occurrences (``lineitem[2]``). `limit` bounds the bytes of
        the row numbers before compression. `steps` is called with the name of each step,
        for a context that lasts as long. Where the job's index has all that, it is checked and
        left as it is (`IndexSummary.there`), unless `rebuild` says to build it anew.
        Raises SourceError if a source changed since the job, EngineError if rows have no
        numbers, StoreError beyond the limit or if it cannot be written, PredTraceError
        if the output was not kept; the job stays as it was then.
        """
        from predtrace.index.summary import summary
        from predtrace.maintenance.indexing import LIMIT, build_index

        check_engine(engine)
        with of_record(self.id):
            index, there = build_index(
                self.record,
                self.folder,
                targets=targets,
                scans=scans,
                aggregates=aggregates,
                limit=LIMIT if limit is None else limit,
                engine=engine,
                spark=spark or self._session,
                steps=steps or (lambda name: nullcontext()),
                rebuild=rebuild,
            )
            return summary(self.record, index, there=there)

    @reads_deep_trees
    def forward(
        self,
        scan: str,
        where: str | None = None,
        rows: Any = None,
        aggregates: str | None = None,
        engine: str = AUTO,
        spark: SparkSession | None = None,
    ) -> Reached:
        """The output rows that source rows reach, looked up in the job's row-id index.

        `scan` is a table, an alias or an occurrence (``lineitem[2]``). The source rows are
        those that satisfy the SQL predicate `where` (an engine finds them, in the source),
        or `rows`: numbers from 0 if the source is one file, or a table of ``file`` and
        ``row`` as `row_ids` gives it. Raises PredTraceError without an index, or if that
        leaves out the scan, TargetError for rows or a predicate that do not fit.
        """
        from predtrace.lineage.forward import forward

        check_engine(engine)
        with of_record(self.id):
            return forward(
                self.record,
                self.folder,
                scan,
                where,
                rows,
                self.output_arrow,
                aggregates=aggregates,
                engine=engine,
                spark=spark or self._session,
            )

    def __repr__(self) -> str:
        return f"<JobHandle {self.id}>"


@reads_deep_trees
def open_job(
    store: str | os.PathLike[str], job_id: str, spark: SparkSession | None = None
) -> JobHandle:
    """A job saved earlier, also by another process; `job_id` may be the beginning of an id.

    Needs no Spark. Raises StoreError if there is no such job, JobFormatError if its file
    is corrupt or from a newer version.
    """
    found = JobStore(store)
    folder = found.folder(job_id).resolve()
    version = record_version(folder)
    record = read_record(folder)
    return JobHandle(
        record.id,
        spark,
        record=record,
        folder=folder,
        version=version,
        front_end=record.front_end,
    )
