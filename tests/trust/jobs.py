"""A small saved job, made without Spark, whose lineage is written down by hand."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from predtrace import JobHandle, open_job
from predtrace.inference import infer
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job, StoredIntermediate
from predtrace.jobs.results import stored_result
from predtrace.jobs.store import JobStore
from predtrace.lineage.answer import Lineage
from pushdown.graph import OperatorGraph
from tests.engines.tables import pairs, write
from tests.test_lineage import DEPT, MOST, OUTPUT, ROWS, graph, make_job

TARGET = ("a", 100)
ROWS_OF_TARGET = {("staff", 1): {1, 2}, ("staff", 2): {0}}
"""The employees of department a whose boss is paid 100, and that boss: rows of `ROWS`."""


@functools.cache
def inferred() -> LineagePlan:
    """The plan that inference finds."""
    return infer(OperatorGraph(graph(), 3))


def make_store(folder: Path) -> tuple[Path, str]:
    """Save the job in a new store, with that plan; the store's path, and the job's id."""
    plan = inferred()
    by_id = {row[0]: row for row in ROWS}
    joined = [(row, by_id[row[1]]) for row in ROWS if row[1] in by_id]
    with JobStore(folder / "store").begin() as writer:
        made = make_job(folder, plans=(plan,))
        (item,) = plan.intermediates
        names = {c.id: (side, at) for side in (0, 1) for at, c in enumerate(_STAFF[side])}
        kept = [
            tuple(pair[names[c.id][0]][names[c.id][1]] for c in item.columns) for pair in joined
        ]
        write(writer.folder / "node-2" / "part-0.parquet", item.columns, kept, physical=True)
        write(writer.folder / "output" / "part-0.parquet", (DEPT, MOST), OUTPUT, physical=True)
        stored = stored_result(writer.folder, "node-2", item.columns)
        record: Job = msgspec.structs.replace(
            made,
            id=writer.id,
            intermediates=(
                StoredIntermediate(aggregates="minimal", binding=item.binding, result=stored),
            ),
            output=stored_result(writer.folder, "output", (DEPT, MOST)),
        )
        writer.commit(record)
    return folder / "store", writer.id


_STAFF = tuple(operator.columns for operator in graph()[2:])


def opened(store: tuple[Path, str]) -> JobHandle:
    """The job, read anew."""
    return open_job(*store)


def rows_of(answer: Lineage) -> dict[tuple[str, int], set[int]]:
    """The row numbers of every scan."""
    return {
        (scan.table, scan.occurrence): {pair[-1] for pair in pairs(scan.row_ids())}
        for scan in answer.scans
    }
