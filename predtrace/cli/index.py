"""The commands `predtrace index` and `predtrace forward`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

import predtrace
from predtrace.cli.console import Progress, new_console, print_times, write_json
from predtrace.index.summary import IndexSummary
from predtrace.report.rows import rows_data, rows_table
from predtrace.text.layout import counted, duration, number, size
from predtrace.text.printable import printable


def build_index(
    job: str,
    store: Path,
    *,
    where: str | None,
    scans: Sequence[str] | None,
    aggregates: str | None,
    limit: int | None,
    engine: str,
    rebuild: bool,
    as_json: bool,
) -> None:
    """`predtrace index`: build the index, and show its size compared with plain indexes."""
    progress = Progress()
    with progress.step("open the job"):
        handle = predtrace.open_job(str(store), job)
    made = handle.build_index(
        where,
        scans or None,
        aggregates,
        limit=limit,
        engine=engine,
        steps=progress.step,
        rebuild=rebuild,
    )
    if as_json:
        data = {**msgspec.to_builtins(made), "plain_bytes": made.plain_bytes}
        write_json({**data, "timings": progress.timings})
        return
    _print_summary(made)
    print_times(new_console(), progress.timings)


def _print_summary(made: IndexSummary) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = counted(made.rows, "output row")
    if made.covered < made.rows:
        rows = f"{number(made.covered)} of {rows}"
    console = new_console()
    if made.there:
        console.print("The index existed already; --rebuild replaces it.")
    console.print(
        f"Index of {rows} of job {made.job}: {size(made.bytes)}, built in "
        f"{duration(made.seconds)}; as plain row-id lists it would take {size(made.plain_bytes)}",
        markup=False,
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("scan")
    for name in ("links", "bytes", "plain"):
        table.add_column(name, justify="right")
    for scan in made.scans:
        table.add_row(
            Text(printable(scan.scan)), number(scan.links), size(scan.bytes), size(scan.plain_bytes)
        )
    console.print(table)


def show_forward(
    job: str,
    store: Path,
    scan: str,
    *,
    where: str | None,
    rows: Sequence[int] | None,
    aggregates: str | None,
    engine: str,
    limit: int,
    as_json: bool,
) -> None:
    """`predtrace forward`: the output rows that source rows reach."""
    progress = Progress()
    with progress.step("open the job"):
        handle = predtrace.open_job(str(store), job)
    with progress.step("look up"):
        reached = handle.forward(scan, where, rows, aggregates, engine)
    with progress.step("read the output"):
        shown = reached.to_arrow(limit)
    if as_json:
        write_json(
            {
                "job": handle.id,
                "scans": list(reached.scans),
                "label": reached.label,
                "complete": reached.complete,
                "count": reached.count(),
                "row_numbers": reached.row_numbers()[:limit].tolist(),
                **rows_data(shown),
            }
        )
        return
    console = new_console()
    rest = "" if reached.complete else ", of the indexed ones"
    count = reached.count()
    console.print(
        f"{counted(count, 'output row')}{rest}, {reached.label} "
        f"(from {printable(', '.join(reached.scans))})",
        markup=False,
    )
    if shown.num_rows:
        console.print(rows_table(shown, console.width))
    if count > shown.num_rows:
        console.print(f"and {counted(count - shown.num_rows, 'more row')}", style="dim")
    print_times(console, progress.timings)
