"""Where lineage comes from: captured by the caller, or predicted from earlier calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np

from predtrace.arrays.boxes import Shape
from predtrace.arrays.provrc import compress
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.errors import ArrayLineageError

CellCapture: TypeAlias = Callable[[tuple[int, ...]], Iterable[Sequence[int]]]
"""The input cells that contributed to an output cell."""

Source: TypeAlias = CellRelation | LineageTable | CellCapture
"""Where lineage comes from: pairs, a compressed table, or a function of output cells."""

CallCapture: TypeAlias = Callable[[int, int], Source]
"""The lineage between an output and an input of a call, by their positions."""

Captures: TypeAlias = CallCapture | Mapping[tuple[int, int], Source]
"""The same; in a mapping, a pair of arrays that are not related may be missing."""


class Predictor(Protocol):
    """Learns the lineage of operations from calls, and predicts that of other calls.

    Shapes are those of all inputs and outputs of a call; `operation` also names which output
    and input the table relates.
    """

    def predict(
        self,
        operation: str,
        in_shapes: tuple[Shape, ...],
        out_shapes: tuple[Shape, ...],
        args: Mapping[str, Any],
    ) -> LineageTable | None:
        """The lineage of a call, None if it is not known."""

    def observe(
        self,
        operation: str,
        in_shapes: tuple[Shape, ...],
        out_shapes: tuple[Shape, ...],
        args: Mapping[str, Any],
        table: LineageTable,
    ) -> None:
        """Learn from a captured call."""


@dataclass(frozen=True)
class TrackedArray:
    """An array that a store knows by name."""

    name: str
    shape: Shape


@dataclass(frozen=True)
class OperationCall:
    """A call of an operation: its arrays, and the arguments that its lineage depends on."""

    name: str
    inputs: list[TrackedArray]
    outputs: list[TrackedArray]
    args: dict[str, Any]

    def tables(
        self,
        capture: Captures | None,
        reuse: Predictor | None,
    ) -> tuple[dict[tuple[int, int], LineageTable], bool]:
        """The tables by positions (output, input), and whether all of them were predicted."""
        shapes = tuple(one.shape for one in self.inputs), tuple(one.shape for one in self.outputs)
        tables, captured = {}, 0
        for o, out in enumerate(self.outputs):
            for i, into in enumerate(self.inputs):
                operation = f"{self.name}/{o}/{i}"
                table = reuse.predict(operation, *shapes, self.args) if reuse else None
                if table is None:
                    source = self._source(capture, o, i)
                    if source is None:
                        continue
                    captured += 1
                    table = as_table(source, out.shape, into.shape)
                    if reuse:
                        reuse.observe(operation, *shapes, self.args, table)
                tables[o, i] = _fitting(table, out.shape, into.shape)
        return tables, bool(tables) and not captured

    def written_args(self) -> str:
        """The arguments as JSON. Raises ArrayLineageError if they cannot be written so."""
        try:
            return msgspec.json.encode(self.args, enc_hook=_as_json, order="sorted").decode()
        except (TypeError, NotImplementedError, msgspec.MsgspecError) as error:
            raise ArrayLineageError(
                f"the arguments of {self.name} cannot be stored as JSON ({error}); "
                "give numbers, strings, lists and dicts"
            ) from error

    def _source(self, capture: Captures | None, o: int, i: int) -> Source | None:
        if capture is None:
            raise ArrayLineageError(
                f"the lineage of {self.name} is neither captured nor known from earlier calls; "
                "give capture=…"
            )
        # No entry in a mapping: nothing of that input contributed to that output.
        return capture.get((o, i)) if isinstance(capture, Mapping) else capture(o, i)


def _as_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} is no JSON")


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
