"""Sources and stored results as Spark DataFrames, read the way the job read and wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from sqlglot import exp

from predtrace.engines.base import OUTPUT_ROW, StoredBinding, physical_name
from predtrace.engines.sql.literals import sql_type
from predtrace.engines.sql.query import FILE, ROW
from predtrace.engines.values import with_file_dictionary
from predtrace.environment.sessions import STOPPED, as_active, classes_kept, first_line
from predtrace.errors import EngineError, SourceError
from predtrace.jobs.declared import defaults, is_constant
from predtrace.jobs.model import Source
from predtrace.jobs.ranges import NumberRange
from predtrace.jobs.results import stored_files
from symbolic.expr import Column
from symbolic.types import Float, Null, Opaque

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


_AS_WRITTEN = {
    "__globPaths__": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
}


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn Spark's errors into predtrace's."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        told = first_line(error)
        if "stopped SparkContext" in told:
            raise EngineError(STOPPED) from error
        raise EngineError(f"Spark could not evaluate this: {told}") from error


def local_frame(
    session: SparkSession, rows: pa.Table, schema: StructType | None = None
) -> DataFrame:
    """The driver's rows in one partition, so that they need no shuffle.

    The user's session stays active.
    """
    with as_active(session), classes_kept():
        return session.createDataFrame(rows.combine_chunks(), schema).coalesce(1)


def stored_frame(session: SparkSession, binding: StoredBinding) -> DataFrame:
    """The columns of a stored result, with their declared types."""
    from pyspark.sql import functions as f

    stored_files(binding.folder, binding.files)
    found = {} if binding.numbers is None else {v.column: v.output for v in binding.numbers.values}
    kept = [column for column in binding.columns if column.id not in found]
    own = [_read_column(physical_name(column.id), column) for column in kept]
    if binding.numbers is None:
        return _stored(session, binding.folder, kept).select(*own)
    stored_files(binding.output, binding.output_files)
    taken = [column for column in binding.columns if column.id in found]
    values = [msgspec.structs.replace(column, id=found[column.id]) for column in taken]
    output = _stored(session, binding.output, values)
    first = f.lit(None)
    for file in binding.numbers.files:
        first = f.when(f.col("_metadata.file_name") == file.name, file.first).otherwise(first)
    shared = [_read_column(physical_name(found[column.id]), column) for column in taken]
    numbered = output.select(*shared, (first + f.col("_metadata.row_index")).alias(OUTPUT_ROW))
    stored = _stored(session, binding.folder, kept, f"{OUTPUT_ROW} BIGINT")
    rows = stored.select(*own, OUTPUT_ROW).join(numbered, OUTPUT_ROW)
    return rows.select(*(physical_name(column.id) for column in binding.columns))


def _stored(session: SparkSession, folder: str, columns: Sequence[Column], *more: str) -> DataFrame:
    """Columns of stored files, as they were written: the job's settings apply only to its
    sources."""
    reader = session.read.options(**_AS_WRITTEN)
    if not any(isinstance(column.type, Opaque) for column in columns):
        schema = [f"{physical_name(column.id)} {_stored_type(column)}" for column in columns]
        if wanted := list(dict.fromkeys((*schema, *more))):
            reader = reader.schema(", ".join(wanted))
    return reader.parquet(address(folder))


def _stored_type(column: Column) -> str:
    """The type in stored files: Parquet has no void type."""
    return "BOOLEAN" if isinstance(column.type, Null) else type_text(column)


def source_frame(
    session: SparkSession, source: Source, columns: Sequence[Column], *, identity: bool
) -> DataFrame:
    """The source with physical names, ``file`` and ``row``."""
    from pyspark.sql import functions as f

    if source.is_computed:
        return _computed(session, source, columns)
    frame = _read(session, source)
    taken = [_read_column(column.name, column) for column in columns]
    if source.has_row_numbers:
        taken += [f.col("_metadata.file_path").alias(FILE)]
        taken += [f.col("_metadata.row_index").alias(ROW)]
    else:
        # A number that distinguishes rows within one query. It is non-deterministic, which keeps
        # filters above it, so every read of the query counts the same rows.
        number = f.monotonically_increasing_id() if identity else f.lit(None).cast("bigint")
        taken += [f.lit("").alias(FILE), number.alias(ROW)]
    return frame.select(*taken)


def _computed(session: SparkSession, source: Source, columns: Sequence[Column]) -> DataFrame:
    """The rows of a range of numbers."""
    from pyspark.sql import functions as f

    numbers = NumberRange.of(source.options)
    frame = session.range(numbers.start, numbers.end, numbers.step)
    # The distance of two longs may not be one.
    distance = f.col("id").cast("decimal(20,0)") - f.lit(numbers.start).cast("decimal(20,0)")
    row = (distance / f.lit(numbers.step).cast("decimal(20,0)")).cast("bigint")
    file = source.files[0].path
    taken = [f.col("id").alias(physical_name(column.id)) for column in columns]
    return frame.select(*taken, f.lit(file).alias(FILE), row.alias(ROW))


def with_addresses(session: SparkSession, source: Source, row_ids: pa.Table) -> pa.Table:
    """Row ids with every address by which Spark may name the file in a row's metadata."""
    import pyarrow as pa

    if source.is_computed:
        return row_ids.set_column(
            row_ids.schema.get_field_index(FILE), FILE, row_ids.column(FILE).cast(pa.string())
        )
    named = with_file_dictionary(row_ids)
    index = named.schema.get_field_index(FILE)
    files = named.column(index).unify_dictionaries().combine_chunks()
    paths = session._jvm.org.apache.spark.paths.SparkPath
    given = files.dictionary.to_pylist()
    full = [paths.fromPathString(address(file)).urlEncoded() for file in given]
    # Versions of Spark differ in how they write the empty host of a local file.
    short = [address.replace("file:///", "file:/", 1) for address in full]
    return pa.concat_tables(
        named.set_column(
            index, FILE, pa.DictionaryArray.from_arrays(files.indices, names).cast(pa.string())
        )
        for names in ([full, short] if full != short else [full])
    )


def _read_column(name: str, column: Column) -> Any:
    """A stored column under its physical name.

    Floats are read through a function: file statistics ignore NaN, and Spark would still skip row
    groups by them.
    """
    from pyspark.sql import functions as f

    read = f.col(_quoted(name))
    if isinstance(column.type, Float):
        read = f.nanvl(read, read)
    return read.alias(physical_name(column.id))


def type_text(column: Column) -> str:
    """The column's type in Spark's DDL."""
    if isinstance(column.type, Null):
        return "VOID"
    return sql_type(column.type, "spark").sql("spark")


def _read(session: SparkSession, source: Source) -> DataFrame:
    """The source as the job read it: same format, options and columns."""
    from pyspark.sql.types import StructType

    reader = session.read.format(source.format)
    for key, value in source.options.items():
        if key.lower() not in ("path", "paths"):
            reader = reader.option(key, value)
    if source.declared:
        reader = reader.schema(_declared(source))
    elif not any(isinstance(column.type, Opaque) for column in source.columns):
        declared = [f"{_quoted(column.name)} {_stored_type(column)}" for column in source.columns]
        reader = reader.schema(
            StructType.fromDDL(", ".join(declared)) if declared else StructType()
        )
    return reader.load([literal_address(root) for root in source.roots])


def _declared(source: Source) -> StructType:
    """The schema with default values. Raises SourceError for a default that is
    not a constant: nothing that a record brings is run."""
    from pyspark.sql.types import StructType

    for column, text in defaults(source.declared).items():
        if not is_constant(text):
            raise SourceError(
                f"the column {column} of {source.name} has the default {text}, which is not a "
                "constant; run the pipeline again on a table without it"
            )
    schema: StructType = StructType.fromJson(json.loads(source.declared))
    return schema


def address(path: str) -> str:
    """The address of a local path for Spark, independent of the default file system.

    Links are not resolved: rows are identified by the name under which their file was found.
    """
    return path if "://" in path else f"file://{Path(path).absolute()}"


def literal_address(path: str) -> str:
    """The address escaped for a reader of Spark, which interprets it as a pattern.

    The option that disables patterns does not work for several paths.
    """
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", address(path))


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("spark")
