"""Answers to questions about tracked arrays, and the ways to name cells in a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from predtrace.arrays.cells import Cells
from predtrace.arrays.quality import Quality, weakest
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Ints, Shape

CellsLike: TypeAlias = (
    Cells | npt.ArrayLike | slice | EllipsisType | tuple[int | slice | EllipsisType, ...]
)
"""A `Cells`; one cell as a tuple of indices; several cells, one a row; a key of slices; or a
mask."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Cells of one array, and how far they can be trusted.

    `label` is the weakest label on any path that was followed; `reasons` say why it is weaker than
    `precise`.
    """

    where: Cells
    label: Quality = Quality.PRECISE
    reasons: tuple[str, ...] = ()

    def cells(self) -> Ints:
        """The cells, each once, in row-major order; shape (cells, axes)."""
        return self.where.cells()

    def count(self) -> int:
        """The number of cells."""
        return self.where.count()

    def mask(self) -> npt.NDArray[np.bool_]:
        """An array of the same shape, true in these cells."""
        mask = np.zeros(self.where.shape, np.bool_)
        cells = self.cells()
        # without axes there is one cell, which an empty key names
        mask[tuple(cells.T)] = len(cells) > 0
        return mask

    def __contains__(self, cell: Sequence[int]) -> bool:
        return cell in self.where

    def __repr__(self) -> str:
        why = f"; {'; '.join(self.reasons)}" if self.reasons else ""
        return f"<{self.count()} of {self.where.shape} cells, {self.label.value}{why}>"


def combined(where: Cells, grounds: Iterable[tuple[Quality, str]]) -> Answer:
    """The answer that rests on all of these labels, each with a reason."""
    grounds = [ground for ground in grounds if ground[0] is not Quality.PRECISE]
    reasons = dict.fromkeys(reason for _, reason in grounds if reason)
    return Answer(where, weakest(quality for quality, _ in grounds), tuple(reasons))


def as_cells(shape: Shape, cells: CellsLike) -> Cells:
    """Cells of an array of this shape.

    A Cells; a tuple of one index per axis; a key of indices and slices, as ``array[key]``
    takes it; a mask of the shape; or an array-like of cells, one a row. Raises
    ArrayLineageError if they are not cells of the array.
    """
    if isinstance(cells, Cells):
        if cells.shape != shape:
            raise ArrayLineageError(f"cells of shape {cells.shape} are not cells of {shape}")
        return cells
    if isinstance(cells, slice | EllipsisType):
        cells = (cells,)
    if isinstance(cells, tuple) and _is_key(cells, shape):
        return Cells.box(shape, *_without_ellipsis(cells, shape))
    points: Any = np.asarray(cells)
    if points.dtype == np.bool_:
        if points.shape != shape:
            raise ArrayLineageError(f"a mask of shape {points.shape} does not fit {shape}")
        points = np.argwhere(points) if shape else np.empty((int(points), 0), np.int64)
    return Cells.points(shape, points)


def _is_key(cells: tuple[Any, ...], shape: Shape) -> bool:
    if any(isinstance(part, slice | EllipsisType) for part in cells):
        return True
    return len(cells) == len(shape) and all(isinstance(part, int | np.integer) for part in cells)


def _without_ellipsis(key: tuple[Any, ...], shape: Shape) -> list[int | slice]:
    if sum(part is Ellipsis for part in key) > 1:
        raise ArrayLineageError("cells are named with '...' once at most")
    if Ellipsis not in key:
        return list(key)
    at = key.index(Ellipsis)
    missing = max(len(shape) - len(key) + 1, 0)
    return [*key[:at], *[slice(None)] * missing, *key[at + 1 :]]
