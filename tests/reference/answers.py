"""Answers of the public API compared with the reference, row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from tests.reference.tracer import ReferenceResult
from tests.reference.values import Row


def answered(answer: Any, graph: OperatorGraph) -> dict[tuple[int, int], list[int]]:
    """Per target number and scan node the row numbers of a lineage answer.

    Sources are single files here, so that a row's number in its file is its index.
    """
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for scan in graph.scans():
        part = answer.scan(scan.table, occurrence=scan.occurrence)
        for record in part.row_ids().to_pylist():
            found[record["target"], scan.id].append(record["row"])
    return found


def check_answer(
    answer: Any, reference: ReferenceResult, graph: OperatorGraph, rows: Sequence[Row]
) -> None:
    """Every target's rows, scan by scan: `precise` ones equal, others contain the reference.

    `rows` are the targets of the question, in order.
    """
    found = answered(answer, graph)
    labels = {
        scan.id: answer.scan(scan.table, occurrence=scan.occurrence).label
        for scan in graph.scans()
    }  # fmt: skip
    for number, row in enumerate(rows):
        for node, expected in reference.lineage(row).items():
            where = f"scan {node}, row {row!r}"
            traced = found[number, node]
            assert len(traced) == len(set(traced)), f"a row is answered twice: {where}"
            assert set(traced) >= expected, f"lineage rows are missing: {where}"
            if labels[node] == PRECISE:
                assert set(traced) == expected, f"too many rows called precise: {where}"
