"""Source rows of an answer: lazy relations, of one scan or of several of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.engines.base import Rows, ScanRequest, bindings_of, scans_of
from predtrace.environment.recursion import reads_deep_trees
from predtrace.errors import SourceError, TargetError
from predtrace.inference.plan import ScanLineage
from predtrace.jobs.boundary import of_record
from predtrace.jobs.model import Source
from predtrace.jobs.snapshot import unchanged
from predtrace.lineage.question import Question
from predtrace.text.printable import printable
from pushdown.operators import Scan

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class SourceRows:
    """Source rows of an answer: the rows that one scan, or several scans of a table, contribute.

    Rows are physical: equal rows stay apart. With several targets every result has the column
    ``target`` first: the target's position in the list given, from 0. Every read checks that the
    source is still as the job read it, and raises SourceError if not. Counts and row ids from an
    index do not read the source.
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
        self._prepared: Rows | None = None
        self.name = name
        self.label = label
        self.reason = reason

    @property
    def table(self) -> str:
        """The source table's name."""
        return self._source.name

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the source, as the job recorded them."""
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
        """The sources of the rows, and of the rows by which they are looked up."""
        scans = (scan for binding in bindings_of(self._requests) for scan in scans_of(binding))
        found = {scan.source.name: scan.source for scan in (*self._requests, *scans)}
        return tuple(found.values())

    @property
    def _rows(self) -> Rows:
        # Not a cached property: that would let only one scan at a time prepare its query.
        if self._prepared is None:
            self._prepared = self._question.evaluation.rows(self._requests)
        return self._prepared

    @reads_deep_trees
    def count(self) -> int:
        """The number of rows; decodes only the columns that the predicate reads."""
        with self._reading("count", values=False) as rows:
            found = rows.count()
        if not found:
            self._refuse_nothing(())
        return found

    @reads_deep_trees
    def head(self, n: int = 20, columns: Sequence[str] | None = None) -> pa.Table:
        """Any n of the rows, as an Arrow table. Raises TargetError unless n is a number from 0."""
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
        """The rows as a lazy Spark DataFrame, whichever engine the question was asked on.

        It belongs to a new session with the job's settings. It can be joined with the frames of
        `spark`, but a temporary view of it is not among the views of `spark`.
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
        """The places of the rows: `file` (a local path) and `row`, from 0 in the file.

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
        """Raise SourceError if a target has none of these rows but must have one."""
        import pyarrow.compute as pc

        if not self._contributes:
            return
        if self._question.targets.numbered:
            self._refuse_nothing(pc.unique(rows.column(0)).to_pylist())
        elif not rows.num_rows:
            self._refuse_nothing(())

    def _refuse_nothing(self, answered: Collection[int]) -> None:
        """Raise SourceError if a target that was found is not among the `answered` targets."""
        if not self._contributes or self._question.trusted:
            return
        found = set(self._question.targets.rows.column("target").to_pylist())
        if found - set(answered):
            raise SourceError(
                f"every output row comes from some row of {self.name}, but there is none for a row "
                f"that was found in the output: {self.name}, or a stored result, is not what "
                "the job read and wrote; run the pipeline again"
            )

    @reads_deep_trees
    def query_sql(self) -> str:
        """The query that the engine runs for the rows, for people to read."""
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

    @property
    def requests(self) -> tuple[ScanRequest, ...]:
        """The requests to an engine for the rows."""
        return self._requests

    @reads_deep_trees
    def predicate_sql(self) -> str:
        """The lineage predicate over the source's columns, as SQL for people to read.

        If one row binds its params, it has that row's values. Otherwise it has columns of
        ``bound``: the target rows, or the rows of a stored intermediate result.
        """
        with of_record(self._question.job.id):
            return self._question.evaluation.predicate_sql(self._requests[0])
