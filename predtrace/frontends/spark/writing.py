"""Stores the rows of Catalyst plans as Parquet, under names that no query can disturb."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.errors import StoreError
from predtrace.frontends.spark.catalyst import JavaObject, items, scala_seq
from predtrace.frontends.spark.output import stored_name, stored_path
from predtrace.frontends.spark.translation import Translation
from predtrace.jobs.model import EngineSettings, StoredResult
from predtrace.jobs.results import stored_result
from predtrace.jobs.settings import EXCLUDED_RULES, put_in_force
from symbolic import types as t
from symbolic.expr import Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    # Exact for every engine, and with statistics for skipping row groups (INT96 has none).
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
_REDUNDANT_AGGREGATES = "org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAggregates"
_OPTIONS = {
    "compression": "zstd",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}


@dataclass
class ResultWriter:
    """Writes results of one run into folders of the run's `folder`.

    `schemas` has the schema of the written files, by folder, so readers need not open files to
    infer it.
    """

    spark: SparkSession
    translation: Translation
    folder: Path
    schemas: dict[str, JavaObject] = field(default_factory=dict)

    def make_folder(self) -> None:
        """Make the folder. Raises StoreError if it cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            probe = self.folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise StoreError(f"the job store cannot be written: {error}") from error

    @cached_property
    def session(self) -> JavaObject:
        """A session with our settings for writing and the recorded settings, otherwise like the
        user's."""
        found = session_in_force(self.spark, self.translation.settings)
        for key, value in _SETTINGS.items():
            found.conf().set(key, value)
        return found

    @cached_property
    def _distinct_session(self) -> JavaObject:
        """A session whose optimizer keeps groupings below our own DISTINCT.

        Without them it would use the raw values of the groups as keys, -0.0 for 0.0.
        """
        found = self.session.cloneSession()
        excluded = [str(found.conf().get(EXCLUDED_RULES, "")), _REDUNDANT_AGGREGATES]
        found.conf().set(EXCLUDED_RULES, ",".join(filter(None, excluded)))
        return found

    def write(
        self, plan: JavaObject, columns: tuple[Column, ...], folder: str, distinct: bool = False
    ) -> StoredResult:
        """Store columns of a plan; `distinct` stores distinct rows only."""
        by_id = {int(attribute.exprId().id()): attribute for attribute in items(plan.output())}
        expr_ids = self.translation.expr_ids
        attributes = [by_id[expr_ids[column.id]] for column in columns]
        return self._write_attributes(plan, attributes, columns, folder, distinct)

    def write_distinct(
        self, plan: JavaObject, columns: tuple[Column, ...], folder: str
    ) -> StoredResult:
        """Store the distinct rows of a plan, under its own names; `columns` describe them."""
        rows = self.translation.builder.distinct(plan)
        dataset = self.translation.builder.dataset(self._distinct_session, rows)
        return self._write_rows(dataset, columns, folder)

    def write_output(
        self, plan: JavaObject, columns: tuple[Column, ...], folder: str
    ) -> StoredResult:
        """Store all columns of a plan in their order; `columns` names them."""
        if any(isinstance(column.type, t.Null) for column in columns):
            return self._write_attributes(plan, list(items(plan.output())), columns, folder)
        # One call instead of several per column, which would dominate the cost of a late run.
        names = scala_seq(self.translation.builder.jvm, map(_name, columns))
        dataset = self.translation.builder.dataset(self.session, plan)
        return self._write_rows(dataset.toDF(names), columns, folder)

    def write_rows(self, plan: JavaObject, columns: Sequence[Column], folder: str) -> int:
        """Store all columns of a plan, as `columns` name them, in one file that keeps the order.

        Returns the number of rows. Rows without columns have their numbers in the file.
        """
        builder = self.translation.builder
        taken = {column.name for column in columns}
        place = next(name for name in map("row {}".format, itertools.count()) if name not in taken)
        position = builder.call("MonotonicallyIncreasingID")
        named = zip(items(plan.output()), columns, strict=True)
        projected = builder.project(
            [
                *(self._stored(attribute, column, column.name) for attribute, column in named),
                builder.alias(position, place, builder.new_id()),
            ],
            plan,
        )
        # One task may take the partitions in any order.
        together = builder.dataset(self.session, projected).coalesce(1)
        order = scala_seq(builder.jvm, [together.col(f"`{place}`")])
        rows = together.sortWithinPartitions(order)
        self._write_files(rows.drop(place) if columns else rows, folder, maxRecordsPerFile="0")
        return _only_file(self.folder / folder)

    def read_back(self, folder: str) -> JavaObject:
        """The plan that reads a written folder."""
        stored = self.session.read().option("__globPaths__", "false")
        schema = self.schemas[folder]
        read = stored.schema(schema).parquet(stored_path(self.folder / folder))
        return self.translation.builder.typed(read.queryExecution().analyzed(), schema.fields())

    def _write_attributes(
        self,
        plan: JavaObject,
        attributes: Sequence[JavaObject],
        columns: tuple[Column, ...],
        folder: str,
        distinct: bool = False,
    ) -> StoredResult:
        builder = self.translation.builder
        projected = builder.project(
            (
                self._stored(attribute, column, stored_name(column.id))
                for attribute, column in zip(attributes, columns, strict=True)
            ),
            plan,
        )
        session = self._distinct_session if distinct else self.session
        plan = builder.distinct(projected) if distinct else projected
        return self._write_rows(builder.dataset(session, plan), columns, folder)

    def _stored(self, attribute: JavaObject, column: Column, name: str) -> JavaObject:
        """A column as it is stored: Parquet has no void type."""
        builder = self.translation.builder
        boolean = builder.jvm.org.apache.spark.sql.types.DataTypes.BooleanType
        value = builder.null(boolean) if isinstance(column.type, t.Null) else attribute
        return builder.alias(value, name, builder.new_id())

    def _write_rows(
        self, dataset: JavaObject, columns: tuple[Column, ...], folder: str
    ) -> StoredResult:
        self._write_files(dataset, folder)
        return stored_result(self.folder, folder, columns)

    def _write_files(self, dataset: JavaObject, folder: str, **options: str) -> None:
        self.schemas[folder] = dataset.schema()
        writer = dataset.write()
        for key, value in {**_OPTIONS, **options}.items():
            writer = writer.option(key, value)
        writer.parquet(stored_path(self.folder / folder))


def session_in_force(spark: SparkSession, settings: EngineSettings) -> JavaObject:
    """A session of its own with the recorded settings, otherwise like the user's."""
    found = spark._jsparkSession.cloneSession()
    put_in_force(found.conf(), settings)
    return found


def _only_file(folder: Path) -> int:
    """Give the only file that was written into a folder a plain name; returns its rows."""
    import pyarrow.parquet as pq

    (written,) = folder.glob("*.parquet")
    for checksum in folder.glob(".*.crc"):  # of the file's old name
        checksum.unlink()
    file = written.rename(folder / "rows.parquet")
    return int(pq.read_metadata(file).num_rows)


def _name(column: Column) -> str:
    return stored_name(column.id)
