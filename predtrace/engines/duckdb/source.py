"""Source files as DuckDB relations that read as Spark reads them, or a reason why not."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.duckdb.exact_types import readable
from predtrace.engines.sql import trees
from predtrace.engines.sql.literals import number, sql_type, text_literal
from predtrace.engines.sql.query import FILE, ROW
from predtrace.errors import EngineError, SourceError
from predtrace.jobs.declared import defaults
from predtrace.jobs.model import HIDDEN, EngineSettings, Source, SourceFile
from predtrace.jobs.ranges import NumberRange
from predtrace.jobs.settings import PREFIX
from symbolic.expr import Column
from symbolic.types import (
    LONG,
    Array,
    Boolean,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    Map,
    Null,
    Record,
    String,
    Timestamp,
    parts,
    type_name,
)

FILE_COLUMN = "predtrace source file"
ROW_COLUMN = "file_row_number"
_HARMLESS_OPTIONS = frozenset(
    {
        "path", "paths", "basepath", "mergeschema", "recursivefilelookup", "pathglobfilter",
        "modifiedbefore", "modifiedafter", "serialization.format", "compression",
    }
)  # fmt: skip
"""Options of a Parquet source that say which files are read (the snapshot lists them)."""
_READ_ALIKE = {
    f"{PREFIX}{key}": values
    for key, values in {
        "files.ignoreCorruptFiles": ("false",),
        "legacy.parquet.nanosAsLong": ("false",),
        "legacy.parquet.returnNullStructIfAllFieldsMissing": ("false",),
        "parquet.datetimeRebaseModeInRead": ("CORRECTED", "EXCEPTION"),
        "parquet.fieldId.read.enabled": ("false",),
        "parquet.int96RebaseModeInRead": ("CORRECTED", "EXCEPTION"),
        "parquet.int96TimestampConversion": ("false",),
    }.items()
}
"""Settings of the job, with the values under which DuckDB reads Parquet files as Spark does."""
_PARTITION_TYPES = (Boolean, Integer, String, Date)


def source_inexactness(
    source: Source, settings: EngineSettings, read: Sequence[Column] = ()
) -> str | None:
    """The reason, by the record, why DuckDB cannot read the source as Spark does; None if it can.

    `read` are the columns that a scan reads.

    DuckDB ignores the case of names. If the job did not, the files' own names matter, too.
    """
    if source.is_computed:
        return None
    if any(column.name == HIDDEN for column in read):
        return f"the hidden column {HIDDEN} of {source.name} is Spark's"
    if source.format.lower() != "parquet":
        return f"source {source.name} is {source.format}; only Parquet is read alike"
    remote = next((file.path for file in source.files if not file.path.startswith("/")), None)
    if remote is not None:
        return f"source {source.name} has files that are not local ({remote})"
    odd = sorted(name for name in source.options if name.lower() not in _HARMLESS_OPTIONS)
    if odd:
        return f"source {source.name} is read with the option {odd[0]}"
    for key, alike in _READ_ALIKE.items():
        if settings.conf.get(key, alike[0]) not in alike:
            return f"source {source.name} was read with {key}={settings.conf[key]}"
    if given := defaults(source.declared):
        column = next(iter(given))
        return f"{source.name}.{column} has a default value for files that lack it"
    found = _columns_inexactness(source) or _rebased(source)
    if found is not None or not settings.case_sensitive:
        return found
    names = {column.name for column in source.columns}
    for file in source.files:
        strange = _other_spelling(file, frozenset(names))
        if strange is not None:
            return f"{file.path} has the column {strange}, which differs from others by case only"
    return None


@functools.lru_cache(maxsize=1024)
def _other_spelling(file: SourceFile, names: frozenset[str]) -> str | None:
    """A column of the file whose spelling differs only by case from one of these or from
    another."""
    import pyarrow.parquet as pq

    seen = {name.lower(): name for name in names}
    try:
        columns = pq.read_schema(file.path).names
    except OSError as error:
        raise SourceError(f"{file.path} cannot be read ({error.strerror or error})") from error
    return next((name for name in columns if seen.setdefault(name.lower(), name) != name), None)


_VERSION = b"org.apache.spark.version"
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Keys of a Parquet footer: who wrote the file, and that its dates are in the old calendar."""
_FIRST_VERSION = (3, 1)
"""Versions of Spark before wrote INT96 timestamps, and before 3.0 dates, in the old calendar."""


def _rebased(source: Source) -> str | None:
    """The reason why Spark reads dates or timestamps otherwise than they are written.

    Whatever the settings say, it goes by the footer of a file that Spark wrote: days of the Julian
    calendar become days of the Gregorian one.
    """
    kinds = (part for column in source.columns for part in parts(column.type))
    if not any(isinstance(kind, (Date, Timestamp)) for kind in kinds):
        return None
    for file in source.files:
        if _old_calendar(file):
            return f"{file.path} has dates in the old calendar, which Spark converts"
    return None


@functools.lru_cache(maxsize=10_000)
def _old_calendar(file: SourceFile) -> bool:
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(file.path).metadata or {}
    except OSError as error:
        raise SourceError(f"{file.path} cannot be read ({error.strerror or error})") from error
    if any(key in metadata for key in _LEGACY):
        return True
    found = re.match(rb"(\d+)\.(\d+)", metadata.get(_VERSION, b""))
    return found is not None and (int(found[1]), int(found[2])) < _FIRST_VERSION


def _columns_inexactness(source: Source) -> str | None:
    seen: dict[str, str] = {}
    for column in source.columns:
        other = seen.setdefault(column.name.lower(), column.name)
        if other != column.name:
            return f"the columns {other} and {column.name} of {source.name} differ by case only"
        if column.name.lower() in (FILE_COLUMN, ROW_COLUMN):
            return f"source {source.name} has a column named {column.name}"
        if not readable(column.type):
            return f"{source.name}.{column.name} is of type {type_name(column.type)}"
        if column.name in source.partition_columns and not isinstance(
            column.type, _PARTITION_TYPES
        ):
            return f"{source.name} is partitioned by a {type_name(column.type)} ({column.name})"
    return None


def files_reader(files: Sequence[str], *, partitioned: bool = False) -> exp.Expr:
    """``read_parquet`` over exactly these files, with file name and row number."""
    options: dict[str, exp.Expr] = {
        ROW_COLUMN: exp.true(),
        "filename": text_literal(FILE_COLUMN),
        "hive_partitioning": exp.Boolean(this=partitioned),
        "union_by_name": exp.Boolean(this=len(files) > 1),
    }
    if partitioned:
        # Guessed types would turn '01' into 1; the values are cast later.
        options["hive_types_autocast"] = exp.false()
    names = exp.Array(expressions=[text_literal(_literal_glob(file)) for file in files])
    keywords = [exp.Kwarg(this=exp.var(name), expression=value) for name, value in options.items()]
    return exp.Anonymous(this="read_parquet", expressions=[names, *keywords])


def _literal_glob(path: str) -> str:
    """The path with characters that DuckDB would expand in brackets."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def source_relation(
    source: Source, columns: Sequence[Column], stored: Mapping[str, str], file_type: str
) -> exp.Expr:
    """The source as a relation with physical names, ``file`` and ``row``.

    `file_type` is an ENUM of the source's files, so that a row's identity is two numbers
    (`file_index` will not do: it counts the files left after pruning). `stored` are the
    column types that DuckDB finds in the files. Raises EngineError if one is not what the
    job's record says and no exact conversion is known.
    """
    if source.is_computed:
        return _computed_relation(source, columns, file_type)
    if not source.files:
        return empty_relation(columns)
    reader = files_reader(
        [file.path for file in source.files], partitioned=bool(source.partition_columns)
    )
    taken = [
        trees.alias(_column(source, column, stored), physical_name(column.id)) for column in columns
    ]
    # With a single file the name need not be looked up for every row.
    only = len(source.files) == 1
    file = text_literal(source.files[0].path) if only else trees.column(FILE_COLUMN, quoted=True)
    taken.append(trees.alias(exp.Cast(this=file, to=named_type(file_type).copy()), FILE))
    taken.append(trees.alias(trees.column(ROW_COLUMN), ROW))
    query = exp.Select().select(*taken, copy=False).from_(reader, copy=False)
    return query.subquery(copy=False)


def _computed_relation(source: Source, columns: Sequence[Column], file_type: str) -> exp.Expr:
    """The rows of a range of numbers."""
    numbers = NumberRange.of(source.options)
    row = trees.column("range")
    wide = exp.DataType.build("HUGEINT", dialect="duckdb")
    # Products of row numbers and steps may not fit in 64 bits where their sums with the start do.
    moved = exp.Mul(this=exp.Cast(this=row, to=wide), expression=number(numbers.step))
    value = exp.Cast(
        this=exp.Paren(this=exp.Add(this=number(numbers.start), expression=moved)),
        to=sql_type(LONG, "duckdb"),
    )
    taken = [trees.alias(value.copy(), physical_name(column.id)) for column in columns]
    file = exp.Cast(this=text_literal(source.files[0].path), to=named_type(file_type).copy())
    taken += [trees.alias(file, FILE), trees.alias(row.copy(), ROW)]
    reader = exp.Anonymous(this="range", expressions=[number(numbers.rows)])
    return exp.Select().select(*taken, copy=False).from_(reader, copy=False).subquery(copy=False)


@functools.lru_cache(maxsize=1024)
def named_type(name: str) -> exp.DataType:
    """The type that was made under a name."""
    return exp.DataType.build(name, dialect="duckdb", udt=True)


def empty_relation(columns: Sequence[Column]) -> exp.Expr:
    """A relation without rows; with ``file`` and ``row``."""

    def null(data_type: DataType) -> exp.Expr:
        return exp.Cast(this=exp.Null(), to=sql_type(data_type, "duckdb"))

    taken = [exp.alias_(null(column.type), physical_name(column.id)) for column in columns]
    taken.append(exp.alias_(null(String()), FILE))
    taken.append(exp.alias_(null(Integer(64)), ROW))
    return exp.select(*taken).where(exp.false()).subquery()


def _column(source: Source, column: Column, stored: Mapping[str, str]) -> exp.Expr:
    # Spark finds a catalog's columns in files without regard to case; so does DuckDB.
    lowered = {name.lower(): kind for name, kind in stored.items()}
    found = stored.get(column.name, lowered.get(column.name.lower()))
    if found is None:
        raise EngineError(
            f"source {source.name}: the files have no column {column.name}; use engine='spark'"
        )
    read = trees.column(column.name, quoted=True)
    if column.name in source.partition_columns:
        return exp.TryCast(this=read, to=sql_type(column.type, "duckdb"))
    return read_as(read, column.type, found, f"{source.name}.{column.name}")


def read_as(read: exp.Expr, wanted: DataType, found: str, where: str) -> exp.Expr:
    """A stored column as its declared type.

    Raises EngineError if the stored type needs a conversion that may not be exact.
    """
    if isinstance(wanted, Null):
        # Parquet has no void type; the column in its place holds nothing.
        return exp.Null()
    if found.replace('"', "") == duckdb_type_name(wanted):
        return _with_nans(read, wanted) if isinstance(wanted, Float) else read
    if isinstance(wanted, Timestamp) and wanted.zoned and found == "TIMESTAMP":
        # INT96 (as Spark writes by default) holds UTC, but DuckDB sees no zone in it.
        return exp.AtTimeZone(this=read, zone=text_literal("UTC"))
    if (
        isinstance(wanted, Integer)
        and found in _INTEGER_BITS
        and _INTEGER_BITS[found] <= wanted.bits
    ):
        return exp.Cast(this=read, to=sql_type(wanted, "duckdb"))
    raise EngineError(
        f"{where} is stored as {found}, not as {type_name(wanted)}; use engine='spark'"
    )


def _with_nans(read: exp.Expr, wanted: DataType) -> exp.Expr:
    """A float column in which comparisons find NaNs.

    File statistics ignore NaN, and DuckDB still skips row groups by them. The constant tells it
    that there may be NaNs.
    """
    nan = exp.Cast(this=text_literal("NaN"), to=sql_type(wanted, "duckdb"))
    is_nan = exp.Anonymous(this="isnan", expressions=[read])
    return exp.Case(ifs=[exp.If(this=is_nan, true=nan)], default=read.copy())


_INTEGER_BITS = {
    "TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64,
    "UTINYINT": 16, "USMALLINT": 32, "UINTEGER": 64,
}  # fmt: skip
"""Stored integer types and the signed width that holds all their values."""

_NAMES = {"INT": "INTEGER", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE", "TEXT": "VARCHAR"}


@functools.lru_cache(maxsize=1024)
def duckdb_type_name(data_type: DataType) -> str:
    """The name that DuckDB's DESCRIBE shows for a type, without quotes."""
    match data_type:
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Float(32):
            return "FLOAT"
        case Array(element):
            return f"{duckdb_type_name(element)}[]"
        case Map(key, value):
            return f"MAP({duckdb_type_name(key)}, {duckdb_type_name(value)})"
        case Record(fields):
            parts = (f"{f.name} {duckdb_type_name(f.type)}" for f in fields)
            return f"STRUCT({', '.join(parts)})"
        case _:
            name = sql_type(data_type, "duckdb").sql("duckdb")
            return _NAMES.get(name, name)
