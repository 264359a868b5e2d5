"""The common part of the modes that select lineage in the sources."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from predtrace.engines.base import Engine, ScanRequest, Targets
from predtrace.errors import NonDeterministicError, StoreError, TargetError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job
from predtrace.jobs.snapshot import unchanged
from predtrace.lineage.answer import Lineage
from predtrace.lineage.caveats import elsewhere
from predtrace.lineage.context import QuestionContext, usable
from predtrace.lineage.engine_choice import choose_engine
from predtrace.lineage.functions import answerable
from predtrace.lineage.modes.base import Mode
from predtrace.lineage.question import EngineQuestion
from predtrace.lineage.replays import refuse_unrepeatable, replayed_output
from predtrace.lineage.source_cache import check_unchanged
from predtrace.targets.found import (
    OutputOf,
    found_targets,
    labelled_for,
    stored_output,
    trusted_targets,
)
from pushdown.graph import OperatorGraph


class SourceMode(Mode):
    """A mode that asks an engine for the rows of each scan."""

    @abstractmethod
    def refuse(self, job: Job, plan: LineagePlan) -> None:
        """Raise PredTraceError if the job lacks what the mode needs."""

    @abstractmethod
    def labelled(self, job: Job, plan: LineagePlan) -> LineagePlan:
        """The plan with the mode's predicates and labels of scans."""

    @abstractmethod
    def requests(
        self, job: Job, graph: OperatorGraph, plan: LineagePlan, folder: Path
    ) -> dict[int, ScanRequest]:
        """The request to an engine for each scan, by node.

        Raises NonDeterministicError if a replay may not repeat what the job did.
        """

    def answer(self, context: QuestionContext, notes: list[str]) -> Lineage:
        """The answer from the sources and from undamaged stored results."""
        there = usable(context.job, context.folder, context.plan, self.name, notes)
        self.refuse(there, context.plan)
        return self.answer_with(there, context, notes)

    def answer_with(self, there: Job, context: QuestionContext, notes: list[str]) -> Lineage:
        """The answer from the sources and from the stored results that are `there`."""
        job, graph = context.job, context.graph
        scans = graph.scans()
        read = {scan.table for scan in scans}
        sources = [source for source in job.sources if source.name in read]
        # Rows that were not kept are refused when they are read.
        there_still = [source for source in sources if source.is_there]
        check_unchanged(job, context.folder, there_still)
        notes += elsewhere(sources)
        try:
            requests = self.requests(there, graph, context.plan, context.folder)
        except NonDeterministicError as error:
            if there is job:
                raise
            raise StoreError(f"{error}; {notes[-1]}") from error
        plan = labelled_for(context.specs, self.labelled(job, context.plan))
        requests, plan = answerable(requests, plan)
        output = _output(context)
        engine, more = choose_engine(
            job, context.specs, requests, context.engine, context.spark, output, context.cache
        )
        notes += more
        question = _question(context, engine, output, notes)
        given = len(context.specs.targets)
        return Lineage(question, plan, requests, scans, self.name, given, notes)


def _question(
    context: QuestionContext, engine: Engine, output: OutputOf | None, notes: list[str]
) -> EngineQuestion:
    """The question on the engine; targets are found in the output, if there is one."""
    job, specs = context.job, context.specs
    if output is None:
        targets = trusted_targets(specs)
        notes.append("the output was not kept: the target is taken on trust")
        return EngineQuestion(engine, job, lambda: targets, trusted=True)
    if job.output is None:
        notes.append("the output was not kept: the target is looked up in a replay of it")
    read = {scan.table for scan in context.graph.scans()}
    replayed = [source for source in job.sources if source.name in read]

    def find() -> Targets:
        with unchanged(replayed if job.output is None else ()):
            return found_targets(specs, output, lambda given: engine.open(given, job.settings))

    return EngineQuestion(engine, job, find)


def _output(context: QuestionContext) -> OutputOf | None:
    """The output to look targets up in; None for complete rows of an output that was not kept."""
    job, graph = context.job, context.graph
    if job.output is not None:
        return stored_output(job.output, context.folder)
    if all(spec.complete for spec in context.specs.targets):
        return None
    try:
        refuse_unrepeatable(graph, job.root)
    except NonDeterministicError as error:
        raise TargetError(
            f"the job did not keep its output, and another run may not give the same ({error}); "
            "give every column of the row, or run again with keep_output=True"
        ) from error
    return lambda columns, predicate: replayed_output(job, graph, columns, predicate)
