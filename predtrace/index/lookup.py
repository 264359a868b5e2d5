"""Lineage questions answered from a job's row-id index.

Targets are found in the kept output by their values, and the numbers of their source rows in the
index; neither needs an engine. The sources are read only when rows are asked for: they are compared
with the job's snapshot, and then an engine fetches the rows by number. Scans that the index does
not hold are answered without it, unless the index was asked for.
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
from predtrace.jobs.snapshot import check_sources
from predtrace.packed.boxes import Flags, Ints
from predtrace.packed.rowsets import normalized

if TYPE_CHECKING:
    import pyarrow as pa

_STRETCH = 1 << 17
"""The number of rows that are read together: about a row group."""
_CONSIDERED = 1 << 17
"""The number of row numbers from which the first rows to show are chosen."""


class Ordinary:
    """The answer without an index, made when it is first needed.

    `requests` has the request of each scan, by node; `engine` answers them.
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
        """The request to an engine for each scan, by node."""
        return self._find_requests()

    @cached_property
    def engine(self) -> Engine:
        """The engine that answers these requests."""
        return self._choose_engine(self.requests)

    def of(self, requests: Sequence[ScanRequest]) -> list[ScanRequest]:
        """The ordinary requests for the same scans."""
        return [self.requests[request.node] for request in requests]


class IndexLookup:
    """One question to an index; `strict` refuses scans that the index does not hold.

    `targets` returns the target rows with their places in the output, `reader` the engine that
    fetches a source's rows by number. `notes` are the notes of the answer.
    """

    def __init__(
        self,
        index: JobIndex,
        job: Job,
        targets: Callable[[], IndexedTargets],
        ordinary: Ordinary,
        reader: Callable[[ScanRequest], Engine],
        *,
        strict: bool,
        notes: list[str],
    ) -> None:
        self.index = index
        self.job = job
        self.ordinary = ordinary
        self.reader = reader
        self._find_targets = targets
        self._strict = strict
        self._notes = notes
        self._damaged = False

    @property
    def targets(self) -> IndexedTargets:
        """The target rows with their places in the output."""
        return self._find_targets()

    @property
    def passes(self) -> int | None:
        """None: nothing is refined."""
        return None

    def holds(self, requests: Sequence[ScanRequest]) -> bool:
        """Whether the index has all these scans, and none of it was found damaged."""
        return not self._damaged and all(request.node in self.index for request in requests)

    def rows(self, requests: Sequence[ScanRequest]) -> Rows:
        """The union, by row identity, of what several scans of one source select."""
        if self.holds(requests):
            found = IndexRows(self, requests)
            if self._is_readable(found):
                return found
        elif self._strict:
            raise PredTraceError(
                f"the index of job {self.job.id} leaves out the scan of "
                f"{requests[0].source.name}; ask with mode='auto', or build it with that scan"
            )
        check_sources(self.job.sources)
        return self._without_index.rows(self.ordinary.of(requests))

    def _is_readable(self, rows: IndexRows) -> bool:
        """Look the rows up; False, with a note, if that part of the index is damaged.

        If the index was asked for, damage raises ArrayFormatError.
        """
        try:
            rows.count()
        except ArrayFormatError as error:
            if self._strict:
                raise
            self._damaged = True
            self._notes.append(f"the row-id index was not used: {error}")
        return not self._damaged

    @cached_property
    def _without_index(self) -> Evaluation:
        """The same question on an engine that reads the sources."""
        return self.ordinary.engine.open(self.targets, self.job.settings)

    def predicate_sql(self, request: ScanRequest) -> str:
        """A text that names the index, since there is no predicate."""
        if self.holds([request]):
            return f"row numbers of {Path(self.index.where).name}"
        return self._without_index.predicate_sql(*self.ordinary.of([request]))


class IndexRows:
    """Source rows by number (see `base.Rows`); they are fetched when their values are read."""

    def __init__(self, lookup: IndexLookup, requests: Sequence[ScanRequest]) -> None:
        self._lookup = lookup
        self._requests = tuple(requests)

    @cached_property
    def _found(self) -> tuple[Ints | None, Ints]:
        """Target numbers, if there are several targets, and row numbers; sorted."""
        targets = self._lookup.targets
        scans = [self._lookup.index[request.node] for request in self._requests]
        if not targets.numbered:
            parts = [scan.rows_of(targets.places) for scan in scans]
            return None, parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        pairs = [scan.pairs_of(targets.numbers, targets.places) for scan in scans]
        if len(pairs) == 1 and bool((targets.numbers[1:] > targets.numbers[:-1]).all()):
            # Each target is one output row: its source rows come sorted, each once.
            return pairs[0]
        return normalized(*joined_pairs(pairs))

    def count(self) -> int:
        """The number of rows."""
        return len(self._found[1])

    def row_ids(self) -> pa.Table:
        """The `file` (dictionary encoded) and `row` of each row."""
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
        """Any `limit` of the rows."""
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
        asked, request = self._lookup, self._requests[0]
        nothing = Targets(target_table([], []), (), asked.targets.numbered)
        reader = asked.reader(request).open(nothing, asked.job.settings)
        return reader.fetch(request, self._ids(limit))


def close_together(numbers: Ints, limit: int) -> Ints:
    """The places of `limit` row numbers that are near each other, in their order.

    Reading a row decodes pages of its row group, so rows scattered over a source cost up to a row
    group each. The stretches of the source with most of the rows come first; among equal stretches
    the first one.
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
