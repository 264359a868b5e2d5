"""Lineage questions answered from a job's row-id index.

Targets are found in the kept output by their values, their source rows' numbers in the
index; neither takes an engine. The sources are read only when rows are asked for: then an
engine fetches them by number, after the sources were compared with the job's snapshot.
What the index does not hold is answered as without it, unless the index was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from predtrace.engines.base import (
    TARGET,
    Engine,
    Evaluation,
    Rows,
    ScanRequest,
    Targets,
)
from predtrace.engines.values import target_table
from predtrace.errors import ArrayFormatError, PredTraceError
from predtrace.index.file import JobIndex
from predtrace.index.numbering import RowNumbers
from predtrace.index.targets import IndexedTargets, joined_pairs
from predtrace.jobs.model import Job
from predtrace.lineage.answer import Question, check_sources
from predtrace.packed.boxes import Flags, Ints
from predtrace.packed.rowsets import normalized

if TYPE_CHECKING:
    import pyarrow as pa

_STRETCH = 1 << 17
"""Rows that are read together: about a row group."""
_CONSIDERED = 1 << 17
"""Row numbers among which the first rows to be shown are chosen."""


class Ordinary:
    """The answer as it is without an index, made when it is first needed.

    `requests` are those of all scans, by node; `open` begins the question on its engine.
    """

    def __init__(
        self,
        requests: Callable[[], dict[int, ScanRequest]],
        engine: Callable[[dict[int, ScanRequest]], Engine],
    ) -> None:
        self._find_requests = requests
        self._choose_engine = engine

    @cached_property
    def requests(self) -> dict[int, ScanRequest]:
        """What to ask an engine for each scan, by node."""
        return self._find_requests()

    @cached_property
    def engine(self) -> Engine:
        """The engine that answers these."""
        return self._choose_engine(self.requests)

    def of(self, requests: Sequence[ScanRequest]) -> list[ScanRequest]:
        """The ordinary requests for the same scans."""
        return [self.requests[request.node] for request in requests]


class IndexEngine:
    """Answers from an index: `strict` says to refuse what it does not hold.

    `reader` gives the engine that fetches a source's rows by number. `notes` are those of the
    answer.
    """

    name = "index"

    def __init__(
        self,
        index: JobIndex,
        job: Job,
        ordinary: Ordinary,
        reader: Callable[[ScanRequest], Engine],
        *,
        strict: bool,
        notes: list[str],
    ) -> None:
        self._damaged = False
        self._notes = notes
        self.index = index
        self.job = job
        self.ordinary = ordinary
        self.reader = reader
        self.strict = strict

    def open(self, targets: Targets, settings: object) -> IndexEvaluation:
        """Begin a question; `targets` have their places in the output."""
        assert isinstance(targets, IndexedTargets)
        return IndexEvaluation(self, targets)

    def holds(self, requests: Sequence[ScanRequest]) -> bool:
        """Whether the index has all these scans, and none of it was found damaged."""
        return not self._damaged and all(request.node in self.index for request in requests)

    def reads(self, rows: IndexRows) -> bool:
        """Look the rows up; False, with a note, if that part of the index is damaged.

        Where the index was asked for, that raises ArrayFormatError.
        """
        try:
            rows.count()
        except ArrayFormatError as error:
            if self.strict:
                raise
            self._damaged = True
            self._notes.append(f"the row-id index was not used: {error}")
        return not self._damaged


class IndexEvaluation:
    """One question to an index."""

    def __init__(self, engine: IndexEngine, targets: IndexedTargets) -> None:
        self.engine = engine
        self.targets = targets

    @property
    def passes(self) -> int | None:
        """None: nothing is refined."""
        return None

    def rows(self, requests: Sequence[ScanRequest]) -> Rows:
        """The union, by row identity, of what several scans of one source select."""
        if self.engine.holds(requests):
            found = IndexRows(self, requests)
            if self.engine.reads(found):
                return found
        elif self.engine.strict:
            raise PredTraceError(
                f"the index of job {self.engine.job.id} leaves out the scan of "
                f"{requests[0].source.name}; ask with mode='auto', or build it with that scan"
            )
        check_sources(self.engine.job.sources)
        return self.ordinary.rows(self.engine.ordinary.of(requests))

    @cached_property
    def ordinary(self) -> Evaluation:
        """The same question on an engine that reads the sources."""
        engine = self.engine.ordinary.engine
        return engine.open(self.targets, self.engine.job.settings)

    def predicate_sql(self, request: ScanRequest) -> str:
        """Where the row numbers come from: there is no predicate."""
        if self.engine.holds([request]):
            return f"row numbers of {Path(self.engine.index.where).name}"
        return self.ordinary.predicate_sql(*self.engine.ordinary.of([request]))


class IndexRows:
    """Source rows by number (see `base.Rows`); they are fetched when their values are read."""

    def __init__(self, evaluation: IndexEvaluation, requests: Sequence[ScanRequest]) -> None:
        self._evaluation = evaluation
        self._requests = tuple(requests)

    @cached_property
    def _found(self) -> tuple[Ints | None, Ints]:
        """Target numbers, if there are several targets, and row numbers; sorted."""
        targets = self._evaluation.targets
        scans = [self._evaluation.engine.index[request.node] for request in self._requests]
        if not targets.numbered:
            parts = [scan.rows_of(targets.places) for scan in scans]
            return None, parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        pairs = [scan.pairs_of(targets.numbers, targets.places) for scan in scans]
        if len(pairs) == 1 and bool((targets.numbers[1:] > targets.numbers[:-1]).all()):
            # Each target is one output row: its source rows come sorted, each once.
            return pairs[0]
        return normalized(*joined_pairs(pairs))

    def count(self) -> int:
        """How many rows."""
        return len(self._found[1])

    def row_ids(self) -> pa.Table:
        """Per row `file` (dictionary encoded) and `row`."""
        return self._ids(None)

    def _ids(self, limit: int | None) -> pa.Table:
        import pyarrow as pa

        targets, numbers = self._found
        if limit is not None:
            places = close_together(numbers, limit)
            numbers, targets = numbers[places], None if targets is None else targets[places]
        ids = RowNumbers(self._requests[0].source).ids(numbers)
        return ids if targets is None else ids.add_column(0, TARGET, pa.array(targets))

    def row_id_batches(self) -> Iterator[pa.RecordBatch]:
        """The row ids as a stream of batches."""
        yield from self.row_ids().to_batches()

    def head(self, limit: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Some `limit` of the rows."""
        return self._fetched(limit).to_arrow(columns)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows."""
        return self._all.to_arrow(columns)

    def to_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows as a stream of batches."""
        return self._all.to_batches(columns)

    def write_parquet(self, folder: Path) -> None:
        """Write the rows as Parquet into `folder`."""
        self._all.write_parquet(folder)

    def sql(self) -> str:
        """The query that fetches the rows."""
        return self._all.sql()

    @cached_property
    def _all(self) -> Rows:
        return self._fetched(None)

    def _fetched(self, limit: int | None) -> Rows:
        asked, request = self._evaluation.engine, self._requests[0]
        nothing = Targets(target_table([], []), (), self._evaluation.targets.numbered)
        reader = asked.reader(request).open(nothing, asked.job.settings)
        return reader.fetch(request, self._ids(limit))


def close_together(numbers: Ints, limit: int) -> Ints:
    """Places of `limit` row numbers that are near each other, in their order.

    Reading a row decodes pages of its row group: rows scattered over all of a source cost up
    to a row group each. Stretches of the source that have most of the rows come first; of equal
    ones the first.
    """
    if len(numbers) <= limit or limit >= _CONSIDERED:
        return np.arange(min(len(numbers), limit))
    stretches = numbers[:_CONSIDERED] // _STRETCH
    counts = np.bincount(stretches)
    best = np.argsort(-counts, kind="stable")
    enough = int(np.searchsorted(np.cumsum(counts[best]), limit)) + 1
    chosen: Flags = np.zeros(len(counts), np.bool_)
    chosen[best[:enough]] = True
    return np.flatnonzero(chosen[stretches])[:limit]


class IndexQuestion(Question):
    """A question whose row numbers are looked up."""

    def __init__(
        self, engine: IndexEngine, job: Job, find_targets: Callable[[], IndexedTargets]
    ) -> None:
        super().__init__(engine, job, find_targets)
        self._engine = engine

    @property
    def indexed(self) -> IndexedTargets:
        """The target rows with their places in the output."""
        targets = self.targets
        assert isinstance(targets, IndexedTargets)
        return targets

    def looks_up(self, requests: Sequence[ScanRequest]) -> bool:
        """Whether counting the rows, and their ids, leave the sources alone."""
        return self._engine.holds(requests)

    def selecting(self, requests: Sequence[ScanRequest]) -> Sequence[ScanRequest]:
        """The requests with the predicates that select the rows."""
        return self._engine.ordinary.of(requests)
