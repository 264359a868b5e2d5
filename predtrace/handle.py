"""The handle of a job: its output, questions about its rows, and maintenance of stored results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from predtrace.environment.recursion import reads_deep_trees
from predtrace.environment.sessions import is_running
from predtrace.errors import PredTraceError
from predtrace.frontends.installed import named_front_end
from predtrace.jobs.boundary import of_record
from predtrace.jobs.caches import cached_bytes, drop
from predtrace.jobs.function_results import remember
from predtrace.jobs.model import Job, StoredResult
from predtrace.jobs.results import check_stored
from predtrace.jobs.store import read_record, record_version
from predtrace.lineage.answer import Lineage
from predtrace.lineage.ask import ask
from predtrace.lineage.engine_choice import check_engine
from predtrace.lineage.functions import give
from predtrace.maintenance.commit import Commit
from predtrace.vocabulary import AUTO, CACHE_LIMIT

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from predtrace.index.summary import IndexSummary
    from predtrace.lineage.forward import Reached
    from predtrace.maintenance.indexing import Steps


class JobHandle:
    """A finished run: its output and its lineage.

    After ``keep="late"`` the output is available at once. Everything else waits until the
    intermediate results are stored, and raises StoreError if that failed.
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
        front_end: str,
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
        """Wait until the job is saved; returns the handle. Raises StoreError if saving failed."""
        if self._record is None:
            assert self._work is not None
            self._record, self._folder = self._work.wait()
        return self

    @property
    @reads_deep_trees
    def record(self) -> Job:
        """The saved record of the job, with all that was built since.

        Raises StoreError if the job is gone.
        """
        self.wait()
        assert self._record is not None
        version = record_version(self.folder)
        if version != self._version:
            self._record, self._version = read_record(self.folder), version
        remember(self._record, self.folder)
        return self._record

    @property
    def folder(self) -> Path:
        """The job's folder."""
        self.wait()
        assert self._folder is not None
        return self._folder

    @property
    def output(self) -> DataFrame:
        """The pipeline's output, of Spark's as a DataFrame: its names, types, metadata and order.

        Columns read back from the store are nullable by their schema. Raises PredTraceError if the
        output was not kept, or if there is no Spark session.
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
        """The names of the output's columns; they may repeat."""
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
        functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
        cache_limit: int | None = CACHE_LIMIT,
    ) -> Lineage:
        """The source rows behind output rows.

        `target` is a row, a tuple with all values, a dict with some columns, a SQL predicate over
        the output columns, or a list of these (the answer then has a ``target`` column, the
        position in the list). `engine` is ``duckdb`` (local Parquet, no JVM), ``spark``, or
        ``auto``: DuckDB where it is exact. `mode` is ``indexed`` (looks up row numbers; see
        `build_index`), ``stored`` (looks up the stored intermediate results), ``replayed``
        (computes them again from just enough of the sources), ``refined``, ``naive``, or ``auto``:
        the first of these that is available. `aggregates` is the reading of min and max, if the job
        has both. `functions` are Python functions that the job calls, by name. Sources of at most
        `cache_limit` bytes that only Spark reads (CSV, JSON, ORC, …) are read once into the job's
        cache if DuckDB can then answer; 0 adds nothing to it, None stands for no limit. Names,
        types and sources are checked now; rows are computed when read. Raises TargetError,
        SourceError, EngineError, NonDeterministicError or PredTraceError.
        """
        session = spark or self._session
        with of_record(self.id):
            give(self.record, functions)
            return ask(
                self.record, self.folder, target, mode, engine, aggregates, session, cache_limit
            )

    @property
    def cached_bytes(self) -> int:
        """The size of the sources that questions have cached, in bytes (see `lineage`)."""
        return cached_bytes(self.folder)

    def drop_cache(self) -> None:
        """Remove the cached sources; the next question that needs them has Spark read them again.

        Answers that were given before cannot be read any more.
        """
        drop(self.folder)

    @reads_deep_trees
    def build_intermediates(
        self, engine: str = AUTO, spark: SparkSession | None = None
    ) -> JobHandle:
        """Store now, from unchanged sources, the intermediate results that the job lacks.

        Questions are then lookups. All stored results, also the run's, are compacted to what the
        output looks up (`predtrace.maintenance.compaction`). Raises SourceError if a source changed
        since the job ran, NonDeterministicError if another run may not give the job's rows,
        EngineError or StoreError if it cannot be done. The job then stays unchanged.
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

        Questions are then lookups (mode ``indexed``), and forward questions are possible. `targets`
        restricts the index to some output rows (as in `lineage`), `scans` to some tables, aliases
        or occurrences (``lineitem[2]``). `limit` bounds the bytes of the row numbers before
        compression. `steps` is called with the name of each step and returns a context for the
        step. An index that covers the request is checked and kept (`IndexSummary.there`), unless
        `rebuild` is true. Raises SourceError if a source changed since the job ran, EngineError if
        rows have no numbers, StoreError beyond the limit or if the index cannot be written,
        PredTraceError if the output was not kept. The job then stays unchanged.
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

        `scan` is a table, an alias or an occurrence (``lineitem[2]``). The source rows are the rows
        that satisfy the SQL predicate `where` (an engine finds them in the source), or `rows`:
        numbers from 0 if the source is one file, or a table of ``file`` and ``row`` as `row_ids`
        returns it. Raises PredTraceError if there is no index or if it leaves out the scan,
        TargetError for rows or a predicate that do not fit.
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
