"""Keeps the rows that the program itself brought: they become files in the job's folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from predtrace.errors import StoreError
from predtrace.frontends.spark.catalyst import JavaObject, items
from predtrace.frontends.spark.translation import Translation
from predtrace.frontends.spark.writing import ResultWriter
from predtrace.jobs.kept import kept_in
from predtrace.jobs.model import Source
from predtrace.text.layout import size
from symbolic import types as t


@dataclass
class RowKeeper:
    """Keeps sources of one run, in a folder each; all of them together take at most `limit` bytes.

    `relations` has plans that read the kept rows, by scan, for the sources that another read may
    find different. The run takes their rows from there.
    """

    writer: ResultWriter
    translation: Translation
    folder: Path
    limit: int | None
    relations: dict[int, JavaObject] = field(default_factory=dict)
    _bytes: int = 0
    _count: int = 0

    def keep(self, source: Source) -> Source:
        """The source with its rows in a file, in their order; without one if the limit is 0.

        Raises StoreError beyond the limit.
        """
        if self.limit == 0:
            return source
        self._count += 1
        name = f"rows-{self._count}"
        first, *_ = scans = self.translation.book.brought()[source.name]
        rows = self.writer.write_rows(self.translation.leaf_handles[first], source.columns, name)
        kept = kept_in(source, self.folder.resolve() / name, rows)
        self._bytes += sum(file.size for file in kept.files)
        self._refuse_too_many(source)
        if source.name in self.translation.book.unrepeatable():
            stored = self.writer.read_back(name)
            for scan in scans:
                self.relations[scan] = self._standing_in(scan, source, stored)
        return kept

    def _refuse_too_many(self, source: Source) -> None:
        if self.limit is None or self._bytes <= self.limit:
            return
        raise StoreError(
            f"the rows of {source.name}, which the program itself brings, are too many to keep "
            f"with the job: all such rows take {size(self._bytes)} so far, and the limit is "
            f"{size(self.limit)}; raise it with rows_limit (bytes; None for no limit), or "
            "write them to Parquet and read that"
        )

    def _standing_in(self, scan: int, source: Source, stored: JavaObject) -> JavaObject:
        original = self.translation.leaf_handles[scan]
        names = {
            int(attribute.exprId().id()): column.name
            for attribute, column in zip(items(original.output()), source.columns, strict=True)
            if not isinstance(column.type, t.Null)
        }
        return self.translation.builder.standing_in(stored, original, names)
