"""The commands that measure: ``python -m tpch inference|overhead|startup|layouts|growth``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tpch.cli import Data, Master, Queries, Scale, Store, each, make_data, query_numbers, session
from tpch.queries import read_query

Rounds = Annotated[int, typer.Option("--rounds", min=1, help="Timed ones.")]
Json = Annotated[
    Path | None, typer.Option("--json", help="Where the figures go; continued if it is there.")
]


def add_commands(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (inference, overhead, startup, layouts, growth):
        app.command()(command)


def inference(
    sf: Scale = 0.01,
    queries: Queries = "1-22",
    data: Data = None,
    rounds: Rounds = 5,
    warm: Annotated[int, typer.Option("--warm", min=0, help="Rounds before, for the JVM.")] = 3,
    sizes: Annotated[
        bool, typer.Option(help="Store the intermediates to find out how large they are.")
    ] = True,
    json_file: Json = None,
    master: Master = "local[*]",
) -> None:
    """Time inference by phase, and show what Algorithm 2 saves."""
    import predtrace
    from tpch.check import register_tables
    from tpch.measures.inference import InferenceFigures, InferenceMeter
    from tpch.measures.inference_report import inference_report
    from tpch.measures.record import Book, load

    numbers = query_numbers(queries)
    folder = make_data(sf, data, twisted=False)
    settings = {"scale": sf, "rounds": rounds, "warm": warm, "sizes": sizes, "master": master}
    book = Book(json_file or Path(f"inference-{sf:g}.json"), InferenceFigures, settings)
    with session(master) as spark:
        register_tables(spark, folder)

        def prepare(step: Callable[[str], None]) -> Callable[[int], None]:
            frames = {number: spark.sql(read_query(number)) for number in numbers}
            for _ in range(warm):
                for frame in frames.values():
                    predtrace.trace(frame).plan()
            meter = InferenceMeter(frames.__getitem__, rounds=rounds, sizes=sizes, step=step)

            def one(number: int) -> None:
                if str(number) not in book:
                    before = load()
                    book.add(str(number), meter.measure(number), before)

            return one

        _until_cut(
            lambda: each(numbers, prepare, "warm the JVM"), lambda: inference_report(book.record)
        )


def overhead(
    sf: Scale = 0.1,
    queries: Queries = "1-22",
    data: Data = None,
    rounds: Rounds = 5,
    scratch: Annotated[
        Path | None, typer.Option("--scratch", help="Where runs write; the system's without.")
    ] = None,
    json_file: Json = None,
    master: Master = "local[*]",
) -> None:
    """Time runs on Spark, plain and stored in turns, and count what is stored."""
    from tpch.check import register_tables
    from tpch.measures.overhead import OverheadFigures, OverheadMeter
    from tpch.measures.overhead_report import overhead_report
    from tpch.measures.record import Book, load

    numbers = query_numbers(queries)
    folder = make_data(sf, data, twisted=False)
    settings = {"scale": sf, "rounds": rounds, "master": master}
    book = Book(json_file or Path(f"overhead-{sf:g}.json"), OverheadFigures, settings)
    with tempfile.TemporaryDirectory(dir=scratch) as place, session(master) as spark:
        register_tables(spark, folder)

        def prepare(step: Callable[[str], None]) -> Callable[[int], None]:
            meter = OverheadMeter(
                lambda number: spark.sql(read_query(number)),
                Path(place) / "run",
                rounds=rounds,
                step=step,
            )

            def one(number: int) -> None:
                if str(number) not in book:
                    before = load()
                    book.add(str(number), meter.measure(number), before)

            return one

        _until_cut(lambda: each(numbers, prepare, "begin"), lambda: overhead_report(book.record))


def startup(
    sf: Scale = 0.01,
    queries: Queries = "1-22",
    data: Data = None,
    store: Store = Path("lineage"),
    rounds: Rounds = 5,
    json_file: Json = None,
    master: Master = "local[*]",
) -> None:
    """Time fresh processes: importing, the help, a job's first question."""
    from tpch.indexes import jobs_of
    from tpch.measures.record import Book, load
    from tpch.measures.startup import StartupFigures, measure_processes, measure_question
    from tpch.measures.startup_report import startup_report
    from tpch.running import run

    numbers = query_numbers(queries)
    missing = [number for number in numbers if number not in jobs_of(store)]
    if missing:
        run(sf=sf, queries=",".join(map(str, missing)), data=data, store=store, master=master)
    jobs = jobs_of(store)
    settings = {"scale": sf, "rounds": rounds}
    book = Book(json_file or Path(f"startup-{sf:g}.json"), StartupFigures, settings)

    def prepare(step: Callable[[str], None]) -> Callable[[int], None]:
        if "processes" not in book:
            before = load()
            processes = StartupFigures(processes=measure_processes(rounds, step))
            book.add("processes", processes, before)

        def one(number: int) -> None:
            if str(number) not in book:
                before = load()
                question = measure_question(number, store, jobs[number], rounds, step)
                book.add(str(number), StartupFigures(question=question), before)

        return one

    _until_cut(lambda: each(numbers, prepare, "processes"), lambda: startup_report(book.record))


def layouts(
    sf: Scale = 1.0,
    queries: Queries = "3,4,10,18",
    data: Data = None,
    store: Annotated[
        Path, typer.Option("--store", help="A store per layout in it; missing jobs are run.")
    ] = Path("lineage-layouts"),
    names: Annotated[
        str, typer.Option("--layouts", help="Some of those that there are; all without.")
    ] = "",
    rounds: Rounds = 5,
    json_file: Json = None,
    master: Master = "local[*]",
) -> None:
    """Time questions over the same rows: sorted, in many files, partitioned, with bloom filters."""
    import predtrace
    from tpch.indexes import jobs_of
    from tpch.layouts import LAYOUTS, write_layout
    from tpch.measures.layouts import LayoutFigures, LayoutMeter
    from tpch.measures.layouts_report import layouts_report
    from tpch.measures.record import Book, load

    numbers = query_numbers(queries)
    chosen = [name.strip() for name in names.split(",") if name.strip()] or list(LAYOUTS)
    plain = make_data(sf, data, twisted=False)
    settings = {"scale": sf, "rounds": rounds, "layouts": ",".join(chosen)}
    book = Book(json_file or Path(f"layouts-{sf:g}.json"), LayoutFigures, settings)
    folders = {}
    for name in chosen:
        with Console(stderr=True).status(f"write the layout {name} …"):
            folders[name] = write_layout(plain, name)
    missing = {
        name: [number for number in numbers if number not in jobs_of(store / name)]
        for name in chosen
    }
    _run_jobs(missing, folders, store, master)
    jobs = {name: jobs_of(store / name) for name in chosen}

    def prepare(step: Callable[[str], None]) -> Callable[[int], None]:
        def one(number: int) -> None:
            if str(number) not in book:
                before = load()
                opened = {
                    name: predtrace.open_job(store / name, jobs[name][number]) for name in jobs
                }
                meter = LayoutMeter(number, folders, opened, rounds=rounds, step=step)
                book.add(str(number), meter.measure(), before)

        return one

    _until_cut(lambda: each(numbers, prepare, "begin"), lambda: layouts_report(book.record))


def _run_jobs(
    missing: Mapping[str, list[int]], folders: Mapping[str, Path], store: Path, master: str
) -> None:
    """Run what layouts lack, in one session."""
    import predtrace
    from tpch.check import register_tables
    from tpch.indexes import remember

    if not any(missing.values()):
        return
    with session(master) as spark:
        for name, numbers in missing.items():
            register_tables(spark, folders[name])
            for number in numbers:
                with Console(stderr=True).status(f"run Q{number} over the layout {name} …"):
                    job = predtrace.trace(spark.sql(read_query(number))).run(store=store / name)
                remember(store / name, {number: job.id})


def growth(
    runs: Annotated[
        list[Path], typer.Argument(help="Files bench.json of runs at other scales or targets.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the results.")] = Path("growth"),
) -> None:
    """Show how the times of several runs of `bench` grow with scale and number of targets."""
    from tpch.measures.growth import growth_page, growth_report, read_runs

    found = read_runs(runs)
    out.mkdir(parents=True, exist_ok=True)
    (out / "growth.md").write_text(growth_report(found), encoding="utf-8")
    (out / "growth.html").write_text(growth_page(found), encoding="utf-8")
    _print(growth_report(found))


def _until_cut(action: Callable[[], Any], report: Callable[[], str]) -> None:
    """Do the action and show the report; if it is cut, of what was done until then."""
    cut = False
    try:
        action()
    except KeyboardInterrupt:
        cut = True
    _print(report())
    if cut:
        raise typer.Exit(130)


def _print(text: str) -> None:
    Console(soft_wrap=True).print(text, markup=False, highlight=False)
