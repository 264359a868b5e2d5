"""A flipped bit, or a lost end, of a table or catalogue of arrays is an error, never an answer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from predtrace.arrays import open_store
from predtrace.errors import ArrayFormatError, StoreError

CELLS = [(2,), (7,)]


def make(place: Path) -> list[Path]:
    """A store with a dense and a scattered table; its files."""
    store = open_store(place)
    a, b, c = (store.array(name, (40,)) for name in "abc")
    places = random.Random(4).sample(range(40), 40)
    store.lineage(b, a, lambda cell: [cell, (max(0, cell[0] - 1),)])
    store.lineage(c, b, lambda cell: [(places[cell[0]],)])
    return [place / "catalogue.json", *sorted((place / "tables").glob("*.plt"))]


def answer(place: Path) -> set[tuple[int, ...]]:
    return set(map(tuple, open_store(place).query(["c", "b", "a"], CELLS).cells().tolist()))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_no_damage_changes_an_answer(number: int, tmp_path: Path) -> None:
    files = make(tmp_path)
    assert len(files) == 3
    right = answer(tmp_path)
    assert right
    file = files[number]
    whole = file.read_bytes()
    chosen = random.Random(number)
    places = range(len(whole)) if len(whole) < 150 else chosen.sample(range(len(whole)), 60)
    damaged = [
        whole[:place] + bytes([whole[place] ^ 1 << chosen.randrange(8)]) + whole[place + 1 :]
        for place in places
    ]
    for data in [*damaged, whole[:-1], whole[: len(whole) // 2], b"", whole + b"\0"]:
        file.write_bytes(data)
        with pytest.raises(StoreError):
            answer(tmp_path)
    file.write_bytes(whole)
    assert answer(tmp_path) == right


def test_a_table_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    _, one, other = make(tmp_path)
    one.write_bytes(other.read_bytes())
    with pytest.raises(ArrayFormatError, match="is not the table that its name says"):
        answer(tmp_path)
