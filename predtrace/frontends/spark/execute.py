"""Runs a pipeline with cuts: intermediate results are stored as Parquet on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.frontends.base import Cut, RunResult
from predtrace.frontends.spark.catalyst import JavaObject
from predtrace.frontends.spark.function_recording import FunctionRecorder
from predtrace.frontends.spark.keeping import RowKeeper
from predtrace.frontends.spark.output import is_ordered, read_output, stored_name
from predtrace.frontends.spark.translation import Translation
from predtrace.frontends.spark.writing import ResultWriter
from predtrace.inference.repeating import unrepeatable
from predtrace.jobs.function_results import Typed
from predtrace.jobs.model import Source, StoredResult
from predtrace.vocabulary import INLINE, LATE
from pushdown.graph import OperatorGraph
from pushdown.needs import needed_columns
from pushdown.operators.base import Leaf, Repeats
from symbolic import types as t
from symbolic.expr import Column
from symbolic.functions import PythonFunction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUTPUT = "output"
"""The folder of the stored output, in the job's folder."""


@dataclass(kw_only=True)
class SparkRunResult(RunResult):
    """The stored results of a run on Spark, and the remaining work."""

    run: Run
    late: Mapping[int, tuple[Column, ...]]

    @cached_property
    def dataframe(self) -> DataFrame:
        """See `RunResult.dataframe`."""
        return self.run.dataframe(self.output)

    def finish(self) -> None:
        """See `RunResult.finish`."""
        for node, columns in self.late.items():
            if node not in self.intermediates:
                stored = self.run.store_beside(node, columns, self.timings)
                self.intermediates[node] = stored

    def keep_functions(self, functions: Iterable[PythonFunction]) -> Mapping[Typed, StoredResult]:
        """See `RunResult.keep_functions`."""
        return self.run.keep_functions(functions, self.timings)


@dataclass
class Run:
    """One run of a pipeline into a folder: `given` is the user's own DataFrame."""

    graph: OperatorGraph
    translation: Translation
    given: DataFrame
    depends_on_run: bool
    folder: Path
    cuts: Sequence[Cut]
    sources: Sequence[Source]
    rows_limit: int | None
    _relations: dict[int, JavaObject] = field(default_factory=dict)

    def run(self, keep: str, keep_output: bool) -> SparkRunResult:
        """See `Pipeline.run`.

        Inline intermediate results are written deepest first. The rest of the plan then reads the
        written files, so nothing is computed twice. This also holds inside uncorrelated scalar
        subqueries.
        """
        if keep not in (INLINE, LATE):
            raise ValueError(f"keep is 'inline' or 'late', not {keep!r}")
        self._writer.make_folder()
        timings: dict[str, float] = {}
        brought = self._keep_rows(timings)
        if not all(brought[name].is_there for name in self.translation.book.unrepeatable()):
            keep = INLINE  # whatever is computed later may be of other rows
        wanted = _columns_by_node(self.cuts)
        inline = {c.node for c in self.cuts if keep == INLINE or c.inline}
        if inline or self.depends_on_run:
            inline |= self._computed_once
        needed = needed_columns(self.graph)
        stored: dict[int, StoredResult] = {}
        graph = self.graph
        for node in graph.bottom_up():
            if node not in inline or (node == graph.root and keep_output):
                continue
            kept = {column.id for column in wanted.get(node, ())} | needed[node]
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
        return SparkRunResult(
            output=output,
            intermediates=stored,
            timings=timings,
            brought=tuple(brought.values()),
            run=self,
            late=late,
        )

    @property
    def _computed_once(self) -> set[int]:
        """The nodes with several consumers that would get different rows of them."""
        found = (node for node in self.graph.shared if not isinstance(self.graph[node], Leaf))
        return {node for node in found if unrepeatable(self.graph, node)}

    def _keep_rows(self, timings: dict[str, float]) -> dict[str, Source]:
        """Keep the rows that the program brought; what may not repeat is then read from there."""
        keeper = RowKeeper(self._writer, self.translation, self.folder, self.rows_limit)
        found = {}
        for source in self.sources:
            if source.kept:
                with _timed(timings, f"rows of {source.name}"):
                    found[source.name] = keeper.keep(source)
        self._relations.update(keeper.relations)
        return found

    def store_beside(
        self, node: int, columns: tuple[Column, ...], timings: dict[str, float]
    ) -> StoredResult:
        """Compute and store an intermediate result by itself, without identical rows."""
        with _timed(timings, f"intermediate {node}"):
            distinct = t.same_if_equal(column.type for column in columns)
            return self._writer.write(self._plan(node), columns, _folder_of(node), distinct)

    def keep_functions(
        self, functions: Iterable[PythonFunction], timings: dict[str, float]
    ) -> Mapping[Typed, StoredResult]:
        """Store the arguments and results of functions, as far as possible."""
        recorder = FunctionRecorder(self.translation, self._writer, self._plan, self._repeats)
        with _timed(timings, "results of Python functions"):
            return recorder.record(functions)

    def _repeats(self, node: int) -> bool:
        """Whether an operator's plan over what is stored gives the rows of the run."""
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current in self._relations:
                continue
            if current not in self._nodes or self.graph[current].repeats is not Repeats.ALWAYS:
                return False
            waiting.extend(self.graph.inputs(current))
        return True

    @cached_property
    def _nodes(self) -> set[int]:
        return set(self.graph.bottom_up())

    def dataframe(self, output: StoredResult | None) -> DataFrame:
        """The result, over the stored output if there is one."""
        from pyspark.sql import DataFrame

        spark, names = self.given.sparkSession, self.given.columns
        if output is not None:
            return read_output(
                spark,
                self.folder / output.folder,
                output.columns,
                names,
                is_ordered(self.graph),
                json.loads(str(self._writer.schemas[OUTPUT].json())),
            )
        if self._untouched:
            return self.given
        plan = self._plan(self.graph.root)
        rows = self.translation.builder.dataset(spark._jsparkSession, plan)
        return DataFrame(rows, spark).toDF(*names)

    @cached_property
    def _writer(self) -> ResultWriter:
        return ResultWriter(self.given.sparkSession, self.translation, self.folder)

    def _plan(self, node: int) -> JavaObject:
        """The operator's Catalyst plan over what is stored so far."""
        if node in self._relations:
            return self._relations[node]
        inputs = [self._plan(child) for child in self.graph.inputs(node)]
        return self.translation.builds[node](inputs)

    def _store_and_replace(self, node: int, columns: tuple[Column, ...]) -> StoredResult:
        plan = self._plan(node)
        result = self._writer.write(plan, columns, _folder_of(node))
        expr_ids = self.translation.expr_ids
        names = {
            expr_ids[column.id]: stored_name(column.id)
            for column in columns
            if not isinstance(column.type, t.Null)
        }
        stored = self._writer.read_back(result.folder)
        self._relations[node] = self.translation.builder.standing_in(stored, plan, names)
        return result

    def _store_output(self) -> StoredResult:
        root, columns = self.graph.root, self.graph.output()
        if not self._untouched:
            return self._writer.write(self._plan(root), columns, OUTPUT)
        plan = self.given._jdf.queryExecution().analyzed()
        return self._writer.write_output(plan, columns, OUTPUT)

    @property
    def _untouched(self) -> bool:
        # A plan that reads the time runs in its normalised form, where the time is a constant:
        # intermediate results stored later then see the same time. So does a plan that asks tasks
        # for their files.
        return not self._relations and not self.depends_on_run


def _columns_by_node(cuts: Iterable[Cut]) -> dict[int, tuple[Column, ...]]:
    found: dict[int, tuple[Column, ...]] = {}
    for cut in cuts:
        found[cut.node] = tuple(dict.fromkeys((*found.get(cut.node, ()), *cut.columns)))
    return found


def _folder_of(node: int) -> str:
    return f"node-{node}"


@contextmanager
def _timed(timings: dict[str, float], step: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    timings[step] = time.perf_counter() - start
