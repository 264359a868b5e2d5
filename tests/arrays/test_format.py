"""The stored form: exact, small, and never silently wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predtrace.arrays import format as stored
from predtrace.arrays.format import decode, encode
from predtrace.arrays.provrc import compress
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.errors import ArrayFormatError
from tests.arrays.baselines import sizes
from tests.arrays.relations import STRUCTURED, convolution, of, permuted, relations

PERMUTED = encode(compress(permuted(2000)))
CONVOLUTION = encode(compress(convolution(9, 8)))


@given(relations, st.booleans())
@settings(max_examples=200)
def test_read_what_was_written(relation: CellRelation, compressed: bool) -> None:
    table = compress(relation) if compressed else LineageTable.of_pairs(relation.normalized())
    assert decode(encode(table)).decompress().same_as(relation)


@given(relations)
@settings(max_examples=40)
def test_never_larger_than_other_formats(relation: CellRelation) -> None:
    assert len(encode(compress(relation), relation)) <= min(sizes(relation).values())


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_operations_take_at_most_200_bytes(name: str) -> None:
    relation, _ = STRUCTURED[name]
    data = encode(compress(relation), relation)
    assert len(data) <= 200
    assert len(data) < min(sizes(relation).values())
    assert decode(data).decompress().same_as(relation)


def random_bits() -> CellRelation:
    return of((150,), (150,), np.argwhere(np.random.default_rng(1).random((150, 150)) < 0.4))


def few_values() -> CellRelation:
    """Groups: rows of one column fall into 20 groups by skewed chance."""
    group = np.minimum(np.random.default_rng(2).geometric(0.2, 8_000), 20) - 1
    return of((20,), (8_000,), np.stack([group, np.arange(8_000)]).T)


def joined() -> CellRelation:
    rng = np.random.default_rng(3)
    rows = rng.choice(5000, 6_000, replace=True)
    out = np.repeat(np.arange(6_000), 3)
    into = np.repeat(rows, 3) * 3 + np.tile(np.arange(3), 6_000)
    return of((6_000,), (15_000,), np.stack([out, into]).T)


def strided() -> CellRelation:
    o = np.arange(6_000)
    return of((6_000,), (2_000_000,), np.stack([o, 97 * o + o // 100]).T)


@pytest.mark.parametrize(
    "relation",
    [permuted(5_000), random_bits(), few_values(), joined(), strided()],
    ids=["sort", "bits", "groups", "join", "stride"],
)
def test_unstructured_operations_take_no_more_than_other_formats(relation: CellRelation) -> None:
    data = encode(compress(relation), relation)
    assert len(data) <= min(sizes(relation).values())
    assert decode(data).decompress().same_as(relation)


@pytest.mark.parametrize("style", stored._PARQUET_STYLES)
def test_parquet_content(style: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    relation = permuted(300).normalized()
    content = bytes([stored.PARQUET]) + stored._parquet(relation.pairs, style)
    shape = stored._shape_bytes(relation.out_shape, relation.in_shape)
    data = stored._sealed(content[:1] + shape + content[1:])
    assert decode(data).decompress().same_as(relation)


@pytest.mark.parametrize("data", [PERMUTED, CONVOLUTION], ids=["permuted", "convolution"])
def test_any_changed_byte_is_noticed(data: bytes) -> None:
    for place in range(0, len(data), 1 + len(data) // 300):
        changed = bytearray(data)
        changed[place] ^= 0x15
        with pytest.raises(ArrayFormatError):
            decode(bytes(changed))


@pytest.mark.parametrize("data", [PERMUTED, CONVOLUTION], ids=["permuted", "convolution"])
def test_any_cut_is_noticed(data: bytes) -> None:
    for length in range(0, len(data), 1 + len(data) // 300):
        with pytest.raises(ArrayFormatError, match=r"lost\.plt"):
            decode(data[:length], "lost.plt")


@given(st.binary(max_size=60))
def test_content_that_makes_no_sense_is_an_error(body: bytes) -> None:
    # The checksum fits: only the content is at fault.
    try:
        table = decode(stored._sealed(body))
    except ArrayFormatError:
        return
    table.checked()


def test_a_newer_version_is_named() -> None:
    newer = bytearray(CONVOLUTION)
    newer[2] = stored.VERSION + 1
    with pytest.raises(ArrayFormatError, match="newer predtrace"):
        decode(bytes(newer))
