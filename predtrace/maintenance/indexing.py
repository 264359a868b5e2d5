"""Building a job's row-id index: all output rows at once, scan by scan.

One pass answers a scan for all groups of output rows (see `groups`). The engine joins the source
with the bound rows of all groups and streams pairs of group and row number, which never become
Python objects. The pass asks what a question to the job asks, so the index has the labels of such
answers.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from predtrace.engines.base import (
    TARGET,
    Engine,
    Evaluation,
    ScanRequest,
    Targets,
    physical_name,
)
from predtrace.errors import EngineError, StoreError
from predtrace.index.file import MOST_TURNED, JobIndex, ScanBlocks, write_index
from predtrace.index.groups import deciding_columns
from predtrace.index.naming import chosen_scans
from predtrace.index.numbering import RowNumbers
from predtrace.index.outputs import Output
from predtrace.index.targets import output_of, output_rows
from predtrace.jobs.model import Job, Source
from predtrace.jobs.snapshot import check_sources
from predtrace.lineage.context import choose_plan, usable
from predtrace.lineage.engine_choice import choose_engine
from predtrace.lineage.modes.choice import choose
from predtrace.lineage.modes.indexed import stored_index
from predtrace.lineage.source_cache import SourceCache
from predtrace.packed.boxes import Ints
from predtrace.packed.rowsets import RowIndex, normalized
from predtrace.targets.checking import check_target
from predtrace.targets.specs import TargetSpecs
from predtrace.vocabulary import AUTO, DUCKDB
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import FALSE, column_ids

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Steps = Callable[[str], AbstractContextManager[None]]
"""Called with the name of each step; the context spans the step."""

LIMIT = 400_000_000
"""The most bytes that the row numbers of an index may take before compression."""

_AT_ONCE = {DUCKDB: 2}
"""Scans answered at a time, by engine: one is compiled and encoded while another is read."""

_PLAIN = 4
"""Bytes of a plain row number."""


def build_index(
    job: Job,
    folder: Path,
    *,
    targets: Any = None,
    scans: Collection[str] | None = None,
    aggregates: str | None = None,
    limit: int = LIMIT,
    engine: str = AUTO,
    spark: SparkSession | None = None,
    steps: Steps = lambda name: nullcontext(),
    rebuild: bool = False,
) -> tuple[JobIndex, bool]:
    """Index a job's output rows, or those that `targets` names, by the scans' row numbers.

    Returns the index, and whether it existed already: an index that covers the request is kept,
    unless `rebuild` is true. `scans` are names of tables or aliases, with ``[n]`` for one
    occurrence; by default all scans. Raises TargetError or PredTraceError for names that do not
    fit, SourceError if a source changed since the job, EngineError if rows have no numbers,
    StoreError beyond the limit or if the index cannot be written. An existing index then stays.
    """
    started = time.perf_counter()
    plan = choose_plan(job, aggregates)
    graph = OperatorGraph(job.graph, job.root)
    chosen = chosen_scans(graph.scans(), scans)
    output = output_of(job, folder)
    everything = TargetSpecs(targets=(), numbered=True, columns=graph.output())
    specs = everything if targets is None else check_target(targets, graph.output(), job.settings)
    read = {scan.table for scan in graph.scans()}
    sources = [source for source in job.sources if source.name in read]
    _refuse_numberless(graph.scans(), chosen, sources)
    check_sources(sources)
    there = usable(job, folder, plan, AUTO, [])
    mode, _ = choose(there, plan)
    every = mode.requests(there, graph, plan, folder)
    requests = [_of_row_ids(every[scan.id]) for scan in chosen]
    asked = {request.node: request for request in requests}
    runner, _ = choose_engine(job, specs, asked, engine, spark, cache=SourceCache(job, folder))
    within = None
    if targets is not None:
        with steps("find the output rows"):
            within = np.unique(output_rows(specs, output, job, folder, lambda: runner)[1])
    # A damaged or foreign index is one to replace.
    with suppress(StoreError):
        known = stored_index(job, folder, plan.aggregates)
        if known is not None and not rebuild and _suffices(known, requests, within):
            known.check()
            return known, True
    batch = _Batch(job, output, runner, within, limit)
    names = [f"{scan.table}[{scan.occurrence}]" for scan in chosen]
    blocks = []
    with ThreadPoolExecutor(_AT_ONCE.get(runner.name, 1)) as pool:
        answers = pool.map(batch.scan, requests, names)
        for name in names:
            with steps(f"index {name}"):
                blocks.append(next(answers))
    # Only an unchanged source after the reads proves that the reads saw what the job read.
    check_sources(sources)
    with steps("write the index"):
        written = write_index(
            folder,
            job=job.id,
            aggregates=plan.aggregates,
            rows=len(output),
            covered=len(output) if within is None else len(within),
            groupings=batch.groupings,
            scans=blocks,
            started=started,
        )
    return written, False


def _refuse_numberless(
    scans: Sequence[Scan], chosen: Sequence[Scan], sources: Sequence[Source]
) -> None:
    """Raise EngineError if rows of a chosen scan have no numbers."""
    without = {source.name: source for source in sources if not source.has_row_numbers}
    source = next((without[scan.table] for scan in chosen if scan.table in without), None)
    if source is None:
        return
    others = sorted({scan.table for scan in scans} - set(without))
    typed = " ".join(f"--scan {shlex.quote(name)}" for name in others)
    rest = f"index only the others (scans={others}, {typed}), or " if others else ""
    raise EngineError(
        f"source {source.name} is {source.format}, whose rows have no numbers to index; {rest}"
        "keep it as Parquet"
    )


def _of_row_ids(request: ScanRequest) -> ScanRequest:
    """The request with only the columns that are needed to find the rows."""
    read = column_ids(request.predicate)
    columns = tuple(column for column in request.columns if column.id in read)
    return replace(request, columns=columns)


def _suffices(index: JobIndex, requests: Sequence[ScanRequest], within: Ints | None) -> bool:
    has_rows = index.complete if within is None else index.covers(within)
    return has_rows and all(request.node in index for request in requests)


class _Batch:
    """Answers scans for all output rows, or for those in `within`."""

    def __init__(
        self, job: Job, output: Output, engine: Engine, within: Ints | None, limit: int
    ) -> None:
        self._job = job
        self._output = output
        self._engine = engine
        self._within = within
        self._limit = limit
        self._used = 0
        self._lock = threading.Lock()
        self._numbers: dict[frozenset[int], int] = {}
        self._evaluations: list[Evaluation] = []
        self.groupings: list[Ints] = []

    def scan(self, request: ScanRequest, name: str) -> ScanBlocks:
        """The index of one scan; `name` is for errors."""
        with self._lock:
            grouping = self._grouping(deciding_columns(request))
        groups, rows = self._pairs(request, self._evaluations[grouping], name)
        if len(rows) > MOST_TURNED:
            # Pairs that are sorted by rows are cheap to sort by groups.
            rows, groups = normalized(rows, groups)
            with ThreadPoolExecutor(1) as pool:
                inverse = pool.submit(RowIndex.of_normalized, rows, groups)
                groups, rows = normalized(groups, rows)
                forth, back = RowIndex.of_normalized(groups, rows), inverse.result()
        else:
            groups, rows = normalized(groups, rows)
            forth, back = RowIndex.of_normalized(groups, rows), None
        members = np.bincount(self.groupings[grouping] + 1)[1:]
        sizes = np.bincount(groups, minlength=len(members))
        return ScanBlocks(
            node=request.node,
            grouping=grouping,
            forth=forth,
            back=back,
            pairs=len(rows),
            links=int(members @ sizes),
            source_rows=len(RowNumbers(request.source)),
        )

    def _grouping(self, columns: frozenset[int]) -> int:
        """The number of the grouping by these columns, and an evaluation for its groups."""
        import pyarrow as pa

        if columns not in self._numbers:
            chosen = [column for column in self._output.columns if column.id in columns]
            groups, firsts = self._output.groups([c.id for c in chosen], self._within)
            rows = self._output.rows.take(firsts)
            values = {physical_name(c.id): rows.column(physical_name(c.id)) for c in chosen}
            numbers = pa.array(np.arange(len(firsts)))
            given = Targets(pa.table({TARGET: numbers, **values}), chosen, numbered=True)
            self._evaluations.append(self._engine.open(given, self._job.settings))
            self._numbers[columns] = len(self.groupings)
            self.groupings.append(groups)
        return self._numbers[columns]

    def _pairs(self, request: ScanRequest, evaluation: Evaluation, name: str) -> tuple[Ints, Ints]:
        """Groups and the numbers of their source rows, in the order in which they arrive."""
        numbers = RowNumbers(request.source)
        groups, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        if request.predicate == FALSE:
            # The inner side of an anti join has no lineage.
            return groups[0], rows[0]
        for batch in evaluation.rows([request]).row_id_batches():
            self._count(batch.num_rows, name)
            groups.append(np.asarray(batch.column(TARGET).to_numpy(), np.int64))
            rows.append(numbers.of(batch))
        return np.concatenate(groups), np.concatenate(rows)

    def _count(self, rows: int, name: str) -> None:
        with self._lock:
            self._used += _PLAIN * rows
        if self._used > self._limit:
            raise StoreError(
                f"the row numbers of job {self._job.id} take more than {self._limit:,} bytes "
                f"(reached at scan {name}); raise the limit (limit=…, --limit), or index only "
                "some scans (scans=…, --scan) or output rows (targets=…, --where)"
            )
