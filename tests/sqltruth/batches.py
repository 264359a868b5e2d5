"""Statements by their seeds, and what some of them share: tables, a session, its settings."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.sqltruth.rows import union
from tests.sqltruth.scans import scans
from tests.sqltruth.syntax import Statement
from tests.sqltruth.tables import Rows, random_tables, write_tables
from tests.sqltruth.tracer import Tracer
from tests.sqltruth.values import RaisesError, Settings
from tests.sqltruth.writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata")
MADE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "u": lambda frame: frame.localCheckpoint(),
    "v": lambda frame: frame.sparkSession.createDataFrame(frame.toArrow()),
}
"""The tables that are rows of the program instead of files, and how they are made."""
_ATTEMPTS = 10
_ENOUGH = 4


@dataclass
class Batch:
    """Tables, and a session with its settings, that some statements share."""

    number: int
    spark: SparkSession
    settings: Settings
    tables: Mapping[str, Rows]
    folder: Path


def open_batch(number: int, session: SparkSession, folder: Path) -> Batch:
    """The batch's own settings and tables."""
    rng = random.Random(f"batch {number}")
    settings = Settings(rng.choice(ZONES), ansi=rng.random() < 0.6)
    return batch_of(number, session, settings, random_tables(rng), folder)


def batch_of(
    number: int,
    session: SparkSession,
    settings: Settings,
    tables: Mapping[str, Rows],
    folder: Path,
) -> Batch:
    """The tables as Parquet files, some as rows of the program, and views of a session of their
    own."""
    spark = session.newSession()
    spark.conf.set("spark.sql.session.timeZone", settings.zone)
    spark.conf.set("spark.sql.ansi.enabled", str(settings.ansi).lower())
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    place = folder / f"batch-{number}"
    for name, path in write_tables(place, tables).items():
        frame = spark.read.parquet(str(path))
        MADE.get(name, lambda given: given)(frame).createOrReplaceTempView(name)
    return Batch(number, spark, settings, tables, place)


class Choices(NamedTuple):
    """How a statement is run and asked about.

    With `instead`, some modes are asked on Spark where DuckDB is not exact.
    """

    aggregates: str
    engines: tuple[str, ...] = ("duckdb",)
    keep: str = "none"
    instead: bool = False


def statement_of(seed: int, batch: Batch) -> Statement:
    """The seed's statement: of some attempts the first whose rows have a few source rows."""
    rng = random.Random(seed)
    for _ in range(_ATTEMPTS):
        statement = Writer(rng, batch.settings.ansi).statement()
        try:
            rows = Tracer(batch.tables, batch.settings, "minimal").run(statement)
        except RaisesError:
            continue
        if union(rows).bit_count() >= _ENOUGH and len(scans(statement)) > 1:
            break
    return statement


def choices_of(seed: int) -> Choices:
    """Every tenth seed is asked about on Spark, too; then and at times else the run stores the
    intermediates."""
    rng = random.Random(f"choices {seed}")
    aggregates = rng.choice(("minimal", "minimal", "whole"))
    if seed % 10:
        keep = rng.choice(("none", "none", "inline", "late"))
        return Choices(aggregates, keep=keep, instead=seed % 5 == 1)
    return Choices(aggregates, ("duckdb", "spark"), rng.choice(("inline", "late")))
