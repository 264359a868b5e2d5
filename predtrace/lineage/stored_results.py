"""Stored intermediate results as links: their rows bind the predicates below them."""

from __future__ import annotations

from pathlib import Path

from predtrace.engines.base import Link, StoredLink, TargetLink
from predtrace.inference.plan import Intermediate, LineagePlan
from predtrace.jobs.model import Job, StoredResult


def stored_links(job: Job, plan: LineagePlan, folder: Path) -> dict[int, Link]:
    """The rows that bind the params of each binding: targets and stored results."""
    links: dict[int, Link] = {0: TargetLink()}
    stored = {
        item.binding: item.result
        for item in job.intermediates
        if item.aggregates == plan.aggregates
    }
    for item in plan.intermediates:
        links[item.binding] = stored_link(
            job, folder, item, stored[item.binding], links[item.parent]
        )
    return links


def stored_link(
    job: Job, folder: Path, item: Intermediate, stored: StoredResult, parent: Link
) -> StoredLink:
    """The rows of a stored intermediate result that rows of `parent` look up."""
    return StoredLink(
        folder=str(folder / stored.folder),
        columns=item.columns,
        predicate=item.predicate,
        parent=parent,
        numbers=stored.numbers,
        output="" if job.output is None else str(folder / job.output.folder),
        files=stored.files,
        output_files=() if job.output is None else job.output.files,
    )


def missing_intermediates(job: Job, plan: LineagePlan) -> tuple[Intermediate, ...]:
    """The intermediate results of the plan that the job has not stored."""
    there = {item.binding for item in job.intermediates if item.aggregates == plan.aggregates}
    return tuple(item for item in plan.intermediates if item.binding not in there)
