"""The array store: DSLog's interface, whole files, one writer at a time."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predtrace.arrays import ArrayStore, Cells, open_store
from predtrace.arrays.basis import Basis, Kind, Prediction
from predtrace.arrays.provrc import compress
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.arrays.shelves import CATALOGUE, TABLES
from predtrace.arrays.signatures import CallSignature
from predtrace.errors import ArrayFormatError, ArrayLineageError, StoreError
from tests.arrays.relations import flip, negative, permuted, relations, sum_axis, tile


@pytest.fixture
def store(tmp_path: Path) -> ArrayStore:
    return open_store(tmp_path / "lineage")


def chain(store: ArrayStore) -> None:
    """A, its rows' sums B, and C, which repeats B."""
    a, b = store.array("A", (6, 5)), store.array("B", (6,))
    c = store.array("C", (12,))
    store.lineage(b, a, sum_axis(6, 5, 1))
    store.lineage(c, b, lambda cell: [(cell[0] % 6,)])


def test_queries_in_both_directions(store: ArrayStore) -> None:
    chain(store)
    for opened in (store, open_store(store.path)):
        assert opened.query(["C", "B", "A"], [8]).cells().tolist() == [[2, k] for k in range(5)]
        assert opened.query(["A", "B", "C"], [(2, 3)]).cells().tolist() == [[2], [8]]
        assert opened.query(["C", "B"], Cells.box((12,), slice(5, 8))).count() == 3
        assert opened.query(["A"], [(1, 1)]).count() == 1


@given(relations, st.data())
@settings(max_examples=25, deadline=None)
def test_stored_lineage_is_exact(
    tmp_path_factory: pytest.TempPathFactory, relation: CellRelation, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("store")
    store = open_store(path)
    out, into = store.array("out", relation.out_shape), store.array("in", relation.in_shape)
    store.lineage(out, into, relation)
    again = open_store(path)
    [table] = again.tables("out", "in")
    assert table.decompress().same_as(relation)
    back = again.query(["out", "in"], Cells.everything(relation.out_shape))
    assert np.array_equal(
        back.cells(), np.unique(relation.pairs[:, len(relation.out_shape) :], axis=0)
    )
    forth = again.query(["in", "out"], Cells.everything(relation.in_shape))
    assert np.array_equal(
        forth.cells(), np.unique(relation.pairs[:, : len(relation.out_shape)], axis=0)
    )


def test_several_lineages_of_two_arrays_are_united(store: ArrayStore) -> None:
    a, b = store.array("A", (10,)), store.array("B", (10,))
    store.lineage(b, a, flip(10))
    store.lineage(b, a, compress(permuted(10)))
    came_from = {9, int(permuted(10).pairs[0, 1])}
    assert store.query([b, a], [0]).cells().ravel().tolist() == sorted(came_from)
    assert len(store.tables(b, a)) == 2


def test_equal_tables_are_stored_once(store: ArrayStore) -> None:
    for name in "ABCD":
        store.array(name, (30, 40))
    for output, into in ("BA", "CB", "DC"):
        store.lineage(output, into, negative(30, 40))
    assert len(list((store.path / TABLES).iterdir())) == 1
    assert store.nbytes() < 60
    assert store.query(["D", "C", "B", "A"], [(3, 4)]).cells().tolist() == [[3, 4]]


class Remembers:
    """Predicts what it saw before for the same shapes and arguments."""

    def __init__(self) -> None:
        self.known: dict[str, LineageTable] = {}

    def predict(
        self, call: CallSignature, output: int, input: int, *, verifiable: bool
    ) -> Prediction | None:
        table = self.known.get(repr((call, output, input)))
        basis = Basis(call.name, "", Kind.DIMENSIONAL, 1, 0)
        return None if table is None else Prediction(table, basis)

    def observe(
        self, call: CallSignature, captured: Mapping[tuple[int, int], LineageTable]
    ) -> None:
        for place, table in captured.items():
            self.known[repr((call, *place))] = table

    def is_withdrawn(self, basis: Basis) -> bool:
        return False


def test_operations(store: ArrayStore) -> None:
    for name in "ABCD":
        store.array(name, (4, 6))
    memory = Remembers()
    asked = []

    def capture(output: int, into: int) -> CellRelation:
        asked.append((output, into))
        return negative(4, 6)

    args = {"axis": np.int64(1), "how": [1, 2]}
    assert not store.register_operation("add", ["A", "B"], ["C"], args, capture, memory)
    assert store.register_operation("add", ["A", "C"], ["D"], args, capture, memory)
    assert asked == [(0, 0), (0, 1)]
    assert store.query(["D", "C", "B"], [(1, 2)]).cells().tolist() == [[1, 2]]
    first, second = open_store(store.path).catalogue.operations
    assert (first.name, first.inputs, first.outputs) == ("add", ("A", "B"), ("C",))
    assert first.args == '{"axis":1,"how":[1,2]}'
    assert (first.reused, second.reused) == (False, True)
    with pytest.raises(ArrayLineageError, match="neither captured nor known"):
        store.register_operation("sort", ["A"], ["B"], {}, None, memory)
    with pytest.raises(ArrayLineageError, match="JSON"):
        store.register_operation("map", ["A"], ["B"], {"f": print}, capture)
    # Only the second input matters to the output.
    store.register_operation("second", ["A", "B"], ["D"], {}, {(0, 1): negative(4, 6)})
    with pytest.raises(ArrayLineageError, match="no lineage between"):
        store.query(["D", "B", "A"], [(0, 0)])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda store: store.query(["B", "Z"], [0]), "no array 'Z'"),
        (lambda store: store.query(["C", "A"], [0]), "no lineage between 'C' and 'A'"),
        (lambda store: store.query([], [0]), "empty"),
        (lambda store: store.query(["B", "A"], [6]), "outside"),
        (lambda store: store.array("A", (6, 6)), "already defined"),
        (lambda store: store.array("", (6, 6)), "name"),
        (lambda store: store.lineage("B", "A", sum_axis(6, 6, 1)), "does not fit"),
        (lambda store: store.lineage("B", "A", compress(tile(3, 2, (1, 1)))), "does not fit"),
        (lambda store: store.lineage("B", "A", lambda cell: [(0, 0, 0)]), "2 indices"),
        (lambda store: store.lineage("B", "A", lambda cell: [(6, 0)]), "outside"),
    ],
)
def test_wrong_questions_are_refused(store: ArrayStore, ask: Any, message: str) -> None:
    chain(store)
    before = (store.path / CATALOGUE).read_bytes()
    with pytest.raises(ArrayLineageError, match=message):
        ask(store)
    assert (store.path / CATALOGUE).read_bytes() == before


def test_arrays_that_came_from_each_other_are_refused(store: ArrayStore) -> None:
    a, b = store.array("A", (9,)), store.array("B", (9,))
    store.lineage(a, b, flip(9))
    store.lineage(b, a, flip(9))
    with pytest.raises(ArrayLineageError, match="each other"):
        store.query([a, b], [0])


def test_damage_is_noticed(store: ArrayStore) -> None:
    chain(store)
    catalogue = store.path / CATALOGUE
    good = catalogue.read_bytes()
    for bad in (
        good[:-20],
        good.replace(b'"A"', b'"X"', 1),
        good.replace(b'"schema":2', b'"schema":9'),
    ):
        catalogue.write_bytes(bad)
        with pytest.raises(ArrayFormatError):
            open_store(store.path)
    catalogue.write_bytes(good)
    for table in (store.path / TABLES).iterdir():
        table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(ArrayFormatError):
        open_store(store.path).query(["B", "A"], [0])
    for table in (store.path / TABLES).iterdir():
        table.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        open_store(store.path).query(["B", "A"], [0])


def test_catalogues_without_labels_are_read(store: ArrayStore) -> None:
    chain(store)
    path = store.path / CATALOGUE
    old = msgspec.json.decode(path.read_bytes())
    for entry in old["body"]["lineage"]:
        del entry["quality"], entry["reason"]
    for entry in old["body"]["arrays"]:
        del entry["gap"]
    body = msgspec.json.encode(old["body"])
    old |= {"schema": 1, "sha256": hashlib.sha256(body).hexdigest(), "body": msgspec.Raw(body)}
    path.write_bytes(msgspec.json.encode(old))
    assert open_store(store.path).trace("C", "A", [8]).label is Quality.PRECISE
    assert open_store(store.path).catalogue == store.catalogue


def test_a_write_that_fails_changes_nothing(
    store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(store)
    before = {path: path.read_bytes() for path in store.path.rglob("*") if path.is_file()}

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="No space left"):
        store.lineage("C", "B", lambda cell: [(0,)])
    with pytest.raises(StoreError, match="No space left"):
        store.array("D", (3,))
    monkeypatch.undo()
    assert {path: path.read_bytes() for path in store.path.rglob("*") if path.is_file()} == before


def _define(path: Path, first: int) -> None:
    store = open_store(path)
    for number in range(first, first + 10):
        store.array(f"array {number}", (number,))


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_define, args=(tmp_path, n)) for n in (0, 100)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert len(open_store(tmp_path).arrays()) == 20


def test_leftovers_of_ended_processes_are_removed(store: ArrayStore) -> None:
    store.array("A", (1,))
    left = store.path / TABLES / f"incomplete-0001+{_ended_owner()}"
    left.write_bytes(b"half")
    store.array("B", (1,))
    assert not left.exists()


def _ended_owner() -> str:
    from predtrace.durable.owners import this_process

    me = this_process()
    return f"{2**22 + 1}-{me.started}-{me.machine}"
