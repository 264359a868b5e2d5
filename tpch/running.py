"""The harness's `run`: queries on Spark, kept as jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import predtrace
from tpch.cli import Data, Master, Queries, Scale, Twisted, make_data, query_numbers, session
from tpch.queries import read_query


def run(
    sf: Scale = 0.1,
    queries: Queries = "1-22",
    data: Data = None,
    twisted: Twisted = False,
    store: Annotated[Path, typer.Option("--store", help="Where the jobs go.")] = Path("lineage"),
    keep: Annotated[str, typer.Option("--keep", help="inline or late.")] = "inline",
    master: Master = "local[*]",
) -> None:
    """Run queries with lineage and keep the jobs."""
    from tpch.check import register_tables, stored_bytes
    from tpch.indexes import remember

    numbers = query_numbers(queries)
    folder = make_data(sf, data, twisted)
    with session(master) as spark:
        register_tables(spark, folder)
        for number in numbers:
            trace = predtrace.trace(spark.sql(read_query(number)))
            job = trace.run(store=str(store), keep=keep)
            remember(store, {number: job.id})
            size = stored_bytes(job)
            Console().print(f"Q{number}: job {job.id}, {size:,} bytes stored", highlight=False)
