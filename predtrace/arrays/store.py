"""The array store: named arrays, the lineage between them, and queries along paths.

    store = predtrace.arrays.open_store("lineage/")
    a = store.array("A", (1000, 200))
    b = store.array("B", (1000,))
    store.lineage(b, a, relation)              # or register_operation, for a whole call
    store.query(["B", "A"], [3])               # backward: what cell 3 of B came from
    store.query(["A", "B"], [(7, 5)])          # forward: what cell (7, 5) of A went into

The interface is DSLog's (Section III-A). `predtrace.arrays.shelves` says how it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy.typing as npt

from predtrace.arrays.answers import Answer, CellsLike, as_cells
from predtrace.arrays.calls import (
    Captures,
    OperationCall,
    Predictor,
    Source,
    TrackedArray,
    as_table,
)
from predtrace.arrays.catalogue import ArrayEntry, Catalogue, LineageEntry, OperationEntry
from predtrace.arrays.cells import Cells
from predtrace.arrays.paths import follow_all
from predtrace.arrays.quality import Quality
from predtrace.arrays.query import Direction, TableIndex
from predtrace.arrays.recording import Recording
from predtrace.arrays.relation import LineageTable
from predtrace.arrays.reuse.labels import (
    DoubtfulLineage,
    doubted,
    doubtful_lineage,
    labelled,
    settled,
)
from predtrace.arrays.shelves import Change, Folder, Memory, Shelf
from predtrace.arrays.weights import Weights, reason_of, significant
from predtrace.errors import ArrayLineageError

_KEPT_INDEXES = 64

Named: TypeAlias = TrackedArray | str


class ArrayStore:
    """The store in the folder `path`, created when first written; without `path`, in memory.

    Raises StoreError if there is something else at `path`, ArrayFormatError if its catalogue
    is corrupt.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.shelf: Shelf = Memory() if self.path is None else Folder(self.path)
        self._index = lru_cache(maxsize=_KEPT_INDEXES)(self._load)

    @property
    def catalogue(self) -> Catalogue:
        """All that the store knows, except the tables themselves."""
        return self.shelf.ledger.catalogue

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return self.shelf.ledger.array(name) is not None

    def array(self, name: str, shape: Sequence[int]) -> TrackedArray:
        """Define an array; defining it again with the same shape changes nothing.

        Raises ArrayLineageError if the name stands for an array of another shape.
        """
        entry = ArrayEntry(name, tuple(int(size) for size in shape))
        if not name or min(entry.shape, default=0) < 0:
            raise ArrayLineageError(f"an array needs a name and sizes from 0: {name!r} {shape}")

        def add(catalogue: Catalogue) -> Catalogue:
            known = {array.name: array for array in catalogue.arrays}.get(name)
            if known is not None and known.shape != entry.shape:
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

    def lineage(
        self,
        output: Named,
        input: Named,
        capture: Source,
        quality: Quality = Quality.PRECISE,
        reason: str = "",
    ) -> None:
        """Record the cells of `input` that contributed to the cells of `output`.

        Lineage that was recorded earlier for the same two arrays stays; queries follow both.
        `quality` and `reason` go into the answers that rest on it (`trace`). Raises
        ArrayLineageError if an array is unknown or the lineage does not fit them.
        """
        out, into = self._array(output), self._array(input)
        table = as_table(capture, out.shape, into.shape)
        key = self.shelf.save(table)
        entry = LineageEntry(out.name, into.name, key, None, quality, reason)
        self._change(lambda known: _with_lineage(known, [entry]))

    def explanation(
        self,
        output: Named,
        input: Named,
        weights: Weights,
        *,
        threshold: float | None = None,
        top: int | None = None,
    ) -> None:
        """Record the significant weights of a model's explanation as `estimated` lineage.

        See `predtrace.arrays.significant` for weights, limits and errors.
        """
        out, into = self._array(output), self._array(input)
        found = significant(weights, out.shape, into.shape, threshold=threshold, top=top)
        self.lineage(out, into, found, Quality.ESTIMATED, reason_of(threshold, top))

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

        `capture` has the lineage by positions (output, input). With `reuse`, lineage that can be
        predicted from earlier calls is not captured, and answers that rest on it say so (`trace`,
        `doubtful`). Returns whether all of it was predicted. Raises ArrayLineageError if an array
        is unknown, lineage does not fit, or is neither captured nor predicted.
        """
        ins, outs = [self._array(one) for one in inputs], [self._array(one) for one in outputs]
        call = OperationCall(name, ins, outs, dict(args or {}))
        args_json = call.written_args()
        found = call.lineage(capture, reuse)
        saved = {place: self.shelf.save(table) for place, table in found.tables.items()}

        def add(catalogue: Catalogue) -> Catalogue:
            number = len(catalogue.operations)
            operation = OperationEntry(
                name,
                tuple(one.name for one in ins),
                tuple(one.name for one in outs),
                args_json,
                found.is_predicted,
            )
            entries, captured = [], []
            for (o, i), key in saved.items():
                entry = LineageEntry(outs[o].name, ins[i].name, key, number)
                basis = found.bases.get((o, i))
                entries.append(labelled(entry, basis) if basis else entry)
                if basis is None:
                    captured.append((entry.output, entry.input))
            catalogue = _with_lineage(settled(catalogue, name, captured), entries)
            operations = (*catalogue.operations, operation)
            catalogue = msgspec.structs.replace(catalogue, operations=operations)
            return doubted(catalogue, reuse.is_withdrawn) if reuse else catalogue

        self._change(add)
        return found.is_predicted

    def doubtful(self, reuse: Predictor | None = None) -> list[DoubtfulLineage]:
        """Predicted lineage that later calls contradicted, to be captured again.

        Calls are marked when one of them is registered with `reuse`. If `reuse` is given here, its
        later withdrawals count, too, also those by other processes.
        """
        if reuse is not None:
            self._change(lambda catalogue: doubted(catalogue, reuse.is_withdrawn))
        return list(doubtful_lineage(self.catalogue))

    def query(self, path: Sequence[Named], cells: Cells | npt.ArrayLike) -> Cells:
        """The cells of the path's last array that are related to `cells` of its first.

        Between neighbours on the path lineage is followed backward or forward, as it is recorded.
        `cells` are a Cells, or one cell per row. Raises ArrayLineageError if an array is unknown,
        neighbours are not related, or cells are outside the array. Labels are ignored here; see
        `trace`.
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

    def trace(self, start: Named, end: Named, cells: CellsLike) -> Answer:
        """The cells of `end` that are related to `cells` of `start` along any path.

        Backward if `start` came from `end`, forward if `end` came from `start`; no cells if
        no recorded path leads from one to the other. Raises ArrayLineageError if an array is
        unknown, arrays came from each other, or cells are outside the array.
        """
        here, there = self._array(start), self._array(end)
        chosen = as_cells(here.shape, cells)
        return follow_all(self.shelf.ledger, here.name, there.name, chosen, self._hop)

    def origins(self, array: Named) -> tuple[str, ...]:
        """The sources that an array came from by any path, in the order of their definition."""
        return self.shelf.ledger.origins(self._array(array).name)

    def record(self, made: Recording) -> tuple[str, ...]:
        """Record a call with the arrays that it made; returns the arrays' names.

        An array whose name is taken gets a number after its name. Unlike in `register_operation`,
        inputs are names that are known to exist, and nothing is checked.
        """
        return self.shelf.add(made, [self.shelf.save(flow.table) for flow in made.flows])

    def tables(self, output: Named, input: Named) -> list[LineageTable]:
        """The compressed lineage recorded between two arrays."""
        names = self._array(output).name, self._array(input).name
        return [
            self._index(entry.table).table
            for entry in self.catalogue.lineage
            if (entry.output, entry.input) == names
        ]

    def nbytes(self) -> int:
        """The bytes of the tables on disk or in memory; shared tables count once."""
        return self.shelf.nbytes({entry.table for entry in self.catalogue.lineage})

    def _hop(self, key: str, cells: Cells, direction: Direction) -> Cells:
        return self._index(key).hop(cells, direction)

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
        entry = self.shelf.ledger.array(name)
        if entry is not None:
            return TrackedArray(entry.name, entry.shape)
        raise ArrayLineageError(
            f"there is no array {name!r} in {self.shelf}; define it with store.array(name, shape)"
        )

    def _load(self, key: str) -> TableIndex:
        return TableIndex(self.shelf.load(key))

    def _change(self, change: Change) -> None:
        self.shelf.change(change)


def open_store(path: str | os.PathLike[str]) -> ArrayStore:
    """The array store in a folder; see `ArrayStore`."""
    return ArrayStore(path)


def _with_lineage(catalogue: Catalogue, entries: Sequence[LineageEntry]) -> Catalogue:
    fresh = [entry for entry in entries if entry not in catalogue.lineage]
    return msgspec.structs.replace(catalogue, lineage=(*catalogue.lineage, *fresh))
