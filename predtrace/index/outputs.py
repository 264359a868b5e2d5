"""The kept output of a job: its rows are numbered, found by value, and put into groups.

Values are compared as a target's are (SEMANTICS section 6): NULL equals NULL, NaN equals NaN,
0.0 equals -0.0.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from predtrace.engines.base import physical_name
from predtrace.engines.values import as_schema
from predtrace.jobs.model import StoredFile
from predtrace.jobs.results import stored_files
from predtrace.packed.boxes import KEY_LIMIT, Ints
from predtrace.targets.specs import target_schema
from symbolic.expr import Column

if TYPE_CHECKING:
    import pyarrow as pa


class Output:
    """Output rows, numbered from 0 in the order in which they were stored.

    `rows` has one column ``c<id>`` for each of `columns`.
    """

    def __init__(self, rows: pa.Table, columns: tuple[Column, ...]) -> None:
        self.rows = rows
        self.columns = columns

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def groups(self, columns: Sequence[int], within: Ints | None = None) -> tuple[Ints, Ints]:
        """Groups of rows (among the rows `within`) that agree in the columns with these ids.

        Returns the number of every row's group, from 0 in the order of first rows (-1 for
        rows that are not in `within`), and every group's first row.
        """
        chosen = np.arange(len(self)) if within is None else within
        rows = self.rows if within is None else self.rows.take(within)
        found, firsts = grouped([rows.column(physical_name(id)) for id in columns], len(chosen))
        groups = np.full(len(self), -1, np.int64)
        groups[chosen] = found
        return groups, chosen[firsts]

    def find(self, wanted: pa.Table) -> tuple[Ints, Ints]:
        """The rows that have the values of a wanted row; `wanted` may have only some of the
        columns.

        Returns sorted pairs: the number of the wanted row and the number of the output row.
        """
        one = wanted.num_rows == 1
        parts = [self._find_one(wanted)] if one else list(self._find_many(wanted))
        lengths = [len(part) for part in parts]
        rows = np.concatenate([np.empty(0, np.int64), *parts])
        return np.repeat(np.arange(len(parts)), lengths), rows

    def _find_one(self, wanted: pa.Table) -> Ints:
        """The rows with its values: found by one column, then by the others among the remaining
        rows."""
        found = np.arange(len(self))
        rows = self.rows
        for name in wanted.column_names:
            kept = np.flatnonzero(_equals(rows.column(name), wanted.column(name)))
            found, rows = found[kept], rows.take(kept)
        return found

    def _find_many(self, wanted: pa.Table) -> Iterator[Ints]:
        """The same for many rows: groups them together with the output rows that may match."""
        import pyarrow as pa

        found, rows = self._candidates(wanted)
        columns = [
            pa.chunked_array(
                [*rows.column(name).chunks, *wanted.column(name).chunks], rows.column(name).type
            )
            for name in wanted.column_names
        ]
        groups, _ = grouped(columns, len(found) + wanted.num_rows)
        ours, theirs = groups[: len(found)], groups[len(found) :]
        order = np.argsort(ours, kind="stable")
        begins = np.searchsorted(ours[order], theirs, side="left")
        ends = np.searchsorted(ours[order], theirs, side="right")
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            yield found[order[begin:end]]

    def _candidates(self, wanted: pa.Table) -> tuple[Ints, pa.Table]:
        """The rows that have, in every column, the value of some wanted row: numbers, rows."""
        import pyarrow.compute as pc

        found, rows = np.arange(len(self)), self.rows
        for name in wanted.column_names:
            column = _comparable(rows.column(name))
            if column is not None:
                values = _comparable(wanted.column(name)).combine_chunks()
                kept = np.flatnonzero(pc.is_in(column, values).to_numpy())
                found, rows = found[kept], rows.take(kept)
        return found, rows


@lru_cache(maxsize=8)
def read_output(
    folder: str, columns: tuple[Column, ...], recorded: tuple[StoredFile, ...] = ()
) -> Output:
    """The output stored in a job's folder. Stored results never change, so it is cached."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([target_schema(columns).field(physical_name(c.id)) for c in columns])
    parts = [
        # Spark's INT96 timestamps exceed the range of nanoseconds.
        as_schema(pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read(schema.names), schema)
        for file in stored_files(folder, recorded)
    ]
    rows = pa.concat_tables(parts) if parts else schema.empty_table()
    return Output(rows.combine_chunks(), columns)


def grouped(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[Ints, Ints]:
    """Rows that agree in all columns get one number, from 0 in the order of first rows.

    Returns every row's number and every number's first row. Without columns all rows agree.
    """
    key, size = np.zeros(rows, np.int64), 1
    for column in columns:
        codes = _codes(column)
        values = int(codes.max(initial=0)) + 1
        if size * values >= KEY_LIMIT:
            key = np.unique(key, return_inverse=True)[1]
            size = rows
        key, size = key * values + codes, size * values
    _, firsts, numbers = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    renumbered = np.empty(len(order), np.int64)
    renumbered[order] = np.arange(len(order))
    return renumbered[numbers], firsts[order]


def _codes(column: pa.ChunkedArray) -> Ints:
    """A number for each value; equal values have the same number."""
    import pyarrow as pa

    plain = _comparable(column)
    if plain is None:
        seen: dict[Hashable, int] = {}
        values = _hashables(column)
        codes = [seen.setdefault(value, len(seen)) for value in values]
        return np.array(codes, np.int64)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    encoded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
    found: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _comparable(column: pa.ChunkedArray) -> Any:
    """The column with one representation of each value, for Arrow's hashing; None if nested.

    One of the zeros and one of the NaNs stand for all.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type):
        return None
    if not pa.types.is_floating(column.type):
        return column
    plain = pc.add(column, pa.scalar(0.0, column.type))
    return pc.if_else(pc.is_nan(plain), pa.scalar(float("nan"), column.type), plain)


def _equals(column: pa.ChunkedArray, wanted: pa.ChunkedArray) -> Any:
    """Flags: which values of a column equal the only value of another column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type):
        (only,) = _hashables(wanted.cast(column.type))
        return np.array([value == only for value in _hashables(column)], np.bool_)
    value = wanted[0]
    if not value.is_valid:
        found = column.is_null()
    elif pa.types.is_floating(value.type) and math.isnan(value.as_py()):
        found = pc.is_nan(column).fill_null(False)
    else:
        found = pc.equal(column, value.cast(column.type)).fill_null(False)
    return found.to_numpy()


def _hashables(column: pa.ChunkedArray) -> list[Hashable]:
    """Values of a nested column, with times as numbers, since Python lacks some of them."""
    return [_hashable(value) for value in column.cast(_countable(column.type)).to_pylist()]


def _countable(data_type: pa.DataType) -> pa.DataType:
    """The type with numbers for dates, timestamps and durations."""
    import pyarrow as pa

    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(_countable(field.type)) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(_countable(data_type.value_type)))
    if pa.types.is_temporal(data_type):
        return pa.int32() if pa.types.is_date32(data_type) else pa.int64()
    return data_type


def _hashable(value: Any) -> Hashable:
    """A hashable value; equal lists and records, and only these, have equal values."""
    if isinstance(value, Mapping):
        return tuple((name, _hashable(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return "NaN" if isinstance(value, float) and value != value else value
