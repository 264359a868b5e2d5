"""The sizes of the sources, from Spark's own statistics and Parquet footers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from predtrace.frontends.spark.catalyst import JavaObject, option
from predtrace.jobs.model import Source
from pushdown.graph import OperatorGraph

_UNKNOWN = float(1 << 62)
"""Spark's size of what it knows nothing about, such as an RDD."""
_GUESSED = 10_000.0
"""The rows that an RDD is taken to have: a program seldom brings more."""


def scan_estimates(
    graph: OperatorGraph, leaves: Mapping[int, JavaObject], sources: Sequence[Source]
) -> dict[int, tuple[float, float]]:
    """(rows, bytes) of each scan: Spark's row count, else the snapshot's, else by row width."""
    counted = {source.name: _rows(source) for source in sources}
    found: dict[int, tuple[float, float]] = {}
    for scan in graph.scans():
        leaf = leaves[scan.id]
        statistics = leaf.stats()
        size = float(str(statistics.sizeInBytes()))
        known = option(statistics.rowCount())
        rows = float(str(known)) if known is not None else counted[scan.table]
        width = max(float(leaf.schema().defaultSize()), 1.0)
        if rows is None and size >= _UNKNOWN:
            rows, size = _GUESSED, _GUESSED * width
        found[scan.id] = (size / width if rows is None else rows, size)
    return found


def _rows(source: Source) -> float | None:
    if not source.files and source.kept:
        return None
    if source.files and all(file.rows is not None for file in source.files):
        return float(sum(file.rows or 0 for file in source.files))
    if source.format != "parquet":
        return None
    import pyarrow.parquet as pq

    try:
        return float(sum(pq.read_metadata(file.path).num_rows for file in source.files))
    except (OSError, ValueError):
        return None  # remote or unreadable here: Spark's size in bytes still gives an estimate
