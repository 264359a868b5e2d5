"""Compressed lineage as bytes: small, versioned, checked; nothing in it is executed.

    "PL"  version  crc32 of all other bytes  kind  p q  sizes of the p + q axes  content

Several kinds of content are tried, and the smallest one is written:

    table    the table's columns, the end of an interval as its distance to the start
    pairs    the relation's columns, where compression found nothing
    parquet  the relation as a Parquet file without what Parquet adds for other readers

So the file of a structured operation takes some dozens of bytes, and one of an
unstructured operation not more than the same pairs in a Parquet file.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from predtrace.arrays.relation import CellRelation, LineageTable, SmallInts
from predtrace.durable.envelope import CRC_BYTES, BinaryEnvelope
from predtrace.errors import ArrayFormatError, ArrayLineageError
from predtrace.packed.boxes import Ints, Shape
from predtrace.packed.ints import (
    Reader,
    compress_bytes,
    decompress_bytes,
    read_ints,
    varint,
    write_ints,
)

VERSION = 1
ENVELOPE = BinaryEnvelope(
    magic=b"PL",
    version=VERSION,
    kind="array lineage of predtrace",
    remedy="restore it from a copy, or capture again",
    error=ArrayFormatError,
)
TABLE, TABLE_ZSTD, PAIRS, PARQUET = 0, 1, 2, 3
_MAX_AXES = 64

_SMALLER_THAN_PARQUET = 256
"""A Parquet file of two columns is larger than this; raw pairs of this size are few."""

_SAMPLE = 1 << 14
_PROMISING = 1.15
"""A Parquet encoding is tried in full if a sample takes at most this, relative to ours."""

_PARQUET_STYLES: tuple[dict[str, object], ...] = (
    {"compression": "none"},
    {"compression": "gzip"},
    {"compression": "zstd"},
    {"compression": "zstd", "use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"},
    {"compression": "none", "use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"},
)


def encode(table: LineageTable, relation: CellRelation | None = None) -> bytes:
    """The table as bytes. `relation`, its pairs if known, saves decompressing them."""
    shape = (table.out_shape, table.in_shape)
    best = min(_table_contents(table), key=len)
    if len(best) > _SMALLER_THAN_PARQUET:
        pairs = (table.decompress() if relation is None else relation.normalized()).pairs
        best = min([best, *_pairs_contents(pairs, len(table), len(best))], key=len)
    return _sealed(best[:1] + _shape_bytes(*shape) + best[1:])


def decode(data: bytes, where: str = "stored lineage") -> LineageTable:
    """The table that `encode` wrote; one row per pair if it chose to write pairs.

    `where` names the bytes in errors. Raises ArrayFormatError if they are not stored lineage, are
    truncated or changed, or of a newer version.
    """
    reader = _opened(data, where)
    kind = reader.byte()
    out_shape, in_shape = _read_shapes(reader)
    if kind not in _READERS:
        raise ArrayFormatError(f"{where} is damaged: its kind {kind} is unknown")
    try:
        return _READERS[kind](reader, out_shape, in_shape).checked()
    except (ArrayLineageError, pa.ArrowException, MemoryError, ValueError, OSError) as error:
        raise ArrayFormatError(f"{where} is damaged: {error}") from error


def _sealed(body: bytes) -> bytes:
    head = ENVELOPE.head
    return head + zlib.crc32(body, zlib.crc32(head)).to_bytes(CRC_BYTES, "little") + body


def _opened(data: bytes, where: str) -> Reader:
    """The body, once its head and its checksum are known to be good."""
    ENVELOPE.check_head(data, where, at_least=CRC_BYTES)
    head = len(ENVELOPE.head)
    body = memoryview(data)[head + CRC_BYTES :]
    stored = int.from_bytes(data[head : head + CRC_BYTES], "little")
    ENVELOPE.check(body, stored, where, zlib.crc32(data[:head]))
    return Reader(body, where)


def _shape_bytes(out_shape: Shape, in_shape: Shape) -> bytes:
    numbers = (len(out_shape), len(in_shape), *out_shape, *in_shape)
    return b"".join(varint(number) for number in numbers)


def _read_shapes(reader: Reader) -> tuple[Shape, Shape]:
    p, q = reader.varint(), reader.varint()
    if max(p, q) > _MAX_AXES:
        raise ArrayFormatError(f"{reader.where} is damaged: it promises {max(p, q)} axes")
    sizes = tuple(reader.varint() for _ in range(p + q))
    return sizes[:p], sizes[p:]


def _table_contents(table: LineageTable) -> Iterator[bytes]:
    """The table's kind and content, and the same compressed as a whole."""
    content = varint(len(table)) + b"".join(
        write_ints(np.ascontiguousarray(matrix[:, axis]))
        for matrix in _written(table)
        for axis in range(matrix.shape[1])
    )
    yield bytes([TABLE]) + content
    yield bytes([TABLE_ZSTD]) + compress_bytes(content)


def _written(table: LineageTable) -> list[Ints]:
    """The table's columns in the form in which they are written: often constant or small."""
    lo_style = _style(table.lo_axis, table.lo_slope)
    hi_style = _style(table.hi_axis, table.hi_slope)
    return [
        *(table.out_lo, table.out_hi - table.out_lo),
        *(table.lo_base, lo_style),
        *(table.hi_base - table.lo_base, hi_style - lo_style),
    ]


def _style(axis: SmallInts, slope: SmallInts) -> Ints:
    """Axis and slope as one number: 0 for constants, then up and down for every axis."""
    style: Ints = np.where(axis < 0, 0, 2 * axis.astype(np.int64) + 1 + (slope < 0))
    return style


def _unstyled(style: Ints) -> tuple[SmallInts, SmallInts]:
    axis = (style + 1) // 2 - 1
    slope = np.where(style == 0, 0, np.where(style % 2 == 1, 1, -1))
    return axis.astype(np.int8), slope.astype(np.int8)


def _read_table(reader: Reader, out_shape: Shape, in_shape: Shape) -> LineageTable:
    rows, p, q = reader.varint(), len(out_shape), len(in_shape)
    out_lo, extent = _read_matrix(reader, rows, p), _read_matrix(reader, rows, p)
    lo_base, lo_style = _read_matrix(reader, rows, q), _read_matrix(reader, rows, q)
    width, turn = _read_matrix(reader, rows, q), _read_matrix(reader, rows, q)
    return LineageTable(
        *(out_shape, in_shape, out_lo, out_lo + extent),
        *(lo_base, *_unstyled(lo_style)),
        *(lo_base + width, *_unstyled(lo_style + turn)),
    )


def _read_compressed_table(reader: Reader, out_shape: Shape, in_shape: Shape) -> LineageTable:
    content = decompress_bytes(reader, limit=2**40)
    return _read_table(Reader(content, reader.where), out_shape, in_shape)


def _read_matrix(reader: Reader, rows: int, columns: int) -> Ints:
    matrix = np.empty((rows, columns), np.int64)
    for column in range(columns):
        matrix[:, column] = read_ints(reader, rows)
    return matrix


def _pairs_contents(pairs: Ints, rows: int, best: int) -> Iterator[bytes]:
    """Kinds and contents of the uncompressed pairs that may take less than `best` bytes.

    Writing large Parquet files takes long; a sample shows which are worth it.
    """
    if len(pairs) < 2 * rows:
        yield bytes([PAIRS]) + varint(len(pairs)) + _columns(pairs)
    middle = max(0, (len(pairs) - _SAMPLE) // 2)
    sample = pairs[middle : middle + _SAMPLE]
    allowed = best if len(sample) == len(pairs) else best * len(sample) / len(pairs) * _PROMISING
    for style in _PARQUET_STYLES:
        file = _parquet(sample, style)
        if len(file) <= allowed:
            full = file if len(sample) == len(pairs) else _parquet(pairs, style)
            yield bytes([PARQUET]) + full


def _columns(pairs: Ints) -> bytes:
    return b"".join(write_ints(np.ascontiguousarray(column)) for column in pairs.T)


def _read_pairs(reader: Reader, out_shape: Shape, in_shape: Shape) -> LineageTable:
    pairs = _read_matrix(reader, reader.varint(), len(out_shape) + len(in_shape))
    return LineageTable.of_pairs(CellRelation(out_shape, in_shape, pairs))


def _parquet(pairs: Ints, style: dict[str, object]) -> bytes:
    names = [str(axis) for axis in range(pairs.shape[1])]
    table = pa.table([pairs[:, axis] for axis in range(pairs.shape[1])], names)
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, write_statistics=False, **style)
    return sink.getvalue()


def _read_parquet(reader: Reader, out_shape: Shape, in_shape: Shape) -> LineageTable:
    rest = reader.take(len(reader.data) - reader.place)
    columns = pq.ParquetFile(pa.BufferReader(rest)).read().columns
    pairs = np.stack([column.to_numpy() for column in columns], axis=1)
    return LineageTable.of_pairs(CellRelation(out_shape, in_shape, pairs))


_READERS: dict[int, Callable[[Reader, Shape, Shape], LineageTable]] = {
    TABLE: _read_table,
    TABLE_ZSTD: _read_compressed_table,
    PAIRS: _read_pairs,
    PARQUET: _read_parquet,
}
