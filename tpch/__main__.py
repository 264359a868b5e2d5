"""The harness's command line: ``python -m tpch generate|run|check|index|bench|…``.

Tables go to stdout, progress to stderr. Exit status 1 means a difference or an error,
2 wrong usage, 130 that the run was cut; what was done until then is shown.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from predtrace.errors import PredTraceError
from tpch.cli import Data, Master, Queries, Scale, Twisted, each, make_data, query_numbers, session
from tpch.measures.commands import add_commands
from tpch.running import run
from tpch.tpcds.commands import app as tpcds

if TYPE_CHECKING:
    from tpch.check import QueryCheck

app = typer.Typer(
    name="tpch",
    help="TPC-H: data, the 22 queries, and the check of their lineage.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command(name="generate")
def make(
    sf: Scale = 0.1,
    out: Annotated[Path | None, typer.Option("--out", help="The folder to make.")] = None,
    twisted: Twisted = False,
    seed: Annotated[int, typer.Option("--seed", help="Which rows the twist changes.")] = 1,
) -> None:
    """Make the tables as Parquet, unless they are there already."""
    folder = make_data(sf, out, twisted, seed)
    Console().print(f"TPC-H tables at scale {sf:g}: {folder}", highlight=False, markup=False)


app.command()(run)


@app.command()
def check(
    sf: Scale = 0.1,
    queries: Queries = "1-22",
    data: Data = None,
    twisted: Twisted = False,
    engine: Annotated[str, typer.Option("--engine", help="One or more engines.")] = "duckdb,spark",
    rows: Annotated[int, typer.Option("--rows", min=1, help="Output rows to ask, at most.")] = 40,
    mode: Annotated[
        str,
        typer.Option(
            "--mode", help="One or more: stored,compacted,indexed,replayed,refined,naive."
        ),
    ] = "stored",
    brute: Annotated[
        int, typer.Option("--brute", min=0, help="Lineage rows to remove and re-run, per scan.")
    ] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write JSON.")] = None,
    store: Annotated[Path | None, typer.Option("--store", help="Keep the jobs here.")] = None,
    master: Master = "local[*]",
) -> None:
    """Compare the lineage of the queries with the oracle; exit status 1 on any difference."""
    from tpch.check import Checker
    from tpch.report import check_table, notes, scans_table, write_json

    numbers = query_numbers(queries)
    modes = tuple(name.strip() for name in mode.split(",") if name.strip())
    engines = tuple(name.strip() for name in engine.split(",") if name.strip())
    folder = make_data(sf, data, twisted)
    done: list[QueryCheck] = []
    cut = False
    with tempfile.TemporaryDirectory() as scratch, session(master) as spark:

        def check_one(step: Callable[[str], None]) -> Callable[[int], None]:
            checker = Checker(
                spark,
                folder,
                store or Path(scratch),
                targets=rows,
                modes=[(name, engines) for name in modes],
                brute=brute,
                strict=not twisted,
                step=step,
            )

            def one(number: int) -> None:
                done.append(checker.check(number))
                if json_file is not None:
                    write_json(done, json_file)

            return one

        try:
            each(numbers, check_one)
        except KeyboardInterrupt:
            cut = True
    # Into a file or pipe there is no screen whose width would matter.
    console = Console() if sys.stdout.isatty() else Console(width=220)
    console.print(check_table(done, f"TPC-H at scale {sf:g}{', twisted' if twisted else ''}"))
    if (scans := scans_table(done)) is not None:
        console.print(scans)
    for line in notes(done, sf):
        console.print(line)
    if cut:
        raise typer.Exit(130)
    if any(result.problems for result in done):
        raise typer.Exit(1)


@app.command()
def index(
    sf: Scale = 1.0,
    queries: Queries = "1-22",
    data: Data = None,
    store: Annotated[
        Path, typer.Option("--store", help="Jobs that `run` kept; missing ones are run.")
    ] = Path("lineage"),
    rows: Annotated[int, typer.Option("--rows", min=1, help="Output rows to ask, at most.")] = 40,
    mode: Annotated[str, typer.Option("--mode", help="What answers are compared with.")] = "stored",
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write JSON.")] = None,
    master: Master = "local[*]",
) -> None:
    """Build the row-id index of each job, check it, measure it; exit status 1 on differences."""
    from tpch.indexes import IndexCheck, IndexChecker, jobs_of
    from tpch.indexes_report import index_notes, index_table
    from tpch.report import write_json

    numbers = query_numbers(queries)
    folder = make_data(sf, data, twisted=False)
    missing = [number for number in numbers if number not in jobs_of(store)]
    if missing:
        run(sf=sf, queries=",".join(map(str, missing)), data=data, store=store, master=master)
    done: list[IndexCheck] = []

    def check_one(step: Callable[[str], None]) -> Callable[[int], None]:
        checker = IndexChecker(folder, store, targets=rows, mode=mode, step=step)

        def one(number: int) -> None:
            done.append(checker.check(number))
            if json_file is not None:
                write_json(done, json_file)

        return one

    each(numbers, check_one)
    console = Console() if sys.stdout.isatty() else Console(width=180)
    console.print(index_table(done, f"Row-id indexes of TPC-H at scale {sf:g}"))
    for line in index_notes(done):
        console.print(line)
    if any(result.problems for result in done):
        raise typer.Exit(1)


@app.command()
def bench(
    sf: Scale = 0.1,
    queries: Queries = "1-22",
    data: Data = None,
    twisted: Twisted = False,
    store: Annotated[
        Path, typer.Option("--store", help="Jobs that `run` kept; missing ones are run.")
    ] = Path("lineage"),
    engine: Annotated[str, typer.Option("--engine", help="duckdb or spark.")] = "duckdb",
    systems: Annotated[
        str, typer.Option("--systems", help="Some of those that there are; all without.")
    ] = "",
    targets: Annotated[int, typer.Option("--targets", min=1, help="Asked at once.")] = 100,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Timed ones.")] = 5,
    limit: Annotated[float, typer.Option("--limit", help="Seconds until giving up.")] = 60.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the results; continued if there.")
    ] = None,
    master: Master = "local[*]",
) -> None:
    """Time lineage questions beside the alternatives; exit status 1 if answers differ."""
    from tpch.bench.engines import open_engine
    from tpch.bench.figures import Run, write_run
    from tpch.bench.page import page
    from tpch.bench.report import headline, report
    from tpch.bench.run import Bench, settings
    from tpch.bench.systems import DEFAULT
    from tpch.indexes import jobs_of

    numbers = query_numbers(queries)
    names = [name.strip() for name in systems.split(",") if name.strip()] or list(DEFAULT)
    chosen = settings(
        sf, names, rounds=rounds, targets=targets, limit=limit, twisted=twisted, engine=engine
    )
    folder = make_data(sf, data, twisted)
    missing = ",".join(str(number) for number in numbers if number not in jobs_of(store))
    if missing:
        run(sf=sf, queries=missing, data=data, twisted=twisted, store=store, master=master)
    results = out or Path(f"bench-{folder.name.removeprefix('tpch-')}")
    results.mkdir(parents=True, exist_ok=True)
    file = results / "bench.json"
    command = f"python -m tpch {' '.join(sys.argv[1:])}"
    made: list[Bench] = []

    def measure(step: Callable[[str], None]) -> Callable[[int], None]:
        made.append(Bench(Run(command=command, settings=chosen), file, opened, store, step))
        return made[0]

    cut = False
    with open_engine(engine, folder, master) as opened:
        try:
            each(numbers, measure)
        except KeyboardInterrupt:
            cut = True
    done = made[0].run if made else Run(command=command, settings=chosen)
    write_run(done, file)
    (results / "bench.md").write_text(report(done), encoding="utf-8")
    (results / "bench.html").write_text(page(done), encoding="utf-8")
    console = Console()
    console.print(headline(done), highlight=False)
    console.print(f"{results}: bench.json, bench.md, bench.html", highlight=False, markup=False)
    if cut:
        raise typer.Exit(130)
    if any(answer.wrong for query in done.queries for answer in query.answers):
        raise typer.Exit(1)


add_commands(app)
app.add_typer(tpcds)


def main() -> None:
    """Run the command line; errors that are meant for the user become one line."""
    try:
        app()
    except PredTraceError as error:
        Console(stderr=True).print(f"error: {error}", style="red", highlight=False, markup=False)
        sys.exit(1)


if __name__ == "__main__":
    main()
