"""The query itself, without lineage, and predtrace in each of its modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from predtrace.sql import RowNumbers
from pushdown.operators import Scan
from tpch.bench.systems.base import Ids, Ints, Row, Subject
from tpch.check import stored_bytes
from tpch.queries import read_query


class PlainQuery:
    """The query itself: no lineage, but its result."""

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        self._text = read_query(subject.number)
        self._engine = subject.engine

    def ids(self, targets: Sequence[Row]) -> Ids:
        """The query is run; there are no ids."""
        self._engine.plain(self._text)
        return {}

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The query's result."""
        return [self._engine.plain(self._text)]


class OurMode:
    """predtrace in one mode, from a saved job; what the mode needs is built before."""

    def __init__(self, subject: Subject, mode: str) -> None:
        self._subject = subject
        self._job = subject.job
        self._mode = mode
        if mode == "stored":
            self._job.build_intermediates(**subject.engine.options)

    @property
    def kept_bytes(self) -> int:
        """The stored intermediate results, on disk."""
        return stored_bytes(self._job) if self._mode == "stored" else 0

    def ids(self, targets: Sequence[Row]) -> Ids:
        """One question, every scan's row ids."""
        answer = self._ask(list(targets))
        found = answer.each(lambda scan: self._subject.numbered(scan.table, scan.row_ids()))
        return {scan.node: ids for scan, ids in zip(answer.scans, found, strict=True)}

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """One question, every scan's rows."""
        tables: list[pa.Table] = self._ask(target).each(lambda scan: scan.to_arrow())
        return tables

    def head(self, target: Row, scan: int) -> pa.Table:
        """One question, the first rows of the scan."""
        (found,) = (rows for rows in self._ask(target).scans if rows.node == scan)
        return found.head(20)

    def _ask(self, target: Any) -> Any:
        return self._job.lineage(target, mode=self._mode, **self._subject.engine.options)


class Unproved(OurMode):
    """predtrace in a mode that may add rows, for each target as many as there are."""

    def count(self, targets: Sequence[Row]) -> int:
        """One question, every scan's count."""
        return sum(self._ask(list(targets)).each(lambda scan: scan.count()))


class Indexed(OurMode):
    """predtrace with a row-id index of the whole output, built anew."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject, "indexed")
        for file in self._files():
            file.unlink()
        self._job.build_index(**subject.engine.options)

    @property
    def kept_bytes(self) -> int:
        """The index, on disk."""
        return sum(file.stat().st_size for file in self._files())

    def reached(self, rows: Mapping[int, int]) -> dict[int, Ints]:
        """One forward question for each scan."""
        found = {}
        for scan, row in rows.items():
            operator = self._subject.graph[scan]
            assert isinstance(operator, Scan)
            known = RowNumbers(self._subject.sources[operator.table])
            name = f"{operator.table}[{operator.occurrence}]"
            reached = self._job.forward(name, rows=known.ids(np.array([row])))
            found[scan] = reached.row_numbers()
        return found

    def _files(self) -> list[Path]:
        return sorted(self._job.folder.glob("index-*.prx"))
