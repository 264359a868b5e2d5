"""Tracing a graph: its output, and the source rows that each output row came from."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pushdown.graph import OperatorGraph
from tests.reference.early_filters import push_filters
from tests.reference.functions import Settings
from tests.reference.interpreter import Run
from tests.reference.provenance import Provenance, flatten
from tests.reference.relation import Relation, provenances_by_value
from tests.reference.values import Row, row_key


class ReferenceResult:
    """What `trace_graph` found: the output, and the lineage of each of its rows.

    `rows` is the output in order; `outputs` the output of every node (only when run with
    ``keep_outputs``); `ambiguous_limits` the Limit nodes whose rows were a free choice.
    """

    def __init__(self, graph: OperatorGraph, output: Relation, relations: Mapping[int, Relation],
                 starts: Mapping[int, int], ambiguous_limits: frozenset[int]) -> None:  # fmt: skip
        self._starts = starts
        self._relations = relations
        self.columns = graph.output()
        self._output = output
        self.rows = output.rows
        self.ambiguous_limits = ambiguous_limits

    @functools.cached_property
    def _by_value(self) -> dict[Row, list[Provenance]]:
        return provenances_by_value(self._output)

    @property
    def outputs(self) -> dict[int, list[Row]]:
        """The rows of every node."""
        return {node: relation.rows for node, relation in self._relations.items()}

    def distinct_rows(self) -> list[Row]:
        """One of each set of equal output rows, in the output's order."""
        return list({row_key(row): row for row in reversed(self.rows)}.values())[::-1]

    def lineage(self, row: Sequence[Any]) -> dict[int, frozenset[int]]:
        """Per scan node the indexes of the lineage rows; all empty for a row not in the output."""
        found = flatten(tuple(self._by_value.get(row_key(row), ())))
        per_scan: dict[int, set[int]] = {node: set() for node in self._starts}
        # The last scan that starts at or before a number: scans without rows share a start.
        bounds = sorted(
            (start, index, node) for index, (node, start) in enumerate(self._starts.items())
        )
        starts = [start for start, _, _ in bounds]
        for number in found:
            start, _, node = bounds[bisect.bisect_right(starts, number) - 1]
            per_scan[node].add(number - start)
        return {node: frozenset(indexes) for node, indexes in per_scan.items()}


def trace_graph(
    graph: OperatorGraph,
    tables: Mapping[str, Sequence[Row]],
    aggregates: str = "minimal",
    time_zone: str = "UTC",
    chosen: Mapping[int, Sequence[Row]] | None = None,
    keep_outputs: bool = False,
) -> ReferenceResult:
    """Run the graph on the tables (rows in `Scan.columns` order) and trace every output row.

    `aggregates` is ``minimal`` or ``whole``. `chosen` gives, per Limit node, the rows
    that the real run kept. `keep_outputs` runs every operator just as it stands and keeps
    its rows; without it filters move early (large data), and only the result is kept.

    Raises `UnsupportedInReference` for a function unknown here, and ValueError for chosen
    rows that the limit cannot have kept.
    """
    if aggregates not in ("minimal", "whole"):
        raise ValueError(f"aggregates is minimal or whole, not {aggregates}")
    effective = graph if keep_outputs else push_filters(graph)
    run = Run(effective, tables, aggregates == "minimal", Settings(time_zone), chosen or {})
    relations = run.relations(keep_outputs)
    output = relations[effective.root]
    return ReferenceResult(graph, output, relations, run.starts, frozenset(run.ambiguous))
