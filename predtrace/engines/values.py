"""Values on their way between Arrow tables and literals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.engines.base import physical_name
from predtrace.engines.sql.literals import has_literals
from predtrace.errors import EngineError
from predtrace.jobs.model import Source, StoredResult
from predtrace.jobs.results import check_stored, stored_files
from symbolic.expr import Column, Literal
from symbolic.types import (
    Array,
    Binary,
    Boolean,
    DataType,
    Date,
    DayTimeInterval,
    Decimal,
    Float,
    Integer,
    Map,
    Null,
    Record,
    String,
    Timestamp,
    YearMonthInterval,
    parts,
    same_if_equal,
)

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type that values of the type travel in (zoned timestamps in UTC).

    Opaque types travel as text.
    """
    import pyarrow as pa

    match data_type:
        case Integer(bits):
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
        case Float(bits):
            return pa.float64() if bits == 64 else pa.float32()
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Timestamp(zoned):
            return pa.timestamp("us", tz="UTC" if zoned else None)
        case Array(element):
            return pa.list_(arrow_type(element))
        case Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Record(fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])
        case _:
            plain = {
                Boolean: pa.bool_(),
                Binary: pa.binary(),
                Date: pa.date32(),
                String: pa.string(),
                Null: pa.null(),
                DayTimeInterval: pa.duration("us"),
                YearMonthInterval: pa.int32(),
            }
            return plain.get(type(data_type), pa.string())


def stored_table(stored: StoredResult, folder: Path, names: Sequence[str]) -> pa.Table:
    """A stored result of the job in `folder`, in its order: its columns as `names`.

    Raises StoreError if it is missing or differs from what was written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_stored(stored, folder)
    columns = stored.columns
    physical = [physical_name(column.id) for column in columns]
    files = stored_files(str(folder / stored.folder), stored.files)
    rows = pa.concat_tables(pq.ParquetFile(file).read().select(physical) for file in files)
    arrays = [
        _declared(array, column.type) for array, column in zip(rows.columns, columns, strict=True)
    ]
    return pa.table(arrays, names=list(names))


def _declared(array: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray:
    """A stored column as its declared type, where Parquet has no such type."""
    import pyarrow as pa

    if isinstance(data_type, Null):
        return pa.chunked_array([pa.nulls(len(array))])
    if any(isinstance(part, DayTimeInterval) for part in parts(data_type)):
        return array.cast(arrow_type(data_type))
    return array


def as_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns that a schema names, as its types; of the type null they have no values.

    Arrow casts nothing to the type null.
    """
    import pyarrow as pa

    kept = rows.select(schema.names)
    for index, field in enumerate(schema):
        if pa.types.is_null(field.type):
            kept = kept.set_column(index, field, pa.nulls(len(kept)))
    return kept.cast(schema)


def target_table(
    columns: Sequence[Column], rows: Sequence[tuple[int, Mapping[int, Any]]]
) -> pa.Table:
    """Target rows as an Arrow table: for each row its target's number, and values by column id."""
    import pyarrow as pa

    arrays = [pa.array([number for number, _ in rows], pa.int64())]
    names = ["target"]
    for column in columns:
        values = [values[column.id] for _, values in rows]
        arrays.append(pa.array(values, arrow_type(column.type)))
        names.append(physical_name(column.id))
    return pa.table(arrays, names=names)


def row_literals(columns: Sequence[Column], row: pa.Table) -> dict[int, Literal] | None:
    """The values of a table's only row as literals by column id.

    None if a column's type has no literals, or if Python lacks the value: its dates and times are
    limited to the years 1 to 9999.
    """
    if not all(has_literals(column.type) for column in columns):
        return None
    try:
        return {
            column.id: Literal(_literal_value(row.column(physical_name(column.id))), column.type)
            for column in columns
        }
    except OverflowError:
        return None


def listed_rows(columns: Sequence[Column], rows: pa.Table) -> tuple[dict[int, Literal], ...]:
    """The values of every row that can be literals, by column id."""
    kept = [column for column in columns if same_if_equal([column.type])]
    kept = [column for column in kept if has_literals(column.type)]
    if not kept:
        return ()
    found = (row_literals(kept, rows.slice(place, 1)) for place in range(rows.num_rows))
    listed = tuple(values for values in found if values is not None)
    return listed if len(listed) == rows.num_rows else ()


def _literal_value(only: pa.ChunkedArray) -> Any:
    value = only[0].as_py()
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    return value


def never_null(columns: Sequence[Column], rows: pa.Table) -> frozenset[int]:
    """The columns without NULLs, by id."""
    return frozenset(
        column.id for column in columns if not rows.column(physical_name(column.id)).null_count
    )


def require_row_numbers(source: Source) -> None:
    """Raise EngineError for a source whose rows have no numbers."""
    if not source.has_row_numbers:
        raise EngineError(
            f"source {source.name} is {source.format}, which has no row numbers; "
            "take the rows themselves (to_arrow), or keep the source as Parquet"
        )


def with_file_dictionary(row_ids: pa.Table) -> pa.Table:
    """Row ids with their `file` column dictionary encoded, whatever the engine gave."""
    import pyarrow as pa

    index = row_ids.schema.get_field_index("file")
    wanted = pa.dictionary(pa.int32(), pa.string())
    if row_ids.schema.field(index).type == wanted:
        return row_ids
    files = row_ids.column(index)
    plain = files.dictionary_encode() if not pa.types.is_dictionary(files.type) else files
    return row_ids.set_column(index, "file", plain.cast(wanted))
