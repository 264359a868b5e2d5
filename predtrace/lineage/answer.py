"""The answer to a lineage question: the rows of each scan, and how they were found."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from predtrace.engines.base import RefinedBinding, ScanRequest, bindings_of, scans_of, target_name
from predtrace.environment.recursion import reads_deep_trees
from predtrace.errors import PredTraceError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job
from predtrace.lineage.question import Question
from predtrace.lineage.rows import ScanRows, SourceRows
from predtrace.text.layout import counted
from predtrace.text.printable import one_line, printable
from predtrace.vocabulary import PRECISE, SPARK
from pushdown.operators import Scan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from predtrace.cells.tracing import TracedRow
    from predtrace.lineage.cell_rows import CellLineage


T = TypeVar("T")


class Lineage:
    """The answer to a lineage question: source rows for each scan, computed when read.

    `mode` and `engine` say how it is computed. `notes` say more, such as why another engine was not
    used, or that a target was taken on trust.
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
        self._traced: dict[int, tuple[TracedRow, ...]] = {}
        by_node = {lineage.node: lineage for lineage in plan.scans}
        self._scans = tuple(
            ScanRows(question, requests[scan.id], scan, by_node[scan.id]) for scan in scans
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the answer; reading rows may add some (an index turns out to be damaged)."""
        return tuple(self._notes)

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self._question.answered_by

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
        """The number of passes over the value sets in a refinement; None in other modes.

        It is known once some rows were read.
        """
        return self._question.evaluation.passes

    @property
    def source_reads(self) -> dict[str, int]:
        """How often each source is scanned to answer for all scans of the pipeline.

        Once for the rows of each scan; more often if something is replayed or refined first.
        """
        requests = [request for scan in self._scans for request in scan.requests]
        if self._question.looks_up(requests):
            return {}
        # The scans of a question share their value sets.
        bindings = {
            binding.sets if isinstance(binding, RefinedBinding) else binding: binding
            for binding in bindings_of(requests)
        }
        before = (scan for binding in bindings.values() for scan in scans_of(binding))
        reads = Counter(request.source.name for request in (*requests, *before))
        return dict(reads)

    @property
    def timings(self) -> dict[str, float]:
        """The seconds that each step has taken so far."""
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
        """The number of different output rows that the targets name; 0 if none is in the output."""
        return int(self._question.targets.rows.num_rows)

    @property
    @reads_deep_trees
    def missing(self) -> tuple[int, ...]:
        """The numbers of the targets that are not in the output."""
        found = set(self._question.targets.rows.column("target").to_pylist())
        return tuple(number for number in range(self._given) if number not in found)

    def each(self, read: Callable[[ScanRows], T]) -> list[T]:
        """What `read` returns for every scan, in the order of `scans`.

        On Spark several scans are read at the same time, in threads that have the caller's job
        group and other local properties. If one fails, or the caller is interrupted, the jobs of
        the others are cancelled; the first error is raised.

            ids = answer.each(lambda scan: scan.row_ids())
        """
        return self._question.at_once([functools.partial(read, scan) for scan in self._scans])

    def __iter__(self) -> Iterator[ScanRows]:
        """The same scans as `scans`."""
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
        requests = [request for scan in scans for request in scan.requests]
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

    def cells(
        self,
        column: str,
        positions: Sequence[int | Sequence[int]] | None = None,
        spark: SparkSession | None = None,
    ) -> CellLineage:
        """The source cells that cells of an output column were made of, in the one target row.

        `positions` count from 0, negative ones from the end; arrays of arrays take tuples. Without
        `positions` the answer is for all cells. The row is computed again on Spark (see
        docs/cells.md). Beyond aggregates all cells of the arrays count, and the answer is a
        ``superset``. Raises TargetError for an unknown column, ArrayLineageError for positions out
        of range, EngineError for sources without row numbers, NonDeterministicError if another run
        may not give the row, SourceError if a source changed.
        """
        from predtrace.lineage.cells import ask_cells

        return ask_cells(self._question, self._scans, self._traced, column, positions, spark)

    def _absence(self) -> str:
        """A remark if targets are not in the output; it starts no query on Spark."""
        if "targets" not in vars(self._question) and self.engine == SPARK:
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
        """How the answer is computed: mode, engine, files, predicates, reasons for the labels."""
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
            if not self._question.looks_up(scan.requests):
                bindings = dict.fromkeys(one.binding for one in scan.plan.selections)
                names = (f"intermediate {b}" if b else "target rows" for b in bindings)
                lines.append(f"  bound by the {' and the '.join(names)}")
            lines += [f"  {line}" for line in scan.predicate_sql().splitlines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        about = f"{self.label}, mode {self.mode}, engine {self.engine}{self._absence()}"
        return f"<Lineage {about}: {self._listed() or 'no source'}>"
