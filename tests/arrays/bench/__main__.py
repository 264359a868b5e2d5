"""The evaluation's command line: ``python -m tests.arrays.bench``.

Tables go to stdout, progress to stderr. Exit status 1 means an error or that two systems
disagree, 2 wrong usage.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console

from predtrace.errors import PredTraceError

if TYPE_CHECKING:
    from tests.arrays.bench.figures import Figures

app = typer.Typer(
    name="tests.arrays.bench",
    help="Cell-level lineage of arrays: the evaluation.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Part(StrEnum):
    """What can be measured."""

    sizes = "sizes"
    latency = "latency"
    plain = "plain"
    queries = "queries"
    workflows = "workflows"
    random = "random"
    functions = "functions"
    reuse = "reuse"


@app.command()
def bench(
    parts: Annotated[
        list[Part] | None, typer.Argument(help="What to measure; all parts if none is named.")
    ] = None,
    scale: Annotated[
        float, typer.Option(help="Cells, relative to the paper's arrays; 0.01 takes seconds.")
    ] = 1.0,
    repeats: Annotated[int, typer.Option(help="Random workflows of each length.")] = 20,
    out: Annotated[Path | None, typer.Option(help="A JSON file for all figures.")] = None,
) -> None:
    """Measure what DSLog's paper measures, here and now, against files and DuckDB.

    sizes      Table VII: bytes of fourteen operations' lineage in seven formats

    latency    Figure 7: seconds to compress and write

    plain      seconds to compress data without structure, against plain NumPy

    queries    1000 cells, as a box and scattered, of each of the fourteen operations

    workflows  Figure 8: an image, a relational and a ResNet workflow

    random     Figure 9: random workflows of 5 and 10 numpy operations

    functions  Table IX: how the lineage of numpy's functions compresses, and is predicted

    reuse      seconds to register calls, their lineage being captured or predicted

    Answers are compared as sets before a time is printed; a difference ends the run.
    Examples:

        python -m tests.arrays.bench --scale 0.01

        python -m tests.arrays.bench queries --out figures.json
    """
    from tests.arrays.bench.report import tables

    if scale <= 0:
        raise typer.BadParameter("a positive number is needed", param_hint="--scale")
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        figures = _measure(set(parts or Part), scale, repeats, Path(folder), progress)
    console = Console(width=None if sys.stdout.isatty() else 200)
    for table in tables(figures):
        console.print(table)
    if out is not None:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1))


def _measure(
    parts: set[Part], scale: float, repeats: int, folder: Path, progress: Console
) -> Figures:
    from tests.arrays.bench import run
    from tests.arrays.bench.figures import Figures

    def tell(text: str) -> None:
        progress.print(text, style="dim", highlight=False)

    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    stored, operations = run.of_operations(
        scale, folder, tell, sizes=Part.sizes in parts, queries=Part.queries in parts
    )
    functions, predicted, untried = (
        run.of_functions(scale, tell) if Part.functions in parts else ([], [], [])
    )
    return Figures(
        machine=machine,
        scale=scale,
        stored=stored,
        written=run.of_latency(scale, folder, tell) if Part.latency in parts else [],
        compressed=run.of_unstructured(scale, tell) if Part.plain in parts else [],
        operations=operations,
        workflows=run.of_workflows(scale, tell) if Part.workflows in parts else [],
        random=run.of_random(scale, repeats, tell) if Part.random in parts else [],
        functions=functions,
        untried=untried,
        predicted=predicted,
        registered=run.of_reuse(scale, folder, tell) if Part.reuse in parts else [],
    )


def _run() -> None:
    """The command line, with one line for errors raised on purpose."""
    try:
        app()
    except PredTraceError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False)
        sys.exit(1)


if __name__ == "__main__":
    _run()
