"""Memory shared by several tracked arrays, and the effects of writes through one of them.

In numpy a slice, a transposed array and often a reshaped array are views: they share the memory of
their base array. So here one `Buffer` holds the memory, and knows the stored array that stands for
its present state. A write through a view makes a new state of the view and a new state of the
buffer, with the view's new cells in their places and the old cells elsewhere. Every other view
notices at its next use that the buffer has a new state, and becomes a new array that came from the
buffer's present state.

    a (state 0) ---> b = a[1:3]      b[0] = x
        |              b, x -> b'                  the view's new state
        '----- a, b' -> a' (state 1)               the buffer's; a[0], when read, is from a'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predtrace.arrays.capture.call import Array, Lineage
from predtrace.arrays.capture.sources import NONE, Ids, from_ids, ids


@dataclass(eq=False)
class Buffer:
    """Memory without gaps, and the name of the stored array that is its present state."""

    data: Array
    name: str
    version: int = 0

    def holds(self, values: Array) -> bool:
        """Whether an array looks at this memory."""
        return values.size > 0 and np.may_share_memory(values, self.data)

    def is_whole(self, values: Array) -> bool:
        """Whether a view has the buffer's cells in the buffer's order."""
        return (
            values.shape == self.data.shape
            and values.dtype == self.data.dtype
            and _address(values) == _address(self.data)
            and (values.strides == self.data.strides or values.size <= 1)
        )

    def seen_by(self, values: Array) -> Lineage:
        """The lineage of a view from the whole buffer."""
        whole, part = self._twin(values)
        whole[...] = ids(whole.shape)
        return from_ids(part, whole.shape)

    def overwritten(self, values: Array) -> tuple[Lineage, Lineage]:
        """Lineage of the buffer after all cells of a view were written: from its old state and the
        view.
        """
        whole, part = self._twin(values)
        part[...] = ids(part.shape)
        # The imaginary parts are a view, too, and leave half of every cell as it was.
        partial = values.dtype.itemsize != self.data.dtype.itemsize
        kept = np.where((whole == NONE) | partial, ids(whole.shape), NONE)
        return from_ids(kept, whole.shape), from_ids(whole, values.shape)

    def _twin(self, values: Array) -> tuple[Ids, Ids]:
        """Zeros laid out as the buffer, and the part of them that the view is of the buffer."""
        data = self.data
        flat = np.full(data.size, NONE, np.int64)

        def placed(array: Array) -> Ids:
            step = flat.itemsize
            start = (_address(array) - _address(data)) // data.itemsize * step
            strides = [stride // data.itemsize * step for stride in array.strides]
            return np.ndarray(array.shape, np.int64, flat, start, strides)

        if values.size == 0:
            return placed(data), np.full(values.shape, NONE, np.int64)
        return placed(data), placed(values)


def repeats_cells(values: Array) -> bool:
    """Whether cells of a view may share a place, as after broadcasting or in windows."""
    reach = values.itemsize
    for stride, size in sorted(zip(map(abs, values.strides), values.shape, strict=True)):
        if size > 1 and stride < reach:
            return values.size > 1
        reach += stride * (size - 1)
    return False


def owned(values: Array) -> Array:
    """A contiguous array, with its axes in order, that shares its memory with no other array."""
    dense = values.flags.c_contiguous or values.flags.f_contiguous
    return values if values.flags.owndata and dense else values.copy(order="K")


def _address(values: Array) -> int:
    address: int = values.__array_interface__["data"][0]
    return address
