"""Workflows whose lineage is queried end to end (Figures 8 and 9).

The image and the relational workflow are those of Table VIII, the third is a ResNet block;
random ones chain numpy operations whose lineage is captured while they run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from predtrace.arrays.capture.capture import Captured, capture
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.packed.boxes import Shape
from tests.arrays.bench.operations import (
    SEED,
    elementwise,
    frame,
    grid,
    inner_join,
    lime,
    relation,
    side,
)

Array = npt.NDArray[np.float64]

CELLS = 100_000
"""Cells of the array that random workflows begin with."""


def image_workflow(scale: float) -> list[CellRelation]:
    """Resize to 416 by 416, brighten, rotate, flip, explain by LIME; lineage step by step."""
    height, width = frame(scale)
    tall, wide = side(540, scale), side(960, scale)
    y, x, c = grid(height, width, 3)
    resized = relation(
        (height, width, 3), (tall, wide, 3), y, x, c, y * tall // height, x * wide // width, c
    )
    y, x, c = grid(width, height, 3)
    rotated = relation((width, height, 3), (height, width, 3), y, x, c, x, width - 1 - y, c)
    flipped = relation((width, height, 3), (width, height, 3), y, x, c, y, height - 1 - x, c)
    return [resized, elementwise(height, width, 3), rotated, flipped, lime(width, height)]


def relational_workflow(scale: float) -> list[CellRelation]:
    """Join, drop columns with missing values, add two columns, one-hot encode, add a constant."""
    joined = inner_join(side(40_000, scale, 1), 9)
    rows, columns = joined.out_shape
    kept = [column for column in range(columns) if column not in (4, 7)]
    r, k = grid(rows, len(kept))
    dropped = relation((rows, len(kept)), (rows, columns), r, k, r, np.array(kept)[k])
    # A new last column is the sum of columns 1 and 2.
    sums = [np.full(rows, len(kept)), np.arange(rows)]
    added = relation(
        (rows, len(kept) + 1),
        (rows, len(kept)),
        *(np.concatenate([r, sums[1], sums[1]]), np.concatenate([k, sums[0], sums[0]])),
        np.concatenate([r, sums[1], sums[1]]),
        np.concatenate([k, np.full(rows, 1), np.full(rows, 2)]),
    )
    # The last column becomes five.
    r, k = grid(rows, len(kept) + 5)
    encoded = relation(
        *((rows, len(kept) + 5), (rows, len(kept) + 1)),
        *(r, k, r, np.minimum(k, len(kept))),
    )
    return [joined, dropped, added, encoded, elementwise(*encoded.out_shape)]


def resnet_block(scale: float) -> list[CellRelation]:
    """Convolve, normalise, rectify, convolve, normalise, add, rectify, on 56 by 56 by 8 cells."""
    length = side(56, scale)
    shape = (length, length, 8)
    y, x, c, dy, dx, d = np.indices((length, length, 8, 3, 3, 8)).reshape(6, -1)
    at, along = y + dy - 1, x + dx - 1
    inside = (at >= 0) & (at < length) & (along >= 0) & (along < length)
    columns = [column[inside] for column in (y, x, c, at, along, d)]
    convolution = relation(shape, shape, *columns)
    cellwise = elementwise(*shape)
    return [convolution, cellwise, cellwise, convolution, cellwise, cellwise, cellwise]


WORKFLOWS: dict[str, Callable[[float], list[CellRelation]]] = {
    "image": image_workflow,
    "relational": relational_workflow,
    "ResNet block": resnet_block,
}

Step = Callable[[Array], Captured]


def _step(function: Callable[..., Any], **options: Any) -> Step:
    return partial(capture, function, **options)


_PLAIN: tuple[Callable[..., Any], ...] = (
    *(np.negative, np.sqrt, np.square, np.exp, np.rint, np.abs, np.nan_to_num, np.squeeze),
    *(np.transpose, np.flip, np.flipud, np.fliplr, np.rot90, np.ravel, np.atleast_2d),
    *(np.ediff1d, np.trim_zeros),
)

STEPS: tuple[Step, ...] = (
    *(_step(function) for function in _PLAIN),
    _step(np.roll, shift=1, axis=0),
    _step(np.roll, shift=100, axis=0),
    _step(np.sort, axis=0),
    _step(np.diff, axis=0),
    _step(np.repeat, repeats=2, axis=0),
    _step(np.tile, reps=2),
)
"""Operations on one array that keep most of its cells; those that don't fit a shape are skipped."""


def random_workflow(length: int, seed: int, scale: float) -> list[LineageTable]:
    """The compressed lineage of `length` random operations, one applied to the other's result."""
    rng = np.random.default_rng((SEED, length, seed))
    array: Array = rng.random(_start(scale))
    tables: list[LineageTable] = []
    while len(tables) < length:
        step = STEPS[int(rng.integers(len(STEPS)))]
        try:
            captured = step(array)
        except (ValueError, IndexError):
            continue  # numpy does not apply it to this shape
        result = captured.outputs[0]
        if not 0 < result.size <= 4 * CELLS * max(scale, 0.01):
            continue
        tables.append(captured.lineage())
        array = np.asarray(result, np.float64)
    return tables


def _start(scale: float) -> Shape:
    rows = side(1000, scale)
    return rows, max(1, round(CELLS * scale / rows))
