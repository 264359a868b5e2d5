"""The common parts of the harness's commands: options, query numbers, data, progress, session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tpch.data import TABLES, default_folder, generate
from tpch.queries import NUMBERS
from tpch.twist import twist

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Scale 1 on a local master does not fit into Spark's own gigabyte.
_ROOM = {"spark.driver.memory": "4g"}

Scale = Annotated[
    float, typer.Option("--sf", min=0, help="Scale factor; 1 is 6 million lineitems.")
]
Twisted = Annotated[
    bool, typer.Option("--twisted", help="Data with NULLs, ties and duplicates, where all bites.")
]
Data = Annotated[
    Path | None, typer.Option("--data", help="The data folder; made if it is not there.")
]
Queries = Annotated[str, typer.Option("--queries", help="Numbers, e.g. 3,4,10-12.")]
Master = Annotated[str, typer.Option("--master", help="Spark's master.")]
Store = Annotated[Path, typer.Option("--store", help="Jobs that `run` kept; missing ones are run.")]


def each(
    numbers: list[int],
    prepare: Callable[[Callable[[str], None]], Callable[[int], None]],
    first: str = "load the oracle's tables",
) -> None:
    """Do something for each query, with a progress bar that also names the step."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(first, total=len(numbers))
        current = ""

        def step(name: str) -> None:
            progress.update(task, description=f"{current}: {name}")

        action = prepare(step)
        for number in numbers:
            current = f"Q{number}"
            action(number)
            progress.advance(task)


def make_data(sf: float, folder: Path | None, twisted: bool, seed: int = 1) -> Path:
    """The data folder asked for, made if need be. One that has the tables is taken as it is."""
    if folder is not None and all((folder / f"{table}.parquet").exists() for table in TABLES):
        return folder
    if not twisted:
        return generate(sf, folder or default_folder(sf))
    plain = generate(sf, default_folder(sf))
    with Console(stderr=True).status("make the twisted copy …"):
        return twist(plain, folder or default_folder(sf, twisted=True), seed)


def query_numbers(text: str, known: Sequence[int] = NUMBERS, benchmark: str = "TPC-H") -> list[int]:
    """Query numbers out of e.g. ``3,4,10-12``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise typer.BadParameter(f"{part!r} is no query number or range of them")
        numbers += range(int(first), int(last or first) + 1)
    unknown = [number for number in numbers if number not in known]
    if unknown:
        raise typer.BadParameter(
            f"{benchmark} has no query {unknown[0]}: choose from 1 to {known[-1]}"
        )
    return list(dict.fromkeys(numbers))


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """A Spark session on a master, stopped at the end."""
    from predtrace import local_session

    with ExitStack() as stack:
        with Console(stderr=True).status("start Spark …"):
            settings = {"spark.master": master, "spark.app.name": "tpch", **_ROOM}
            spark = stack.enter_context(local_session(settings))
        yield spark
