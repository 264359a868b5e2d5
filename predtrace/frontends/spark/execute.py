"""Running a pipeline split at its intermediates, each stored as Parquet on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from predtrace.errors import StoreError
from predtrace.frontends.spark.catalyst import JavaObject, items, scala_seq
from predtrace.frontends.spark.output import read_output, stored_name, stored_path
from predtrace.jobs.model import StoredResult
from predtrace.jobs.results import stored_result
from predtrace.jobs.settings import EXCLUDED_RULES, put_in_force
from pushdown.needs import needed_columns
from symbolic import types as t
from symbolic.expr import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from predtrace.frontends.spark.pipeline import SparkPipeline

OUTPUT = "output"
"""The folder of the stored output, in the job's folder."""
_WRITE_SETTINGS = {
    # Exact for every engine, and with statistics for skipping row groups (INT96 has none).
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
_REDUNDANT_AGGREGATES = "org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAggregates"
_WRITE_OPTIONS = {
    "compression": "zstd",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}


class Cut(Protocol):
    """What is to be stored of an intermediate: see `predtrace.inference.plan.Intermediate`."""

    @property
    def node(self) -> int:
        """The operator whose output is stored."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that lineage needs."""
        ...

    @property
    def inline(self) -> bool:
        """Whether it must be stored while the pipeline runs."""
        ...


@dataclass
class RunResult:
    """What a run has stored.

    `intermediates` is by operator; it is complete after `finish`. `timings` are seconds
    per step.
    """

    output: StoredResult | None
    intermediates: dict[int, StoredResult]
    timings: dict[str, float]
    _run: Run
    _late: Mapping[int, tuple[Column, ...]]

    @cached_property
    def dataframe(self) -> DataFrame:
        """The pipeline's result: read from where it was stored, else not computed yet.

        To be asked for first while the run's folder has its name.
        """
        return self._run.dataframe(self.output)

    def finish(self) -> None:
        """Store the intermediates that a ``late`` run has left for afterwards."""
        for node, columns in self._late.items():
            if node not in self.intermediates:
                stored = self._run.store_beside(node, columns, self.timings)
                self.intermediates[node] = stored


@dataclass
class Run:
    """One run of a pipeline into a folder."""

    pipeline: SparkPipeline
    folder: Path
    cuts: Sequence[Cut]
    _relations: dict[int, JavaObject] = field(default_factory=dict)
    _schemas: dict[str, JavaObject] = field(default_factory=dict)
    """Of what was written, by folder: who reads it back need not open files to find out."""

    def run(self, keep: str, keep_output: bool) -> RunResult:
        """See `SparkPipeline.run`.

        Inline intermediates are written deepest first; the rest of the plan then reads
        the written files, so that nothing is computed twice. That holds inside
        uncorrelated scalar subqueries, too.
        """
        if keep not in ("inline", "late"):
            raise ValueError(f"keep is 'inline' or 'late', not {keep!r}")
        self._make_folder()
        wanted = self._columns_by_node(cut for cut in self.cuts)
        inline = {c.node for c in self.cuts if keep == "inline" or c.inline}
        needed = needed_columns(self.pipeline.graph)
        timings: dict[str, float] = {}
        stored: dict[int, StoredResult] = {}
        graph = self.pipeline.graph
        for node in graph.bottom_up():
            if node not in inline or (node == graph.root and keep_output):
                continue
            kept = {column.id for column in wanted[node]} | needed[node]
            columns = tuple(column for column in graph.output(node) if column.id in kept)
            with _timed(timings, f"intermediate {node}"):
                stored[node] = self._store_and_replace(node, columns)
        output = None
        if keep_output:
            with _timed(timings, OUTPUT):
                output = self._store_output()
            if graph.root in inline:
                stored[graph.root] = output
        late = {node: columns for node, columns in wanted.items() if node not in inline}
        return RunResult(output, stored, timings, self, late)

    def store_beside(
        self, node: int, columns: tuple[Column, ...], timings: dict[str, float]
    ) -> StoredResult:
        """Compute and store an intermediate by itself, one of each set of the same rows."""
        with _timed(timings, f"intermediate {node}"):
            distinct = t.same_if_equal(column.type for column in columns)
            return self._write(self._plan(node), columns, _folder_of(node), distinct)

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            probe = self.folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise StoreError(f"the job store cannot be written: {error}") from error

    def _columns_by_node(self, cuts: Iterator[Cut]) -> dict[int, tuple[Column, ...]]:
        found: dict[int, tuple[Column, ...]] = {}
        for cut in cuts:
            found[cut.node] = tuple(dict.fromkeys((*found.get(cut.node, ()), *cut.columns)))
        return found

    def _plan(self, node: int) -> JavaObject:
        """The operator's Catalyst plan over what is stored so far."""
        if node in self._relations:
            return self._relations[node]
        translation = self.pipeline.translation
        inputs = [self._plan(child) for child in self.pipeline.graph.inputs(node)]
        return translation.builds[node](inputs)

    def _store_and_replace(self, node: int, columns: tuple[Column, ...]) -> StoredResult:
        plan = self._plan(node)
        result = self._write(plan, columns, _folder_of(node))
        stored = self._session.read().option("__globPaths__", "false")
        path = stored_path(self.folder / result.folder)
        reader = stored.schema(self._schemas[result.folder])
        relation = reader.parquet(path).queryExecution().analyzed()
        expr_ids = self.pipeline.translation.expr_ids
        names = {
            expr_ids[column.id]: stored_name(column.id)
            for column in columns
            if not isinstance(column.type, t.Null)
        }
        builder = self.pipeline.translation.builder
        self._relations[node] = builder.standing_in(relation, plan, names)
        return result

    def _store_output(self) -> StoredResult:
        graph = self.pipeline.graph
        if not self._untouched:
            return self._write(self._plan(graph.root), graph.output(), OUTPUT)
        columns = graph.output()
        plan = self.pipeline.dataframe._jdf.queryExecution().analyzed()
        if any(isinstance(column.type, t.Null) for column in columns):
            return self._write_attributes(plan, list(items(plan.output())), columns, OUTPUT)
        # One call instead of several per column: they would be what a late run costs.
        names = scala_seq(self.pipeline.translation.builder.jvm, map(_name, columns))
        return self._write_rows(self._rows(self._session, plan).toDF(names), columns, OUTPUT)

    @property
    def _untouched(self) -> bool:
        # A plan that asks for the time runs in its normalised form, where the time is a
        # constant: intermediates stored later then see the same one.
        return not self._relations and not self.pipeline.time_dependent

    def dataframe(self, output: StoredResult | None) -> DataFrame:
        """The result, over the stored output if there is one."""
        from pyspark.sql import DataFrame

        pipeline = self.pipeline
        if output is not None:
            return read_output(
                pipeline.spark,
                self.folder / output.folder,
                output.columns,
                pipeline.names,
                pipeline.ordered,
                json.loads(str(self._schemas[OUTPUT].json())),
            )
        if self._untouched:
            return pipeline.dataframe
        rows = self._rows(pipeline.spark._jsparkSession, self._plan(pipeline.graph.root))
        return DataFrame(rows, pipeline.spark).toDF(*pipeline.names)

    def _rows(self, session: JavaObject, plan: JavaObject) -> JavaObject:
        jvm = self.pipeline.translation.builder.jvm
        return jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan)

    @property
    def _session(self) -> JavaObject:
        """A session with our settings for writing, those recorded, else like the user's."""
        found: JavaObject = self.__dict__.get("_cloned")
        if found is None:
            found = self.pipeline.spark._jsparkSession.cloneSession()
            put_in_force(found.conf(), self.pipeline.settings)
            for key, value in _WRITE_SETTINGS.items():
                found.conf().set(key, value)
            self.__dict__["_cloned"] = found
        return found

    @cached_property
    def _distinct_session(self) -> JavaObject:
        """One whose optimizer leaves the groups below our own DISTINCT.

        It would take the groups' raw values for their keys, -0.0 for 0.0.
        """
        found = self._session.cloneSession()
        excluded = [str(found.conf().get(EXCLUDED_RULES, "")), _REDUNDANT_AGGREGATES]
        found.conf().set(EXCLUDED_RULES, ",".join(filter(None, excluded)))
        return found

    def _write(
        self, plan: JavaObject, columns: tuple[Column, ...], folder: str, distinct: bool = False
    ) -> StoredResult:
        by_id = {int(attribute.exprId().id()): attribute for attribute in items(plan.output())}
        expr_ids = self.pipeline.translation.expr_ids
        attributes = [by_id[expr_ids[column.id]] for column in columns]
        return self._write_attributes(plan, attributes, columns, folder, distinct)

    def _write_attributes(
        self,
        plan: JavaObject,
        attributes: Sequence[JavaObject],
        columns: tuple[Column, ...],
        folder: str,
        distinct: bool = False,
    ) -> StoredResult:
        builder = self.pipeline.translation.builder
        boolean = builder.jvm.org.apache.spark.sql.types.DataTypes.BooleanType
        projected = builder.project(
            (
                builder.alias(
                    # Parquet has no void type.
                    builder.null(boolean) if isinstance(column.type, t.Null) else attribute,
                    stored_name(column.id),
                    builder.new_id(),
                )
                for attribute, column in zip(attributes, columns, strict=True)
            ),
            plan,
        )
        session = self._distinct_session if distinct else self._session
        rows = self._rows(session, builder.distinct(projected) if distinct else projected)
        return self._write_rows(rows, columns, folder)

    def _write_rows(
        self, dataset: JavaObject, columns: tuple[Column, ...], folder: str
    ) -> StoredResult:
        path = self.folder / folder
        self._schemas[folder] = dataset.schema()
        writer = dataset.write()
        for key, value in _WRITE_OPTIONS.items():
            writer = writer.option(key, value)
        writer.parquet(stored_path(path))
        return stored_result(self.folder, folder, columns)


def _name(column: Column) -> str:
    return stored_name(column.id)


def _folder_of(node: int) -> str:
    return f"node-{node}"


@contextmanager
def _timed(timings: dict[str, float], step: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    timings[step] = time.perf_counter() - start
