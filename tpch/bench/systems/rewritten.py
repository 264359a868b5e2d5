"""Systems that rewrite the query to carry row numbers, and filter it to the targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from predtrace.sql import TARGET
from tpch.bench.perm_query import ROW, SCAN, PermQuery
from tpch.bench.systems.base import Ids, Row, Subject
from tpch.bench.systems.reader import Reader

_FOUND = pa.schema([(TARGET, pa.int64()), (SCAN, pa.int32()), (ROW, pa.int64())])


class Rewriting:
    """Queries rewritten for choices of scans (None: for all), which together trace all."""

    def __init__(self, reader: Reader, choices: Iterable[Sequence[int] | None]) -> None:
        self._reader = reader
        self._graph = reader.subject.graph
        self._queries = [
            PermQuery(
                self._graph,
                reader.relation,
                reader.subject.aggregates,
                scans,
                reader.engine.dialect,
            )
            for scans in choices
        ]

    def ids(self, targets: Sequence[Row]) -> Ids:
        """What the queries find, by scan."""
        if len(targets) > 1:
            self._reader.give(targets)
        texts = (
            query.of_one(targets[0]) if len(targets) == 1 else query.of_many(targets)
            for query in self._queries
        )
        found = pa.concat_tables([self._reader.engine.fetch(text).cast(_FOUND) for text in texts])
        number = found.column(SCAN)
        return {
            scan.id: found.filter(pc.equal(number, scan.id)).drop_columns([SCAN])
            for scan in self._graph.scans()
        }


class Perm:
    """One rewritten query (see `perm`); full rows are looked up by number afterwards."""

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        self._rewriting = Rewriting(self._reader, [None])

    def ids(self, targets: Sequence[Row]) -> Ids:
        """The same queries, whatever the number of targets."""
        return self._rewriting.ids(targets)

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The ids, then every source once, for the numbers found."""
        return self._reader.rows(self.ids([target]))


class Trace(Perm):
    """A tracing query for each source (Cui and Widom 2000): rewritten for that scan alone.

    The other sources take part as they do in the query, so that nothing is multiplied.
    """

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        self._rewriting = Rewriting(self._reader, [[scan.id] for scan in subject.graph.scans()])
