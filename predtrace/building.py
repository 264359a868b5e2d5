"""Storing intermediate results after the job: from unchanged sources, one by one."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from predtrace.engines.base import Engine, ReplayedLink, ScanRequest, TargetLink, Targets
from predtrace.engines.values import target_table
from predtrace.errors import StoreError
from predtrace.files import stored_result
from predtrace.inference.plan import Intermediate
from predtrace.jobs.model import Job, StoredIntermediate, StoredResult
from predtrace.jobs.store import replace_job
from predtrace.lineage import check_sources
from predtrace.modes import missing_intermediates
from predtrace.questions import engine_for
from predtrace.reducing import reduced, sweep
from predtrace.requests import refuse_unrepeatable
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import TRUE, Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOTHING = Targets(target_table([], []), (), False)


def build(job: Job, folder: Path, engine: str, spark: SparkSession | None) -> Job:
    """Store what the plans of a job lack, as small as can be; the job's new record.

    Everything is checked first; then results are stored one by one, each under a name
    that no reader knows until the record names it.
    """
    given = job
    graph = OperatorGraph(job.graph, job.root)
    wanted = [(plan, missing_intermediates(job, plan)) for plan in job.plans]
    missing = [(plan.aggregates, item) for plan, items in wanted for item in items]
    for _, item in missing:
        refuse_unrepeatable(graph, item.node)
    if missing:
        check_sources(job.sources)
    columns = _columns_by_node(item for _, item in missing)
    stored: dict[int, StoredResult] = {}
    for node, kept in columns.items():
        link = _whole(job, graph, node, kept)
        chosen, _ = engine_for(job, [link], engine, spark)
        stored[node] = _store(chosen, job, link, folder)
    if missing:
        added = tuple(
            StoredIntermediate(
                aggregates=aggregates, binding=item.binding, result=stored[item.node]
            )
            for aggregates, item in missing
        )
        job = msgspec.structs.replace(job, intermediates=(*job.intermediates, *added))
    smaller = reduced(job, folder)
    if smaller != given:
        replace_job(folder, smaller)
        sweep(folder, job, smaller)
    return smaller


def _columns_by_node(items: Iterable[Intermediate]) -> dict[int, tuple[Column, ...]]:
    """What to keep of each operator's output: plans may share one."""
    found: dict[int, tuple[Column, ...]] = {}
    for item in items:
        found[item.node] = tuple(dict.fromkeys((*found.get(item.node, ()), *item.columns)))
    return found


def _whole(job: Job, graph: OperatorGraph, node: int, columns: tuple[Column, ...]) -> ReplayedLink:
    """All rows of a node, from all rows of its scans."""
    sources = {source.name: source for source in job.sources}
    scans = [graph[below] for below in graph.top_down(node)]
    return ReplayedLink(
        graph=graph,
        node=node,
        scans={
            scan.id: ScanRequest(
                source=sources[scan.table],
                columns=scan.columns,
                predicate=TRUE,
                link=TargetLink(),
            )
            for scan in scans
            if isinstance(scan, Scan)
        },
        columns=columns,
        predicate=TRUE,
        parent=TargetLink(),
    )


def _store(engine: Engine, job: Job, link: ReplayedLink, folder: Path) -> StoredResult:
    name = f"node-{link.node}-{secrets.token_hex(4)}"
    place = folder / name
    try:
        engine.open(_NOTHING, job.settings).store(link, place)
        return stored_result(folder, name, link.columns)
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            raise StoreError(f"{place} cannot be written: {error}") from error
        raise
