"""Columns of integers in few bytes: constants, offsets or differences, bit-packed or zstd.

A column of known length n is one byte for its style, then its content:

    constant     the value
    offsets      the least value; then value - least value, for every value
    differences  the first value and the least difference; then the rest, for every step

Scalars are varints (7 bits a byte, the least significant first), zigzagged if they may be negative.
The rest is packed at the width of the greatest value (value t takes the bits t*w to t*w + w - 1 of
a little-endian stream), or its bytes are compressed by zstd, plane by plane. The smallest of these
is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from predtrace.errors import ArrayFormatError
from predtrace.packed.boxes import Ints

Unsigned: TypeAlias = npt.NDArray[np.uint64]

CONSTANT, OFFSETS, DIFFERENCES = 0, 1, 2
PACKED, PACKED_ZSTD, PLANES_ZSTD = 0, 4, 8
_TRANSFORM, _PACKING = 3, 12

STYLES = tuple(t | p for t in (DIFFERENCES, OFFSETS) for p in (PACKED, PACKED_ZSTD, PLANES_ZSTD))
"""The styles of a column that is not constant: a transform, and a packing of the rest."""

_WORD = 64
_WORTH_ZSTD = 24
"""Bytes below which zstd's own frame outweighs what it could save."""

_SMALL = 1 << 13
_LEVELS = {True: 12, False: 3}
"""zstd's levels, for small and for large content."""


class Reader:
    """A position in bytes. Raises ArrayFormatError, naming `where`, on a read beyond the end."""

    def __init__(self, data: bytes | memoryview, where: str) -> None:
        self.data = memoryview(data)
        self.where = where
        self.place = 0

    def take(self, count: int) -> memoryview:
        """The next `count` bytes."""
        if count < 0 or self.place + count > len(self.data):
            raise ArrayFormatError(
                f"{self.where} is truncated or damaged; restore it from a copy or capture again"
            )
        taken = self.data[self.place : self.place + count]
        self.place += count
        return taken

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """The next unsigned varint."""
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 0x7F) << shift
            shift += 7
            if part < 0x80:
                return value
            if shift > _WORD:
                raise ArrayFormatError(f"{self.where} is damaged: a number is too long")

    def signed(self) -> int:
        """The next zigzag varint."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)


def varint(value: int) -> bytes:
    """A number from 0 as a varint."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def signed(value: int) -> bytes:
    """Any 64-bit number as a zigzag varint."""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def write_ints(values: Ints, styles: Sequence[int] = STYLES) -> bytes:
    """A column as bytes, without its length. The first byte is its style.

    The smallest of some `styles` is written; a constant column is always written as a constant.
    """
    if not len(values):
        return b""
    least = int(values.min())
    if least == int(values.max()):
        return bytes([CONSTANT]) + signed(least)
    packings: dict[int, list[int]] = {}
    for style in styles:
        packings.setdefault(style & _TRANSFORM, []).append(style & _PACKING)
    return min(
        (
            bytes([transform | packing]) + scalars + content
            for transform, wanted in packings.items()
            for scalars, rest in [_transformed(values, transform)]
            for packing, content in _contents(rest, wanted)
        ),
        key=len,
    )


def _transformed(values: Ints, transform: int) -> tuple[bytes, Unsigned]:
    """The scalars of a transform, and the rest: numbers from 0."""
    if transform == OFFSETS:
        least = int(values.min())
        return signed(least), (values - least).view(np.uint64)
    steps = np.diff(values)
    step = int(steps.min())
    return signed(int(values[0])) + signed(step), (steps - step).view(np.uint64)


def read_ints(reader: Reader, count: int) -> Ints:
    """The column of `count` values that `write_ints` wrote."""
    if not count:
        return np.empty(0, np.int64)
    style = reader.byte()
    transform, packing = style & _TRANSFORM, style & _PACKING
    base = reader.signed()
    if style == CONSTANT:
        return np.full(count, base, np.int64)
    if transform == OFFSETS:
        rest = _content(reader, packing, count).view(np.int64)
        rest += base
        return rest
    if transform != DIFFERENCES:
        raise ArrayFormatError(f"{reader.where} is damaged: a column's style {style} is unknown")
    step = reader.signed()
    values = np.empty(count, np.int64)
    values[0] = base
    np.add(_content(reader, packing, count - 1).view(np.int64), step, out=values[1:])
    return np.cumsum(values, out=values)


def pack_bits(values: Unsigned, width: int) -> bytes:
    """The values' lowest `width` bits, one after the other.

    64 values fill exactly `width` words, so value n of every group of 64 is written to
    its place in all groups at once.
    """
    count = len(values)
    lanes = _lanes(values)
    words = np.zeros((width, lanes.shape[1]), np.uint64)
    for lane, word, shift in _places(min(count, _WORD), width):
        words[word] |= lanes[lane] << np.uint64(shift)
        if shift + width > _WORD:
            words[word + 1] |= lanes[lane] >> np.uint64(_WORD - shift)
    return words.T.tobytes()[: packed_size(count, width)]


def unpack_bits(data: bytes | memoryview, count: int, width: int) -> Unsigned:
    """The `count` values that `pack_bits` packed."""
    groups = -(-count // _WORD)
    padded = np.zeros(groups * width * 8, np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    words = np.ascontiguousarray(padded.view("<u8").reshape(groups, width).T)
    lanes = np.zeros((min(count, _WORD), groups), np.uint64)
    mask = np.uint64((1 << width) - 1)
    for lane, word, shift in _places(len(lanes), width):
        lanes[lane] = words[word] >> np.uint64(shift)
        if shift + width > _WORD:
            lanes[lane] |= words[word + 1] << np.uint64(_WORD - shift)
    lanes &= mask
    return np.ascontiguousarray(lanes.T).reshape(-1)[:count]


def packed_size(count: int, width: int) -> int:
    """Bytes that `count` values of `width` bits take."""
    return -(-count * width // 8)


def compress_bytes(content: bytes | memoryview) -> bytes:
    """The content's size and its zstd frame."""
    codec = pa.Codec("zstd", compression_level=_LEVELS[len(content) <= _SMALL])
    frame: bytes = codec.compress(content, asbytes=True)
    return varint(len(content)) + varint(len(frame)) + frame


def decompress_bytes(reader: Reader, limit: int) -> memoryview:
    """The content that `compress_bytes` compressed, if it has at most `limit` bytes."""
    size = reader.varint()
    frame = reader.take(reader.varint())
    if size > limit:
        raise ArrayFormatError(f"{reader.where} is damaged: it promises {size} bytes")
    try:
        # A Buffer's memoryview would hold signed bytes.
        return memoryview(pa.Codec("zstd").decompress(frame, decompressed_size=size, asbytes=True))
    except OSError as error:
        raise ArrayFormatError(f"{reader.where} is damaged: {error}") from error


def _contents(rest: Unsigned, packings: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The ways to write non-negative values: the packing, and its bytes."""
    width = int(rest.max()).bit_length()
    if not width:
        yield PACKED, bytes([0])
        return
    if packed_size(len(rest), width) < _WORTH_ZSTD:
        packings = (PACKED,)
    if PACKED in packings or PACKED_ZSTD in packings:
        packed = pack_bits(rest, width)
        yield PACKED, bytes([width]) + packed
        if PACKED_ZSTD in packings:
            yield PACKED_ZSTD, bytes([width]) + compress_bytes(packed)
    if PLANES_ZSTD in packings:
        planes = rest.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : -(-width // 8)]
        yield PLANES_ZSTD, bytes([width]) + compress_bytes(planes.T.tobytes())


def _content(reader: Reader, packing: int, count: int) -> Unsigned:
    width = reader.byte()
    if width > _WORD or packing not in (PACKED, PACKED_ZSTD, PLANES_ZSTD):
        raise ArrayFormatError(f"{reader.where} is damaged: a column's packing is unknown")
    if not width:
        return np.zeros(count, np.uint64)
    size = packed_size(count, width)
    if packing == PACKED:
        return unpack_bits(reader.take(size), count, width)
    planes = -(-width // 8)
    expected = size if packing == PACKED_ZSTD else planes * count
    content = decompress_bytes(reader, expected)
    if len(content) != expected:
        raise ArrayFormatError(f"{reader.where} is damaged: a column has the wrong length")
    if packing == PACKED_ZSTD:
        return unpack_bits(content, count, width)
    lowest, *higher = np.frombuffer(content, np.uint8).reshape(planes, count)
    values = lowest.astype(np.uint64)
    for number, plane in enumerate(higher, start=1):
        values |= plane.astype(np.uint64) << np.uint64(8 * number)
    return values


def _lanes(values: Unsigned) -> Unsigned:
    """Row n holds value n of every group of 64; the last group is filled with zeros."""
    groups = -(-len(values) // _WORD)
    padded = np.zeros(groups * _WORD, np.uint64)
    padded[: len(values)] = values
    return np.ascontiguousarray(padded.reshape(groups, _WORD).T)


def _places(lanes: int, width: int) -> Iterator[tuple[int, int, int]]:
    """Each lane, with the word and the bit at which its bits begin."""
    for lane in range(lanes):
        word, shift = divmod(lane * width, _WORD)
        yield lane, word, shift
