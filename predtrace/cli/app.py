"""The command line: `predtrace run|explain|lineage|build|index|forward|jobs|doctor`.

Answers go to stdout, progress and errors to stderr. Exit status 1 means an error, described in one
line (`--debug` shows its origin); 2 means wrong usage. Commands import the engines that they use,
so `predtrace --help` is quick.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from predtrace.errors import PredTraceError
from predtrace.text.printable import printable
from predtrace.vocabulary import (
    CACHE_LIMIT,
    ROWS_LIMIT,
    Aggregates,
    Engine,
    Fingerprint,
    Keep,
    Mode,
    RunAggregates,
)


class _Commands(TyperGroup):
    """The commands; errors in usage are told without the words that the parser adds to them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="predtrace",
    cls=_Commands,
    help="Row-level lineage: which source rows led to this output row?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain text: the panels would take longer to load than all the rest.
    rich_markup_mode=None,
)


class Format(StrEnum):
    """The format of answers."""

    table = "table"
    json = "json"


class AnswerFormat(StrEnum):
    """The format of lineage answers; parquet needs `--out`."""

    table = "table"
    json = "json"
    parquet = "parquet"


QueryFile = Annotated[
    Path, typer.Argument(help="A file with one SQL query.", exists=True, dir_okay=False)
]
Tables = Annotated[
    Path,
    typer.Option(
        help="Folder of tables: <name>.parquet (.csv, .json, .orc), each a file or a folder.",
        exists=True,
        file_okay=False,
    ),
]
Store = Annotated[Path, typer.Option(help="Folder that the jobs are kept in.")]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", help="Spark setting, as key=value. Repeatable.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
FormatOption = Annotated[Format, typer.Option("--format", help="For people or for programs.")]
RowsLimit = Annotated[
    int, typer.Option(help="Bytes that the query's own rows (VALUES) may take in the job.", min=0)
]
Limit = Annotated[int, typer.Option(help="How many rows to show.", min=0)]

Command = TypeVar("Command", bound=Callable[..., None])


def reports_errors(command: Command) -> Command:
    """Turn a PredTraceError into one line on stderr and exit status 1."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except PredTraceError as error:
            if kwargs.get("debug"):
                import traceback

                typer.echo(printable(traceback.format_exc(), keep="\n"), err=True)
            typer.echo("predtrace: " + " ".join(str(error).split()), err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            typer.echo("predtrace: interrupted", err=True)
            raise typer.Exit(130) from error

    return wrapper  # type: ignore[return-value]


@app.command()
@reports_errors
def run(
    query: QueryFile,
    tables: Tables,
    store: Store = Path("lineage"),
    keep: Annotated[Keep, typer.Option(help=Keep.__doc__)] = Keep.inline,
    aggregates: Annotated[
        RunAggregates, typer.Option(help=RunAggregates.__doc__)
    ] = RunAggregates.minimal,
    fingerprint: Annotated[Fingerprint, typer.Option(help=Fingerprint.__doc__)] = Fingerprint.quick,
    rows_limit: RowsLimit = ROWS_LIMIT,
    conf: Conf = None,
    limit: Limit = 10,
    format: FormatOption = Format.table,
    debug: Debug = False,
) -> None:
    """Run a query on Spark and save what its lineage needs as a job."""
    from predtrace.cli.running import run_query

    run_query(
        query,
        tables,
        store,
        keep=keep.value,
        aggregates=aggregates.value,
        fingerprint=fingerprint.value,
        rows_limit=rows_limit,
        settings=_settings(conf),
        limit=limit,
        as_json=format is Format.json,
    )


@app.command()
@reports_errors
def record(
    query: QueryFile,
    tables: Tables,
    store: Store = Path("lineage"),
    aggregates: Annotated[
        RunAggregates, typer.Option(help=RunAggregates.__doc__)
    ] = RunAggregates.minimal,
    fingerprint: Annotated[Fingerprint, typer.Option(help=Fingerprint.__doc__)] = Fingerprint.quick,
    rows_limit: RowsLimit = ROWS_LIMIT,
    conf: Conf = None,
    format: FormatOption = Format.table,
    debug: Debug = False,
) -> None:
    """Save a query that ran before as a job, without running it; its sources must be unchanged."""
    from predtrace.cli.running import record_query

    record_query(
        query,
        tables,
        store,
        aggregates=aggregates.value,
        fingerprint=fingerprint.value,
        rows_limit=rows_limit,
        settings=_settings(conf),
        as_json=format is Format.json,
    )


@app.command()
@reports_errors
def explain(
    query: QueryFile,
    tables: Tables,
    aggregates: Annotated[Aggregates, typer.Option(help=Aggregates.__doc__)] = Aggregates.minimal,
    conf: Conf = None,
    format: FormatOption = Format.table,
    debug: Debug = False,
) -> None:
    """Show how the lineage of a query is found: predicates, intermediates and why."""
    from predtrace.cli.running import explain_query

    explain_query(
        query,
        tables,
        aggregates=aggregates.value,
        settings=_settings(conf),
        as_json=format is Format.json,
    )


@app.command()
@reports_errors
def lineage(
    job: Annotated[str, typer.Argument(help="Id of a job, or its first characters, or: latest.")],
    store: Store = Path("lineage"),
    where: Annotated[
        str | None, typer.Option(help="SQL predicate over the output that selects the target.")
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(help="Target row as JSON: an object of columns, or a list. Repeatable."),
    ] = None,
    mode: Annotated[Mode, typer.Option(help=Mode.__doc__)] = Mode.auto,
    engine: Annotated[Engine, typer.Option(help=Engine.__doc__)] = Engine.auto,
    aggregates: Annotated[
        Aggregates | None, typer.Option(help="Reading of min and max, for jobs run for both.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write all lineage rows to, as Parquet.")
    ] = None,
    format: Annotated[AnswerFormat, typer.Option("--format")] = AnswerFormat.table,
    limit: Limit = 10,
    cache_limit: Annotated[
        int,
        typer.Option(
            help="Bytes up to which a source that only Spark reads is cached; 0: none.", min=0
        ),
    ] = CACHE_LIMIT,
    columns: Annotated[
        str | None,
        typer.Option(
            help=(
                "Columns to show, separated by commas. Each scan shows those that it has, or all of"
                " its columns if it has none of them."
            )
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Show the source rows that led to rows of a job's output."""
    from predtrace.cli.questions import answer

    if (where is None) == (not row):
        raise typer.BadParameter("give the target with either --where or --row")
    if format is AnswerFormat.parquet and out is None:
        raise typer.BadParameter("--format parquet needs --out DIR")
    answer(
        job,
        store,
        target=where if where is not None else _target(row or []),
        mode=mode.value,
        engine=engine.value,
        aggregates=aggregates.value if aggregates else None,
        out=out,
        style=format.value,
        limit=limit,
        columns=[name.strip() for name in columns.split(",")] if columns else None,
        cache_limit=cache_limit,
    )


@app.command()
@reports_errors
def build(
    job: Annotated[str, typer.Argument(help="Id of a job, or its first characters, or: latest.")],
    store: Store = Path("lineage"),
    engine: Annotated[Engine, typer.Option(help=Engine.__doc__)] = Engine.auto,
    format: FormatOption = Format.table,
    debug: Debug = False,
) -> None:
    """Store now what a job's questions look up, compacted, from unchanged sources."""
    from predtrace.cli.jobs import build_job

    build_job(job, store, engine=engine.value, as_json=format is Format.json)


@app.command()
@reports_errors
def index(
    job: Annotated[str, typer.Argument(help="Id of a job, or its first characters, or: latest.")],
    store: Store = Path("lineage"),
    where: Annotated[
        str | None, typer.Option(help="SQL predicate: index only these output rows.")
    ] = None,
    scan: Annotated[
        list[str] | None,
        typer.Option(help="Index only this table, alias or occurrence (lineitem[2]). Repeatable."),
    ] = None,
    aggregates: Annotated[
        Aggregates | None, typer.Option(help="Reading of min and max, for jobs run for both.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Bytes that the row numbers may take uncompressed.", min=0)
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Replace an index that exists.")
    ] = False,
    engine: Annotated[Engine, typer.Option(help=Engine.__doc__)] = Engine.auto,
    format: FormatOption = Format.table,
    debug: Debug = False,
) -> None:
    """Index a job's output rows by source row numbers: questions are then lookups."""
    from predtrace.cli.index import build_index

    build_index(
        job,
        store,
        where=where,
        scans=scan,
        aggregates=aggregates.value if aggregates else None,
        limit=limit,
        engine=engine.value,
        rebuild=rebuild,
        as_json=format is Format.json,
    )


@app.command()
@reports_errors
def forward(
    job: Annotated[str, typer.Argument(help="Id of a job, or its first characters, or: latest.")],
    scan: Annotated[str, typer.Argument(help="A table, an alias or an occurrence (lineitem[2]).")],
    store: Store = Path("lineage"),
    where: Annotated[
        str | None, typer.Option(help="SQL predicate that selects the source rows.")
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(help="Number of a source row in its file, from 0. Repeatable."),
    ] = None,
    aggregates: Annotated[
        Aggregates | None, typer.Option(help="Reading of min and max, for jobs run for both.")
    ] = None,
    engine: Annotated[Engine, typer.Option(help=Engine.__doc__)] = Engine.auto,
    format: FormatOption = Format.table,
    limit: Limit = 10,
    debug: Debug = False,
) -> None:
    """Show which output rows some source rows reach; needs an index."""
    from predtrace.cli.index import show_forward

    if (where is None) == (not row):
        raise typer.BadParameter("give the source rows with either --where or --row")
    show_forward(
        job,
        store,
        scan,
        where=where,
        rows=row or None,
        aggregates=aggregates.value if aggregates else None,
        engine=engine.value,
        limit=limit,
        as_json=format is Format.json,
    )


@app.command()
@reports_errors
def jobs(
    store: Store = Path("lineage"),
    drop_caches: Annotated[
        bool, typer.Option("--drop-caches", help="Remove the sources that questions have cached.")
    ] = False,
    format: FormatOption = Format.table,
    debug: Debug = False,
) -> None:
    """List the jobs of a store."""
    from predtrace.cli.jobs import list_jobs

    list_jobs(store, drop_caches=drop_caches, as_json=format is Format.json)


@app.command()
@reports_errors
def doctor(
    store: Store = Path("lineage"),
    spark: Annotated[bool, typer.Option("--spark", help="Start Spark and a worker too.")] = False,
    format: FormatOption = Format.table,
    debug: Debug = False,
) -> None:
    """Check that this machine has what predtrace needs."""
    from predtrace.cli.jobs import examine

    if not examine(store, with_spark=spark, as_json=format is Format.json):
        raise typer.Exit(1)


def _settings(conf: list[str] | None) -> dict[str, str]:
    pairs = [item.partition("=") for item in conf or []]
    for key, equals, _ in pairs:
        if not (key and equals):
            raise typer.BadParameter(f"--conf {key}: key=value expected")
    return {key: value for key, _, value in pairs}


def _target(texts: list[str]) -> Any:
    """The target of `--row`: a row, or a list of them, which answers number."""
    rows = _rows(texts)
    return rows[0] if len(rows) == 1 else rows


def _rows(texts: list[str]) -> list[Any]:
    """The target rows of `--row`: numbers with a point stay exact."""
    import json
    from decimal import Decimal

    rows = []
    for text in texts:
        try:
            row = json.loads(text, parse_float=Decimal)
        except ValueError as error:
            raise typer.BadParameter(f"--row {text}: no JSON ({error})") from error
        if not isinstance(row, (dict, list)):
            raise typer.BadParameter(f"--row {text}: an object or a list expected")
        rows.append(tuple(row) if isinstance(row, list) else row)
    return rows


def main() -> None:
    """Entry point of the `predtrace` command."""
    # Errors take one line: PySpark and py4j would also log theirs with tracebacks.
    for name in ("py4j", "SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # py4j logs an interrupt without a logger's name.
    logging.getLogger().addFilter(lambda record: "while sending command" not in str(record.msg))
    app(prog_name="predtrace")
