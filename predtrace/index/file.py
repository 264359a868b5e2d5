"""The row-id index of a job as one file: written whole, opened without reading it.

    "PJ"  version  crc32 and length of the head  head (MessagePack)  blocks

The head names the job, and says what the index covers, what it cost, and how long each block is.
The groupings come first (for each output row the number of its group, a chunked column). Then each
scan has a row index from groups to source rows and, if inverting that takes long, its inverse.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec
import numpy as np

from predtrace.durable.envelope import BinaryEnvelope
from predtrace.durable.writing import sole_writer, sweep, write_whole
from predtrace.errors import ArrayFormatError, StoreError
from predtrace.jobs.store import index_file
from predtrace.packed.boxes import Flags, Ints, distinct
from predtrace.packed.chunked import ChunkedColumn, write_column
from predtrace.packed.ints import Reader
from predtrace.packed.rowsets import RowIndex, SortedPairs, mapped

VERSION = 1
_NUMBER = 4
_LOCK = "index.lock"
_REBUILD = "build the index again (build_index, or predtrace index)"
ENVELOPE = BinaryEnvelope(
    magic=b"PJ",
    version=VERSION,
    kind="row-id index of predtrace",
    remedy=_REBUILD,
    error=ArrayFormatError,
)

_LONG_RUN = 256
"""The mean number of rows of a run from which on copying run by run pays off."""

MOST_TURNED = 1 << 20
"""Up to so many pairs the inverse is made when it is first asked for, in less than 0.1 s."""


class ScanEntry(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The index's entry for a scan: the lengths of its blocks, the number of its grouping.

    `pairs` counts pairs of groups and source rows; `links` pairs of output and source rows.
    """

    node: int
    grouping: int
    forth: int
    back: int
    pairs: int
    links: int
    source_rows: int


class Head(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The facts about an index that are known without reading it.

    `rows` are all output rows, `covered` those with entries; `seconds` is what building took.
    """

    job: str
    aggregates: str
    rows: int
    covered: int
    groupings: tuple[int, ...]
    scans: tuple[ScanEntry, ...]
    seconds: float

    @property
    def size(self) -> int:
        """Bytes of all blocks."""
        return sum(self.groupings) + sum(scan.forth + scan.back for scan in self.scans)


class ScanIndex:
    """The index of one scan: output rows to source rows, and back."""

    def __init__(
        self, entry: ScanEntry, groups: Grouping, forth: RowIndex, back: RowIndex | None
    ) -> None:
        self.entry = entry
        self._groups = groups
        self._forth = forth
        self._stored_back = back

    @cached_property
    def _back(self) -> RowIndex | SortedPairs:
        if self._stored_back is not None:
            return self._stored_back
        groups, rows = self._forth.pairs()
        return SortedPairs(rows, groups)

    def rows_of(self, outputs: Ints) -> Ints:
        """The numbers of the source rows that any of these output rows came from, sorted."""
        return self._forth.rows_of(self._groups.of(outputs))

    def pairs_of(self, targets: Ints, outputs: Ints) -> tuple[Ints, Ints]:
        """For pairs of a target and an output row of it: pairs of the target and a source row.

        Results come in the order of the given pairs, with the source rows of each pair sorted. They
        may repeat.
        """
        groups = self._groups.of(outputs)
        wanted = distinct(groups)
        found, rows = self._forth.pairs_of(wanted)
        begins = np.searchsorted(found, groups, side="left")
        ends = np.searchsorted(found, groups, side="right")
        lengths = ends - begins
        return np.repeat(targets, lengths), _runs(rows, begins, ends)

    def outputs_of(self, rows: Ints) -> Ints:
        """The numbers of the output rows that any of these source rows reaches, sorted."""
        return self._groups.members(self._back.rows_of(rows))

    def check(self) -> None:
        """Read all blocks. Raises ArrayFormatError if one is damaged."""
        for index in (self._forth, self._stored_back):
            if index is not None:
                index.pairs()

    @property
    def nbytes(self) -> int:
        """Bytes that the scan's blocks take."""
        return self.entry.forth + self.entry.back


def _runs(rows: Ints, begins: Ints, ends: Ints) -> Ints:
    """The rows from each beginning to its end, one run after the other."""
    lengths = ends - begins
    total = int(lengths.sum())
    if total >= _LONG_RUN * len(begins):
        # Copied run by run: gathering row by row takes several times as long.
        runs = zip(begins.tolist(), ends.tolist(), strict=True)
        joined: Ints = np.concatenate([rows[:0], *(rows[begin:end] for begin, end in runs)])
        return joined
    ahead = np.cumsum(lengths) - lengths
    gathered: Ints = rows[np.arange(total) + np.repeat(begins - ahead, lengths)]
    return gathered


class Grouping:
    """The number of the group of each output row; -1 if the index does not cover the row."""

    def __init__(self, column: ChunkedColumn) -> None:
        self._column = column

    @cached_property
    def all(self) -> Ints:
        """The groups of all output rows."""
        return self._column.all()

    def of(self, outputs: Ints) -> Ints:
        """The groups of these output rows."""
        return self.all[outputs]

    def members(self, groups: Ints) -> Ints:
        """The output rows in any of these groups, sorted."""
        known: Flags = np.zeros(int(self.all.max(initial=-1)) + 2, np.bool_)
        known[groups] = True
        # The last one stands for -1.
        return np.flatnonzero(known[self.all])


class JobIndex:
    """An index file, opened.

    Raises ArrayFormatError if the bytes are not an index, are truncated, damaged, or of a newer
    version. Damaged blocks are noticed when they are read.
    """

    def __init__(self, data: memoryview, where: str) -> None:
        self.where = where
        self.nbytes = len(data)
        self.head, start = _read_head(data, where)
        reader = Reader(data[start:], where)
        if len(reader.data) != self.head.size:
            raise ArrayFormatError(f"{where} is truncated; {_REBUILD}")
        self._groupings = [
            Grouping(ChunkedColumn(Reader(reader.take(size), where)))
            for size in self.head.groupings
        ]
        self._scans = {entry.node: self._scan(reader, entry) for entry in self.head.scans}

    def _scan(self, reader: Reader, entry: ScanEntry) -> ScanIndex:
        forth = RowIndex.from_bytes(reader.take(entry.forth), self.where)
        back = RowIndex.from_bytes(reader.take(entry.back), self.where) if entry.back else None
        return ScanIndex(entry, self._groupings[entry.grouping], forth, back)

    def __contains__(self, node: object) -> bool:
        return node in self._scans

    def __getitem__(self, node: int) -> ScanIndex:
        return self._scans[node]

    @property
    def complete(self) -> bool:
        """Whether all output rows are covered."""
        return self.head.covered == self.head.rows

    def check(self) -> None:
        """Read all blocks. Raises ArrayFormatError if one is damaged."""
        for grouping in self._groupings:
            _ = grouping.all
        for scan in self._scans.values():
            scan.check()

    def covers(self, outputs: Ints) -> bool:
        """Whether all these output rows are covered (by every scan that the index has)."""
        return self.complete or all(
            bool((grouping.of(outputs) >= 0).all()) for grouping in self._groupings
        )


class ScanBlocks(msgspec.Struct, frozen=True, kw_only=True):
    """A scan's part of an index that is being built."""

    node: int
    grouping: int
    forth: RowIndex
    back: RowIndex | None
    pairs: int
    links: int
    source_rows: int


def write_index(
    folder: Path,
    *,
    job: str,
    aggregates: str,
    rows: int,
    covered: int,
    groupings: Sequence[Ints],
    scans: Iterable[ScanBlocks],
    started: float,
) -> JobIndex:
    """Write a job's index atomically: a reader finds the old index, if any, or the new index.

    `groupings` have the group of each output row; `started` is the ``time.perf_counter`` at which
    building began. Raises StoreError if it cannot be written.
    """
    columns = [write_column(groups) for groups in groupings]
    parts = [(scan, scan.forth.to_bytes(), scan.back) for scan in scans]
    blocks: list[bytes] = list(columns)
    entries = []
    for scan, forth, back in parts:
        inverse = b"" if back is None else back.to_bytes()
        blocks += [forth, inverse]
        entries.append(
            ScanEntry(
                node=scan.node,
                grouping=scan.grouping,
                forth=len(forth),
                back=len(inverse),
                pairs=scan.pairs,
                links=scan.links,
                source_rows=scan.source_rows,
            )
        )
    head = Head(
        job=job,
        aggregates=aggregates,
        rows=rows,
        covered=covered,
        groupings=tuple(map(len, columns)),
        scans=tuple(entries),
        seconds=time.perf_counter() - started,
    )
    path = index_file(folder, aggregates)
    try:
        with sole_writer(folder / _LOCK):
            sweep(folder)
            write_whole(path, _sealed(head) + b"".join(blocks))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror or error}); free space or change "
            "permissions, then try again"
        ) from error
    return open_index(path)


def open_index(path: Path) -> JobIndex:
    """The index in a file. Raises StoreError if it cannot be read."""
    try:
        status = path.stat()
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error
    return _opened(str(path), status.st_ino, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _opened(path: str, inode: int, modified: int, size: int) -> JobIndex:
    """The index in a file, remembered until the file changes."""
    return JobIndex(mapped(path), path)


def _sealed(head: Head) -> bytes:
    content = msgspec.msgpack.encode(head)
    numbers = (zlib.crc32(content), len(content))
    front = b"".join(number.to_bytes(_NUMBER, "little") for number in numbers)
    return ENVELOPE.head + front + content


def _read_head(data: memoryview, where: str) -> tuple[Head, int]:
    ENVELOPE.check_head(data, where)
    begin = len(ENVELOPE.head)
    front = data[begin : begin + 2 * _NUMBER]
    crc, length = (int.from_bytes(part, "little") for part in (front[:_NUMBER], front[_NUMBER:]))
    content = data[begin + len(front) :][:length]
    if len(content) < length:
        raise ArrayFormatError(f"{where} is truncated; {_REBUILD}")
    ENVELOPE.check(content, crc, where)
    try:
        return msgspec.msgpack.decode(content, type=Head), begin + len(front) + length
    except msgspec.DecodeError as error:
        raise ArrayFormatError(f"{where} is damaged ({error}); {_REBUILD}") from error
