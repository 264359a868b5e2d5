"""Looks whether rows tie where a `row_number` cuts them off."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from predtrace.frontends.spark.catalyst import JavaObject, items
from predtrace.frontends.spark.translation import Translation
from predtrace.frontends.spark.writing import session_in_force
from predtrace.inference.repeating import unrepeatable
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from pushdown.topk import NumberCut, with_ranks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class TieFinder:
    """Looks for ties in one pipeline; no other run repeats the sources `changing` (by name)."""

    graph: OperatorGraph
    translation: Translation
    spark: SparkSession
    changing: Sequence[str]

    def untied(self, cuts: Iterable[NumberCut]) -> tuple[NumberCut, ...]:
        """The cuts at which no rows tie, in any run; `cuts` are inputs first."""
        found: list[NumberCut] = []
        for cut in cuts:
            if self._repeats_below(cut, found) and not self._ties(cut):
                found.append(cut)
        return tuple(found)

    def _repeats_below(self, cut: NumberCut, settled: Sequence[NumberCut]) -> bool:
        """Whether another run gives the window the same rows."""
        graph = with_ranks(self.graph, settled)
        (below,) = graph.inputs(cut.node)
        scans = (o for o in map(graph.__getitem__, graph.top_down(below)) if isinstance(o, Scan))
        changing = any(scan.table in self.changing for scan in scans)
        return not changing and not unrepeatable(graph, below)

    def _ties(self, cut: NumberCut) -> bool:
        """Whether some row is cut off that ties with a row that stays."""
        builder = self.translation.builder
        plan = self._plan(cut.node)
        ids = self.translation.expr_ids
        given = {int(each.exprId().id()): each for each in items(plan.output())}
        number, rank = (given[ids[column.id]] for column in (cut.number, cut.rank))
        tied = (
            builder.call(
                "And",
                builder.call("LessThanOrEqual", rank, builder.constant(count)),
                builder.call("GreaterThan", number, builder.constant(count)),
            )
            for count in cut.counts
        )
        either = functools.reduce(functools.partial(builder.call, "Or"), tied)
        session = session_in_force(self.spark, self.translation.settings)
        return not builder.dataset(session, builder.filter([either], plan)).isEmpty()

    def _plan(self, node: int) -> JavaObject:
        inputs = [self._plan(child) for child in self.graph.inputs(node)]
        return self.translation.builds[node](inputs)
