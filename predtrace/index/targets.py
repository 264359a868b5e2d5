"""The targets of a question as rows of the kept output, found by their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from predtrace.engines.base import TARGET, Engine, Targets
from predtrace.engines.values import target_table
from predtrace.errors import PredTraceError
from predtrace.index.outputs import Output, grouped, read_output
from predtrace.jobs.model import Job
from predtrace.jobs.results import check_stored
from predtrace.packed.boxes import Ints
from predtrace.targets.found import found_targets, stored_output
from predtrace.targets.specs import TargetSpec, TargetSpecs, bindable


def output_of(job: Job, folder: Path) -> Output:
    """The job's output rows. Raises PredTraceError if they were not kept or are gone."""
    if job.output is None:
        raise PredTraceError(
            f"job {job.id} did not keep its output, which an index needs; run again with "
            "keep_output=True"
        )
    check_stored(job.output, folder)
    return read_output(
        str(folder / job.output.folder), bindable(job.output.columns), job.output.files
    )


def output_rows(
    specs: TargetSpecs, output: Output, job: Job, folder: Path, engine: Callable[[], Engine]
) -> tuple[Ints, Ints]:
    """The output rows that targets name: pairs of a target's number and a row's number.

    `engine` is called only for targets that are predicates: an engine evaluates them.
    """
    if all(spec.predicate is None for spec in specs.targets):
        return joined_pairs([_by_values(output, alike) for alike in specs.by_columns])
    assert job.output is not None
    rows = found_targets(
        specs,
        stored_output(job.output, folder),
        lambda given: engine().open(given, job.settings),
    ).rows
    places, found = output.find(rows.drop_columns([TARGET]))
    return rows.column(TARGET).to_numpy()[places], found


def _by_values(output: Output, alike: Sequence[TargetSpec]) -> tuple[Ints, Ints]:
    """Targets that give the same columns, found by these columns."""
    keys = alike[0].values
    columns = [column for column in output.columns if column.id in keys]
    given = target_table(columns, [(each.number, each.values) for each in alike])
    places, found = output.find(given.drop_columns([TARGET]))
    return np.array([each.number for each in alike], np.int64)[places], found


def joined_pairs(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Pairs of two columns, one part after the other."""
    nothing = np.empty(0, np.int64)
    numbers = np.concatenate([nothing, *(numbers for numbers, _ in parts)])
    return numbers, np.concatenate([nothing, *(rows for _, rows in parts)])


class IndexedTargets(Targets):
    """Target rows with their places in the output: target ``numbers[n]`` has row ``places[n]``."""

    def __init__(self, output: Output, numbers: Ints, places: Ints, numbered: bool) -> None:
        import pyarrow as pa

        rows = output.rows.take(places).add_column(0, TARGET, pa.array(numbers))
        # Equal output rows are one target row.
        _, firsts = grouped(rows.columns, len(numbers))
        super().__init__(rows.take(firsts), output.columns, numbered)
        self.numbers = numbers
        self.places = places
