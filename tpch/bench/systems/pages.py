"""The physical limit of full rows: reading them when it is known which they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tpch.bench.systems.base import Ids, Row, Subject
from tpch.bench.systems.reader import Reader


class Pages:
    """Rows by numbers that were looked up before: what decoding the pages that hold them takes.

    All columns of the rows of all scans, by the engine itself, without a question.
    """

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        self._subject = subject
        self._known: dict[Row, Ids] = {}

    def ids(self, targets: Sequence[Row]) -> Ids:
        """Ours; they are kept for `rows`."""
        options = self._subject.engine.options
        scans = self._subject.job.lineage(list(targets), mode="auto", **options).scans
        found = {s.node: self._subject.numbered(s.table, s.row_ids()) for s in scans}
        for number, target in enumerate(targets):
            self._known[target] = {scan: _of_target(ids, number) for scan, ids in found.items()}
        return found

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The rows with the known numbers."""
        return self._reader.rows(self._known[target])


def _of_target(ids: pa.Table, number: int) -> pa.Table:
    chosen = ids.filter(pc.equal(ids["target"], number))
    nothing = pa.array([0] * chosen.num_rows, pa.int64())
    return chosen.set_column(0, "target", nothing)
