"""Target rows: full output rows that match the target specs, found in the output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from predtrace.engines.base import Evaluation, LookedUp, StoredBinding, TargetBinding, Targets
from predtrace.engines.values import as_schema, target_table
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import StoredResult
from predtrace.targets.specs import TargetSpecs, bindable, lookup_predicate, target_schema
from predtrace.vocabulary import SUPERSET
from symbolic.expr import Column, Expr

OutputOf: TypeAlias = Callable[[tuple[Column, ...], Expr], LookedUp]
"""Returns the output rows, with these columns, that a lookup over them selects."""


def labelled_for(specs: TargetSpecs, plan: LineagePlan) -> LineagePlan:
    """The plan with labels for these targets: values that are not compared make a superset."""
    overlooked = next((spec.overlooked for spec in specs.targets if spec.overlooked), ())
    if not overlooked:
        return plan
    reason = (
        f"maps are not compared: output rows that differ only in {', '.join(overlooked)} "
        "are answered together"
    )
    scans = tuple(
        scan
        if scan.label == SUPERSET
        else msgspec.structs.replace(scan, label=SUPERSET, reason=reason)
        for scan in plan.scans
    )
    return msgspec.structs.replace(plan, scans=scans)


def trusted_targets(specs: TargetSpecs) -> Targets:
    """Targets taken as given, since there is no stored output to find them in.

    Each must be a complete row.
    """
    rows = [(spec.number, spec.values) for spec in specs.targets]
    return Targets(
        target_table(bindable(specs.columns), rows), bindable(specs.columns), specs.numbered
    )


def stored_output(output: StoredResult, folder: Path) -> OutputOf:
    """The kept output of the job in `folder`, to look targets up in."""

    def binding(columns: tuple[Column, ...], predicate: Expr) -> LookedUp:
        return StoredBinding(
            folder=str(folder / output.folder),
            columns=columns,
            predicate=predicate,
            parent=TargetBinding(),
            files=output.files,
        )

    return binding


def found_targets(
    specs: TargetSpecs, output: OutputOf, open_evaluation: Callable[[Targets], Evaluation]
) -> Targets:
    """The output rows that the targets name, found in the output.

    Targets that give the same columns are looked up together.
    """
    import pyarrow as pa

    columns = bindable(specs.columns)
    found: list[pa.Table] = []
    for spec in specs.targets:
        if spec.predicate is None:
            continue
        given = target_table([], [(spec.number, {})])
        evaluation = open_evaluation(Targets(given, (), True))
        found.append(evaluation.bound(output(columns, spec.predicate)))
    for group in specs.by_columns:
        keys = tuple(sorted(group[0].values))
        key_columns = [column for column in columns if column.id in keys]
        given = target_table(key_columns, [(spec.number, spec.values) for spec in group])
        evaluation = open_evaluation(Targets(given, key_columns, True))
        predicate = lookup_predicate(columns, keys)
        found.append(evaluation.bound(output(columns, predicate)))
    schema = target_schema(columns)
    rows = pa.concat_tables([as_schema(table, schema) for table in found])
    return Targets(rows if found else schema.empty_table(), columns, specs.numbered)
