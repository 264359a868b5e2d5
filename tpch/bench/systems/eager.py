"""Row ids captured for the whole output before any question, in plain arrays (Smoke)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from predtrace.sql import RowNumbers
from tpch.bench.perm_query import ROW
from tpch.bench.systems.base import Ids, Ints, Row, Subject
from tpch.bench.systems.reader import Reader
from tpch.bench.systems.rewritten import Rewriting

_Short = npt.NDArray[np.int32]


class Eager:
    """Indexes over captured row ids, both ways (LOGIC-IDX in Psallidas and Wu 2018).

    Capture runs the query rewritten to carry row ids as Perm does (their LOGIC-RID), then puts the
    pairs into arrays of int32: lists in the order of different output rows, and in that of source
    rows, with the starts of the lists. `captured` has the seconds of both parts.
    """

    plain = 0.0

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        output = subject.job.output_arrow()
        rows = list(zip(*(c.to_pylist() for c in output.columns), strict=True))
        self._numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        scans = subject.graph.scans()
        started = time.perf_counter()
        found = Rewriting(self._reader, [None]).ids(list(self._numbers))
        read = time.perf_counter()
        groups = np.array([self._numbers[row] for row in rows], np.int64)
        self._members = _Lists(groups, np.arange(len(rows)), len(self._numbers))
        self._back, self._forth = {}, {}
        for scan in scans:
            targets, numbers = (found[scan.id].column(n).to_numpy() for n in ("target", ROW))
            self._back[scan.id] = _Lists(targets, numbers, len(self._numbers))
            size = len(RowNumbers(subject.sources[scan.table]))
            self._forth[scan.id] = _Lists(numbers, targets, size)
        self.captured: Mapping[str, float] = {
            "rewritten": read - started,
            "indexes": time.perf_counter() - read,
        }

    @property
    def kept_bytes(self) -> int:
        """The bytes of all arrays."""
        lists = (self._members, *self._back.values(), *self._forth.values())
        return sum(each.nbytes for each in lists)

    def ids(self, targets: Sequence[Row]) -> Ids:
        """Slices of the lists."""
        numbers = [self._numbers[target] for target in targets]
        return {scan: _table(lists, numbers) for scan, lists in self._back.items()}

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The ids, then every source once, for the numbers found."""
        return self._reader.rows(self.ids([target]))

    def reached(self, rows: Mapping[int, int]) -> dict[int, Ints]:
        """The lists of source rows, and all output rows of their groups."""
        return {
            scan: np.concatenate(
                [np.empty(0, np.int32), *map(self._members, self._forth[scan](row))]
            ).astype(np.int64)
            for scan, row in rows.items()
        }


class _Lists:
    """Per number from 0 on a list of numbers, in two arrays."""

    def __init__(self, keys: npt.NDArray[np.int64], values: Ints, size: int) -> None:
        order = np.lexsort((values, keys))
        self._starts: _Short = np.searchsorted(keys[order], np.arange(size + 1)).astype(np.int32)
        self._values: _Short = values[order].astype(np.int32)

    def __call__(self, key: int) -> _Short:
        return self._values[self._starts[key] : self._starts[key + 1]]

    @property
    def nbytes(self) -> int:
        return self._starts.nbytes + self._values.nbytes


def _table(lists: _Lists, numbers: Sequence[int]) -> pa.Table:
    parts = list(map(lists, numbers))
    targets = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    return pa.table({"target": targets, ROW: np.concatenate(parts)})
