"""A recorded call: the arrays that it made, and the lineage of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from predtrace.arrays.basis import Basis
from predtrace.arrays.catalogue import ArrayEntry, LineageEntry, OperationEntry
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import LineageTable


@dataclass(frozen=True, eq=False)
class Flow:
    """Lineage between an output and an input of a call, by their positions.

    `basis` is what predicted lineage rests on.
    """

    output: int
    input: int
    table: LineageTable
    quality: Quality = Quality.PRECISE
    reason: str = ""
    basis: Basis | None = None


@dataclass(frozen=True, eq=False)
class Recording:
    """A call: its inputs by name, and the arrays that it made with the names they should get.

    `args` are the other arguments, as JSON. Several flows may join the same two arrays; all of them
    then hold.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[ArrayEntry, ...]
    flows: tuple[Flow, ...] = ()
    args: str = "{}"

    def named(self, names: Sequence[str]) -> Iterator[ArrayEntry]:
        """The outputs under the names that they got."""
        for array, name in zip(self.outputs, names, strict=True):
            yield msgspec.structs.replace(array, name=name)

    def operation(self, names: Sequence[str]) -> OperationEntry:
        """The call's entry in the catalogue."""
        reused = bool(self.flows) and all(flow.basis is not None for flow in self.flows)
        return OperationEntry(self.name, self.inputs, tuple(names), self.args, reused)

    def entries(
        self, names: Sequence[str], keys: Sequence[str], number: int
    ) -> Iterator[LineageEntry]:
        """The entries of the flows, whose tables are kept under `keys`."""
        for flow, key in zip(self.flows, keys, strict=True):
            pair = names[flow.output], self.inputs[flow.input]
            yield LineageEntry(*pair, key, number, flow.quality, flow.reason, flow.basis)
