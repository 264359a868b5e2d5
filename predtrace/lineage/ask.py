"""Asking a job a lineage question: which plan, which engine, which requests."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from predtrace.engines.base import (
    Engine,
    Evaluation,
    LookedUp,
    ScanRequest,
    Targets,
)
from predtrace.engines.duckdb.engine import DuckDBEngine
from predtrace.engines.duckdb.exactness import readable
from predtrace.engines.values import target_table
from predtrace.environment.sessions import STOPPED, active_session, is_running
from predtrace.errors import (
    EngineError,
    NonDeterministicError,
    PredTraceError,
    StoreError,
    TargetError,
)
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job, Source
from predtrace.jobs.results import check_results, check_stored
from predtrace.jobs.snapshot import links_out, unchanged
from predtrace.jobs.store import index_file
from predtrace.lineage.answer import Lineage, Question, check_sources
from predtrace.lineage.modes import AUTO, INDEXED, STORED, choose_mode, labelled_plan
from predtrace.lineage.requests import refuse_unrepeatable, replayed_output, scan_requests
from predtrace.targets.target import (
    OutputOf,
    Wishes,
    bindable,
    check_target,
    found_targets,
    labelled_for,
    stored_output,
    trusted_targets,
)
from pushdown.graph import OperatorGraph
from pushdown.operators import GroupBy, Scan
from symbolic.functions import AGGREGATES
from symbolic.types import type_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("auto", "duckdb", "spark")
_UNSEALED = (
    "the job was saved without checksums: damage to its stored results shows only where their "
    "sizes differ"
)
_UNSET = (
    "the job was saved without all of its settings: those of the session that asks are taken, "
    "by DuckDB Spark's defaults"
)
_UNSAMPLED = (
    "the job was saved without fingerprints of its sources: a change of them shows only in sizes "
    "and times"
)


class Asked(NamedTuple):
    """A question whose names and types are checked, with what it was asked with."""

    job: Job
    folder: Path
    plan: LineagePlan
    graph: OperatorGraph
    wishes: Wishes
    engine: str
    spark: SparkSession | None


def ask(
    job: Job,
    folder: Path,
    target: Any,
    mode: str = "auto",
    engine: str = "auto",
    aggregates: str | None = None,
    spark: SparkSession | None = None,
) -> Lineage:
    """The lineage of a target in a job whose stored results lie in `folder`.

    Checks names, types, sources and that the engine can answer; rows are computed when
    they are read. Raises TargetError, SourceError, EngineError or PredTraceError, each
    naming the thing and the way out.
    """
    check_engine(engine)
    plan = choose_plan(job, aggregates)
    graph = OperatorGraph(job.graph, job.root)
    wishes = check_target(target, graph.output(), job.settings)
    plan = labelled_for(wishes, plan)
    notes = _lacking(job)
    if mode in (AUTO, INDEXED) and index_file(folder, plan.aggregates).exists():
        from predtrace.lineage.indexed import ask_index

        asked = Asked(job, folder, plan, graph, wishes, engine, spark)
        answer = ask_index(asked, notes, strict=mode == INDEXED)
        if answer is not None:
            return answer
    there = usable(job, folder, plan, mode, notes)
    chosen_mode, reason = choose_mode(there, plan, mode)
    scans = graph.scans()
    sources = [source for source in job.sources if _is_read(source.name, scans)]
    check_sources(sources)
    notes += _elsewhere(sources)
    try:
        requests = scan_requests(there, graph, plan, chosen_mode, folder)
    except NonDeterministicError as error:
        if there is job:
            raise
        raise StoreError(f"{error}; {notes[-1]}") from error
    output = _output(job, folder, graph, wishes)
    chosen, more = choose_engine(job, wishes, requests, engine, spark, output)
    notes += more
    if output is None:
        targets = trusted_targets(wishes)
        question = Question(chosen, job, lambda: targets, trusted=True)
        notes.append("the output was not kept: the target is taken on trust")
    else:
        if job.output is None:
            notes.append("the output was not kept: the target is looked for in a replay of it")
        replayed = sources if job.output is None else ()

        def find() -> Targets:
            with unchanged(replayed):
                return found_targets(wishes, output, lambda given: _open(chosen, given, job))

        question = Question(chosen, job, find)
    if mode == AUTO:
        notes.insert(0, f"mode {chosen_mode}: {reason}")
    plan = labelled_for(wishes, labelled_plan(job, plan, chosen_mode))
    return Lineage(question, plan, requests, scans, chosen_mode, len(wishes.targets), notes)


def usable(job: Job, folder: Path, plan: LineagePlan, mode: str, notes: list[str]) -> Job:
    """The job as far as its stored results are as they were written; notes say what is not.

    ``auto`` does without intermediate results if one that the plan looks up is damaged. Raises
    StoreError if the output is, or an intermediate result that the mode asks for.
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


def _lacking(job: Job) -> list[str]:
    """Notes on what the record of an earlier version does not have."""
    results = [item.result for item in job.intermediates]
    results += [] if job.output is None else [job.output]
    files = [file for source in job.sources for file in source.files]
    found = []
    if not all(result.files for result in results):
        found.append(_UNSEALED)
    if not all(file.fingerprint for file in files):
        found.append(_UNSAMPLED)
    if not job.settings.conf:
        found.append(_UNSET)
    return found


def _elsewhere(sources: Sequence[Source]) -> list[str]:
    """Notes on files that lie elsewhere than the record says."""
    found = ((source, links_out(source)) for source in sources)
    return [
        f"source {source.name}: {links[0]}, outside of its paths"
        + (f" (and {len(links) - 1} more)" if len(links) > 1 else "")
        for source, links in found
        if links
    ]


def _output(job: Job, folder: Path, graph: OperatorGraph, wishes: Wishes) -> OutputOf | None:
    """Where to look the targets up; None for complete rows of an output that was not kept."""
    if job.output is not None:
        return stored_output(job.output, folder)
    if all(wanted.complete for wanted in wishes.targets):
        return None
    try:
        refuse_unrepeatable(graph, job.root)
    except NonDeterministicError as error:
        raise TargetError(
            f"the job did not keep its output, and another run need not give the same ({error}); "
            "give every column of the row, or run again with keep_output=True"
        ) from error
    return lambda columns, predicate: replayed_output(job, graph, columns, predicate)


def _open(engine: Engine, targets: Targets, job: Job) -> Evaluation:
    return engine.open(targets, job.settings)


def _is_read(name: str, scans: tuple[Scan, ...]) -> bool:
    return any(scan.table == name for scan in scans)


def choose_plan(job: Job, aggregates: str | None) -> LineagePlan:
    """The job's plan for a reading of min and max; without one, minimal if it is there.

    Raises PredTraceError for a reading that the job was not run for, unless the pipeline
    has no group whose lineage depends on it.
    """
    plans = {plan.aggregates: plan for plan in job.plans}
    if aggregates is None:
        return plans.get("minimal") or job.plans[0]
    if aggregates not in ("minimal", "whole"):
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
    """Whether some group has only min and max, so that the readings of them can differ."""
    return any(
        isinstance(operator, GroupBy)
        and operator.aggregations
        and all(AGGREGATES[a.call.function].attained for a in operator.aggregations)
        for operator in job.graph
    )


def check_engine(engine: str) -> None:
    """Raise EngineError for the name of no engine."""
    if engine not in ENGINES:
        raise EngineError(f"there is no engine {engine!r}; use one of {', '.join(ENGINES)}")


def choose_engine(
    job: Job,
    wishes: Wishes,
    requests: Mapping[int, ScanRequest],
    engine: str,
    spark: SparkSession | None,
    output: OutputOf | None = None,
) -> tuple[Engine, list[str]]:
    """The engine to answer with, and notes on why it is not DuckDB.

    `output` is where targets are looked up. ``auto`` is DuckDB where that is exact, else
    Spark. Raises EngineError if DuckDB is asked for and cannot answer exactly.
    """
    check_engine(engine)
    if engine == "spark":
        return _spark_engine(spark), []
    embedded = DuckDBEngine()
    problem = _duckdb_problem(embedded, job, wishes, requests, output)
    if problem is None:
        return embedded, []
    if engine == "duckdb":
        raise EngineError(f"DuckDB cannot answer this exactly: {problem}; use engine='spark'")
    return _spark_engine(spark), [f"answered by Spark, since for DuckDB {problem}"]


def engine_for(
    job: Job,
    links: Sequence[LookedUp],
    engine: str,
    spark: SparkSession | None,
) -> tuple[Engine, str | None]:
    """The engine that computes results again, and why it is not DuckDB (if it might be)."""
    check_engine(engine)
    if engine == "spark":
        return _spark_engine(spark), None
    embedded = DuckDBEngine()
    obstacles = (embedded.link_obstacle(link, job.settings) for link in links)
    problem = next(filter(None, obstacles), None)
    if problem is None:
        return embedded, None
    if engine == "duckdb":
        raise EngineError(f"DuckDB cannot compute this exactly: {problem}; use engine='spark'")
    return _spark_engine(spark), problem


def _duckdb_problem(
    engine: DuckDBEngine,
    job: Job,
    wishes: Wishes,
    requests: Mapping[int, ScanRequest],
    output: OutputOf | None,
) -> str | None:
    for column in wishes.columns:
        if not readable(column.type):
            return f"the output column {column.name} is of type {type_name(column.type)}"
    found = engine.obstacle(list(requests.values()), job.settings)
    found = found or engine.expression_obstacle(wishes.predicates, job.settings)
    if output is not None and job.output is None and found is None:
        lookups = (output(bindable(wishes.columns), predicate) for predicate in wishes.predicates)
        obstacles = (engine.link_obstacle(link, job.settings) for link in lookups)
        found = next(filter(None, obstacles), None)
    if found is not None:
        return found
    try:
        # What the files really hold shows only when they are opened.
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
