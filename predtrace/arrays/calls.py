"""The lineage of calls: captured by the caller, or predicted from earlier calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from predtrace.arrays.basis import Basis, Prediction
from predtrace.arrays.provrc import compress
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.arrays.signatures import CallSignature, as_json
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Shape

CellCapture: TypeAlias = Callable[[tuple[int, ...]], Iterable[Sequence[int]]]
"""The input cells that contributed to an output cell."""

Source: TypeAlias = CellRelation | LineageTable | CellCapture
"""A source of lineage: pairs, a compressed table, or a function of output cells."""

CallCapture: TypeAlias = Callable[[int, int], Source]
"""The lineage between an output and an input of a call, by their positions."""

Captures: TypeAlias = CallCapture | Mapping[tuple[int, int], Source]
"""The same; in a mapping, a pair of arrays that are not related may be missing."""


class Predictor(Protocol):
    """Learns the lineage of operations from calls, and predicts the lineage of other calls."""

    def predict(
        self, call: CallSignature, output: int, input: int, *, verifiable: bool
    ) -> Prediction | None:
        """The lineage between an output and an input of a call; None if it is to be captured.

        A call that is not `verifiable` cannot be captured.
        """

    def observe(
        self, call: CallSignature, captured: Mapping[tuple[int, int], LineageTable]
    ) -> None:
        """Learn from the tables that were captured, by positions (output, input)."""

    def is_withdrawn(self, basis: Basis) -> bool:
        """Whether later observations contradict the basis of a prediction."""


@dataclass(frozen=True)
class TrackedArray:
    """An array that a store knows by name."""

    name: str
    shape: Shape


@dataclass(frozen=True)
class CallLineage:
    """The tables of a call by positions (output, input), and the basis of predicted tables."""

    tables: Mapping[tuple[int, int], LineageTable]
    bases: Mapping[tuple[int, int], Basis]

    @property
    def is_predicted(self) -> bool:
        """Whether nothing had to be captured."""
        return bool(self.tables) and len(self.bases) == len(self.tables)


@dataclass(frozen=True)
class OperationCall:
    """A call of an operation: its arrays, and the arguments that its lineage depends on."""

    name: str
    inputs: list[TrackedArray]
    outputs: list[TrackedArray]
    args: dict[str, Any]

    def lineage(self, capture: Captures | None, reuse: Predictor | None) -> CallLineage:
        """The predicted tables, and the captured tables of what could not be predicted."""
        signature = self.signature()
        predicted: dict[tuple[int, int], Prediction] = {}
        captured: dict[tuple[int, int], LineageTable] = {}
        for o, out in enumerate(self.outputs):
            for i, into in enumerate(self.inputs):
                if isinstance(capture, Mapping) and (o, i) not in capture:
                    continue  # nothing of that input contributed to that output
                found = None
                if reuse is not None:
                    verifiable = capture is not None
                    found = reuse.predict(signature, o, i, verifiable=verifiable)
                if found is not None:
                    predicted[o, i] = found
                else:
                    captured[o, i] = as_table(self._source(capture, o, i), out.shape, into.shape)
        if reuse is not None and captured:
            reuse.observe(signature, captured)
        tables = {
            (o, i): _fitting(found.table, self.outputs[o].shape, self.inputs[i].shape)
            for (o, i), found in predicted.items()
        }
        return CallLineage(
            tables={**tables, **captured},
            bases={place: found.basis for place, found in predicted.items()},
        )

    def signature(self) -> CallSignature:
        """The call without values. Raises ArrayLineageError if an argument is not JSON."""
        return CallSignature.of(
            self.name,
            tuple(one.shape for one in self.inputs),
            tuple(one.shape for one in self.outputs),
            self.args,
        )

    def written_args(self) -> str:
        """The arguments as JSON. Raises ArrayLineageError if they cannot be written so."""
        return as_json(self.args, self.name)

    def _source(self, capture: Captures | None, o: int, i: int) -> Source:
        if capture is None:
            raise ArrayLineageError(
                f"the lineage of {self.name} is neither captured nor known from earlier calls; "
                "give capture=…"
            )
        return capture[o, i] if isinstance(capture, Mapping) else capture(o, i)


def as_table(source: Source, out_shape: Shape, in_shape: Shape) -> LineageTable:
    """Lineage of any kind as a table. Raises ArrayLineageError if it does not fit the shapes."""
    if isinstance(source, LineageTable):
        return _fitting(source, out_shape, in_shape)
    if not isinstance(source, CellRelation):
        source = _relation_of(source, out_shape, in_shape)
    if (source.out_shape, source.in_shape) != (out_shape, in_shape):
        raise _misfit(source, out_shape, in_shape)
    return compress(source)


def _fitting(table: LineageTable, out_shape: Shape, in_shape: Shape) -> LineageTable:
    if (table.out_shape, table.in_shape) != (out_shape, in_shape):
        raise _misfit(table, out_shape, in_shape)
    return table


def _misfit(
    lineage: CellRelation | LineageTable, out_shape: Shape, in_shape: Shape
) -> ArrayLineageError:
    return ArrayLineageError(
        f"lineage from shape {lineage.in_shape} to {lineage.out_shape} does not fit arrays of "
        f"shapes {in_shape} and {out_shape}"
    )


def _relation_of(capture: CellCapture, out_shape: Shape, in_shape: Shape) -> CellRelation:
    """The pairs, asking for the input cells of every output cell."""
    rows = [(*cell, *into) for cell in np.ndindex(*out_shape) for into in capture(cell)]
    width = len(out_shape) + len(in_shape)
    try:
        pairs = np.array(rows, np.int64).reshape(len(rows), width)
    except ValueError as error:
        raise ArrayLineageError(
            f"a captured cell does not have the {len(in_shape)} indices of shape {in_shape}"
        ) from error
    return CellRelation(out_shape, in_shape, pairs)
