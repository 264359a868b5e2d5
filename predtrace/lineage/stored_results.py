"""Stored intermediate results as bindings: their rows bind the predicates below them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from predtrace.engines.base import (
    BindingSource,
    LookedUp,
    StoredBinding,
    TargetBinding,
    UnionBinding,
)
from predtrace.inference.plan import Intermediate, LineagePlan
from predtrace.jobs.model import Job, StoredResult
from symbolic.expr import Expr


def stored_bindings(job: Job, plan: LineagePlan, folder: Path) -> dict[int, BindingSource]:
    """The rows that bind the params of each binding: targets and stored results."""
    bindings: dict[int, BindingSource] = {0: TargetBinding()}
    stored = {
        item.binding: item.result
        for item in job.intermediates
        if item.aggregates == plan.aggregates
    }
    for item in plan.intermediates:
        bindings[item.binding] = united(
            stored_binding(
                job, folder, item, stored[item.binding], bindings[one.binding], one.predicate
            )
            for one in item.selections
        )
    return bindings


def united(bindings: Iterable[LookedUp]) -> BindingSource:
    """The rows of all bindings; the binding itself if there is one."""
    found = tuple(bindings)
    return found[0] if len(found) == 1 else UnionBinding(found)


def stored_binding(
    job: Job,
    folder: Path,
    item: Intermediate,
    stored: StoredResult,
    parent: BindingSource,
    predicate: Expr | None = None,
) -> StoredBinding:
    """The rows of a stored intermediate result that rows of `parent` look up.

    By its first predicate, unless another one is given.
    """
    return StoredBinding(
        folder=str(folder / stored.folder),
        columns=item.columns,
        predicate=item.predicate if predicate is None else predicate,
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
