"""Asking for cells: the row is computed again from its source rows, with witnesses beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from predtrace.arrays.cells import Cells
from predtrace.cells.derivations import Derivation, NotDerivable, derivations, feeding
from predtrace.cells.functions import witnesses
from predtrace.cells.layouts import cells_at, depth, every_cell, layout_of_value
from predtrace.cells.tracing import RowTrace, TracedRow, WitnessKey
from predtrace.engines.base import physical_name
from predtrace.errors import ArrayLineageError, EngineError, PredTraceError, TargetError
from predtrace.inference.identities import Identity, carrying
from predtrace.jobs.model import Source
from predtrace.jobs.snapshot import check_sources, unchanged
from predtrace.lineage.cell_rows import CellLineage, RowId, SourceCells
from predtrace.lineage.engine_choice import engine_for
from predtrace.lineage.question import Question
from predtrace.lineage.replays import replayed_with_identities
from predtrace.lineage.rows import ScanRows
from predtrace.targets.specs import bindable
from predtrace.vocabulary import SPARK
from pushdown.graph import OperatorGraph
from pushdown.needs import pruned
from pushdown.operators import Assignment, Operator, RowTransform
from symbolic.expr import Column, Param, conjunction, same
from symbolic.types import type_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from predtrace.engines.base import ReplayedBinding

Positions = Sequence[int | Sequence[int]]
Found = dict[tuple[int, int], dict[RowId, list[Cells]]]
"""By scan and column id, by source row."""


class _Answer(NamedTuple):
    """The lineage answer whose cells are asked for."""

    question: Question
    scans: Sequence[ScanRows]


def ask_cells(
    question: Question,
    scans: Sequence[ScanRows],
    traced: dict[int, tuple[TracedRow, ...]],
    name: str,
    positions: Positions | None,
    spark: SparkSession | None,
) -> CellLineage:
    """The source cells behind cells of column `name` in the question's only target row.

    `scans` are the scans of the answer. `traced` keeps the computed results by column. See
    `Lineage.cells`.
    """
    answer = _Answer(question, scans)
    job, targets = question.job, question.targets
    graph = OperatorGraph(job.graph, job.root)
    column = _named(graph.output(), name, exact=job.settings.case_sensitive)
    if column not in bindable(graph.output()):
        raise TargetError(f"{name} holds maps; cells of maps cannot be asked for")
    if targets.rows.num_rows != 1:
        raise PredTraceError(
            f"cells are asked for one output row, and the answer is for {targets.rows.num_rows}; "
            "ask for the lineage of one"
        )
    (target,) = targets.rows.to_pylist()
    axes = depth(column.type)
    if not axes and any(at != () for at in positions or ()):
        raise ArrayLineageError(_without_positions(graph.output(), column))
    layout = layout_of_value(target[physical_name(column.id)], axes)
    asked = every_cell(layout, axes) if positions is None else cells_at(layout, axes, positions)
    if not len(asked):
        return CellLineage(name, (), ())
    try:
        ways = derivations(graph, column)
    except NotDerivable as reason:
        return _everything(answer, graph, column, f"operator {reason.node}: {reason}")
    # A constant has no sources to replay it from; the row may come from its branch alone.
    constant = not all(way.origins for way in ways)
    ways = tuple(way for way in ways if way.origins)
    _check(answer, ways)
    if column.id not in traced:
        with unchanged(list(_sources_read(answer).values())):
            rows = tuple(row for way in ways for row in _rows(answer, way, spark))
        traced[column.id] = rows
    rows = traced[column.id]
    if not rows and not constant:
        return _everything(answer, graph, column, "the row was not found in a replay")
    reasons: dict[str, None] = {}
    found: Found = {}
    for row in rows:
        _collect(row, column, asked, found)
        reasons.update(dict.fromkeys((*row.way.excess, *row.trace.reasons)))
    return CellLineage(name, tuple(_sources(answer, graph, found)), tuple(reasons))


def _named(columns: Sequence[Column], name: str, *, exact: bool) -> Column:
    fold = str if exact else str.lower
    found = [column for column in columns if fold(column.name) == fold(name)]
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} columns" if found else "no column"
    listed = ", ".join(column.name for column in columns)
    raise TargetError(f"the output has {problem} {name}; it has {listed}")


def _without_positions(columns: Sequence[Column], column: Column) -> str:
    """An error for a column that is not an array; it names the array columns."""
    arrays = ", ".join(c.name for c in columns if depth(c.type)) or "none"
    return (
        f"{column.name} ({type_name(column.type)}) has no cells at positions: cells are the "
        f"elements of array columns (here: {arrays}); of {column.name} the whole value is one "
        "cell, asked for without positions, and its source rows are lineage(…)[table]"
    )


def _everything(answer: _Answer, graph: OperatorGraph, column: Column, reason: str) -> CellLineage:
    """All cells of what the column is made of, in all lineage rows."""
    scans = {scan.node: scan for scan in answer.scans}
    sources = [
        SourceCells(scans[node], source.name, None)
        for node, read in feeding(graph, column).items()
        for source in graph.output(node)
        if source.id in read
    ]
    return CellLineage(column.name, sources, (f"{reason}: all cells that it reads count",))


def _sources(answer: _Answer, graph: OperatorGraph, found: Found) -> Iterator[SourceCells]:
    for scan in answer.scans:
        for column in graph.output(scan.node):
            rows = found.get((scan.node, column.id))
            if rows is not None:
                united = {row: Cells.union(parts[0].shape, parts) for row, parts in rows.items()}
                yield SourceCells(scan, column.name, united)


def _collect(traced: TracedRow, column: Column, asked: Cells, found: Found) -> None:
    for source, cells in traced.trace.sources(column.id, asked).items():
        scan = traced.way.origins[source]
        # An outer join pads rows that have no partner.
        if scan in traced.rows:
            rows = found.setdefault((scan, source), {})
            rows.setdefault(traced.rows[scan], []).append(cells)


def _rows(answer: _Answer, way: Derivation, spark: SparkSession | None) -> Iterator[TracedRow]:
    """The target row, once for each time that the way yields it, with the rows it is made of."""
    from predtrace.engines.spark.rows import local_path

    plan = _replay(way, set(way.origins.values()))
    binding = plan.binding(answer)
    engine, _ = engine_for(answer.question.job, [binding], SPARK, spark)
    evaluation = engine.open(answer.question.targets, answer.question.job.settings)
    for row in evaluation.bound(binding).to_pylist():
        values = {key: row[physical_name(c.id)] for key, c in plan.witnesses.items()}
        ids = {
            scan: (local_path(row[physical_name(told.file.id)]), row[physical_name(told.row.id)])
            for scan, told in plan.told.items()
            if row[physical_name(told.row.id)] is not None
        }
        yield TracedRow(way, RowTrace(way, values), ids)


def _sources_read(answer: _Answer) -> dict[str, Source]:
    """The sources of the answer's scans, by name."""
    read = {scan.table for scan in answer.scans}
    return {source.name: source for source in answer.question.job.sources if source.name in read}


def _check(answer: _Answer, ways: Sequence[Derivation]) -> None:
    """Raise for sources that changed since the job ran, or whose rows have no numbers."""
    sources = _sources_read(answer)
    check_sources(list(sources.values()))
    scans = {scan for way in ways for scan in way.origins.values()}
    for scan in answer.scans:
        source = sources[scan.table]
        if scan.node in scans and not source.has_row_numbers:
            raise EngineError(
                f"source {scan.table} is {source.format}, which has no row numbers to tell "
                "the cells' rows; keep the source as Parquet"
            )


class _Replay(NamedTuple):
    """A derivation's graph with witnesses; `carried` also has the `identities` of scans.

    `told` are columns that have the same values and can be read.
    """

    graph: OperatorGraph
    carried: OperatorGraph
    witnesses: dict[WitnessKey, Column]
    identities: dict[int, Identity]
    told: dict[int, Identity]
    output: tuple[Column, ...]

    def binding(self, answer: _Answer) -> ReplayedBinding:
        """The replay that computes the target row again."""
        target = bindable(self.output)
        lookup = conjunction(*(same(c, Param(0, c.id, c.name, c.type)) for c in target))
        told = [column for found in self.told.values() for column in (found.file, found.row)]
        columns = (*told, *self.witnesses.values())
        carried = [c for found in self.identities.values() for c in (found.file, found.row)]
        wanted = frozenset(column.id for column in (*columns, *carried, *target))
        kept = pruned(self.carried, self.graph.root, wanted)
        return replayed_with_identities(
            answer.question.job, self.graph, kept, columns, lookup, self.identities
        )


def _replay(way: Derivation, scans: set[int]) -> _Replay:
    graph, asked = _with_witnesses(way)
    carried, identities = carrying(graph, graph.root, scans)
    taken = (column.id for node in carried.top_down() for column in carried.output(node))
    numbers = itertools.count(1 + max(taken))
    told = {
        scan: Identity(*(msgspec.structs.replace(c, id=next(numbers)) for c in (i.file, i.row)))
        for scan, i in identities.items()
    }
    copies = [
        Assignment(copy, column)
        for scan, i in identities.items()
        for copy, column in ((told[scan].file, i.file), (told[scan].row, i.row))
    ]
    return _Replay(
        _under(graph, []), _under(carried, copies), asked, identities, told, way.graph.output()
    )


def _under(graph: OperatorGraph, more: Sequence[Assignment]) -> OperatorGraph:
    """The graph under a projection that keeps all columns and adds some."""
    top = 1 + max(graph.top_down())
    kept = [Assignment(column, column) for column in dict.fromkeys(graph.output())]
    last = RowTransform(id=top, input=graph.root, assignments=(*kept, *more))
    return OperatorGraph([*graph.operators(), last], top)


def _with_witnesses(way: Derivation) -> tuple[OperatorGraph, dict[WitnessKey, Column]]:
    """The derivation's graph; it computes witnesses beside the steps and passes them to the top."""
    graph = way.graph
    taken = (column.id for node in graph.top_down() for column in graph.output(node))
    numbers = itertools.count(1 + max(taken, default=0))
    asked: dict[WitnessKey, Column] = {}
    for step in way.steps.values():
        for witness in witnesses(step.value):
            if (step.node, witness) not in asked:
                asked[step.node, witness] = Column(next(numbers), "witness", witness.type)
    passed: dict[int, list[Assignment]] = {}
    changed: list[Operator] = []
    for node in graph.bottom_up():
        operator = graph[node]
        passed[node] = [one for child in graph.inputs(node) for one in passed[child]]
        if isinstance(operator, RowTransform):
            own = [Assignment(c, expr) for (at, expr), c in asked.items() if at == node]
            made = (*operator.assignments, *passed[node], *own)
            operator = msgspec.structs.replace(operator, assignments=made)
            passed[node] += [Assignment(one.column, one.column) for one in own]
        changed.append(operator)
    return OperatorGraph(changed, graph.root), asked
