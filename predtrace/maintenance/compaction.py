"""Compaction of intermediate results after the run.

Questions are about rows of the stored output. They look up only those rows of a stored intermediate
result that some output row selects, directly or through the results above it. Compaction drops all
other rows (groups that a HAVING or a LIMIT left out, say). It sorts the remaining rows in the order
in which they are looked up. It also replaces values that the output has, too, by the numbers of
output rows if these take less space (`jobs.model.OutputNumbers`).
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from predtrace.durable.writing import folder_made_whole
from predtrace.engines.base import (
    BindingSource,
    StoredBinding,
    TargetBinding,
    Targets,
    physical_name,
)
from predtrace.engines.values import target_table
from predtrace.errors import EngineError
from predtrace.inference.conditions import tells_equals_apart
from predtrace.inference.plan import Intermediate
from predtrace.jobs.model import (
    Job,
    OutputFile,
    OutputNumbers,
    OutputValue,
    StoredIntermediate,
    StoredResult,
)
from predtrace.jobs.results import parquet_files, stored_result
from predtrace.lineage.stored_results import stored_binding
from predtrace.targets.specs import bindable
from symbolic.expr import TRUE, Call, Column, Param, conjuncts, params_of
from symbolic.types import Array, Float, Map, Record

if TYPE_CHECKING:
    from predtrace.engines.duckdb.engine import DuckDBEngine, DuckDBEvaluation

NODE = "node-"
"""The prefix of the folder names of intermediate results."""
_NUMBER_BYTES = 2
"""An upper bound of the bytes of an output row's number, in order and compressed."""
_SMALL = 4096
"""Results of up to so many bytes are not worth the time."""
_INEXACT = (Array, Float, Map, Record)
"""Types with values that are equal but not identical (0.0 and -0.0), also inside other types."""


def compacted(job: Job, folder: Path) -> Job:
    """The job's record with smaller intermediate results, written into `folder`.

    Results that DuckDB does not read exactly stay unchanged. So do all results of a job without its
    output. The old results are not removed: see `sweep`.
    """
    from predtrace.engines.duckdb.engine import DuckDBEngine

    if job.output is None or not any(_is_large(item.result) for item in job.intermediates):
        return job
    engine = DuckDBEngine()
    # One target without values: it stands for all output rows.
    nothing = Targets(target_table([], [(0, {})]), (), False)
    evaluation = engine.open(nothing, job.settings)
    smaller: dict[tuple[str, int], StoredResult] = {}
    for plan in job.plans:
        stored = {
            item.binding: item.result
            for item in job.intermediates
            if item.aggregates == plan.aggregates
        }
        bindings: dict[int, BindingSource] = {0: _output_rows(job, folder, plan.intermediates)}
        for item in plan.intermediates:
            # What is looked up for rows of several bindings is kept as it is.
            if item.binding not in stored or item.also or item.parent not in bindings:
                continue
            result = stored[item.binding]
            binding = stored_binding(job, folder, item, result, bindings[item.parent])
            if _is_large(result) and not _inexactness(engine, job, binding):
                found = _compact(evaluation, job, folder, item, result, binding)
                if found is not None:
                    smaller[plan.aggregates, item.binding] = found
                    binding = stored_binding(job, folder, item, found, bindings[item.parent])
            bindings[item.binding] = binding
    return _with_results(job, smaller)


def sweep(folder: Path, before: Job, after: Job) -> None:
    """Remove the stored results that the new record of a job no longer names."""
    named = _named(after)
    for item in before.intermediates:
        if item.result.folder not in named:
            shutil.rmtree(folder / item.result.folder, ignore_errors=True)


def sweep_unnamed(folder: Path, job: Job) -> None:
    """Remove stored results that the job's record does not name: a killed writer left them.

    The caller must be the only writer.
    """
    named = _named(job)
    for entry in folder.glob(f"{NODE}*"):
        if entry.name not in named:
            shutil.rmtree(entry, ignore_errors=True)


def _named(job: Job) -> set[str]:
    """The folders of a job's stored results."""
    named = {item.result.folder for item in job.intermediates}
    return named if job.output is None else {*named, job.output.folder}


def _is_large(result: StoredResult) -> bool:
    return result.bytes > _SMALL


def _pays(after: int, before: int) -> bool:
    """Whether the new size is worth replacing the old one."""
    return after < before


def _output_rows(job: Job, folder: Path, items: Iterable[Intermediate]) -> StoredBinding:
    """All output rows, with the values that intermediate results are looked up by."""
    assert job.output is not None
    wanted = {param.column for item in items for param in params_of(item.predicate)}
    columns = [column for column in bindable(job.output.columns) if column.id in wanted]
    return StoredBinding(
        folder=str(folder / job.output.folder),
        columns=tuple(columns),
        predicate=TRUE,
        parent=TargetBinding(),
        files=job.output.files,
    )


def _inexactness(engine: DuckDBEngine, job: Job, binding: StoredBinding) -> str | None:
    bindings: list[StoredBinding] = [binding]
    while isinstance(bindings[-1].parent, StoredBinding):
        bindings.append(bindings[-1].parent)
    if any(tells_equals_apart(term) for term in conjuncts(binding.predicate)):
        return "equal rows are told apart, and only one of them would be kept"
    for one in bindings:
        found = engine.binding_inexactness(one, job.settings)
        found = found or engine.expression_inexactness([one.predicate], job.settings)
        if found is not None:
            return found
    return None


def _compact(
    evaluation: DuckDBEvaluation,
    job: Job,
    folder: Path,
    item: Intermediate,
    result: StoredResult,
    binding: StoredBinding,
) -> StoredResult | None:
    """The result stored compactly; None if that is not smaller, or if DuckDB cannot do it."""
    name = f"{NODE}{item.node}-{secrets.token_hex(4)}"
    numbers = _numbers(job, folder, item, result)
    try:
        with folder_made_whole(folder / name) as place:
            evaluation.store_looked_up(binding, numbers, place)
    except EngineError:
        # Only the values show such an error; the stored result serves as well.
        return None
    found = stored_result(folder, name, item.columns, numbers)
    if not _pays(found.bytes, result.bytes):
        shutil.rmtree(folder / name, ignore_errors=True)
        return None
    return found


def _numbers(
    job: Job, folder: Path, item: Intermediate, result: StoredResult
) -> OutputNumbers | None:
    """Numbers of output rows in place of values, if they take less space."""
    import pyarrow.parquet as pq

    assert job.output is not None
    if result.numbers is not None:
        return result.numbers
    values = _values_of_output(job.output.columns, item)
    bytes_by_name: dict[str, int] = {}
    for file in parquet_files(folder / result.folder):
        metadata = pq.read_metadata(file)
        for group in range(metadata.num_row_groups):
            for number in range(metadata.num_columns):
                column = metadata.row_group(group).column(number)
                taken = bytes_by_name.get(column.path_in_schema, 0)
                bytes_by_name[column.path_in_schema] = taken + column.total_compressed_size
    taken = sum(bytes_by_name.get(physical_name(value.column), 0) for value in values)
    if not values or taken <= _NUMBER_BYTES * result.rows:
        return None
    files, first = [], 0
    output = folder / job.output.folder
    for file in parquet_files(output):
        files.append(OutputFile(name=str(file.relative_to(output)), first=first))
        first += pq.read_metadata(file).num_rows
    return OutputNumbers(files=tuple(files), values=values)


def _values_of_output(output: tuple[Column, ...], item: Intermediate) -> tuple[OutputValue, ...]:
    """The columns of an intermediate result that equal columns of every row that looks it up."""
    types = {column.id: column.type for column in output}
    found: dict[int, OutputValue] = {}
    for term in conjuncts(item.predicate) if item.parent == 0 else ():
        match term:
            case Call(function="nullsafe_eq" | "eq", args=(Column() as column, Param() as param)):
                same = types.get(param.column) == column.type
                if same and not isinstance(column.type, _INEXACT):
                    found[column.id] = OutputValue(column=column.id, output=param.column)
    return tuple(found.values())


def _with_results(job: Job, results: dict[tuple[str, int], StoredResult]) -> Job:
    """The record with other stored results, by reading of min and max and by binding."""
    return msgspec.structs.replace(
        job,
        intermediates=tuple(
            StoredIntermediate(
                aggregates=item.aggregates,
                binding=item.binding,
                result=results.get((item.aggregates, item.binding), item.result),
            )
            for item in job.intermediates
        ),
    )
