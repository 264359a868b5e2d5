"""What systems that query the sources themselves share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from sqlglot import exp

from predtrace.sql import physical_name, target_table
from pushdown.operators import Scan
from symbolic.expr import Column
from symbolic.types import LONG
from tpch.bench.perm_query import ROW, TARGETS
from tpch.bench.systems.base import Ids, Row, Subject
from tpch.errors import TpchError

_WANTED = "wanted"


class Reader:
    """A query's sources on its engine, and how targets are given to queries.

    Raises TpchError for a query that the engine does not compute as the job did.
    """

    def __init__(self, subject: Subject) -> None:
        problem = subject.engine.inexactness(subject.graph, subject.job.record.settings)
        if problem is not None:
            raise TpchError(problem)
        if not subject.sources:
            raise TpchError("the query reads no source")
        self.subject = subject
        self.engine = subject.engine
        ids = [column.id for scan in subject.graph.scans() for column in scan.columns]
        self._number = Column(1 + max(ids, default=0), ROW, LONG)

    def relation(self, scan: Scan, row: Column | None) -> exp.Expr:
        """The scan's source, with row numbers if asked for."""
        source = self.subject.sources[scan.table]
        return self.engine.relation(source, scan.columns, row)

    def give(self, targets: Sequence[Row]) -> None:
        """Let queries read the targets as table ``targets``."""
        columns = self.subject.graph.output()
        rows = [
            (number, {c.id: value for c, value in zip(columns, row, strict=True)})
            for number, row in enumerate(targets)
        ]
        self.engine.give(TARGETS, target_table(columns, rows))

    def rows(self, ids: Ids) -> Iterable[pa.Table]:
        """The rows of every scan, all columns, by their numbers."""
        for scan in self.subject.graph.scans():
            self.engine.give(_WANTED, ids[scan.id])
            wanted = exp.column(physical_name(self._number.id)).isin(
                query=exp.select(ROW).from_(_WANTED)
            )
            names = [exp.column(physical_name(column.id)) for column in scan.columns]
            query = exp.select(*names).from_(self.relation(scan, self._number)).where(wanted)
            yield self.engine.fetch(query.sql(self.engine.dialect.name))
