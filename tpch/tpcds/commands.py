"""The commands ``python -m tpch tpcds generate|check``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tpch.cli import Master, each, query_numbers, session
from tpch.tpcds.data import NUMBERS, default_folder, generate

if TYPE_CHECKING:
    from tpch.tpcds.check import QueryCheck

app = typer.Typer(
    name="tpcds", help="TPC-DS: data, texts, and the check of their lineage.", no_args_is_help=True
)

Scale = Annotated[float, typer.Option("--sf", help="Scale factor; 1 is 2.9 million store sales.")]
Folder = Annotated[Path | None, typer.Option("--data", help="The data folder; made if missing.")]


@app.command(name="generate")
def make(sf: Scale = 0.01, data: Folder = None) -> None:
    """Make the tables and the texts, with an environment for what makes them."""
    folder = generate(sf, data or default_folder(sf))
    Console().print(f"TPC-DS at scale {sf:g}: {folder}", highlight=False, markup=False)


@app.command()
def check(
    sf: Scale = 0.01,
    queries: Annotated[str, typer.Option("--queries", help="E.g. 4,11,60-70.")] = "1-99",
    data: Folder = None,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Output rows to ask, at most.")] = 10,
    run: Annotated[bool, typer.Option(help="Run and ask, or only trace.")] = True,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write JSON.")] = None,
    master: Master = "local[*]",
) -> None:
    """Trace, run and ask; exit status 1 if answers differ."""
    from tpch.report import write_json
    from tpch.tpcds.check import Checker, summary

    numbers = query_numbers(queries, NUMBERS, "TPC-DS")
    folder = generate(sf, data or default_folder(sf))
    done: list[QueryCheck] = []
    with tempfile.TemporaryDirectory() as store, session(master) as spark:

        def prepare(step: Callable[[str], None]) -> Callable[[int], None]:
            checker = Checker(spark, folder, Path(store), targets=rows, run=run, step=step)

            def one(number: int) -> None:
                done.append(checker.check(number))
                if json_file is not None:
                    write_json(done, json_file)

            return one

        each(numbers, prepare, "register the tables")
    console = Console(width=200)
    console.print(_table(done, f"TPC-DS at scale {sf:g}"))
    for result in done:
        for problem in result.problems:
            console.print(Text(f"Q{result.number}: {problem}", style="red"))
    counts = (f"{name} {count}" for name, count in summary(done).items())
    console.print(", ".join(counts), highlight=False, markup=False)
    if any(result.problems for result in done):
        raise typer.Exit(1)


def _table(checks: Sequence[QueryCheck], title: str) -> Table:
    table = Table(title=title, box=None, header_style="bold")
    for name in ("query", "output", "asked", "scans", "kept", "infer s", "bytes"):
        table.add_column(name, justify="right")
    for name in ("exchanged", "left out"):
        table.add_column(name, justify="right")
    for name in ("plan", "stored", "replayed", "truth", "verdict"):
        table.add_column(name, max_width=60)
    for result in checks:
        table.add_row(*_cells(result))
    return table


def _cells(result: QueryCheck) -> list[str]:
    if result.refused:
        return [f"Q{result.number}", *[""] * 8, f"refused: {result.refused}"]
    asked = {answer.mode: answer.label for answer in result.asked}
    return [
        f"Q{result.number}",
        str(result.output_rows),
        str(result.targets),
        str(len(result.labels)),
        str(result.intermediates),
        f"{result.inference_seconds:.2f}",
        f"{result.stored_bytes:,}",
        str(result.exchanged or ""),
        str(result.left_out or ""),
        max(result.labels),
        asked.get("stored", ""),
        asked.get("replayed", ""),
        result.truth,
        "wrong" if result.problems else "ok" if result.truth else "",
    ]
