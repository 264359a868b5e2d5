"""An index from target rows to the source rows they came from, and back.

Both are row numbers: the index is a lineage relation between two one-dimensional arrays, in
a form for up to some hundred million pairs without much structure. Each target has a set of
ids; sets follow one another in one long column, in the order of the targets:

    targets  2  5  9         ids   10 11 12 40 | 7 | 10 11 12 40
    starts   0  4  5  9

Where targets share sets, each set is stored once (`sets` has the number of every target's).
All columns are in chunks, so that one target's ids are read without reading the others'.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np

from predtrace.durable.envelope import BinaryEnvelope
from predtrace.durable.writing import write_whole
from predtrace.errors import ArrayFormatError, ArrayLineageError, StoreError
from predtrace.packed.boxes import Flags, Ints, distinct
from predtrace.packed.chunked import ChunkedColumn, write_column
from predtrace.packed.ints import Reader

VERSION = 1
ENVELOPE = BinaryEnvelope(
    magic=b"PRI",
    version=VERSION,
    kind="row index of predtrace",
    remedy="build it again",
    error=ArrayFormatError,
)
_HEAD = len(ENVELOPE.head)
_COLUMNS = 4
_WORTH_SHARING = 4
_FEW_STRETCHES = 64
_FEW_TARGETS = 1 << 16
_KEY_BITS = 63


class SortedPairs:
    """The same lookup on pairs in memory: for indexes that are small enough to be inverted."""

    def __init__(self, targets: Ints, ids: Ints) -> None:
        self._targets, self._ids = normalized(targets, ids)

    def rows_of(self, target_numbers: Ints) -> Ints:
        """The ids of any of these targets, sorted, each once; unknown targets have none."""
        wanted = distinct(target_numbers.astype(np.int64))
        begins = np.searchsorted(self._targets, wanted, side="left")
        ends = np.searchsorted(self._targets, wanted, side="right")
        return distinct(self._ids[_spread(begins, ends - begins)])


class RowIndex:
    """A stored index; `build` makes one, `from_bytes` and `open` read one.

    Raises ArrayFormatError if the bytes are not an index, are truncated, or of a newer version.
    Damaged chunks are noticed when they are read.
    """

    def __init__(self, data: bytes | memoryview, where: str) -> None:
        ENVELOPE.check_head(data, where)
        self._data = memoryview(data)
        reader = Reader(self._data[_HEAD:], where)
        columns = [ChunkedColumn(reader) for _ in range(_COLUMNS)]
        self._targets, self._sets, self._starts, self._ids = columns
        self._shared = len(self._sets) > 0

    @classmethod
    def build(cls, targets: Ints, ids: Ints) -> RowIndex:
        """The index of the pairs ``(targets[n], ids[n])``, in any order; duplicates count once.

        Raises ArrayLineageError if there are not as many ids as targets, or numbers below 0.
        """
        if targets.shape != ids.shape or targets.ndim != 1:
            raise ArrayLineageError(
                f"targets and ids must be two columns of one length, not of shapes "
                f"{targets.shape} and {ids.shape}"
            )
        if len(targets) and min(int(targets.min()), int(ids.min())) < 0:
            raise ArrayLineageError("row numbers must not be negative")
        return cls.of_normalized(
            *normalized(targets.astype(np.int64, copy=False), ids.astype(np.int64, copy=False))
        )

    @classmethod
    def of_normalized(cls, targets: Ints, ids: Ints) -> RowIndex:
        """The index of pairs from `normalized`."""
        fresh = targets[1:] != targets[:-1]
        if len(ids) and bool(fresh.all()):
            numbers, starts = targets, np.arange(len(ids) + 1)
        else:
            starts = np.flatnonzero(np.concatenate([[True], fresh, [True]])[-len(ids) - 1 :])
            numbers = targets[starts[:-1]]
        sets, starts, ids = _shared_once(starts, ids)
        columns = (numbers, sets, starts, ids)
        data = ENVELOPE.head + b"".join(write_column(column) for column in columns)
        return cls(data, "row index")

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, where: str = "row index") -> RowIndex:
        """The index from the bytes of `to_bytes`; `where` names it in errors."""
        return cls(data, where)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RowIndex:
        """The index in a file; only the parts asked for are read.

        Raises StoreError if it cannot be read.
        """
        return cls(mapped(path), str(path))

    def to_bytes(self) -> bytes:
        """The index as bytes."""
        return bytes(self._data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, atomically.

        Raises StoreError if it cannot be written.
        """
        try:
            write_whole(Path(path), self.to_bytes())
        except OSError as error:
            raise StoreError(f"{path} cannot be written ({error.strerror or error})") from error

    @property
    def nbytes(self) -> int:
        """Bytes that the index takes on disk."""
        return len(self._data)

    def __len__(self) -> int:
        """The number of targets that have ids."""
        return len(self._targets)

    def targets(self) -> Ints:
        """All targets that have ids, sorted."""
        return self._targets.all()

    def rows_of(self, target_numbers: Ints) -> Ints:
        """The ids of any of these targets, sorted, each once; unknown targets have none."""
        sets = self._sets_at(self._places_of(distinct(target_numbers.astype(np.int64))))
        ids = self._gathered(self._starts.take(sets), self._starts.take(sets + 1))
        return ids if len(sets) < 2 else distinct(ids)

    def pairs_of(self, target_numbers: Ints) -> tuple[Ints, Ints]:
        """The pairs of these targets, which are sorted and distinct; by target, then by id."""
        places = self._places_of(target_numbers)
        sets = self._sets.take(places) if self._shared else places
        begins, ends = self._starts.take(sets), self._starts.take(sets + 1)
        return np.repeat(self._targets.take(places), ends - begins), self._gathered(begins, ends)

    def _gathered(self, begins: Ints, ends: Ints) -> Ints:
        """The ids from each of the places `begins` up to `ends`, one stretch after the other."""
        if not len(begins):
            return np.empty(0, np.int64)
        cuts = np.flatnonzero(begins[1:] != ends[:-1])
        if len(cuts) >= _FEW_STRETCHES:
            return self._ids.take(_spread(begins, ends - begins))
        # Sets that follow one another are read at once.
        firsts, lasts = np.append(0, cuts + 1), np.append(cuts, len(begins) - 1)
        parts = [
            self._ids.stretch(begin, end)
            for begin, end in zip(begins[firsts].tolist(), ends[lasts].tolist(), strict=True)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def targets_of(self, ids: Ints) -> Ints:
        """The targets of any of these ids, sorted.

        Reads all chunks that may hold one of the ids; `inverse` gives an index for such questions.
        """
        wanted = distinct(ids.astype(np.int64))
        places = self._ids.places_of(wanted)
        if not len(places):
            return np.empty(0, np.int64)
        sets = distinct(np.searchsorted(self._starts.all(), places, side="right") - 1)
        found = self._sets.places_of(sets) if self._shared else sets
        return self._targets.take(found)

    def pairs(self) -> tuple[Ints, Ints]:
        """All targets and ids, sorted by target, then by id."""
        sets = self._sets.all() if self._shared else np.arange(len(self))
        starts = self._starts.all()
        lengths = starts[sets + 1] - starts[sets]
        targets = np.repeat(self._targets.all(), lengths)
        return targets, self._ids.all()[_spread(starts[sets], lengths)]

    def inverse(self) -> RowIndex:
        """The index from ids to targets."""
        targets, ids = self.pairs()
        return RowIndex.build(ids, targets)

    def _places_of(self, wanted: Ints) -> Ints:
        """The places of the wanted targets that have ids."""
        if not len(wanted) or not len(self):
            return np.empty(0, np.int64)
        first = int(self._targets.take(np.zeros(1, np.int64))[0])
        last = int(self._targets.take(np.array([len(self) - 1]))[0])
        if last - first + 1 == len(self):
            return wanted[(wanted >= first) & (wanted <= last)] - first
        return self._targets.places_of(wanted)

    def _sets_at(self, places: Ints) -> Ints:
        return distinct(self._sets.take(places)) if self._shared else places


def mapped(path: str | os.PathLike[str]) -> memoryview:
    """A file's bytes, read when they are accessed.

    Raises StoreError if it cannot be read, ArrayFormatError if it is empty.
    """
    try:
        with Path(path).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise ArrayFormatError(f"{path} is empty; rebuild it")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error


def _spread(begins: Ints, lengths: Ints) -> Ints:
    """The numbers from each of `begins` on, `lengths` of them, one stretch after the other."""
    ahead = np.cumsum(lengths) - lengths
    places: Ints = np.arange(int(lengths.sum())) + np.repeat(begins - ahead, lengths)
    return places


def normalized(targets: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """The pairs sorted by target, then id, each once."""
    if len(targets) < 2:
        return targets, ids
    greatest = int(targets.max())
    if greatest < _FEW_TARGETS and bool((ids[1:] > ids[:-1]).all()):
        # Each id occurs once, in order, as from a table that is read in order: a radix sort
        # suffices.
        order = np.argsort(targets.astype(np.uint16), kind="stable")
        return targets[order], ids[order]
    bits = int(ids.max()).bit_length()
    if greatest.bit_length() + bits < _KEY_BITS:
        # One key: numpy sorts numbers much faster than it computes their order.
        key = targets << bits
        key |= ids
        if bool((key[1:] > key[:-1]).all()):
            return targets, ids
        key.sort()
        fresh = key[1:] != key[:-1]
        if not fresh.all():
            key = key[np.append(True, fresh)]
        ids = key & ((1 << bits) - 1)
        key >>= bits
        return key, ids
    order = np.lexsort((ids, targets))
    targets, ids = targets[order], ids[order]
    fresh = np.append(True, (targets[1:] != targets[:-1]) | (ids[1:] != ids[:-1]))
    return targets[fresh], ids[fresh]


def _shared_once(starts: Ints, ids: Ints) -> tuple[Ints, Ints, Ints]:
    """The set number of each target, the starts of the sets, and their ids; equal sets once.

    Without set numbers, target n has set n. This form is kept unless sharing saves half of the ids,
    and sets are long enough for the numbers to weigh little.
    """
    alone = np.empty(0, np.int64), starts, ids
    if len(starts) < 3 or len(ids) < _WORTH_SHARING * len(starts):
        return alone
    lengths = np.diff(starts)
    if not _may_share(starts[:-1], lengths, ids):
        return alone
    model = _model_of_each(starts[:-1], lengths, ids)
    kept = model == np.arange(len(model))
    if int(lengths[kept].sum()) * 2 > len(ids):
        return alone
    numbers = np.cumsum(kept) - 1
    return (
        numbers[model],
        np.concatenate([[0], np.cumsum(lengths[kept])]),
        ids[np.repeat(kept, lengths)],
    )


def _may_share(starts: Ints, lengths: Ints, ids: Ints) -> bool:
    """Whether sets that agree in length, first and last id make up half of the ids."""
    columns = [lengths, ids[starts], ids[starts + lengths - 1]]
    order = np.lexsort(columns)
    again = np.append(False, _agree(columns, order))
    return int(lengths[order][again].sum()) * 2 > int(lengths.sum())


def _model_of_each(starts: Ints, lengths: Ints, ids: Ints) -> Ints:
    """For each set, the first set that equals it.

    Sets are grouped by length, first id and a sum of hashes, then compared in full.
    """
    mixed = (ids.view(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    sums = np.add.reduceat(mixed, starts).view(np.int64)
    order = np.lexsort((np.arange(len(starts)), ids[starts], lengths, sums))
    same = _agree([sums, lengths, ids[starts]], order)
    heads = np.maximum.accumulate(np.where(np.append(False, same), 0, np.arange(len(order))))
    model = np.empty(len(order), np.int64)
    model[order] = order[heads]
    copies = np.flatnonzero(model != np.arange(len(model)))
    if len(copies):
        different = _different(starts, lengths, ids, copies, model[copies])
        model[copies[different]] = copies[different]
    return model


def _agree(columns: list[Ints], order: Ints) -> Flags:
    """Whether neighbours in this order are equal in all columns."""
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns:
        arranged = column[order]
        same &= arranged[1:] == arranged[:-1]
    return same


def _different(starts: Ints, lengths: Ints, ids: Ints, copies: Ints, models: Ints) -> Flags:
    """Whether sets differ from their models, which have the same lengths."""
    counts = lengths[copies]
    differ = ids[_spread(starts[copies], counts)] != ids[_spread(starts[models], counts)]
    differences: Flags = np.add.reduceat(differ, np.cumsum(counts) - counts) > 0
    return differences
