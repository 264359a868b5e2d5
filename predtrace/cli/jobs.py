"""The commands `predtrace build`, `jobs` and `doctor`, which maintain a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.cli.console import Progress, new_console, print_times, write_json
from predtrace.jobs.store import JobStore, JobSummary
from predtrace.text.layout import counted, number, size
from predtrace.text.printable import printable

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table
    from rich.text import Text


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
        built = [stored_data(item) for item in added.values()]
        write_json({"id": handle.id, "stored": built, "timings": progress.timings})
        return
    console = new_console()
    if not added:
        console.print(f"job {handle.id} has all that its lineage needs", markup=False)
    for item in added.values():
        result = item.result
        console.print(
            f"intermediate {item.binding}: {counted(result.rows, 'row')}, {size(result.bytes)}"
        )
    print_times(console, progress.timings)


def list_jobs(store: Path, *, drop_caches: bool, as_json: bool) -> None:
    """`predtrace jobs`: the finished jobs of a store."""
    if drop_caches:
        freed = JobStore(store).drop_caches()
        if not as_json:
            new_console().print(f"removed cached sources: {size(freed)}", highlight=False)
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
    """`predtrace doctor`: print all checks; returns whether none failed."""
    from predtrace.environment import doctor
    from predtrace.environment.java import FAILED

    found = doctor.checks(str(store))
    if with_spark:
        with Progress().step("start Spark"):
            found.append(doctor.spark_works())
    if as_json:
        write_json([msgspec.to_builtins(check) for check in found])
    else:
        _print_checks(found)
    return all(check.status != FAILED for check in found)


def stored_data(item: Any) -> dict[str, Any]:
    """An intermediate result of a job, for programs."""
    return {
        "aggregates": item.aggregates,
        "binding": item.binding,
        "columns": [column.name for column in item.result.columns],
        "rows": item.result.rows,
        "bytes": item.result.bytes,
    }


def _jobs_table(found: Sequence[JobSummary]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    columns: dict[str, JustifyMethod] = {
        "job": "left",
        "created": "left",
        "rows": "right",
        "stored": "right",
        "cached": "right",
        "scans": "right",
        "query": "left",
    }
    # Only of jobs that ran without us it is known where they wrote.
    with_place = any(job.wrote for job in found)
    for name, justify in (columns | ({"wrote": "left"} if with_place else {})).items():
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name == "job")
    for job in found:
        created = job.created[:19].replace("T", " ")
        place = (_text(job.wrote),) if with_place else ()
        if job.problem:
            problem = Text(printable(job.problem), style="red")
            table.add_row(_text(job.id), created, "", "", "", "", problem, *place)
            continue
        rows = "not kept" if job.rows is None else number(job.rows)
        sizes = (size(job.bytes), size(job.cached) if job.cached else "")
        cells = (job.id, created, rows, *sizes, str(job.scans), job.query)
        table.add_row(*map(_text, cells), *place)
    return table


def _text(value: str) -> Text:
    from rich.text import Text

    return Text(printable(value))


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
            _text(check.name),
            Text(check.status, style=styles[check.status]),
            Text(printable(check.found + remedy, keep="\n")),
        )
    new_console().print(table)
