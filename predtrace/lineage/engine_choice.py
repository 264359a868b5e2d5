"""The choice of an engine: DuckDB where that is exact, else Spark, in the user's session or a new
one.

What only Spark reads exactly can be cached, so that DuckDB answers.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from predtrace.engines.base import (
    Engine,
    LookedUp,
    ScanRequest,
    TargetBinding,
    Targets,
    bindings_of,
    scans_of,
    spread,
)
from predtrace.engines.duckdb.engine import DuckDBEngine
from predtrace.engines.duckdb.exact_types import readable
from predtrace.engines.values import target_table
from predtrace.environment.sessions import STOPPED, active_session, is_running
from predtrace.errors import EngineError
from predtrace.jobs.model import EngineSettings, Job, Source
from predtrace.lineage.source_cache import SourceCache
from predtrace.targets.found import OutputOf
from predtrace.targets.specs import TargetSpecs, bindable
from predtrace.vocabulary import DUCKDB, SPARK, words
from predtrace.vocabulary import Engine as Engines
from symbolic.types import type_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_engine(engine: str) -> None:
    """Raise EngineError if no engine has this name."""
    if engine not in list(Engines):
        raise EngineError(f"there is no engine {engine!r}; use one of {words(Engines)}")


def choose_engine(
    job: Job,
    specs: TargetSpecs,
    requests: Mapping[int, ScanRequest],
    engine: str,
    spark: SparkSession | None,
    output: OutputOf | None = None,
    cache: SourceCache | None = None,
) -> tuple[Engine, list[str]]:
    """The engine to answer with, and notes on why it is not DuckDB.

    Targets are looked up in `output`. ``auto`` is DuckDB where that is exact, else Spark. Sources
    that keep DuckDB from answering are added to the `cache` first. Raises EngineError if DuckDB is
    asked for and cannot answer exactly, SourceError if a source to be cached changed.
    """
    check_engine(engine)
    if engine == SPARK:
        return _spark_engine(spark), []
    asked = _asked(job, specs, requests, output)
    embedded = DuckDBEngine({} if cache is None else cache.found)
    problem = asked.problem(embedded)
    if problem is None:
        return embedded, []
    notes: list[str] = []
    if cache is not None and (unread := asked.unread(embedded)):
        promised = asked.problem_by_record(DuckDBEngine(cache.with_planned(unread)))
        if engine == DUCKDB and promised is None:
            raise EngineError(
                f"DuckDB cannot answer this exactly: {problem}; ask once with engine='auto', "
                "which has Spark read it into the job's cache, or use engine='spark'"
            )
        problem = promised or problem
        if promised is None and cache.limit != 0:
            notes = cache.add(unread, lambda: _session(spark))
            embedded = DuckDBEngine(cache.found)
            problem = asked.problem(embedded)
            if problem is None:
                return embedded, notes
    if engine == DUCKDB:
        raise EngineError(f"DuckDB cannot answer this exactly: {problem}; use engine='spark'")
    return _spark_engine(spark), [*notes, f"answered by Spark, since for DuckDB {problem}"]


def engine_for(
    job: Job,
    bindings: Sequence[LookedUp],
    engine: str,
    spark: SparkSession | None,
    cache: SourceCache | None = None,
) -> tuple[Engine, str | None]:
    """The engine that computes results again; if DuckDB was a candidate, why it was not chosen."""
    check_engine(engine)
    if engine == SPARK:
        return _spark_engine(spark), None
    embedded = DuckDBEngine({} if cache is None else cache.found)
    problems = (embedded.binding_inexactness(binding, job.settings) for binding in bindings)
    problem = next(filter(None, problems), None)
    if problem is None:
        return embedded, None
    if engine == DUCKDB:
        raise EngineError(f"DuckDB cannot compute this exactly: {problem}; use engine='spark'")
    return _spark_engine(spark), problem


class _Asked(NamedTuple):
    """What an engine has to evaluate for a question: requests, and lookups in the output."""

    settings: EngineSettings
    specs: TargetSpecs
    requests: list[ScanRequest]
    lookups: list[LookedUp]

    def problem(self, engine: DuckDBEngine) -> str | None:
        """Why DuckDB cannot answer exactly; None if it can."""
        found = self.problem_by_record(engine)
        # The files have to be opened to see what they really hold.
        return found or _misread(engine, self.requests, self.settings)

    def problem_by_record(self, engine: DuckDBEngine) -> str | None:
        """The same, as far as the job's record tells."""
        for column in self.specs.columns:
            if not readable(column.type):
                return f"the output column {column.name} is of type {type_name(column.type)}"
        found = engine.inexactness(self.requests, self.settings)
        found = found or engine.expression_inexactness(self.specs.predicates, self.settings)
        problems = (engine.binding_inexactness(lookup, self.settings) for lookup in self.lookups)
        return found or next(filter(None, problems), None)

    def unread(self, engine: DuckDBEngine) -> list[Source]:
        """The sources that DuckDB does not read as Spark does, by the record or by their files."""
        bindings = (*bindings_of(self.requests), *self.lookups)
        scans = [*spread(self.requests), *(scan for one in bindings for scan in scans_of(one))]
        alone = [replace(scan, binding=TargetBinding(), also=()) for scan in scans]
        found = {
            scan.source.name: scan.source
            for scan in alone
            if scan.source.is_there
            and (
                engine.scan_inexactness(scan, self.settings)
                or _misread(engine, [scan], self.settings)
            )
        }
        return list(found.values())


def _asked(
    job: Job,
    specs: TargetSpecs,
    requests: Mapping[int, ScanRequest],
    output: OutputOf | None,
) -> _Asked:
    lookups: list[LookedUp] = []
    if output is not None and job.output is None:
        lookups = [output(bindable(specs.columns), one) for one in specs.predicates]
    return _Asked(job.settings, specs, list(requests.values()), lookups)


def _misread(
    engine: DuckDBEngine, requests: Sequence[ScanRequest], settings: EngineSettings
) -> str | None:
    """Why DuckDB reads files of the requests otherwise than Spark; None if it does not."""
    try:
        nothing = Targets(target_table([], []), (), False)
        engine.open(nothing, settings).check(requests)
    except EngineError as error:
        return str(error)
    return None


_kept_sessions = ExitStack()


def _spark_engine(spark: SparkSession | None) -> Engine:
    from predtrace.engines.spark.engine import SparkEngine

    return SparkEngine(_session(spark), DuckDBEngine())


def _session(spark: SparkSession | None) -> SparkSession:
    """The session to use: the given one, else the user's, else a local one."""
    if spark is not None and not is_running(spark):
        raise EngineError(STOPPED)
    return spark or active_session() or _local_session()


def _local_session() -> SparkSession:
    """A local session for the rest of the process."""
    from predtrace.environment.local_spark import local_session

    session = _kept_sessions.enter_context(local_session())
    atexit.register(_kept_sessions.close)
    return session
