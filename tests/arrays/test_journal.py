"""Calls that are recorded in a folder: one at a time, whatever was recorded before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from predtrace import arrays
from predtrace.arrays import open_store, shelves
from predtrace.arrays.relation import CellRelation
from predtrace.errors import ArrayFormatError, StoreError


def recorded(folder: Path, steps: int) -> None:
    with arrays.tracking(folder) as t:
        a = t.array("a", np.arange(4.0))
        for _ in range(steps):
            a = a[::-1] + 1


def journal_of(folder: Path) -> Path:
    [path] = folder.glob("calls-*.log")
    return path


def test_a_folder_knows_what_memory_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "_FEW", 4)
    with arrays.tracking() as memory, arrays.tracking(tmp_path) as t:
        for session in (memory, t):
            a, b = session.array("a", np.arange(4.0)), session.array("b", np.ones(4))
            for k in range(20):
                a[k % 4] = b[0]
                a = a + b
            session.array("last", a)
    here, there = memory.store.catalogue, open_store(tmp_path).catalogue
    assert there.arrays == here.arrays
    assert there.operations == here.operations
    assert [(e.output, e.input, e.operation) for e in there.lineage] == [
        (e.output, e.input, e.operation) for e in here.lineage
    ]
    assert open_store(tmp_path).trace("last", "b", (1,)).count() == 2
    assert len([*tmp_path.glob("calls-*.log")]) == 1


def test_a_call_is_written_beside_what_was_recorded(tmp_path: Path) -> None:
    recorded(tmp_path, 3)
    catalogue = (tmp_path / "catalogue.json").read_bytes()
    written = []
    with arrays.tracking(tmp_path) as t:
        a = t.array("b", np.arange(4.0))
        for _ in range(40):
            before = journal_of(tmp_path).stat().st_size
            a = a + 1
            written.append(journal_of(tmp_path).stat().st_size - before)
    assert (tmp_path / "catalogue.json").read_bytes() == catalogue
    assert max(written) < min(written) + 60  # names and numbers have more digits


def test_two_trackings_of_a_folder_know_of_each_other(tmp_path: Path) -> None:
    with arrays.tracking(tmp_path) as first, arrays.tracking(tmp_path) as second:
        a, b = first.array("a", np.arange(3.0)), second.array("b", np.arange(3.0))
        for _ in range(3):
            a, b = a + 1, b + 1
        assert len({a.name, b.name}) == 2
        # a change of another kind folds the journal into the catalogue
        open_store(tmp_path).array("c", (3,))
        a, b = a + 1, b + 1
    store = open_store(tmp_path)
    names = [entry.name for entry in store.catalogue.arrays]
    assert len(names) == len(set(names)) == 11
    assert store.trace(a.name, "a", (1,)).count() == 1
    assert store.trace(b.name, "a", (1,)).count() == 0


def test_what_was_not_finished_is_none(tmp_path: Path) -> None:
    recorded(tmp_path, 2)
    journal = journal_of(tmp_path)
    before = open_store(tmp_path).catalogue
    with journal.open("ab") as file:
        file.write(b"0" * 64 + b' {"arrays"')
    assert open_store(tmp_path).catalogue == before
    with arrays.tracking(tmp_path) as t:
        later = t.array("later", np.ones(2)) * 2
    store = open_store(tmp_path)
    assert store.catalogue.arrays[: len(before.arrays)] == before.arrays
    assert store.trace(later.name, "later", (1,)).count() == 1


def test_a_damaged_journal_is_noticed(tmp_path: Path) -> None:
    recorded(tmp_path, 3)
    journal = journal_of(tmp_path)
    good = journal.read_bytes()
    rng = np.random.default_rng(1)
    for place in [*range(35), *rng.integers(0, len(good), 60).tolist()]:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        journal.write_bytes(bad)
        with pytest.raises(ArrayFormatError, match="log"):
            open_store(tmp_path)
    for length in (0, 10, 30, len(good) // 2, len(good) - 1, good.rindex(b"\n", 0, -1) + 1):
        journal.write_bytes(good[:length])
        with pytest.raises(ArrayFormatError, match="log"):
            open_store(tmp_path)
    journal.unlink()
    with pytest.raises(ArrayFormatError, match="is gone"):
        open_store(tmp_path)
    journal.write_bytes(good)
    assert len(open_store(tmp_path).catalogue.operations) == 7


def test_a_catalogue_names_no_file_elsewhere(tmp_path: Path) -> None:
    recorded(tmp_path, 1)
    from predtrace.arrays.catalogue import Catalogue, encode_catalogue

    for name in ("../../x", "calls-0.log", "/etc/passwd", "lock"):
        (tmp_path / "catalogue.json").write_bytes(encode_catalogue(Catalogue(journal=name)))
        with pytest.raises(ArrayFormatError, match="names no journal"):
            open_store(tmp_path)


def test_stores_without_a_journal_are_read(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    a, b = store.array("a", (2,)), store.array("b", (2,))
    store.lineage(b, a, CellRelation((2,), (2,), np.array([[0, 1]])))
    assert b'"schema":2' in (tmp_path / "catalogue.json").read_bytes()
    assert not [*tmp_path.glob("calls-*")]
    with arrays.tracking(tmp_path) as t:
        t.array("c", np.ones(2))
    assert open_store(tmp_path).trace("b", "a", (0,)).cells().tolist() == [[1]]


def test_what_cannot_be_written_is_not_taken_for_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with arrays.tracking(tmp_path) as t:
        a = t.array("a", np.ones(2))

        def full(descriptor: int) -> Any:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(StoreError, match="No space"):
                a + 1
        b = a * 2
    store = open_store(tmp_path)
    assert [entry.name for entry in store.catalogue.arrays] == ["a", "multiply"]
    assert store.trace(b.name, "a", (1,)).count() == 1
