"""Lineage written by hand: little tables, and answers of every mode compared with it.

The truth is the rows that SEMANTICS section 2 gives for a query's text and the tables'
rows; a row's number is its `id`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import predtrace
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.graph import OperatorGraph
from tests.reference.answers import answered
from tests.reference.values import row_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = Mapping[str, Sequence[int]]
"""Row numbers by scan: the table's name, with the occurrence behind it from the second on."""
Expected = Mapping[tuple[Any, ...], Rows]
"""Of every output row: its lineage. A scan that is not named has none."""

TABLES = {
    "r": {"id": [0, 1, 2, 3, 4], "a": [1, 1, 2, None, 3], "b": ["x", "y", "x", "z", "w"]},
    "s": {
        "id": [0, 1, 2, 3, 4, 5],
        "a": [1, 1, 2, None, 5, 1],
        "c": [10, 20, 10, 30, None, 20],
    },
    "u": {"id": [0, 1, 2], "a": [1, 2, 2], "c": [20, 10, None]},
}
EXACT = ("stored", "replayed", "indexed")
"""Modes whose answers to these queries are precise."""
MODES = {"duckdb": ("naive", "refined", *EXACT), "spark": ("refined", "stored")}
"""The modes to ask in, by engine."""


def register(spark: SparkSession, folder: Path) -> None:
    """Write the tables as Parquet, one file each, and make them temp views."""
    for name, columns in TABLES.items():
        path = folder / f"{name}.parquet"
        arrays = [
            pa.array(values, pa.string() if column == "b" else pa.int32())
            for column, values in columns.items()
        ]
        pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


def check(
    frame: DataFrame,
    expected: Expected,
    store: Path,
    engines: Sequence[str] = ("duckdb",),
    aggregates: str = "minimal",
    supersets: Collection[str] = (),
) -> None:
    """Run the pipeline and ask for the lineage of every output row, in every mode.

    Of the scans in `supersets` exact modes must say that they are.
    """
    plain = Counter(row_key(tuple(row)) for row in frame.collect())
    assert {*plain} == {*map(row_key, expected)}, "the expectation is of another output"
    job = predtrace.trace(frame).run(store=store, aggregates=aggregates)
    assert Counter(row_key(tuple(row)) for row in job.output.collect()) == plain
    job.build_index()
    graph = OperatorGraph(job.record.graph, job.record.root)
    for engine in engines:
        for mode in MODES[engine]:
            answer = job.lineage(list(expected), mode=mode, engine=engine)
            labels = dict.fromkeys(supersets, SUPERSET) if mode in EXACT else None
            _compare(answer, expected, graph, f"{mode} on {engine}", labels)


def _compare(
    answer: Any,
    expected: Expected,
    graph: OperatorGraph,
    where: str,
    labels: Mapping[str, str] | None,
) -> None:
    """With `labels`, those of scans that are not precise; any will do without."""
    found = answered(answer, graph)
    names = {scan.id: _name(scan.table, scan.occurrence) for scan in graph.scans()}
    named = {name for rows in expected.values() for name in rows}
    assert named <= {*names.values()}, f"{where}: a scan is missing"
    for scan in graph.scans():
        label = answer.scan(scan.table, occurrence=scan.occurrence).label
        said = labels is None or label == labels.get(names[scan.id], PRECISE)
        assert said, f"{where}: {names[scan.id]} is {label}"
        for number, (row, rows) in enumerate(expected.items()):
            wanted, got = {*rows.get(names[scan.id], ())}, {*found[number, scan.id]}
            at = f"{where}: {names[scan.id]} for {row}: {sorted(got)} instead of {sorted(wanted)}"
            assert wanted <= got, f"rows are missing, {at}"
            assert label != PRECISE or wanted == got, f"too many rows are precise, {at}"


def _name(table: str, occurrence: int) -> str:
    return table if occurrence == 1 else f"{table}{occurrence}"
