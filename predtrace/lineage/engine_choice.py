"""The choice of an engine: DuckDB where that is exact, else Spark, in the user's session or a new
one."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from predtrace.engines.base import Engine, LookedUp, ScanRequest, Targets
from predtrace.engines.duckdb.engine import DuckDBEngine
from predtrace.engines.duckdb.exact_types import readable
from predtrace.engines.values import target_table
from predtrace.environment.sessions import STOPPED, active_session, is_running
from predtrace.errors import EngineError
from predtrace.jobs.model import Job
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
) -> tuple[Engine, list[str]]:
    """The engine to answer with, and notes on why it is not DuckDB.

    Targets are looked up in `output`. ``auto`` is DuckDB where that is exact, else Spark. Raises
    EngineError if DuckDB is asked for and cannot answer exactly.
    """
    check_engine(engine)
    if engine == SPARK:
        return _spark_engine(spark), []
    embedded = DuckDBEngine()
    problem = _duckdb_problem(embedded, job, specs, requests, output)
    if problem is None:
        return embedded, []
    if engine == DUCKDB:
        raise EngineError(f"DuckDB cannot answer this exactly: {problem}; use engine='spark'")
    return _spark_engine(spark), [f"answered by Spark, since for DuckDB {problem}"]


def engine_for(
    job: Job,
    bindings: Sequence[LookedUp],
    engine: str,
    spark: SparkSession | None,
) -> tuple[Engine, str | None]:
    """The engine that computes results again; if DuckDB was a candidate, why it was not chosen."""
    check_engine(engine)
    if engine == SPARK:
        return _spark_engine(spark), None
    embedded = DuckDBEngine()
    problems = (embedded.binding_inexactness(binding, job.settings) for binding in bindings)
    problem = next(filter(None, problems), None)
    if problem is None:
        return embedded, None
    if engine == DUCKDB:
        raise EngineError(f"DuckDB cannot compute this exactly: {problem}; use engine='spark'")
    return _spark_engine(spark), problem


def _duckdb_problem(
    engine: DuckDBEngine,
    job: Job,
    specs: TargetSpecs,
    requests: Mapping[int, ScanRequest],
    output: OutputOf | None,
) -> str | None:
    for column in specs.columns:
        if not readable(column.type):
            return f"the output column {column.name} is of type {type_name(column.type)}"
    found = engine.inexactness(list(requests.values()), job.settings)
    found = found or engine.expression_inexactness(specs.predicates, job.settings)
    if output is not None and job.output is None and found is None:
        lookups = (output(bindable(specs.columns), predicate) for predicate in specs.predicates)
        problems = (engine.binding_inexactness(binding, job.settings) for binding in lookups)
        found = next(filter(None, problems), None)
    if found is not None:
        return found
    try:
        # The files have to be opened to see what they really hold.
        nothing = Targets(target_table([], []), (), False)
        engine.open(nothing, job.settings).check(list(requests.values()))
    except EngineError as error:
        return str(error)
    return None


_kept_sessions = ExitStack()


def _spark_engine(spark: SparkSession | None) -> Engine:
    from predtrace.engines.spark.engine import SparkEngine

    if spark is not None and not is_running(spark):
        raise EngineError(STOPPED)
    return SparkEngine(spark or active_session() or _local_session())


def _local_session() -> SparkSession:
    """A local session for the rest of the process."""
    from predtrace.environment.local_spark import local_session

    session = _kept_sessions.enter_context(local_session())
    atexit.register(_kept_sessions.close)
    return session
