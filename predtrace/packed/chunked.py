"""Long columns of integers in chunks: any stretch can be read without the rest.

A chunk holds up to `CHUNK` values, as a column (see `ints`) or, for consecutive values, as runs:
the first value and the length of each run. The smaller form is used. A directory at the front has
the sizes, checksums, and least and greatest values of the chunks.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from predtrace.errors import ArrayFormatError
from predtrace.packed.boxes import Flags, Ints
from predtrace.packed.ints import CONSTANT, STYLES, Reader, read_ints, varint, write_ints

CHUNK = 1 << 16
"""Values of a chunk: few enough to read a chunk for one value, enough to be packed well."""

VALUES, RUNS = 0, 1
_TRIED = 4
_WORTH_THREADS = 8
_KEPT_CHUNKS = 32
_CRC = 4


def write_column(values: Ints) -> bytes:
    """A column as bytes: its directory, then its chunks."""
    stretches = [values[start : start + CHUNK] for start in range(0, len(values), CHUNK)]
    chunks = _write_chunks(stretches)
    directory = (
        write_ints(np.array([len(chunk) for chunk in chunks], np.int64))
        + write_ints(np.array([stretch.min() for stretch in stretches], np.int64))
        + write_ints(np.array([stretch.max() for stretch in stretches], np.int64))
        + b"".join(zlib.crc32(chunk).to_bytes(_CRC, "little") for chunk in chunks)
    )
    head = varint(len(values)) + varint(len(directory)) + directory
    return head + zlib.crc32(head).to_bytes(_CRC, "little") + b"".join(chunks)


class ChunkedColumn:
    """A column that `write_column` wrote, read from `reader`, which moves to its end.

    Raises ArrayFormatError if the directory is truncated or damaged; so does reading a
    damaged chunk.
    """

    def __init__(self, reader: Reader) -> None:
        begin = reader.place
        self._count = reader.varint()
        directory = Reader(reader.take(reader.varint()), reader.where)
        head = reader.data[begin : reader.place]
        if zlib.crc32(head) != int.from_bytes(reader.take(_CRC), "little"):
            raise ArrayFormatError(
                f"{reader.where} is damaged: a checksum does not fit; rebuild it"
            )
        chunks = -(-self._count // CHUNK)
        sizes = read_ints(directory, chunks)
        self._least = read_ints(directory, chunks)
        self._greatest = read_ints(directory, chunks)
        self._crcs = np.frombuffer(directory.take(_CRC * chunks), "<u4")
        self._ends = np.cumsum(sizes)
        self._where = reader.where
        self._content = reader.take(int(sizes.sum()))
        self._chunk: Callable[[int], Ints] = lru_cache(maxsize=_KEPT_CHUNKS)(self._read_chunk)

    def __len__(self) -> int:
        return self._count

    def stretch(self, start: int, stop: int) -> Ints:
        """The values from `start` up to, but not including, `stop`."""
        numbers = range(start // CHUNK, -(-stop // CHUNK))
        if len(numbers) == 1:
            (number,) = numbers
            return self._chunk(number)[start - number * CHUNK : stop - number * CHUNK]
        values = np.empty(stop - start, np.int64)

        def copy(number: int) -> None:
            first = max(start, number * CHUNK)
            last = min(stop, (number + 1) * CHUNK)
            chunk = self._chunk(number) if len(numbers) < _KEPT_CHUNKS else self._read_chunk(number)
            values[first - start : last - start] = chunk[first - number * CHUNK :][: last - first]

        with in_parallel(len(numbers)) as each:
            deque(each(copy, numbers), maxlen=0)
        return values

    def take(self, places: Ints) -> Ints:
        """The values at these places."""
        values = np.empty(len(places), np.int64)
        numbers = places // CHUNK
        ordered = bool((numbers[1:] >= numbers[:-1]).all())
        order = None if ordered else np.argsort(numbers, kind="stable")
        arranged = numbers if order is None else numbers[order]
        cuts = np.flatnonzero(arranged[1:] != arranged[:-1]) + 1
        bounds = [0, *cuts.tolist(), len(places)] if len(places) else []
        for begin, end in itertools.pairwise(bounds):
            here = slice(begin, end) if order is None else order[begin:end]
            number = int(arranged[begin])
            values[here] = self._chunk(number)[places[here] - number * CHUNK]
        return values

    def all(self) -> Ints:
        """All values."""
        return self.stretch(0, self._count)

    def places_of(self, wanted: Ints) -> Ints:
        """The places of all values that are in `wanted`, which is sorted.

        Chunks whose least and greatest value exclude all of them are not read.
        """
        found = [
            np.flatnonzero(is_in(self._chunk(number), wanted)) + number * CHUNK
            for number in self._chunks_with(wanted)
        ]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _chunks_with(self, wanted: Ints) -> Iterator[int]:
        first = np.searchsorted(wanted, self._least, side="left")
        behind = np.searchsorted(wanted, self._greatest, side="right")
        yield from np.flatnonzero(first < behind).tolist()

    def _read_chunk(self, number: int) -> Ints:
        end = int(self._ends[number])
        begin = int(self._ends[number - 1]) if number else 0
        chunk = self._content[begin:end]
        if zlib.crc32(chunk) != self._crcs[number]:
            raise ArrayFormatError(f"{self._where} is damaged: a checksum does not fit; rebuild it")
        count = min(CHUNK, self._count - number * CHUNK)
        values = _read_values(Reader(chunk, self._where), count)
        values.setflags(write=False)
        return values


@contextmanager
def in_parallel(tasks: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """A ``map`` for so many tasks; many tasks use all processors.

    numpy, zstd and checksums release the interpreter while they work.
    """
    if tasks < _WORTH_THREADS:
        yield map
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield pool.map


def is_in(values: Ints, wanted: Ints) -> Flags:
    """Whether each value is in `wanted`, which is sorted and not empty."""
    place = np.searchsorted(wanted, values)
    place[place == len(wanted)] = 0
    found: Flags = wanted[place] == values
    return found


class _Form(NamedTuple):
    """A form of chunks: the styles of their values, or of the two columns of runs."""

    values: tuple[int, ...] = STYLES
    starts: tuple[int, ...] = STYLES
    lengths: tuple[int, ...] = STYLES


_ANY = _Form()


def _write_chunks(stretches: Sequence[Ints]) -> list[bytes]:
    """The chunks in their smallest form; a long column uses the forms that are smallest for a few
    chunks."""
    every = max(1, len(stretches) // _TRIED)
    tried = [_write_chunk(stretch, _ANY) for stretch in stretches[::every]]
    form = _common([form for _, form in tried])
    rest = [stretch for number, stretch in enumerate(stretches) if number % every]
    with in_parallel(len(rest)) as each:
        written = each(lambda stretch: _write_chunk(stretch, form)[0], rest)
        return [
            next(written) if number % every else tried[number // every][0]
            for number in range(len(stretches))
        ]


def _common(forms: Sequence[_Form]) -> _Form:
    """All styles that the forms name, for each column; every style if they name none."""
    named = (
        {style for styles in column for style in styles if style != CONSTANT}
        for column in zip(*forms, strict=True)
    )
    return _Form(*(tuple(sorted(styles)) for styles in named))


def _write_chunk(values: Ints, form: _Form) -> tuple[bytes, _Form]:
    """The values written in the smallest way that the form allows."""
    found: list[tuple[bytes, _Form]] = []
    breaks = np.flatnonzero(values[1:] != values[:-1] + 1) + 1
    if form.starts and len(breaks) * 3 <= len(values):
        starts = np.concatenate([[0], breaks])
        lengths = np.diff(np.concatenate([starts, [len(values)]]))
        columns = (
            write_ints(values[starts], form.starts),
            write_ints(lengths, form.lengths or STYLES),
        )
        data = bytes([RUNS]) + varint(len(starts)) + b"".join(columns)
        found.append((data, _Form((), *(tuple(column[:1]) for column in columns))))
    if form.values or not found:
        written = write_ints(values, form.values or STYLES)
        found.append((bytes([VALUES]) + written, _Form(tuple(written[:1]), (), ())))
    return min(found, key=lambda way: len(way[0]))


def _read_values(reader: Reader, count: int) -> Ints:
    kind = reader.byte()
    if kind == VALUES:
        return read_ints(reader, count)
    runs = reader.varint()
    if kind != RUNS or runs > count:
        raise ArrayFormatError(f"{reader.where} is damaged: a chunk's kind is unknown; rebuild it")
    firsts, lengths = read_ints(reader, runs), read_ints(reader, runs)
    ends = np.cumsum(lengths)
    if not runs or int(ends[-1]) != count or int(lengths.min()) < 1:
        raise ArrayFormatError(f"{reader.where} is damaged: a chunk is too short; rebuild it")
    # Steps are one, except from the last value of a run to the first of the next.
    values: Ints = np.ones(count, np.int64)
    values[0] = firsts[0]
    values[ends[:-1]] = firsts[1:] - firsts[:-1] - lengths[:-1] + 1
    return np.cumsum(values, out=values)
