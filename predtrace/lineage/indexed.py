"""Asking a job's row-id index, and when to go on without it."""

from __future__ import annotations

from pathlib import Path

from predtrace.engines.base import Engine, ScanRequest
from predtrace.errors import ArrayFormatError, PredTraceError, StoreError
from predtrace.index.file import JobIndex, open_index
from predtrace.index.lookup import IndexEngine, IndexQuestion, Ordinary
from predtrace.index.targets import IndexedTargets, output_of, output_rows
from predtrace.jobs.model import Job
from predtrace.jobs.store import index_file
from predtrace.lineage.answer import Lineage
from predtrace.lineage.ask import Asked, choose_engine, usable
from predtrace.lineage.modes import AUTO, INDEXED, choose_mode
from predtrace.lineage.requests import bare_requests, scan_requests


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


def ask_index(asked: Asked, notes: list[str], *, strict: bool) -> Lineage | None:
    """The answer from the job's index.

    Where the index does not cover the target, or cannot be read, the answer is None and a
    note says why; with `strict` that is an error.
    """
    try:
        index = _index_for(asked)
        question = _question(asked, index, notes, strict)
        covered = index.complete or index.covers(question.indexed.places)
    except StoreError as error:
        if strict:
            raise
        notes.append(f"the row-id index was not used: {error}")
        return None
    if not covered:
        problem = f"the row-id index of job {asked.job.id} leaves out a target row"
        if strict:
            raise PredTraceError(f"{problem}; ask with mode='auto', or build it for all rows")
        notes.append(problem)
        return None
    scans = asked.graph.scans()
    requests = bare_requests(asked.job, asked.graph)
    if not strict:
        notes.append(f"mode {INDEXED}: the job has a row-id index")
        left_out = [f"{scan.table}[{scan.occurrence}]" for scan in scans if scan.id not in index]
        if left_out:
            notes.append(f"not in the index, and answered without it: {', '.join(left_out)}")
    given = len(asked.wishes.targets)
    return Lineage(question, asked.plan, requests, scans, INDEXED, given, notes)


def _index_for(asked: Asked) -> JobIndex:
    index = stored_index(asked.job, asked.folder, asked.plan.aggregates)
    if index is None:
        raise StoreError(f"{index_file(asked.folder, asked.plan.aggregates)} is gone")
    return index


def _question(asked: Asked, index: JobIndex, notes: list[str], strict: bool) -> IndexQuestion:
    output = output_of(asked.job, asked.folder)

    def find_targets() -> IndexedTargets:
        numbers, places = output_rows(asked.wishes, output, asked.job, asked.folder, evaluator)
        return IndexedTargets(output, numbers, places, asked.wishes.numbered)

    def evaluator() -> Engine:
        return choose_engine(asked.job, asked.wishes, {}, asked.engine, asked.spark)[0]

    def requests() -> dict[int, ScanRequest]:
        there = usable(asked.job, asked.folder, asked.plan, AUTO, notes)
        mode, _ = choose_mode(there, asked.plan, AUTO)
        return scan_requests(there, asked.graph, asked.plan, mode, asked.folder)

    def chosen(requests: dict[int, ScanRequest]) -> Engine:
        return choose_engine(asked.job, asked.wishes, requests, asked.engine, asked.spark)[0]

    def reader(request: ScanRequest) -> Engine:
        return chosen({request.node: request})

    engine = IndexEngine(
        index, asked.job, Ordinary(requests, chosen), reader, strict=strict, notes=notes
    )
    return IndexQuestion(engine, asked.job, find_targets)
