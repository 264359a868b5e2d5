"""The figures of a run as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from rich.table import Table

from tests.arrays.bench.figures import (
    Compressed,
    Covered,
    Figures,
    Predicted,
    QueryTimes,
    Registered,
    Stored,
    Written,
)


def tables(figures: Figures) -> Iterator[Table]:
    """A table for each part that was measured."""
    if figures.stored:
        yield _stored(figures.stored)
    if figures.written:
        yield _written(figures.written)
    if figures.compressed:
        yield _compressed(figures.compressed)
    for title, asked in (
        ("Queries of one operation: ms", figures.operations),
        ("Figure 8: queries through workflows, ms", figures.workflows),
        ("Figure 9: queries through random numpy workflows, ms", figures.random),
    ):
        if asked:
            yield _asked(title, asked)
    if figures.functions:
        yield _functions(figures.functions, figures.untried)
    if figures.predicted:
        yield _predicted(figures.predicted)
    if figures.registered:
        yield _registered(figures.registered)


def _stored(rows: Sequence[Stored]) -> Table:
    table = Table(title="Table VII: bytes on disk")
    for heading in ("operation", "pairs", "rows", *rows[0].bytes, "best other / ProvRC"):
        table.add_column(heading, justify="left" if heading == "operation" else "right")
    for row in rows:
        others = min(size for name, size in row.bytes.items() if name != "ProvRC")
        numbers = [row.pairs, row.rows, *row.bytes.values()]
        ratio = f"{others / row.bytes['ProvRC']:,.1f}"
        table.add_row(row.operation, *(f"{number:,}" for number in numbers), ratio)
    return table


def _written(rows: Sequence[Written]) -> Table:
    table = Table(title="Figure 7: compress and write, ms")
    for heading in ("lineage", "pairs", *rows[0].seconds):
        table.add_column(heading, justify="left" if heading == "lineage" else "right")
    for row in rows:
        times = (f"{1000 * seconds:.2f}" for seconds in row.seconds.values())
        table.add_row(row.kind, f"{row.pairs:,}", *times)
    return table


def _compressed(rows: Sequence[Compressed]) -> Table:
    table = Table(title="Data without structure, compressed: ProvRC against plain NumPy")
    for heading in ("data", "pairs", "rows, plain", "rows", "plain ms", "ms", "ProvRC / plain"):
        table.add_column(heading, justify="left" if heading == "data" else "right")
    for row in rows:
        numbers = (row.pairs, row.rows["plain"], row.rows["ProvRC"])
        times = (f"{1000 * row.seconds[system]:.2f}" for system in ("plain", "ProvRC"))
        cells = (*(f"{number:,}" for number in numbers), *times, f"{row.ratio:.2f}")
        table.add_row(row.data, *cells)
    return table


def _asked(title: str, rows: Sequence[QueryTimes]) -> Table:
    systems = list(rows[0].seconds)
    table = Table(title=title)
    for heading in ("workload", "direction", "asked", "cells", "answer", *systems):
        table.add_column(heading, justify="left" if heading == "workload" else "right")
    table.add_column("DuckDB / ProvRC", justify="right")
    for row in rows:
        times = (f"{1000 * row.seconds[system]:.3f}" for system in systems)
        ratio = f"{row.seconds['DuckDB'] / row.seconds['ProvRC']:.1f}"
        numbers = f"{row.cells:,}", f"{row.answer:,}"
        table.add_row(row.workload, row.direction, row.kind, *numbers, *times, ratio)
    return table


def _functions(rows: Sequence[Covered], untried: Sequence[str]) -> Table:
    table = Table(title="Table IX: numpy's functions, ProvRC against pairs as text")
    headings = ("family", "functions", "below 1 %", "below 10 %", "median bytes", "median %")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "family" else "right")
    families = dict.fromkeys(row.family for row in rows)
    for family, members in (
        *((family, [row for row in rows if row.family == family]) for family in families),
        ("all", list(rows)),
    ):
        shares = [row.bytes / row.raw for row in members]
        table.add_row(
            family,
            str(len(members)),
            str(sum(share < 0.01 for share in shares)),
            str(sum(share < 0.1 for share in shares)),
            f"{median(row.bytes for row in members):,.0f}",
            f"{100 * median(shares):.3f}",
        )
    if untried:
        table.caption = f"no arguments at hand for: {', '.join(untried)}"
    return table


_PAPERS = {"element-wise": (75, 75, 75, 0), "complex": (61, 51, 24, 1), "all": (136, 126, 99, 1)}
"""Table IX's own figures: functions, dimensional, generalised, errors."""


def _predicted(rows: Sequence[Predicted]) -> Table:
    table = Table(title="Table IX: functions whose lineage was predicted, against the paper's")
    counted = ("functions", "dimensional", "generalised", "errors")
    for heading in ("kind", *counted, *(f"paper: {name}" for name in counted)):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for kind, members in (
        ("element-wise", [row for row in rows if row.elementwise]),
        ("complex", [row for row in rows if not row.elementwise]),
        ("all", list(rows)),
        ("by shape", [row for row in rows if row.by_shape]),
        ("by value", [row for row in rows if not row.by_shape]),
    ):
        ours = (
            len(members),
            sum(row.dimensional > 0 for row in members),
            sum(row.generalised > 0 for row in members),
            sum(row.errors > 0 for row in members),
        )
        table.add_row(kind, *map(str, (*ours, *_PAPERS.get(kind, [""] * len(ours)))))
    predictions = sum(row.dimensional + row.generalised for row in rows)
    calls = sum(row.calls for row in rows)
    table.caption = f"{predictions:,} of {calls:,} calls were predicted"
    return table


def _registered(rows: Sequence[Registered]) -> Table:
    table = Table(title="Registering a call: ms, by where its lineage comes from")
    for heading in ("operation", "cells", *rows[0].seconds, "pairs / reuse", "rule / reuse"):
        table.add_column(heading, justify="left" if heading == "operation" else "right")
    for row in rows:
        times = (f"{1000 * seconds:.2f}" for seconds in row.seconds.values())
        ratios = (f"{row.seconds[way] / row.seconds['reuse']:.1f}" for way in ("pairs", "rule"))
        table.add_row(row.operation, f"{row.cells:,}", *times, *ratios)
    return table
