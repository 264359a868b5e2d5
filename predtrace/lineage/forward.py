"""Forward questions: which output rows does a source row reach?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from predtrace.engines.base import ScanRequest, TargetBinding, Targets
from predtrace.engines.sql.query import FILE, ROW
from predtrace.engines.values import target_table
from predtrace.errors import PredTraceError, TargetError
from predtrace.index.file import JobIndex
from predtrace.index.naming import chosen_scans
from predtrace.index.numbering import RowNumbers
from predtrace.jobs.model import Job, Source
from predtrace.jobs.snapshot import unchanged
from predtrace.lineage.context import choose_plan
from predtrace.lineage.engine_choice import choose_engine
from predtrace.lineage.modes.indexed import stored_index
from predtrace.lineage.source_cache import SourceCache
from predtrace.packed.boxes import Ints
from predtrace.targets.checking import check_target
from predtrace.targets.specs import TargetSpecs
from predtrace.text.layout import counted
from predtrace.vocabulary import AUTO, PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


class Reached:
    """The output rows that source rows reach, by their numbers in the output.

    `label` is the weakest label of the scans: with
    ``superset`` there may be rows too many. `complete` says whether the index covers all output
    rows; if not, others may be reached.
    """

    def __init__(
        self, numbers: Ints, label: str, complete: bool, scans: Sequence[str], output: Any
    ) -> None:
        self.label = label
        self.complete = complete
        self.scans = tuple(scans)
        self._numbers = numbers
        self._output = output

    def row_numbers(self) -> Ints:
        """The rows' numbers, from 0 in the order of the stored output, sorted."""
        return self._numbers

    def count(self) -> int:
        """The number of output rows."""
        return len(self._numbers)

    def to_arrow(self, limit: int | None = None) -> pa.Table:
        """The rows (or any `limit` of them), under the output's column names."""
        found: pa.Table = self._output().take(self._numbers[:limit])
        return found

    def __len__(self) -> int:
        return self.count()

    def __repr__(self) -> str:
        rest = "" if self.complete else ", of the indexed ones"
        return f"<Reached {counted(self.count(), 'output row')}{rest}, {self.label}>"


def forward(
    job: Job,
    folder: Path,
    scan: str,
    where: str | None,
    rows: Any,
    output: Any,
    *,
    aggregates: str | None = None,
    engine: str = AUTO,
    spark: SparkSession | None = None,
) -> Reached:
    """The output rows that rows of a scan reach: rows that satisfy `where`, or `rows` by number.

    See `JobHandle.forward`; `output` gives the job's output as an Arrow table.
    """
    if (where is None) == (rows is None):
        raise TargetError("give the source rows with either where=… or rows=…")
    plan = choose_plan(job, aggregates)
    index = stored_index(job, folder, plan.aggregates)
    if index is None:
        raise PredTraceError(
            f"job {job.id} has no row-id index, which forward questions need; build one with "
            f"build_index() or: predtrace index {job.id}"
        )
    scans = chosen_scans(OperatorGraph(job.graph, job.root).scans(), [scan])
    _refuse_left_out(job, index, scans)
    tables = {each.table for each in scans}
    if len(tables) > 1:
        raise PredTraceError(f"{scan} names scans of {' and '.join(sorted(tables))}; give one")
    (source,) = (source for source in job.sources if source.name in tables)
    if where is None:
        numbers = _given_rows(source, rows)
    else:
        cache = SourceCache(job, folder)
        numbers = _selected_rows(job, source, where, engine, spark, cache)
    found = np.unique(np.concatenate([index[each.id].outputs_of(numbers) for each in scans]))
    labels = {lineage.node: lineage.label for lineage in plan.scans}
    weakest = next((labels[s.id] for s in scans if labels[s.id] != PRECISE), PRECISE)
    names = [f"{each.table}[{each.occurrence}]" for each in scans]
    return Reached(found, weakest, index.complete, names, output)


def _refuse_left_out(job: Job, index: JobIndex, scans: Sequence[Scan]) -> None:
    for scan in scans:
        if scan.id not in index:
            raise PredTraceError(
                f"the index of job {job.id} leaves out {scan.table}[{scan.occurrence}]; build it "
                "with that scan"
            )


def _given_rows(source: Source, rows: Any) -> Ints:
    """Numbers, or a table of `file` and `row`, as one range of numbers.

    Raises TargetError for anything else, and for numbers that the source does not have.
    """
    import pyarrow as pa

    known = RowNumbers(source)
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        return known.of(_checked_rows(source, rows))
    numbers = np.ravel(np.asarray(rows))
    if numbers.dtype.kind not in "iu" and len(numbers):
        raise TargetError("rows are given by their numbers, or as a table of file and row")
    if len(source.files) > 1:
        raise TargetError(
            f"source {source.name} has {len(source.files)} files; give rows as a table of file "
            "and row (as row_ids() does)"
        )
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(known):
        raise TargetError(f"source {source.name} has rows 0 to {len(known) - 1}")
    return numbers.astype(np.int64)


def _checked_rows(source: Source, rows: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
    """Rows given by file and row. Raises TargetError unless the source has all of them."""
    import pyarrow as pa

    if not {FILE, ROW} <= set(rows.schema.names):
        raise TargetError(
            "a table of rows has the columns file and row (as row_ids() gives them), not "
            + ", ".join(rows.schema.names)
        )
    if not pa.types.is_integer(rows.schema.field(ROW).type) or rows.column(ROW).null_count:
        raise TargetError("the column row of a table of rows has whole numbers, and no NULL")
    counts = {file.path: file.rows or 0 for file in source.files}
    given = pa.table({FILE: rows.column(FILE).cast(pa.string()), ROW: rows.column(ROW)})
    for found in given.group_by(FILE).aggregate([(ROW, "min"), (ROW, "max")]).to_pylist():
        file, low, high = found[FILE], found[f"{ROW}_min"], found[f"{ROW}_max"]
        if file not in counts:
            raise TargetError(f"{file} is not a file of source {source.name}")
        if not 0 <= low <= high < counts[file]:
            has = f"rows 0 to {counts[file] - 1}" if counts[file] else "no rows"
            raise TargetError(f"{file} has {has}, and no row {low if low < 0 else high}")
    return rows


def _selected_rows(
    job: Job,
    source: Source,
    where: str,
    engine: str,
    spark: SparkSession | None,
    cache: SourceCache,
) -> Ints:
    """The numbers of the source rows that satisfy a predicate; an engine finds them."""
    from msgspec.structs import replace

    # A source's columns may have any ids; a scan's columns need different ones.
    columns = tuple(replace(column, id=place) for place, column in enumerate(source.columns, 1))
    specs = check_target(where, columns, job.settings, of=f"source {source.name}")
    (predicate,) = specs.predicates
    request = ScanRequest(
        source=source, columns=columns, predicate=predicate, binding=TargetBinding()
    )
    nobody = TargetSpecs(targets=(), numbered=False, columns=())
    one = Targets(target_table([], [(0, {})]), (), False)
    with unchanged([source]):
        runner, _ = choose_engine(job, nobody, {0: request}, engine, spark, cache=cache)
        return RowNumbers(source).of(runner.open(one, job.settings).rows([request]).row_ids())
