"""Writes a source into the job's cache: all rows, as Spark reads them under the job's settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.engines.base import Targets, physical_name
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.spark.source import address, source_frame, spark_errors
from predtrace.engines.sql.query import FILE, ROW
from predtrace.engines.values import target_table
from predtrace.jobs.model import EngineSettings, Source
from symbolic.expr import Column
from symbolic.types import Null

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS = {"compression": "zstd", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


def write_source(
    spark: SparkSession,
    settings: EngineSettings,
    source: Source,
    columns: Sequence[Column],
    folder: Path,
) -> int:
    """Read the columns of a source once, and write them as Parquet files into a new folder.

    They have their physical names. Rows that have numbers get ``file`` (a plain local path) and
    ``row``. Returns how many rows Spark read. Raises EngineError if it cannot read or write them.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    nothing = Targets(target_table([], []), (), False)
    session = SparkEngine(spark).open(nothing, settings).session
    with spark_errors():
        frame = source_frame(session, source, columns, identity=False)
        taken = [_stored(column) for column in columns]
        if source.has_row_numbers:
            taken += [_local_path(f.col(FILE)).alias(FILE), f.col(ROW)]
        read = Observation()
        rows = frame.select(*taken).observe(read, f.count(f.lit(1)).alias(ROW))
        rows.write.options(**_OPTIONS).parquet(address(str(folder)))
        return int(read.get[ROW])


def _stored(column: Column) -> Any:
    """A column as Parquet holds it: it has no void type."""
    from pyspark.sql import functions as f

    read = f.col(physical_name(column.id))
    if isinstance(column.type, Null):
        read = read.cast("boolean").alias(physical_name(column.id))
    return read


def _local_path(file: Any) -> Any:
    """A file's address without its scheme and percent-encoding (see `rows.local_path`)."""
    from pyspark.sql import functions as f

    # A plus stands for itself in the path of an address.
    plain = f.url_decode(f.replace(f.substr(file, f.lit(6)), f.lit("+"), f.lit("%2B")))
    return f.concat(f.lit("/"), f.ltrim(plain, f.lit("/")))
