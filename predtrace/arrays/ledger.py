"""The growing contents of a store: the time to add a call does not depend on earlier calls."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

from predtrace.arrays.catalogue import ArrayEntry, CallEntry, Catalogue, LineageEntry
from predtrace.arrays.recording import Recording

SOURCE = "array"
"""The name of the call by which a source array enters the store."""


class Ledger:
    """A catalogue that can be added to, with its arrays by name and its lineage as a graph."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._arrays = {array.name: array for array in catalogue.arrays}
        self._operations = list(catalogue.operations)
        self._lineage = list(catalogue.lineage)
        self._catalogue: Catalogue | None = catalogue
        self._taken = set(self._arrays)
        self._numbers: dict[str, int] = {}
        self._graph = nx.DiGraph()
        self._drawn = 0

    @property
    def catalogue(self) -> Catalogue:
        """The present catalogue."""
        if self._catalogue is None:
            self._catalogue = Catalogue(
                tuple(self._arrays.values()), tuple(self._operations), tuple(self._lineage)
            )
        return self._catalogue

    def array(self, name: str) -> ArrayEntry | None:
        """The array of a name."""
        return self._arrays.get(name)

    def origins(self, name: str) -> tuple[str, ...]:
        """The sources that an array came from, in order; of a source, itself.

        A source is an array that is not known to come from others, except arrays that a call made
        from nothing (``zeros``).
        """
        graph = self.graph()
        behind = {name} | (nx.descendants(graph, name) if name in graph else set())
        made = {
            output
            for operation in self._operations
            if not operation.inputs and operation.name != SOURCE
            for output in operation.outputs
        }
        ends = {one for one in behind if one not in graph or not graph.out_degree(one)} - made
        return tuple(one for one in self._arrays if one in ends)

    def graph(self) -> nx.DiGraph:
        """Edges from outputs to the inputs that they came from, each with its `entries`."""
        for entry in self._lineage[self._drawn :]:
            edge = entry.output, entry.input
            if not self._graph.has_edge(*edge):
                self._graph.add_edge(*edge, entries=list[LineageEntry]())
            self._graph.edges[edge]["entries"].append(entry)
        self._drawn = len(self._lineage)
        return self._graph

    def entry(self, made: Recording, keys: Sequence[str]) -> CallEntry:
        """The entry to add for a call, whose tables are kept under `keys`.

        An array whose name is taken gets a number after its name.
        """
        names = tuple(self._free_name(array.name) for array in made.outputs)
        lineage = tuple(made.entries(names, keys, len(self._operations)))
        return CallEntry(tuple(made.named(names)), made.operation(names), lineage)

    def add(self, call: CallEntry) -> None:
        """Add a call and the arrays that it made."""
        self._arrays |= {array.name: array for array in call.arrays}
        self._taken |= {array.name for array in call.arrays}
        self._lineage += call.lineage
        self._operations.append(call.operation)
        self._catalogue = None

    def __len__(self) -> int:
        """The number of calls."""
        return len(self._operations)

    def _free_name(self, wanted: str) -> str:
        """The name, or the name with the least number that makes it new; taken from now on."""
        number, free = self._numbers.get(wanted, 1), wanted
        while free in self._taken:
            number += 1
            free = f"{wanted}#{number}"
        self._numbers[wanted] = number
        self._taken.add(free)
        return free
