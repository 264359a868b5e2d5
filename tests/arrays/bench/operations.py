"""The twelve operations of Table VII, as relations made from index arithmetic.

Nothing here goes through capture or compression, so that what those give can be compared
with it. Sizes are the paper's at scale 1 where it states them; frames and IMDB tables are
replaced by made data of the same kind, whose seed is fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from predtrace.arrays.relation import CellRelation
from predtrace.packed.boxes import Ints, Shape

SEED = 7


@dataclass(frozen=True)
class Operation:
    """An operation: the relations to its inputs at a scale; `size` describes scale 1.

    The scale multiplies numbers of cells. `structured` says that the operation's lineage is
    a formula of indices; that of the others depends on values.
    """

    name: str
    size: str
    structured: bool
    relations: Callable[[float], list[CellRelation]]


def side(full: int, scale: float, axes: int = 2) -> int:
    """An axis' size, so that the scale multiplies the cells of an array of so many axes."""
    return max(4, round(full * math.pow(scale, 1 / axes)))


def square(scale: float) -> tuple[int, int]:
    """The shape of the paper's arrays of a million cells."""
    length = side(1000, scale)
    return length, length


def frame(scale: float) -> tuple[int, int]:
    """The height and width of the pictures that explanations are about."""
    length = side(416, scale)
    return length, length


def relation(out_shape: Shape, in_shape: Shape, *columns: npt.NDArray[np.integer]) -> CellRelation:
    """The pairs whose output and input indices these columns hold."""
    pairs = np.stack([np.asarray(column, np.int64).reshape(-1) for column in columns], axis=1)
    return CellRelation(out_shape, in_shape, pairs)


def grid(*sizes: int) -> list[Ints]:
    """The indices of all cells of an array, axis by axis."""
    return list(np.indices(sizes).reshape(len(sizes), -1))


def elementwise(*shape: int) -> CellRelation:
    """Cell by cell."""
    cells = grid(*shape)
    return relation(shape, shape, *cells, *cells)


def aggregate(rows: int, columns: int) -> CellRelation:
    """``numpy.sum(A, axis=1)``."""
    i, k = grid(rows, columns)
    return relation((rows,), (rows, columns), i, i, k)


def repetition(rows: int, columns: int, times: int) -> CellRelation:
    """``numpy.tile(A, (times, 1))``."""
    i, k = grid(rows * times, columns)
    return relation((rows * times, columns), (rows, columns), i, k, i % rows, k)


def matrix_vector(rows: int, columns: int) -> list[CellRelation]:
    """``A @ x``: what each sum took of A, and of x."""
    i, k = grid(rows, columns)
    return [aggregate(rows, columns), relation((rows,), (columns,), i, k)]


def matrix_matrix(n: int, inner: int, m: int) -> list[CellRelation]:
    """``A @ B``: what each sum took of A, and of B."""
    i, j, k = grid(n, m, inner)
    return [
        relation((n, m), (n, inner), i, j, i, k),
        relation((n, m), (inner, m), i, j, k, j),
    ]


def sort(rows: int, columns: int) -> CellRelation:
    """``numpy.sort(A, axis=None)`` of random values, reshaped: no structure at all."""
    order = np.random.default_rng(SEED).permutation(rows * columns)
    shape = (rows, columns)
    return relation(shape, shape, *grid(*shape), *np.unravel_index(order, shape))


def image_filter(height: int, width: int) -> CellRelation:
    """``image[image > t]``: the bright pixels of a smooth image, in order."""
    y, x = np.nonzero(_scene(height, width) > 0.45)
    return relation((len(y),), (height, width), np.arange(len(y)), y, x)


def lime(height: int, width: int, channels: int = 3, classes: int = 6) -> CellRelation:
    """LIME: each score came from some superpixels, which are patches of the image."""
    rng = np.random.default_rng(SEED)
    rows, columns = 13, 13
    bumps = (16 * _scene(height, width)).astype(np.int64)
    y, x = np.indices((height, width))
    patch = ((y + bumps) * rows // (height + 16)) * columns + (x + bumps) * columns // (width + 16)
    parts = []
    for score in range(classes):
        chosen = rng.choice(rows * columns, 50, replace=False)
        at, along = np.nonzero(np.isin(patch, chosen))
        for channel in range(channels):
            parts.append(np.stack([np.full_like(at, score), at, along, np.full_like(at, channel)]))
    return relation((classes,), (height, width, channels), *np.concatenate(parts, axis=1))


def drise(height: int, width: int, channels: int = 3) -> CellRelation:
    """D-RISE: the detection came from a blob of pixels around the object."""
    y, x = np.indices((height, width))
    bulge = 0.15 * _scene(height, width)
    distance = np.hypot((y - height * 0.55) / height, (x - width * 0.45) / width)
    at, along = np.nonzero(distance < 0.4 + bulge)
    channel = np.repeat(np.arange(channels), len(at))
    zero = np.zeros_like(channel)
    return relation(
        (1,),
        (height, width, channels),
        zero,
        np.tile(at, channels),
        np.tile(along, channels),
        channel,
    )


def group_by(rows: int, columns: int) -> CellRelation:
    """Every cell of a group's row came from that column of all the group's rows."""
    rng = np.random.default_rng(SEED)
    # Titles of one kind are often entered together.
    kinds = np.minimum(rng.geometric(0.25, rows // 3 + 1), 11) - 1
    group = np.repeat(kinds, rng.integers(1, 6, len(kinds)))[:rows]
    row, column = np.repeat(np.arange(len(group)), columns), np.tile(np.arange(columns), len(group))
    return relation((11, columns), (len(group), columns), group[row], column, row, column)


def inner_join(left: int, columns: int) -> CellRelation:
    """Output rows are matches, ordered by the left rows, which match 0 to 5 right ones each."""
    rng = np.random.default_rng(SEED)
    row = np.repeat(np.arange(left), rng.integers(0, 6, left))
    out = np.repeat(np.arange(len(row)), columns)
    column = np.tile(np.arange(columns), len(row))
    return relation(
        (len(row), columns + 2), (left, columns), out, column, np.repeat(row, columns), column
    )


def groups(pairs: int, count: int = 1000) -> CellRelation:
    """Cells that are aggregated in groups, whose members are anywhere."""
    group = np.random.default_rng(SEED).integers(0, count, pairs)
    return relation((count,), (pairs,), group, np.arange(pairs))


def grouped_rows(rows: int, columns: int, count: int = 1000) -> CellRelation:
    """The same for rows: every cell of a group's row from that column of all its rows."""
    group = np.random.default_rng(SEED).integers(0, count, rows)
    row, column = np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)
    return relation((count, columns), (rows, columns), group[row], column, row, column)


def _scene(height: int, width: int) -> npt.NDArray[np.float64]:
    """A smooth image with values from 0 to 1: a sum of waves and a little noise."""
    rng = np.random.default_rng(SEED)
    y, x = np.indices((height, width)) / max(height, width)
    image = sum(
        rng.random() * np.sin(2 * math.pi * (a * y + b * x) + rng.random() * 6)
        for a, b in rng.integers(-4, 5, (8, 2))
    ) + 0.02 * rng.standard_normal((height, width))
    image -= image.min()
    scaled: npt.NDArray[np.float64] = image / image.max()
    return scaled


OPERATIONS: tuple[Operation, ...] = (
    Operation("Negative", "1000 x 1000", True, lambda s: [elementwise(*square(s))]),
    Operation(
        "Addition",
        "two of 1000 x 1000",
        True,
        lambda s: [elementwise(*square(s)) for _ in range(2)],
    ),
    Operation("Aggregate", "1000 x 1000", True, lambda s: [aggregate(*square(s))]),
    Operation(
        "Repetition",
        "4 times 1000 x 1000",
        True,
        lambda s: [repetition(*square(s), 4)],
    ),
    Operation(
        "Matrix*Vector",
        "1000 x 1000, 1000",
        True,
        lambda s: matrix_vector(*square(s)),
    ),
    Operation(
        "Matrix*Matrix",
        "two of 150 x 150 (the paper: 1000 x 1000)",
        True,
        lambda s: matrix_matrix(*[side(150, s, 3)] * 3),
    ),
    Operation("Sort", "1000 x 1000", False, lambda s: [sort(*square(s))]),
    Operation(
        "ImgFilter", "540 x 960", False, lambda s: [image_filter(side(540, s), side(960, s))]
    ),
    Operation("Lime", "416 x 416 x 3", False, lambda s: [lime(*frame(s))]),
    Operation("DRISE", "416 x 416 x 3", False, lambda s: [drise(*frame(s))]),
    Operation(
        "Group By",
        "250,000 rows of 9 (the paper: 7.8 million cells)",
        False,
        lambda s: [group_by(side(250_000, s, 1), 9)],
    ),
    Operation(
        "Inner Join",
        "100,000 rows of 9 (the paper: some 80 million cells)",
        False,
        lambda s: [inner_join(side(100_000, s, 1), 9)],
    ),
    Operation(
        "Groups",
        "1,000,000 cells in 1000 scattered groups (not in the paper)",
        False,
        lambda s: [groups(side(1_000_000, s, 1), side(1000, s, 1))],
    ),
    Operation(
        "Grouped rows",
        "110,000 rows of 9 in 1000 scattered groups (not in the paper)",
        False,
        lambda s: [grouped_rows(side(110_000, s, 1), 9, side(1000, s, 1))],
    ),
)
