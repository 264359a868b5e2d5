"""The row index: exact both ways, small, read in parts, never silently wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from predtrace.errors import ArrayFormatError, ArrayLineageError, StoreError
from predtrace.packed import chunked
from predtrace.packed.boxes import Ints
from predtrace.packed.rowsets import VERSION, RowIndex

pairs = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30)), max_size=80)
far = st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), max_size=10)


def columns(rows: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    both = np.array(rows, np.int64).reshape(len(rows), 2)
    return both[:, 0], both[:, 1]


@pytest.fixture(params=[3, 16, 1 << 16])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(chunked, "CHUNK", request.param)
    return request.param


@given(pairs | far, st.booleans(), st.data())
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_directions(
    chunk: int, rows: list[tuple[int, int]], copied: bool, data: st.DataObject
) -> None:
    if copied:  # sets that are shared
        rows = rows + [(target % 2**60 + 100, number) for target, number in rows] * 2
        rows += [(target % 2**60 + 200, number) for target, number in rows]
    index = RowIndex.from_bytes(RowIndex.build(*columns(rows)).to_bytes())
    known_targets = sorted({target for target, _ in rows})
    known_ids = sorted({number for _, number in rows})
    assert index.targets().tolist() == known_targets
    assert list(zip(*(c.tolist() for c in index.pairs()), strict=True)) == sorted(set(rows))
    asked = data.draw(st.lists(st.sampled_from([*known_targets, 13, 99]), max_size=5))
    assert index.rows_of(np.array(asked, np.int64)).tolist() == sorted(
        {number for target, number in rows if target in asked}
    )
    sought = data.draw(st.lists(st.sampled_from([*known_ids, 31, 77]), max_size=5))
    expected = sorted({target for target, number in rows if number in sought})
    assert index.targets_of(np.array(sought, np.int64)).tolist() == expected
    assert index.inverse().rows_of(np.array(sought, np.int64)).tolist() == expected


def group_by() -> tuple[Ints, Ints]:
    return np.random.default_rng(0).integers(0, 5, 200_000), np.arange(200_000)


def kept_rows() -> tuple[Ints, Ints]:
    ids = np.flatnonzero(np.random.default_rng(1).random(400_000) < 0.3)
    return np.arange(len(ids)), ids


def whole_table() -> tuple[Ints, Ints]:
    return np.repeat(np.arange(50), 3000), np.tile(np.arange(3000), 50)


def join_in_order() -> tuple[Ints, Ints]:
    return np.arange(200_000), np.repeat(np.arange(50_000), 4)


def sorted_by_group() -> tuple[Ints, Ints]:
    return np.repeat(np.arange(100), 2000), np.arange(200_000)


@pytest.mark.parametrize("make", [group_by, kept_rows, whole_table, join_in_order, sorted_by_group])
def test_at_most_half_of_compressed_arrays(make: object) -> None:
    targets, ids = make()  # type: ignore[operator]
    order = np.lexsort((ids, targets))
    starts = np.searchsorted(targets[order], np.arange(targets.max() + 2))
    codec = pa.Codec("zstd")
    plain = sum(
        len(codec.compress(column.astype(np.int32).tobytes())) for column in (starts, ids[order])
    )
    index = RowIndex.build(targets, ids)
    assert index.nbytes * 2 <= plain
    assert np.array_equal(index.rows_of(np.array([3])), np.unique(ids[targets == 3]))


def test_shared_sets_are_stored_once() -> None:
    one = RowIndex.build(np.zeros(3000, np.int64), np.arange(3000) ** 2)
    many = RowIndex.build(np.repeat(np.arange(50), 3000), np.tile(np.arange(3000) ** 2, 50))
    assert many.nbytes < one.nbytes + 100


def test_one_target_reads_only_its_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    targets = np.repeat(np.arange(10), chunked.CHUNK)
    index = RowIndex.build(targets, rng.choice(10**7, len(targets), replace=False))
    read = []
    plain = chunked._read_values
    monkeypatch.setattr(
        chunked, "_read_values", lambda reader, count: read.append(count) or plain(reader, count)
    )
    assert len(index.rows_of(np.array([4]))) == chunked.CHUNK
    assert read.count(chunked.CHUNK) == 1


def test_files(tmp_path: Path) -> None:
    targets, ids = group_by()
    path = tmp_path / "index.pri"
    RowIndex.build(targets, ids).save(path)
    index = RowIndex.open(path)
    assert len(index) == 5
    assert np.array_equal(index.rows_of(np.array([1, 3])), np.flatnonzero(targets % 2 == 1))
    assert [path.name for path in tmp_path.iterdir()] == ["index.pri"]
    with pytest.raises(StoreError, match="cannot be read"):
        RowIndex.open(tmp_path / "none.pri")
    (tmp_path / "empty").touch()
    with pytest.raises(ArrayFormatError, match="empty"):
        RowIndex.open(tmp_path / "empty")


SMALL = RowIndex.build(*columns([(t * 3 % 40, t * t % 101) for t in range(300)])).to_bytes()


def test_any_changed_byte_is_noticed() -> None:
    for place in range(len(SMALL)):
        changed = bytearray(SMALL)
        changed[place] ^= 0x15
        with pytest.raises(ArrayFormatError):
            RowIndex.from_bytes(bytes(changed)).pairs()


def test_any_cut_is_noticed() -> None:
    for length in range(len(SMALL)):
        with pytest.raises(ArrayFormatError):
            RowIndex.from_bytes(SMALL[:length])


def test_a_newer_version_is_named() -> None:
    newer = bytearray(SMALL)
    newer[3] = VERSION + 1
    with pytest.raises(ArrayFormatError, match="newer predtrace"):
        RowIndex.from_bytes(bytes(newer))


@pytest.mark.parametrize(
    ("targets", "ids", "message"),
    [([1], [1, 2], "one length"), ([-1], [1], "negative"), ([1], [-1], "negative")],
)
def test_numbers_that_are_no_rows_are_refused(
    targets: list[int], ids: list[int], message: str
) -> None:
    with pytest.raises(ArrayLineageError, match=message):
        RowIndex.build(np.array(targets), np.array(ids))
