"""The array store: named arrays, the lineage between them, and queries along paths.

    store = predtrace.arrays.open_store("lineage/")
    a = store.array("A", (1000, 200))
    b = store.array("B", (1000,))
    store.lineage(b, a, relation)              # or register_operation, for a whole call
    store.query(["B", "A"], [3])               # backward: what cell 3 of B came from
    store.query(["A", "B"], [(7, 5)])          # forward: what cell (7, 5) of A went into

The interface is DSLog's (Section III-A). On disk:

    lineage/
      catalogue.json       arrays, operations, and which table relates which arrays
      tables/3f…c2.plt     a compressed table, named by its content: equal ones are one file

Tables are written before the catalogue that names them, and each file appears as a whole, so
that a process that is killed leaves the store as it was.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy.typing as npt

from predtrace.arrays.calls import (
    Captures,
    OperationCall,
    Predictor,
    Source,
    TrackedArray,
    as_table,
)
from predtrace.arrays.catalogue import (
    ArrayEntry,
    Catalogue,
    LineageEntry,
    OperationEntry,
    decode_catalogue,
    encode_catalogue,
)
from predtrace.arrays.cells import Cells
from predtrace.arrays.files import sole_writer, sweep, write_whole
from predtrace.arrays.format import decode, encode
from predtrace.arrays.query import Direction, TableIndex
from predtrace.arrays.relation import LineageTable
from predtrace.errors import ArrayLineageError, StoreError

CATALOGUE = "catalogue.json"
TABLES = "tables"
_SUFFIX = ".plt"
_LOCK = "lock"
_KEPT_INDEXES = 64

Named: TypeAlias = TrackedArray | str


class ArrayStore:
    """The store in the folder `path`, which is made when first written.

    Raises StoreError if there is something else at `path`, ArrayFormatError if its catalogue
    is corrupt.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.catalogue = self._read_catalogue()
        self._index = lru_cache(maxsize=_KEPT_INDEXES)(self._load)

    def array(self, name: str, shape: Sequence[int]) -> TrackedArray:
        """Define an array; defining it again with the same shape changes nothing.

        Raises ArrayLineageError if the name stands for an array of another shape.
        """
        entry = ArrayEntry(name, tuple(int(size) for size in shape))
        if not name or min(entry.shape, default=0) < 0:
            raise ArrayLineageError(f"an array needs a name and sizes from 0: {name!r} {shape}")

        def add(catalogue: Catalogue) -> Catalogue:
            known = {array.name: array for array in catalogue.arrays}.get(name)
            if known is not None and known != entry:
                raise ArrayLineageError(
                    f"the array {name!r} is already defined with shape {known.shape}; "
                    "choose another name"
                )
            if known is not None:
                return catalogue
            return msgspec.structs.replace(catalogue, arrays=(*catalogue.arrays, entry))

        self._change(add)
        return TrackedArray(entry.name, entry.shape)

    def arrays(self) -> list[TrackedArray]:
        """All arrays, in the order in which they were defined."""
        return [TrackedArray(entry.name, entry.shape) for entry in self.catalogue.arrays]

    def lineage(self, output: Named, input: Named, capture: Source) -> None:
        """Record the cells of `input` that contributed to the cells of `output`.

        Lineage that is recorded for the same two arrays before stays; queries follow both.
        Raises ArrayLineageError if an array is unknown or the lineage does not fit them.
        """
        out, into = self._array(output), self._array(input)
        table = as_table(capture, out.shape, into.shape)
        entry = LineageEntry(out.name, into.name, self._save(table))
        self._change(lambda known: _with_lineage(known, [entry]))

    def register_operation(
        self,
        name: str,
        inputs: Sequence[Named],
        outputs: Sequence[Named],
        args: Mapping[str, Any] | None = None,
        capture: Captures | None = None,
        reuse: Predictor | None = None,
    ) -> bool:
        """Record a call: the lineage between each of its outputs and each of its inputs.

        `capture` gives lineage by the positions (output, input). With `reuse`, lineage that
        can be predicted from earlier calls is not captured. Returns whether all of it was.
        Raises ArrayLineageError if an array is unknown, lineage does not fit, or is neither
        captured nor predicted.
        """
        ins, outs = [self._array(one) for one in inputs], [self._array(one) for one in outputs]
        call = OperationCall(name, ins, outs, dict(args or {}))
        tables, reused = call.tables(capture, reuse)
        args_json = call.written_args()
        saved = [(outs[o].name, ins[i].name, self._save(table)) for (o, i), table in tables.items()]

        def add(catalogue: Catalogue) -> Catalogue:
            number = len(catalogue.operations)
            operation = OperationEntry(
                name,
                tuple(one.name for one in ins),
                tuple(one.name for one in outs),
                args_json,
                reused,
            )
            entries = [LineageEntry(*names, number) for names in saved]
            catalogue = _with_lineage(catalogue, entries)
            operations = (*catalogue.operations, operation)
            return msgspec.structs.replace(catalogue, operations=operations)

        self._change(add)
        return reused

    def query(self, path: Sequence[Named], cells: Cells | npt.ArrayLike) -> Cells:
        """The cells of the path's last array that are related to `cells` of its first.

        Between neighbours on the path lineage is followed backward or forward, whichever
        there is. `cells` are a Cells, or one cell per row. Raises ArrayLineageError if an
        array is unknown, neighbours are not related, or cells are outside the array.
        """
        arrays = [self._array(one) for one in path]
        if not arrays:
            raise ArrayLineageError("the path is empty; name the arrays to go through")
        found = cells if isinstance(cells, Cells) else Cells.points(arrays[0].shape, cells)
        for here, there in pairwise(arrays):
            found = Cells.union(
                there.shape,
                [
                    self._index(table).hop(found, direction)
                    for table, direction in self._between(here.name, there.name)
                ],
            )
        return found

    def tables(self, output: Named, input: Named) -> list[LineageTable]:
        """The compressed lineage recorded between two arrays."""
        names = self._array(output).name, self._array(input).name
        return [
            self._index(entry.table).table
            for entry in self.catalogue.lineage
            if (entry.output, entry.input) == names
        ]

    def nbytes(self) -> int:
        """Bytes that the tables take on disk, those shared by several entries once."""
        return sum(
            self._table_path(digest).stat().st_size
            for digest in {entry.table for entry in self.catalogue.lineage}
        )

    def _between(self, here: str, there: str) -> list[tuple[str, Direction]]:
        """The tables between two arrays, with the direction that leads to the second."""
        found = {
            (entry.table, direction)
            for entry in self.catalogue.lineage
            for direction, ends in (
                (Direction.backward, (entry.output, entry.input)),
                (Direction.forward, (entry.input, entry.output)),
            )
            if ends == (here, there)
        }
        directions = {direction for _, direction in found}
        if not found:
            raise ArrayLineageError(
                f"no lineage between {here!r} and {there!r} is recorded; name a path of arrays "
                "that are related one by one"
            )
        if len(directions) > 1:
            raise ArrayLineageError(
                f"{here!r} and {there!r} came from each other, so the direction is not clear; "
                "define a new array for each state"
            )
        return sorted(found, key=lambda one: one[0])

    def _array(self, one: Named) -> TrackedArray:
        name = one if isinstance(one, str) else one.name
        for entry in self.catalogue.arrays:
            if entry.name == name:
                return TrackedArray(entry.name, entry.shape)
        raise ArrayLineageError(
            f"there is no array {name!r} in {self.path}; define it with store.array(name, shape)"
        )

    def _table_path(self, digest: str) -> Path:
        return self.path / TABLES / f"{digest}{_SUFFIX}"

    def _save(self, table: LineageTable) -> str:
        """Write a table unless it is there; its digest."""
        data = encode(table)
        digest = hashlib.sha256(data).hexdigest()
        path = self._table_path(digest)
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, data)
        except OSError as error:
            raise self._unwritable(error) from error
        return digest

    def _load(self, digest: str) -> TableIndex:
        path = self._table_path(digest)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error
        return TableIndex(decode(data, str(path)))

    def _read_catalogue(self) -> Catalogue:
        path = self.path / CATALOGUE
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return Catalogue()
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error
        return decode_catalogue(data, str(path))

    def _change(self, change: Callable[[Catalogue], Catalogue]) -> None:
        """Change the catalogue as it is on disk now, other processes' entries included."""
        try:
            (self.path / TABLES).mkdir(parents=True, exist_ok=True)
            with sole_writer(self.path / _LOCK):
                sweep(self.path)
                sweep(self.path / TABLES)
                present = self._read_catalogue()
                changed = change(present)
                if changed != present or not (self.path / CATALOGUE).exists():
                    write_whole(self.path / CATALOGUE, encode_catalogue(changed))
        except OSError as error:
            raise self._unwritable(error) from error
        self.catalogue = changed

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"the store {self.path} cannot be written ({error.strerror or error}); "
            "choose another folder or change its permissions"
        )


def open_store(path: str | os.PathLike[str]) -> ArrayStore:
    """The array store in a folder; see `ArrayStore`."""
    return ArrayStore(path)


def _with_lineage(catalogue: Catalogue, entries: Sequence[LineageEntry]) -> Catalogue:
    fresh = [entry for entry in entries if entry not in catalogue.lineage]
    return msgspec.structs.replace(catalogue, lineage=(*catalogue.lineage, *fresh))
