"""A flipped bit, or a lost end, of any stored file: a right answer, or an error that says so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from predtrace.errors import PredTraceError, StoreError
from tests.trust.jobs import ROWS_OF_TARGET, TARGET, make_store, opened, rows_of

MODES = ("auto", "stored", "indexed", "replayed", "refined")
FILES = {
    "intermediate": "node-2/part-0.parquet",
    "output": "output/part-0.parquet",
    "index": "index-minimal.prx",
    "record": "job.json",
}
POSITIONS = 18


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A job with everything that a job can have; every test leaves its files as they were."""
    found = make_store(tmp_path_factory.mktemp("damage"))
    opened(found).build_index()
    return found


@contextmanager
def holding(file: Path, data: bytes) -> Iterator[None]:
    """The file with other bytes, as long as the block lasts."""
    before = file.read_bytes()
    assert data != before
    file.write_bytes(data)
    try:
        yield
    finally:
        file.write_bytes(before)


def damages(data: bytes, seed: str) -> Iterator[bytes]:
    """The data with one bit flipped at positions all over it, and cut off."""
    chosen = random.Random(seed)
    step = max(1, len(data) // POSITIONS)
    for start in range(0, len(data), step):
        place = min(len(data) - 1, start + chosen.randrange(step))
        changed = bytearray(data)
        changed[place] ^= 1 << chosen.randrange(8)
        yield bytes(changed)
    yield from (data[:-1], data[: len(data) // 2], b"", data + b"\0")


def answers(store: tuple[Path, str], mode: str) -> tuple[str, ...]:
    """The notes of the answer, which must be the right one."""
    answer = opened(store).lineage(TARGET, mode=mode)
    assert rows_of(answer) == ROWS_OF_TARGET
    return answer.notes


def test_the_answer_without_damage(store: tuple[Path, str]) -> None:
    for mode in MODES:
        assert opened(store).lineage(TARGET, mode=mode).label == "precise"
        answers(store, mode)


@pytest.mark.parametrize("what", FILES)
def test_no_damage_changes_an_answer(what: str, store: tuple[Path, str]) -> None:
    file = store[0] / store[1] / FILES[what]
    refused = dict.fromkeys(("auto", "stored", "indexed"), 0)
    tried = list(damages(file.read_bytes(), what))
    for data in tried:
        with holding(file, data):
            for mode in refused:
                try:
                    answers(store, mode)
                except PredTraceError:
                    refused[mode] += 1
    expected = {
        "intermediate": {"auto": 0, "stored": len(tried), "indexed": 0},
        "output": dict.fromkeys(refused, len(tried)),
        "record": dict.fromkeys(refused, len(tried)),
    }
    if what in expected:
        assert refused == expected[what]
    else:
        assert (refused["auto"], refused["stored"]) == (0, 0)
        assert refused["indexed"] > len(tried) // 2


def test_auto_goes_on_without_a_damaged_intermediate_result(store: tuple[Path, str]) -> None:
    job = store[0] / store[1]
    index, file = job / FILES["index"], job / FILES["intermediate"]
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    kept = index.read_bytes()
    index.unlink()
    try:
        with holding(file, bytes(data)):
            notes = answers(store, "auto")
            assert any("were not used" in note and str(file) in note for note in notes)
            with pytest.raises(StoreError, match=r"part-0\.parquet is damaged.*checksum"):
                opened(store).lineage(TARGET, mode="stored")
    finally:
        index.write_bytes(kept)


def test_a_file_beside_those_of_the_record_is_noticed(store: tuple[Path, str]) -> None:
    file = store[0] / store[1] / FILES["intermediate"]
    other = file.with_name("part-1.parquet")
    other.write_bytes(file.read_bytes())
    try:
        with pytest.raises(StoreError, match=r"part-1\.parquet was added"):
            opened(store).lineage(TARGET, mode="stored")
    finally:
        other.unlink()


def test_damage_after_the_question_was_asked_is_noticed(store: tuple[Path, str]) -> None:
    answer = opened(store).lineage(TARGET, mode="stored")
    file = store[0] / store[1] / FILES["intermediate"]
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    with holding(file, bytes(data)), pytest.raises(StoreError, match="damaged"):
        rows_of(answer)


def test_a_damaged_index_is_left_alone_by_auto_and_built_again(store: tuple[Path, str]) -> None:
    file = store[0] / store[1] / FILES["index"]
    whole = file.read_bytes()
    unread = 0
    try:
        for data in damages(whole, "rebuilt"):
            file.write_bytes(data)
            notes = answers(store, "auto")
            unread += any("index was not used" in note for note in notes)
            opened(store).build_index()
            answers(store, "indexed")
            assert len(file.read_bytes()) == len(whole)
    finally:
        file.write_bytes(whole)
    assert unread > POSITIONS // 2


def test_a_link_out_of_the_job_is_not_followed(store: tuple[Path, str], tmp_path: Path) -> None:
    file = store[0] / store[1] / FILES["output"]
    whole = file.read_bytes()
    (tmp_path / "elsewhere.parquet").write_bytes(whole)
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere.parquet")
    try:
        with pytest.raises(StoreError, match=r"leads to .*elsewhere.*outside the job's folder"):
            answers(store, "auto")
    finally:
        file.unlink()
        file.write_bytes(whole)
