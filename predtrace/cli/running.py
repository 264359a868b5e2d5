"""The commands `predtrace run`, `record` and `explain`, which read a query on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.cli.console import Progress, new_console, print_times, write_json
from predtrace.cli.jobs import stored_data
from predtrace.environment.doctor import require_store
from predtrace.jobs.store import JobStore, JobSummary
from predtrace.text.layout import counted, size
from predtrace.vocabulary import LATE
from pushdown.readings import MINIMAL, WHOLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from predtrace.api import Trace


def run_query(
    query_file: Path,
    tables: Path,
    store: Path,
    *,
    keep: str,
    aggregates: str,
    fingerprint: str,
    rows_limit: int,
    settings: Mapping[str, str],
    limit: int,
    as_json: bool,
) -> None:
    """`predtrace run`: run a query, save the job, show the first output rows."""
    from predtrace.report.rows import rows_data

    progress = Progress()
    require_store(JobStore(store).path)
    with _traced(progress, query_file, tables, aggregates, settings) as trace:
        with progress.step("run and store"):
            handle = trace.run(
                store=str(store),
                keep=keep,
                aggregates=aggregates,
                fingerprint=fingerprint,
                rows_limit=rows_limit,
            )
        with progress.step("read the output"):
            output = _first_output_rows(handle, limit)
        if keep == LATE:
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
                "stored": [stored_data(item) for item in record.intermediates],
                "timings": {**record.timings, **progress.timings},
                "output": rows_data(output),
            }
        )
        return
    console = new_console()
    _print_run(console, summary, record, store, output)
    print_times(console, progress.timings)


def record_query(
    query_file: Path,
    tables: Path,
    store: Path,
    *,
    aggregates: str,
    fingerprint: str,
    rows_limit: int,
    settings: Mapping[str, str],
    as_json: bool,
) -> None:
    """`predtrace record`: save a query that ran before as a job; nothing is run."""
    progress = Progress()
    require_store(JobStore(store).path)
    with (
        _traced(progress, query_file, tables, aggregates, settings) as trace,
        progress.step("save the job"),
    ):
        handle = trace.record(
            store=str(store),
            aggregates=aggregates,
            fingerprint=fingerprint,
            rows_limit=rows_limit,
        )
    if as_json:
        write_json({"id": handle.id, "store": str(store), "timings": progress.timings})
        return
    console = new_console()
    from rich.text import Text

    console.print(Text.assemble("Job ", (handle.id, "bold cyan"), f" is kept in {store}"))
    console.print("Nothing was run: questions are answered from the sources as they are now.")
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
    progress = Progress()
    with _traced(progress, query_file, tables, aggregates, settings) as trace:
        explanation = trace.explain(aggregates=aggregates)
    if as_json:
        write_json(explanation.to_dict())
    else:
        console = new_console()
        console.print(explanation)
        print_times(console, progress.timings)


@contextmanager
def _traced(
    progress: Progress,
    query_file: Path,
    tables: Path,
    aggregates: str,
    settings: Mapping[str, str],
) -> Iterator[Trace]:
    """The query with a lineage plan, in a Spark session that lasts for the block."""
    import predtrace
    from predtrace.frontends.spark.queries import read_query, tables_in

    # Problems with the files are reported before Spark is started.
    text = read_query(query_file)
    tables_in(tables)
    with _session(progress, settings) as spark:
        frame = _frame(progress, spark, text, query_file, tables)
        with progress.step("infer the lineage plan"):
            trace = predtrace.trace(frame, spark)
            trace.plan(WHOLE if aggregates == WHOLE else MINIMAL)
        yield trace


@contextmanager
def _session(progress: Progress, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from contextlib import ExitStack

    from predtrace.environment.local_spark import local_session
    from predtrace.frontends.spark.queries import spark_errors

    with ExitStack() as stack:
        with progress.step("start Spark"):
            spark = stack.enter_context(local_session(settings))
        stack.enter_context(spark_errors("Spark could not run this"))
        yield spark


def _frame(
    progress: Progress, spark: SparkSession, text: str, query_file: Path, tables: Path
) -> Any:
    from predtrace.frontends.spark.queries import query, register_tables

    with progress.step("read the tables"):
        register_tables(spark, tables, text)
        return query(spark, text, str(query_file))


def _first_output_rows(handle: Any, limit: int) -> Any:
    return handle.output.limit(limit).toArrow()


def _print_run(
    console: Console, summary: JobSummary, record: Any, store: Path, output: Any
) -> None:
    from rich.text import Text

    from predtrace.report.rows import rows_table

    console.print(Text(f"Output: {counted(summary.rows, 'row')}", style="bold"))
    console.print(rows_table(output, console.width))
    if summary.rows is not None and summary.rows > output.num_rows:
        rest = counted(summary.rows - output.num_rows, "more row")
        console.print(Text(f"and {rest}", style="dim"))
    console.print(Text.assemble("\nJob ", (summary.id, "bold cyan"), f" is kept in {store}"))
    for item in record.intermediates:
        columns = ", ".join(column.name for column in item.result.columns)
        text = f"  intermediate {item.binding} ({columns}): {counted(item.result.rows, 'row')}, "
        console.print(Text(text + size(item.result.bytes)))
