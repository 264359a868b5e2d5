"""The lengths of an array and of the arrays in it, which decide the cells that it has.

The cells of an array of numbers are its elements. The cells of an array of arrays are the elements
of the inner arrays: cell (1, 0) is the first element of the second inner array. Inner arrays may
differ in length, so the *shape* of such an array only bounds its cells. Structs, maps and all other
values are one cell each; a value that is not an array has the one cell ``()``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Union

import numpy as np

from predtrace.arrays.cells import Cells
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Shape
from predtrace.text.layout import counted
from symbolic.types import Array, DataType

Layout = Union[int, Sequence["Layout"], None]
"""An array's length, or the layouts of its elements, if these are arrays; None for NULL."""
Box = tuple[tuple[int, int], ...]


def depth(data_type: DataType) -> int:
    """The number of axes of the cells of a value of the type; 0 unless it is an array.

    >>> from symbolic.types import LONG
    >>> depth(Array(Array(LONG)))
    2
    """
    axes = 0
    while isinstance(data_type, Array):
        axes, data_type = axes + 1, data_type.element
    return axes


def layout_of_value(value: Any, axes: int) -> Layout:
    """The layout of an array of so many axes, given as lists.

    >>> layout_of_value([[7, 8], None], 2)
    [2, None]
    """
    if value is None or axes == 0:
        return None
    return len(value) if axes == 1 else [layout_of_value(part, axes - 1) for part in value]


def length(layout: Layout) -> int:
    """The number of elements of the array; 0 for NULL."""
    return 0 if layout is None else layout if isinstance(layout, int) else len(layout)


def shape(layout: Layout, axes: int) -> Shape:
    """The least sizes of the axes that all cells fit in.

    >>> shape([2, None, 3], 2)
    (3, 3)
    """
    if axes == 0:
        return ()
    if axes == 1 or layout is None or isinstance(layout, int):
        return (length(layout), *(0,) * (axes - 1))
    inner = [shape(part, axes - 1) for part in layout]
    return (
        (len(layout), *(max(sizes) for sizes in zip(*inner, strict=True)))
        if inner
        else ((0,) * axes)
    )


def boxes(layout: Layout, axes: int) -> Iterator[Box]:
    """The existing cells, as boxes of first and last indices.

    >>> list(boxes([2, None, 3], 2))
    [((0, 0), (0, 1)), ((2, 2), (0, 2))]
    """
    if axes == 0:
        yield ()
    elif axes == 1 or layout is None or isinstance(layout, int):
        if count := length(layout):
            yield ((0, count - 1),)
    else:
        for place, part in enumerate(layout):
            for box in boxes(part, axes - 1):
                yield ((place, place), *box)


def every_cell(layout: Layout, axes: int) -> Cells:
    """All existing cells."""
    found = list(boxes(layout, axes))
    return _cells(shape(layout, axes), found)


def cells_at(layout: Layout, axes: int, positions: Sequence[int | Sequence[int]]) -> Cells:
    """The cells at positions: numbers for arrays, tuples for arrays in arrays.

    Negative numbers count from the end. Raises ArrayLineageError for positions out of range.
    """
    return _cells(
        shape(layout, axes),
        [_box(layout, axes, [at] if isinstance(at, int) else list(at)) for at in positions],
    )


def _box(layout: Layout, axes: int, position: list[int]) -> Box:
    if len(position) != axes:
        raise ArrayLineageError(
            f"a position has {counted(len(position), 'number')} where a cell has {axes}: {position}"
        )
    found: list[tuple[int, int]] = []
    part = layout
    for index in position:
        count = length(part)
        if not -count <= index < count:
            raise ArrayLineageError(
                f"there is no cell {tuple(position)}: the array has {counted(count, 'element')}"
                + (f" at {tuple(place for place, _ in found)}" if found else "")
            )
        found.append((index % count, index % count))
        if part is not None and not isinstance(part, int):
            part = part[index]
    return tuple(found)


def _cells(sizes: Shape, found: Sequence[Box]) -> Cells:
    ends = np.array(found, np.int64).reshape(len(found), len(sizes), 2)
    return Cells(sizes, ends[..., 0], ends[..., 1]).coalesced()
