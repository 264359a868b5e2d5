"""Asking a job a lineage question: checks the question, then lets the mode answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.jobs.model import Job
from predtrace.lineage.answer import Lineage
from predtrace.lineage.caveats import unrecorded
from predtrace.lineage.context import QuestionContext, choose_plan
from predtrace.lineage.engine_choice import check_engine
from predtrace.lineage.modes import mode_named
from predtrace.lineage.source_cache import check_limit
from predtrace.targets.checking import check_target
from predtrace.targets.found import labelled_for
from predtrace.vocabulary import AUTO, CACHE_LIMIT
from predtrace.vocabulary import Engine as Engines
from pushdown.graph import OperatorGraph

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ask(
    job: Job,
    folder: Path,
    target: Any,
    mode: str = AUTO,
    engine: str = Engines.auto,
    aggregates: str | None = None,
    spark: SparkSession | None = None,
    cache_limit: int | None = CACHE_LIMIT,
) -> Lineage:
    """The lineage of a target in a job whose stored results lie in `folder`.

    Checks names, types, sources and that the engine can answer; rows are computed when they are
    read. Raises TargetError, SourceError, EngineError or PredTraceError; each names the problem and
    the way out.
    """
    check_engine(engine)
    check_limit(cache_limit)
    plan = choose_plan(job, aggregates)
    graph = OperatorGraph(job.graph, job.root)
    specs = check_target(target, graph.output(), job.settings)
    plan = labelled_for(specs, plan)
    context = QuestionContext(job, folder, plan, graph, specs, engine, spark, cache_limit)
    return mode_named(mode).answer(context, unrecorded(job))
