"""What the commands of `predtrace.cli` do, on the public API."""

from __future__ import annotations

import difflib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.errors import TargetError
from predtrace.jobs.store import JobStore, JobSummary
from predtrace.report.text import duration, number, size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console
    from rich.table import Table

    from predtrace.report.answers import ScanReport


class Progress:
    """Names the step at work on stderr, and keeps what each took. Silent unless a terminal."""

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do one step; `name` is shown while it lasts."""
        from rich.console import Console

        started = time.perf_counter()
        with Console(stderr=True).status(f"{name} …"):
            yield
        self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - started


def run_query(
    query_file: Path,
    tables: Path,
    store: Path,
    *,
    keep: str,
    aggregates: str,
    settings: Mapping[str, str],
    limit: int,
    as_json: bool,
) -> None:
    """`predtrace run`: run a query, save the job, show the first output rows."""
    import predtrace
    from predtrace.report.rows import rows_data

    progress = Progress()
    with _session(progress, settings) as spark:
        frame = _frame(progress, spark, query_file, tables)
        with progress.step("infer the lineage plan"):
            trace = predtrace.trace(frame, spark)
        with progress.step("run and store"):
            handle = trace.run(store=str(store), keep=keep, aggregates=aggregates)
        with progress.step("read the output"):
            output = _first_output_rows(handle, limit)
        if keep == "late":
            # Spark must not stop before everything is stored.
            with progress.step("store what lineage needs"):
                handle.wait()
    record = handle.record
    summary = next(job for job in JobStore(store).jobs() if job.id == handle.id)
    if as_json:
        write_json(
            {
                **msgspec.to_builtins(summary),
                "store": str(store),
                "stored": [_stored_data(item) for item in record.intermediates],
                "timings": {**record.timings, **progress.timings},
                "output": rows_data(output),
            }
        )
        return
    console = new_console()
    _print_run(console, summary, record, store, output)
    print_times(console, progress.timings)


def explain_query(
    query_file: Path,
    tables: Path,
    *,
    aggregates: str,
    settings: Mapping[str, str],
    as_json: bool,
) -> None:
    """`predtrace explain`: show the lineage plan of a query."""
    import predtrace

    progress = Progress()
    with _session(progress, settings) as spark:
        frame = _frame(progress, spark, query_file, tables)
        with progress.step("infer the lineage plan"):
            explanation = predtrace.trace(frame, spark).explain(aggregates=aggregates)
    if as_json:
        write_json(explanation.to_dict())
    else:
        console = new_console()
        console.print(explanation)
        print_times(console, progress.timings)


def answer(
    job: str,
    store: Path,
    *,
    target: Any,
    mode: str,
    engine: str,
    aggregates: str | None,
    out: Path | None,
    style: str,
    limit: int,
    columns: Sequence[str] | None,
) -> None:
    """`predtrace lineage`: show, or write, the source rows behind target rows."""
    import predtrace
    from predtrace.report.answers import AnswerReport, evaluate_scan, scan_label

    progress = Progress()
    with progress.step("open the job"):
        handle = predtrace.open_job(str(store), job)
    with progress.step("find the target rows"):
        found = handle.lineage(target, mode=mode, engine=engine, aggregates=aggregates)
        target_rows = found.target_rows
    shown = _columns_by_scan(found.scans, columns)
    scans: list[ScanReport] = []
    names = [scan.name for scan in found.scans]
    for scan in found.scans:
        name = scan_label(scan.name, scan.occurrence, names)
        with progress.step(name):
            if style != "parquet":
                scans.append(evaluate_scan(scan, name, limit, shown[scan.node]))
            if out is not None:
                scan.write_parquet(str(out / name))
    if style == "parquet":
        console = new_console()
        console.print(f"The lineage rows are in {out}, a folder a scan", markup=False)
        print_times(console, progress.timings)
        return
    report = AnswerReport(
        job=handle.id,
        label=found.label,
        mode=found.mode,
        engine=found.engine,
        target_rows=target_rows,
        missing=found.missing,
        notes=found.notes,
        scans=tuple(scans),
        timings={**progress.timings},
    )
    if style == "json":
        write_json(report.to_dict())
    else:
        report.print(new_console())


def _columns_by_scan(
    scans: Sequence[Any], columns: Sequence[str] | None
) -> dict[int, list[str] | None]:
    """Which of the named columns every scan has; all, if none of them is its.

    Raises TargetError for a name that no scan has.
    """
    if columns is None:
        return {scan.node: None for scan in scans}
    known = sorted({name for scan in scans for name in scan.columns})
    for name in columns:
        if name.casefold() not in map(str.casefold, known):
            near = ", ".join(difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known)
            raise TargetError(f"--columns: no source has a column {name}; near it: {near}")
    wanted = [name.casefold() for name in columns]
    found = {
        scan.node: sorted(
            (name for name in scan.columns if name.casefold() in wanted),
            key=lambda name: wanted.index(name.casefold()),
        )
        for scan in scans
    }
    return {node: names or None for node, names in found.items()}


def build_job(job: str, store: Path, *, engine: str, as_json: bool) -> None:
    """`predtrace build`: store the intermediate results that a job lacks."""
    import predtrace

    progress = Progress()
    with progress.step("open the job"):
        handle = predtrace.open_job(str(store), job)
    before = {item.result.folder for item in handle.record.intermediates}
    with progress.step("store what lineage needs"):
        record = handle.build_intermediates(engine=engine).record
    added = {
        item.result.folder: item
        for item in record.intermediates
        if item.result.folder not in before
    }
    if as_json:
        built = [_stored_data(item) for item in added.values()]
        write_json({"id": handle.id, "stored": built, "timings": progress.timings})
        return
    console = new_console()
    if not added:
        console.print(f"job {handle.id} has all that its lineage needs")
    for item in added.values():
        result = item.result
        console.print(
            f"intermediate {item.binding}: {number(result.rows)} rows, {size(result.bytes)}"
        )
    print_times(console, progress.timings)


def list_jobs(store: Path, *, as_json: bool) -> None:
    """`predtrace jobs`: the finished jobs of a store."""
    found = JobStore(store).jobs()
    if as_json:
        write_json([msgspec.to_builtins(summary) for summary in found])
        return
    console = new_console()
    if found:
        console.print(_jobs_table(found))
    else:
        console.print(f"The store {store} holds no jobs.", highlight=False, markup=False)


def examine(store: Path, *, with_spark: bool, as_json: bool) -> bool:
    """`predtrace doctor`: print all checks; whether none failed."""
    from predtrace import doctor

    found = doctor.checks(str(store))
    if with_spark:
        with Progress().step("start Spark"):
            found.append(doctor.spark_works())
    if as_json:
        write_json([msgspec.to_builtins(check) for check in found])
    else:
        _print_checks(found)
    return all(check.status != doctor.FAILED for check in found)


@contextmanager
def _session(progress: Progress, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from contextlib import ExitStack

    from predtrace.session import local_session, spark_errors

    with ExitStack() as stack:
        with progress.step("start Spark"):
            spark = stack.enter_context(local_session(settings))
        stack.enter_context(spark_errors("Spark could not run this"))
        yield spark


def _frame(progress: Progress, spark: SparkSession, query_file: Path, tables: Path) -> Any:
    from predtrace.session import query, read_text, register_tables

    text = read_text(query_file)
    with progress.step("read the tables"):
        register_tables(spark, tables, text)
        return query(spark, text, str(query_file))


def _first_output_rows(handle: Any, limit: int) -> Any:
    return handle.output.limit(limit).toArrow()


def _stored_data(item: Any) -> dict[str, Any]:
    return {
        "aggregates": item.aggregates,
        "binding": item.binding,
        "columns": [column.name for column in item.result.columns],
        "rows": item.result.rows,
        "bytes": item.result.bytes,
    }


def new_console() -> Console:
    """Where answers go: as wide as the terminal, or wide enough for a file."""
    from rich.console import Console

    console = Console(highlight=False)
    # Into a file or pipe there is no screen whose width would matter.
    return console if console.is_terminal else Console(highlight=False, width=120)


def write_json(data: Any) -> None:
    """Answers for programs, on stdout."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n")


def _print_run(
    console: Console, summary: JobSummary, record: Any, store: Path, output: Any
) -> None:
    from rich.text import Text

    from predtrace.report.rows import rows_table

    console.print(Text(f"Output: {number(summary.rows)} rows", style="bold"))
    console.print(rows_table(output, console.width))
    if summary.rows is not None and summary.rows > output.num_rows:
        console.print(Text(f"and {number(summary.rows - output.num_rows)} more rows", style="dim"))
    console.print(Text.assemble("\nJob ", (summary.id, "bold cyan"), f" is kept in {store}"))
    for item in record.intermediates:
        columns = ", ".join(column.name for column in item.result.columns)
        text = f"  intermediate {item.binding} ({columns}): {number(item.result.rows)} rows, "
        console.print(Text(text + size(item.result.bytes)))


def print_times(console: Console, timings: Mapping[str, float]) -> None:
    """What the steps of a command took."""
    from rich.text import Text

    times = ", ".join(f"{step} {duration(seconds)}" for step, seconds in timings.items())
    console.print(Text(f"\nTimes: {times}", style="dim"))


def _jobs_table(found: Sequence[JobSummary]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (
        ("job", "left"),
        ("created", "left"),
        ("rows", "right"),
        ("stored", "right"),
        ("scans", "right"),
        ("query", "left"),
    ):
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name == "job")  # type: ignore[arg-type]
    for job in found:
        if job.problem:
            table.add_row(job.id, "", "", "", "", Text(job.problem, style="red"))
            continue
        created = job.created[:19].replace("T", " ")
        rows = "not kept" if job.rows is None else number(job.rows)
        table.add_row(job.id, created, rows, size(job.bytes), str(job.scans), Text(job.query))
    return table


def _print_checks(found: Sequence[Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    styles = {"ok": "green", "warning": "yellow", "failed": "bold red"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("check", "result", "found"):
        table.add_column(name, overflow="fold")
    for check in found:
        remedy = f"\n→ {check.remedy}" if check.remedy else ""
        table.add_row(
            check.name, Text(check.status, style=styles[check.status]), Text(check.found + remedy)
        )
    new_console().print(table)
