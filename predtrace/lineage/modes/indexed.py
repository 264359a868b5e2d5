"""Mode ``indexed``: looks source rows up by number in the job's row-id index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from predtrace.engines.base import Answering, Engine, ScanRequest
from predtrace.errors import ArrayFormatError, PredTraceError, StoreError
from predtrace.index.file import JobIndex, open_index
from predtrace.index.lookup import IndexLookup, Ordinary
from predtrace.index.targets import IndexedTargets, output_of, output_rows
from predtrace.jobs.model import Job
from predtrace.jobs.store import index_file
from predtrace.lineage.answer import Lineage
from predtrace.lineage.context import QuestionContext, usable
from predtrace.lineage.engine_choice import choose_engine
from predtrace.lineage.modes.base import Mode
from predtrace.lineage.modes.choice import choose
from predtrace.lineage.question import Question
from predtrace.lineage.requests import bare_requests
from predtrace.vocabulary import AUTO, INDEXED


class IndexedMode(Mode):
    """Takes row numbers from the index, and refuses what the index leaves out."""

    @property
    def name(self) -> str:
        """``indexed``."""
        return INDEXED

    def answer(self, context: QuestionContext, notes: list[str]) -> Lineage:
        """The answer from the index."""
        job, plan = context.job, context.plan
        answer = indexed_answer(context, notes, strict=True) if has_index(context) else None
        if answer is not None:
            return answer
        usable(job, context.folder, plan, INDEXED, notes)
        raise PredTraceError(
            f"job {job.id} has no row-id index for aggregates={plan.aggregates!r}; build one with "
            f"build_index() or: predtrace index {job.id}"
        )


def has_index(context: QuestionContext) -> bool:
    """Whether the job has an index for the reading of min and max."""
    return index_file(context.folder, context.plan.aggregates).exists()


def stored_index(job: Job, folder: Path, aggregates: str) -> JobIndex | None:
    """The job's index for one reading of min and max, if it has one.

    Raises StoreError if it cannot be read, ArrayFormatError if it is damaged or of another job.
    """
    path = index_file(folder, aggregates)
    if not path.exists():
        return None
    index = open_index(path)
    if (index.head.job, index.head.aggregates) != (job.id, aggregates):
        raise ArrayFormatError(
            f"{path} is the index of another job, {index.head.job}; build the index again"
        )
    return index


def indexed_answer(context: QuestionContext, notes: list[str], *, strict: bool) -> Lineage | None:
    """The answer from the job's index.

    If the index does not cover the target, or cannot be read, the answer is None and a note says
    why; with `strict` that is an error. Scans that the index leaves out for a covered target are
    answered without it; with `strict` they are refused.
    """
    try:
        index = _index_for(context)
        question = IndexQuestion(context, index, notes, strict=strict)
        covered = index.complete or index.covers(question.indexed.places)
    except StoreError as error:
        if strict:
            raise
        notes.append(f"the row-id index was not used: {error}")
        return None
    if not covered:
        problem = f"the row-id index of job {context.job.id} leaves out a target row"
        if strict:
            raise PredTraceError(f"{problem}; ask with mode='auto', or build it for all rows")
        notes.append(problem)
        return None
    scans = context.graph.scans()
    requests = bare_requests(context.job, context.graph)
    if not strict:
        notes.append(f"mode {INDEXED}: the job has a row-id index")
        left_out = [f"{scan.table}[{scan.occurrence}]" for scan in scans if scan.id not in index]
        if left_out:
            notes.append(f"not in the index, and answered without it: {', '.join(left_out)}")
    given = len(context.specs.targets)
    return Lineage(question, context.plan, requests, scans, INDEXED, given, notes)


class IndexQuestion(Question):
    """A question whose row numbers are looked up."""

    def __init__(
        self,
        context: QuestionContext,
        index: JobIndex,
        notes: list[str],
        *,
        strict: bool,
    ) -> None:
        super().__init__(context.job, self._found_targets)
        self._context = context
        self._notes = notes
        self._lookup = IndexLookup(
            index,
            context.job,
            lambda: self.indexed,
            Ordinary(self._ordinary_requests, self._engine),
            lambda request: self._engine({request.node: request}),
            strict=strict,
            notes=notes,
        )

    @property
    def indexed(self) -> IndexedTargets:
        """The target rows with their places in the output."""
        targets = self.targets
        assert isinstance(targets, IndexedTargets)
        return targets

    @property
    def answered_by(self) -> str:
        """``index``: no engine selects rows."""
        return "index"

    @property
    def evaluation(self) -> Answering:
        """The lookup in the index."""
        return self._lookup

    def looks_up(self, requests: Sequence[ScanRequest]) -> bool:
        """Whether the index has all these scans."""
        return self._lookup.holds(requests)

    def selecting(self, requests: Sequence[ScanRequest]) -> Sequence[ScanRequest]:
        """The requests of the mode that would answer without the index."""
        return self._lookup.ordinary.of(requests)

    def _found_targets(self) -> IndexedTargets:
        asked = self._context
        output = output_of(asked.job, asked.folder)
        numbers, places = output_rows(
            asked.specs, output, asked.job, asked.folder, lambda: self._engine({})
        )
        return IndexedTargets(output, numbers, places, asked.specs.numbered)

    def _ordinary_requests(self) -> dict[int, ScanRequest]:
        asked = self._context
        there = usable(asked.job, asked.folder, asked.plan, AUTO, self._notes)
        mode, _ = choose(there, asked.plan)
        return mode.requests(there, asked.graph, asked.plan, asked.folder)

    def _engine(self, requests: dict[int, ScanRequest]) -> Engine:
        asked = self._context
        engine, notes = choose_engine(
            asked.job, asked.specs, requests, asked.engine, asked.spark, cache=asked.cache
        )
        self._notes += [note for note in notes if note not in self._notes]
        return engine


def _index_for(context: QuestionContext) -> JobIndex:
    index = stored_index(context.job, context.folder, context.plan.aggregates)
    if index is None:
        raise StoreError(f"{index_file(context.folder, context.plan.aggregates)} is gone")
    return index
