"""The question: the lineage of every group of every case of a batch, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import predtrace
from predtrace.engines.duckdb.functions import inexactness
from predtrace.errors import EngineError, PredTraceError
from predtrace.frontends.spark import read_pipeline
from pushdown.operators import RowTransform
from symbolic.expr import Call, walk
from tests.functions.truth import Group, Prepared, Untold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Outcome(NamedTuple):
    """How a case went on an engine: ``exact``, ``refused`` or what is wrong, with details."""

    verdict: str
    detail: str = ""


class Reading(NamedTuple):
    """What predtrace makes of a case: a refusal, or its functions and DuckDB's obstacle."""

    refused: str | None
    functions: frozenset[str] = frozenset()
    obstacle: str | None = None


def read(spark: SparkSession, cases: Sequence[Prepared]) -> list[Reading]:
    """Read calls of one table."""
    calls = ", ".join(f"{case.text} AS k{number}" for number, case in enumerate(cases))
    try:
        pipeline = read_pipeline(spark.sql(f"SELECT {calls} FROM {cases[0].table}"))
    except PredTraceError as refusal:
        if len(cases) == 1:
            return [Reading(str(refusal))]
        half = len(cases) // 2
        return read(spark, cases[:half]) + read(spark, cases[half:])
    top = pipeline.graph[pipeline.graph.root]
    assert isinstance(top, RowTransform)
    found = []
    for assignment in top.assignments:
        functions = {node.function for node in walk(assignment.value) if isinstance(node, Call)}
        obstacle = inexactness([assignment.value], pipeline.settings)
        found.append(Reading(None, frozenset(functions), obstacle))
    return found


def ask(
    spark: SparkSession, cases: list[Prepared], store: Path, engines: tuple[str, ...]
) -> dict[str, list[Outcome]]:
    """Per engine the outcomes of the cases, which have one result type."""
    union = " UNION ALL ".join(
        f"SELECT {number} AS c, k, n FROM ({case.query})" for number, case in enumerate(cases)
    )
    job = predtrace.trace(spark.sql(union)).run(store=store, keep="none")
    wanted = [
        (number, group)
        for number, case in enumerate(cases)
        for group in case.groups
        if not isinstance(group.value, Untold)
    ]
    return {engine: _asked(job, engine, spark, wanted, cases) for engine in engines}


def _asked(
    job: Any,
    engine: str,
    spark: SparkSession,
    wanted: list[tuple[int, Group]],
    cases: list[Prepared],
) -> list[Outcome]:
    targets = [(number, group.value, len(group.ids)) for number, group in wanted]
    try:
        # Twice the first, so that the answer always numbers its targets.
        answer = job.lineage([*targets, *targets[:1]], engine=engine, spark=spark)
        found = answer[cases[0].table].row_ids()
    except EngineError as refusal:
        return [Outcome("refused", str(refusal))] * len(cases)
    except Exception as crash:
        return [Outcome("crash", f"{type(crash).__name__}: {str(crash)[:2000]}")] * len(cases)
    ids: list[set[int]] = [set() for _ in range(len(targets) + 1)]
    pairs = zip(found.column("target").to_pylist(), found.column("row").to_pylist(), strict=True)
    for target, row in pairs:
        ids[target].add(row)
    return judged(ids, wanted, str(answer.label), len(cases))


def judged(
    ids: list[set[int]], wanted: list[tuple[int, Group]], label: str, cases: int
) -> list[Outcome]:
    """The verdict on each case, from the rows that each wanted group was answered with."""
    outcomes = [Outcome("exact" if label == "precise" else label) for _ in range(cases)]
    for (number, group), rows in zip(wanted, ids, strict=False):
        missing, extra = sorted(group.ids - rows), sorted(rows - group.ids)
        if missing or (extra and label == "precise"):
            detail = f"{group.value!r}: missing {missing[:5]}, extra {extra[:5]} of {label}"
            outcomes[number] = Outcome("missing" if missing else "extra", detail)
    return outcomes
