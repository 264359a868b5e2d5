"""Lineage answers: lazy relations of source rows, one for each scan of the pipeline."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.engines.base import (
    Answering,
    Opener,
    RefinedLink,
    Rows,
    ScanRequest,
    Targets,
    links_of,
    scans_of,
    target_name,
)
from predtrace.environment.recursion import reads_deep_trees
from predtrace.errors import PredTraceError, SourceError, TargetError
from predtrace.inference.plan import PRECISE, LineagePlan, ScanLineage
from predtrace.jobs.boundary import of_record
from predtrace.jobs.model import Job, Source
from predtrace.jobs.snapshot import check_snapshot, unchanged
from predtrace.text.layout import counted
from predtrace.text.printable import one_line, printable
from pushdown.operators import Scan

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from predtrace.cells.answer import CellLineage
    from predtrace.cells.tracing import TracedRow


class Question:
    """What the scans of an answer share: the engine, the target rows and bound rows.

    `find_targets` reads the target rows when they are first needed; `trusted` says that it
    takes them as given. `timings` collects the seconds that steps took.
    """

    def __init__(
        self,
        engine: Opener,
        job: Job,
        find_targets: Callable[[], Targets],
        *,
        trusted: bool = False,
    ) -> None:
        self.trusted = trusted
        self.engine = engine
        self.job = job
        self.timings: dict[str, float] = {}
        self._find_targets = find_targets

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add what the block takes to `timings[step]`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.timings[step] = self.timings.get(step, 0.0) + spent

    @cached_property
    def targets(self) -> Targets:
        """The target rows, full output rows."""
        with of_record(self.job.id), self.timed("find the target rows"):
            return self._find_targets()

    @cached_property
    def evaluation(self) -> Answering:
        """The question on its engine."""
        return self.engine.open(self.targets, self.job.settings)

    def looks_up(self, requests: Sequence[ScanRequest]) -> bool:
        """Whether counting the rows, and their ids, leave the sources alone."""
        return False

    def selecting(self, requests: Sequence[ScanRequest]) -> Sequence[ScanRequest]:
        """The requests with the predicates that select the rows."""
        return requests


class SourceRows:
    """Source rows of an answer: those that one scan, or several of a table, contribute.

    Rows are physical: equal ones stay apart. With several targets every result has the
    column ``target`` first: the target's position in the list given, from 0. Every read
    checks that the source is still what the job read, and raises SourceError if not;
    counts and row ids that are looked up in an index do not read it.
    """

    def __init__(
        self,
        question: Question,
        requests: Sequence[ScanRequest],
        name: str,
        label: str,
        reason: str,
        *,
        contributes: bool,
    ) -> None:
        self._contributes = contributes
        self._question = question
        self._requests = tuple(requests)
        self.name = name
        self.label = label
        self.reason = reason

    @property
    def table(self) -> str:
        """The source table's name."""
        return self._source.name

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the source lies, as the job recorded it."""
        return self._source.roots

    @property
    def columns(self) -> tuple[str, ...]:
        """The source's columns."""
        return tuple(column.name for column in self._requests[0].columns)

    @property
    def _source(self) -> Source:
        return self._requests[0].source

    @contextmanager
    def _reading(self, step: str, *, values: bool = True) -> Iterator[Rows]:
        read = values or not self._question.looks_up(self._requests)
        with (
            unchanged(self._read if read else ()),
            of_record(self._question.job.id),
            self._question.timed(f"{step} {self.name}"),
        ):
            yield self._rows

    @cached_property
    def _read(self) -> Sequence[Source]:
        """The sources that the rows, and what they are looked up with, are read from."""
        scans = (scan for link in links_of(self._requests) for scan in scans_of(link))
        found = {scan.source.name: scan.source for scan in (*self._requests, *scans)}
        return tuple(found.values())

    @cached_property
    def _rows(self) -> Rows:
        return self._question.evaluation.rows(self._requests)

    @reads_deep_trees
    def count(self) -> int:
        """How many rows; decodes only the columns that the predicate reads."""
        with self._reading("count", values=False) as rows:
            found = rows.count()
        if not found:
            self._refuse_nothing(())
        return found

    @reads_deep_trees
    def head(self, n: int = 20, columns: Sequence[str] | None = None) -> pa.Table:
        """Some n of the rows, as an Arrow table. Raises TargetError if n is no such number."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise TargetError(f"head takes a number of rows, 0 or more, not {n!r}")
        with self._reading("read") as rows:
            found = rows.head(n, columns)
        if n and not found.num_rows:
            self._refuse_nothing(())
        return found

    @reads_deep_trees
    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, or the named columns of them, as an Arrow table."""
        with self._reading("read") as rows:
            found = rows.to_arrow(columns)
        self._refuse_missing(found)
        return found

    def to_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as a stream of Arrow batches, for answers larger than memory."""
        some = False
        with self._reading("read") as rows:
            for batch in rows.to_batches(columns):
                some |= batch.num_rows > 0
                yield batch
        if not some:
            self._refuse_nothing(())

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """All rows as a pandas DataFrame."""
        frame: pd.DataFrame = self.to_arrow(columns).to_pandas()
        return frame

    @reads_deep_trees
    def to_spark(self, spark: SparkSession) -> DataFrame:
        """The rows as a lazy Spark DataFrame, whatever engine the question was asked on.

        It belongs to a session of its own, with the job's settings: it can be joined with the
        frames of `spark`, but a temporary view of it is not among the views of `spark`.
        """
        from predtrace.engines.spark.engine import SparkEngine

        requests = self._question.selecting(self._requests)
        with unchanged(self._read):
            evaluation = SparkEngine(spark).open(
                self._question.targets, self._question.job.settings
            )
            frame: DataFrame = evaluation.rows(requests).dataframe()
        return frame

    @reads_deep_trees
    def row_ids(self) -> pa.Table:
        """Where the rows lie: `file` (a local path) and `row`, from 0 in the file.

        Raises EngineError for formats without row numbers (all but Parquet).
        """
        with self._reading("row ids of", values=False) as rows:
            found = rows.row_ids()
        self._refuse_missing(found)
        return found

    @reads_deep_trees
    def write_parquet(self, folder: str | Path) -> None:
        """Write the rows as Parquet into a new or empty folder."""
        with self._reading("write") as rows:
            if self._contributes and not rows.head(1).num_rows:
                self._refuse_nothing(())
            rows.write_parquet(Path(folder))

    def _refuse_missing(self, rows: pa.Table) -> None:
        """Raise SourceError if a target has no row among these, and must have one."""
        import pyarrow.compute as pc

        if not self._contributes:
            return
        if self._question.targets.numbered:
            self._refuse_nothing(pc.unique(rows.column(0)).to_pylist())
        elif not rows.num_rows:
            self._refuse_nothing(())

    def _refuse_nothing(self, answered: Collection[int]) -> None:
        """Raise SourceError if a target that was found is not among those `answered`."""
        if not self._contributes or self._question.trusted:
            return
        found = set(self._question.targets.rows.column("target").to_pylist())
        if found - set(answered):
            raise SourceError(
                f"every output row comes from some row of {self.name}, but for a row that was "
                f"found in the output there is none: {self.name}, or a stored result, is not what "
                "the job read and wrote; run the pipeline again"
            )

    @reads_deep_trees
    def query_sql(self) -> str:
        """The query that the engine runs for the rows, to read."""
        with of_record(self._question.job.id):
            return self._rows.sql()

    def __len__(self) -> int:
        return self.count()

    def __repr__(self) -> str:
        found = vars(self._question).get("targets")
        absent = "" if found is None or found.rows.num_rows else ", target not in the output"
        return f"<{type(self).__name__} {printable(self.name)}, {self.label}{absent}>"


class ScanRows(SourceRows):
    """The lineage rows of one scan."""

    def __init__(
        self, question: Question, request: ScanRequest, scan: Scan, plan: ScanLineage
    ) -> None:
        super().__init__(
            question,
            [request],
            scan.table,
            plan.label,
            plan.reason,
            contributes=plan.contributes,
        )
        self.occurrence = scan.occurrence
        self.alias = scan.alias
        self.node = scan.id
        self.plan = plan

    @reads_deep_trees
    def predicate_sql(self) -> str:
        """The lineage predicate over the source's columns, as SQL to read.

        Values of the bound row stand in it if there is one such row, else they show as
        columns of ``bound``: the target rows, or the rows of a stored intermediate.
        """
        with of_record(self._question.job.id):
            return self._question.evaluation.predicate_sql(self._requests[0])


class Lineage:
    """The answer to a lineage question: source rows for each scan, computed when read.

    `mode` and `engine` say how it is computed, `notes` what else is to know (why another
    engine was not used, or that a target was taken on trust). `traced_rows` are what questions
    about cells computed, by column.
    """

    def __init__(
        self,
        question: Question,
        plan: LineagePlan,
        requests: Mapping[int, ScanRequest],
        scans: Sequence[Scan],
        mode: str,
        targets_given: int,
        notes: Sequence[str] = (),
    ) -> None:
        self._question = question
        self.plan = plan
        self.mode = mode
        self._notes = notes
        self._given = targets_given
        self.traced_rows: dict[int, tuple[TracedRow, ...]] = {}
        by_node = {lineage.node: lineage for lineage in plan.scans}
        self._scans = tuple(
            ScanRows(question, requests[scan.id], scan, by_node[scan.id]) for scan in scans
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is to know; reading rows may add to it (an index that turns out damaged)."""
        return tuple(self._notes)

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self._question.engine.name

    @property
    def label(self) -> str:
        """The weakest label of a scan."""
        return next((scan.label for scan in self._scans if scan.label != PRECISE), PRECISE)

    @property
    def scans(self) -> tuple[ScanRows, ...]:
        """Every scan's rows, by table, then occurrence."""
        return self._scans

    @property
    def passes(self) -> int | None:
        """How many passes over the value sets a refinement took; None in other modes.

        Known once some rows were read.
        """
        return self._question.evaluation.passes

    @property
    def source_reads(self) -> dict[str, int]:
        """How many scans of each source answering for all scans of the pipeline takes.

        One for each scan's rows; more for what is replayed or refined before.
        """
        requests = [request for scan in self._scans for request in scan._requests]
        if self._question.looks_up(requests):
            return {}
        # The scans of a question share their value sets.
        links = {
            link.sets if isinstance(link, RefinedLink) else link: link
            for link in links_of(requests)
        }
        before = (scan for link in links.values() for scan in scans_of(link))
        reads = Counter(request.source.name for request in (*requests, *before))
        return dict(reads)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds that the steps took so far."""
        return dict(self._question.timings)

    @property
    @reads_deep_trees
    def targets(self) -> pa.Table:
        """The target rows as found in the output, under the output's column names.

        The first column, ``target`` (``_target`` if the output has such a column), numbers
        the targets given as a list.
        """
        found = self._question.targets
        names = [target_name(found.columns), *(column.name for column in found.columns)]
        named = found.rows.rename_columns(names)
        return named if found.numbered else named.select(range(1, len(names)))

    @property
    @reads_deep_trees
    def target_rows(self) -> int:
        """How many different output rows the targets are; 0 if none is in the output."""
        return int(self._question.targets.rows.num_rows)

    @property
    @reads_deep_trees
    def missing(self) -> tuple[int, ...]:
        """The numbers of the targets that are not in the output."""
        found = set(self._question.targets.rows.column("target").to_pylist())
        return tuple(number for number in range(self._given) if number not in found)

    def __iter__(self) -> Iterator[ScanRows]:
        """The scans, as `scans` has them."""
        return iter(self._scans)

    def __getitem__(self, table: str) -> SourceRows:
        """The rows of a table: the union of its scans' by row identity."""
        scans = [scan for scan in self._scans if scan.table == table]
        if not scans:
            raise PredTraceError(
                f"the pipeline reads no source {table}; it reads {self._listed() or 'none'}"
            )
        if len(scans) == 1:
            return scans[0]
        weakest = next((scan for scan in scans if scan.label != PRECISE), scans[0])
        requests = [request for scan in scans for request in scan._requests]
        return SourceRows(
            self._question,
            requests,
            table,
            weakest.label,
            weakest.reason,
            contributes=any(scan.plan.contributes for scan in scans),
        )

    def scan(self, table: str, occurrence: int | None = None) -> ScanRows:
        """One scan, by the table's name or the scan's alias in the query.

        `occurrence` counts the scans of a table in plan order, from 1. Raises
        PredTraceError if there is no such scan, or several.
        """
        named = [scan for scan in self._scans if scan.table == table]
        named = named or [scan for scan in self._scans if scan.alias == table]
        found = [scan for scan in named if occurrence in (None, scan.occurrence)]
        if len(found) == 1:
            return found[0]
        problem = "several scans" if found else "no scan"
        which = table if occurrence is None else f"{table} with occurrence {occurrence}"
        raise PredTraceError(f"{problem} of {which}; there are {self._listed()}")

    @property
    def job(self) -> Job:
        """The job that was asked."""
        return self._question.job

    @property
    def found_targets(self) -> Targets:
        """The target rows, under physical names."""
        return self._question.targets

    def cells(
        self,
        column: str,
        positions: Sequence[int | Sequence[int]] | None = None,
        spark: SparkSession | None = None,
    ) -> CellLineage:
        """The source cells that cells of an output column were made of, in the one target row.

        `positions` are those asked about, from 0 (tuples for arrays of arrays, negative ones
        from the end); all without. The row is computed again on Spark (see docs/cells.md).
        Beyond aggregates all cells of the arrays count, and the answer is a ``superset``.
        Raises TargetError for a column that is not there, ArrayLineageError for positions
        that are none, EngineError for sources without row numbers, NonDeterministicError if
        another run need not give the row, SourceError if a source changed.
        """
        from predtrace.lineage.cells import ask_cells

        return ask_cells(self, column, positions, spark)

    def _absence(self) -> str:
        """That targets are not in the output, if so; Spark is not asked only to show it."""
        if "targets" not in vars(self._question) and self.engine == "spark":
            return ""
        try:
            missing = self.missing
        except PredTraceError:
            return ""
        numbers = " " + ", ".join(map(str, missing)) if self._given > 1 else ""
        return f", target{numbers} not in the output" if missing else ""

    def _listed(self) -> str:
        return printable(
            ", ".join(
                f"{scan.table}[{scan.occurrence}]"
                + (f" (alias {scan.alias})" if scan.alias not in (None, scan.table) else "")
                for scan in self._scans
            )
        )

    @reads_deep_trees
    def explain(self) -> str:
        """How the answer comes about: mode, engine, files, predicates, reasons of the labels."""
        lines = [f"mode {self.mode}, engine {self.engine}, label {self.label}"]
        lines += [f"note: {one_line(note)}" for note in self.notes]
        if self.passes is not None:
            lines.append(f"refined in {counted(self.passes, 'pass')}")
        if missing := self.missing:
            numbers = ", ".join(map(str, missing)) if self._question.targets.numbered else ""
            lines.append(f"not in the output: target {numbers}".rstrip())
        for scan in self._scans:
            reason = f" ({scan.reason})" if scan.reason else ""
            alias = f" as {scan.alias}" if scan.alias and scan.alias != scan.table else ""
            name = f"{scan.table}[{scan.occurrence}]{alias}"
            lines.append(printable(f"{name}: {scan.label}{reason}"))
            lines.append(printable(f"  from {', '.join(scan.paths)}"))
            if not self._question.looks_up(scan._requests):
                source = "target rows" if scan.plan.binding == 0 else "intermediate"
                number = "" if scan.plan.binding == 0 else f" {scan.plan.binding}"
                lines.append(f"  bound by the {source}{number}")
            lines += [f"  {line}" for line in scan.predicate_sql().splitlines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        about = f"{self.label}, mode {self.mode}, engine {self.engine}{self._absence()}"
        return f"<Lineage {about}: {self._listed() or 'no source'}>"


def check_sources(sources: Sequence[Source]) -> None:
    """Raise SourceError if a source is not what the job read."""
    for source in sources:
        check_snapshot(source)
