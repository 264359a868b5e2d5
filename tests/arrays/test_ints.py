"""Columns of integers: what is written is read again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predtrace.errors import ArrayFormatError
from predtrace.packed.ints import (
    Reader,
    compress_bytes,
    decompress_bytes,
    pack_bits,
    packed_size,
    read_ints,
    unpack_bits,
    write_ints,
)

wide = st.integers(-(2**61), 2**61)
near = st.integers(-3, 300)


@given(st.lists(wide, max_size=150) | st.lists(near, max_size=400))
def test_read_what_was_written(values: list[int]) -> None:
    column = np.array(values, np.int64)
    reader = Reader(write_ints(column), "test")
    assert read_ints(reader, len(values)).tolist() == values
    assert reader.place == len(reader.data)


@given(st.integers(1, 64), st.data())
def test_bits(width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 2**width - 1), max_size=200))
    packed = pack_bits(np.array(values, np.uint64), width)
    assert len(packed) == packed_size(len(values), width)
    # The layout: one little-endian stream of bits.
    stream = int.from_bytes(packed, "little")
    mask = (1 << width) - 1
    assert [stream >> (n * width) & mask for n in range(len(values))] == values
    assert unpack_bits(packed, len(values), width).tolist() == values


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (np.full(10**6, 7), 2),
        (np.arange(10**6), 4),
        (np.arange(10**6)[::-1], 7),
        (np.tile(np.arange(1000), 100), 200),
    ],
)
def test_regular_columns_take_few_bytes(column: np.ndarray, size: int) -> None:
    assert len(write_ints(np.ascontiguousarray(column))) <= size


def test_a_cut_column_is_an_error() -> None:
    content = write_ints(np.random.default_rng(0).integers(0, 1000, 500))
    for length in range(0, len(content), 7):
        with pytest.raises(ArrayFormatError, match="where it lies"):
            read_ints(Reader(content[:length], "where it lies"), 500)


def test_compressed_bytes_are_unsigned() -> None:
    content = bytes(range(256)) * 4
    reader = Reader(compress_bytes(content), "test")
    inner = Reader(decompress_bytes(reader, 1024), "test")
    assert [inner.byte() for _ in range(256)] == list(range(256))
