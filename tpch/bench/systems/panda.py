"""Panda: tracing by attribute mappings and filters (see `tpch.bench.panda`)."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from predtrace.sql import physical_name, plan_query
from tpch.bench.panda.tracing import Augmented, Tracer, storing_graph
from tpch.bench.panda.transformations import Transformation, transformations
from tpch.bench.systems.base import Ids, Row, Subject
from tpch.bench.systems.reader import Reader

_ALL = "all_rows"


class Panda:
    """Augmented outputs are stored before the first question, as Parquet."""

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        self._subject = subject
        self._folder = Path(tempfile.mkdtemp(prefix="panda-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        top = transformations(subject.graph, subject.aggregates)
        stored = {each.node: self._stored(each) for each in top.all() if each.augmented}
        self._tracer = Tracer(
            subject.graph, top, subject.engine.dialect, self._reader.relation, stored
        )

    @property
    def kept_bytes(self) -> int:
        """The augmented outputs, on disk."""
        return sum(file.stat().st_size for file in self._folder.rglob("*.parquet"))

    def ids(self, targets: Sequence[Row]) -> Ids:
        """One query for each scan."""
        if len(targets) == 1:
            texts = {scan: self._tracer.of_one(scan, targets[0]) for scan in self._tracer.scans}
        else:
            self._reader.give(targets)
            texts = {scan: self._tracer.of_many(scan, targets) for scan in self._tracer.scans}
        return {scan: self._reader.engine.fetch(text) for scan, text in texts.items()}

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The same queries, which select the rows instead of their numbers."""
        for scan in self._subject.graph.scans():
            yield self._reader.engine.fetch(self._tracer.rows_of(scan.id, target))

    def _stored(self, transformation: Transformation) -> Augmented:
        engine = self._subject.engine
        graph = storing_graph(self._subject.graph, transformation)
        scans = {scan.id: self._reader.relation(scan, None) for scan in graph.scans()}
        query = plan_query(graph, graph.root, engine.dialect, scans)
        folder = self._folder / str(transformation.node)
        relation = engine.store(query.sql(engine.dialect.name), folder)
        names = {a.column.id: physical_name(a.column.id) for a in transformation.stored}
        counts = [exp.alias_(exp.Count(this=exp.column(n)), n) for n in names.values()]
        every = exp.alias_(exp.Count(this=exp.Star()), _ALL)
        counted = exp.select(every, *counts).from_(relation.copy())
        (row,) = engine.fetch(counted.sql(engine.dialect.name)).to_pylist()
        never_null = frozenset(c for c, name in names.items() if row[name] == row[_ALL])
        return Augmented(relation, never_null)
