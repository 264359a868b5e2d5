"""Decides which calls are similar enough to say something about each other.

The lineage of an operation is often one formula for ordinary shapes, and another formula for
special shapes: an axis of size 1 is broadcast, an array without cells has no lineage, a longer
operand takes the other's role, a diagonal ends at the shorter side. Calls are distinguished by what
could matter in this way:

- their *structure*: the number of axes of each array, and the axes of size 0 or 1;
- their *order*: for any two sizes their difference if it is small, else its sign. What counts as
  small depends on the integers among the arguments, which operations add to sizes and compare with
  them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TypeAlias

from predtrace.packed.boxes import Shape

Order: TypeAlias = tuple[int, ...]


def structure_of(in_shapes: Iterable[Shape], out_shapes: Iterable[Shape]) -> str:
    """The number of axes, and the sizes 0 and 1; all other sizes are n.

    >>> structure_of([(4, 1), (7,)], [(4, 7)])
    'n1,n->nn'
    """
    return "->".join(",".join(map(_axes, shapes)) for shapes in (in_shapes, out_shapes))


def _axes(shape: Shape) -> str:
    return "".join(str(size) if size < 2 else "n" for size in shape)


def sizes_of(in_shapes: Iterable[Shape], out_shapes: Iterable[Shape]) -> Shape:
    """The sizes of all axes of all arrays."""
    return tuple(size for shapes in (in_shapes, out_shapes) for shape in shapes for size in shape)


def order_of(sizes: Shape, near: int) -> Order:
    """For any two sizes their difference, as far as it is within ``-near .. near``."""
    return tuple(max(-near, min(near, right - left)) for left, right in combinations(sizes, 2))
