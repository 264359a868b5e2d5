"""Backfill: stores intermediate results after the job, from unchanged sources, one by one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from predtrace.durable.writing import folder_made_whole, sole_writer
from predtrace.durable.writing import sweep as sweep_unfinished
from predtrace.engines.base import Engine, ReplayedBinding, ScanRequest, TargetBinding, Targets
from predtrace.engines.values import target_table
from predtrace.errors import StoreError
from predtrace.inference.plan import Intermediate
from predtrace.jobs.model import Job, StoredIntermediate, StoredResult
from predtrace.jobs.results import check_stored, stored_result
from predtrace.jobs.snapshot import unchanged
from predtrace.jobs.store import read_record, replace_job
from predtrace.lineage.engine_choice import check_engine, engine_for
from predtrace.lineage.replays import refuse_unrepeatable
from predtrace.lineage.source_cache import SourceCache
from predtrace.lineage.stored_results import missing_intermediates
from predtrace.maintenance.compaction import NODE, compacted, sweep, sweep_unnamed
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import TRUE, Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCK = "build.lock"
_NOTHING = Targets(target_table([], []), (), False)


def build(folder: Path, engine: str, spark: SparkSession | None) -> Job:
    """Store the compacted results that the plans of the job in `folder` lack; returns its new
    record.

    Damaged results are stored again. Everything is checked first. Then results are stored one by
    one, each under a name that no reader knows until the record names it. Concurrent builds wait.
    """
    check_engine(engine)
    with _alone(folder):
        given = read_record(folder)
        job = _sound(given, folder)
        graph = OperatorGraph(job.graph, job.root)
        wanted = [(plan, missing_intermediates(job, plan)) for plan in job.plans]
        missing = [(plan.aggregates, item) for plan, items in wanted for item in items]
        for _, item in missing:
            refuse_unrepeatable(graph, item.node)
        try:
            with unchanged(job.sources if missing else ()):
                job = _completed(job, folder, graph, missing, engine, spark)
            smaller = compacted(job, folder)
        except BaseException:
            sweep_unnamed(folder, given)
            raise
        if smaller != given:
            replace_job(folder, smaller)
            sweep(folder, given, smaller)
        sweep_unnamed(folder, smaller)
        return smaller


def _completed(
    job: Job,
    folder: Path,
    graph: OperatorGraph,
    missing: Sequence[tuple[str, Intermediate]],
    engine: str,
    spark: SparkSession | None,
) -> Job:
    """The job after storing the results that are `missing`, by reading of min and max."""
    stored: dict[int, StoredResult] = {}
    for node, kept in _columns_by_node(item for _, item in missing).items():
        binding = _whole(job, graph, node, kept)
        chosen, _ = engine_for(job, [binding], engine, spark, SourceCache(job, folder))
        stored[node] = _store(chosen, job, binding, folder)
    added = tuple(
        StoredIntermediate(aggregates=aggregates, binding=item.binding, result=stored[item.node])
        for aggregates, item in missing
    )
    return msgspec.structs.replace(job, intermediates=(*job.intermediates, *added))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock out other builds during the block, and remove what killed builds left."""
    try:
        with sole_writer(folder / _LOCK):
            sweep_unfinished(folder)
            yield
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written ({error.strerror or error}); free space or change "
            "permissions, then try again"
        ) from error


def _sound(job: Job, folder: Path) -> Job:
    """The job without intermediate results that are damaged or gone."""

    def is_sound(item: StoredIntermediate) -> bool:
        try:
            check_stored(item.result, folder)
        except StoreError:
            return False
        return True

    return msgspec.structs.replace(job, intermediates=tuple(filter(is_sound, job.intermediates)))


def _columns_by_node(items: Iterable[Intermediate]) -> dict[int, tuple[Column, ...]]:
    """The columns to keep of each operator's output: plans may share an operator."""
    found: dict[int, tuple[Column, ...]] = {}
    for item in items:
        found[item.node] = tuple(dict.fromkeys((*found.get(item.node, ()), *item.columns)))
    return found


def _whole(
    job: Job, graph: OperatorGraph, node: int, columns: tuple[Column, ...]
) -> ReplayedBinding:
    """All rows of a node, from all rows of its scans."""
    sources = {source.name: source for source in job.sources}
    scans = [graph[below] for below in graph.top_down(node)]
    return ReplayedBinding(
        graph=graph,
        node=node,
        scans={
            scan.id: ScanRequest(
                source=sources[scan.table],
                columns=scan.columns,
                predicate=TRUE,
                binding=TargetBinding(),
            )
            for scan in scans
            if isinstance(scan, Scan)
        },
        columns=columns,
        predicate=TRUE,
        parent=TargetBinding(),
    )


def _store(engine: Engine, job: Job, binding: ReplayedBinding, folder: Path) -> StoredResult:
    name = f"{NODE}{binding.node}-{secrets.token_hex(4)}"
    with folder_made_whole(folder / name) as place:
        engine.open(_NOTHING, job.settings).store(binding, place)
    return stored_result(folder, name, binding.columns)
