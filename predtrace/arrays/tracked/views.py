"""Views that numpy makes without using the arrays' protocols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from predtrace.arrays.tracked.array import LineageArray
from predtrace.arrays.tracked.operations import carry_out


def as_strided(
    x: LineageArray, shape: Iterable[int] | None = None, strides: Iterable[int] | None = None
) -> Any:
    """`numpy.lib.stride_tricks.as_strided` of a tracked array; it cannot be written to.

    Raises UntrackedCallError if a place is outside the array or between its cells.
    """
    sizes, steps = (None if part is None else tuple(part) for part in (shape, strides))
    options = {"shape": sizes, "strides": steps, "writeable": False}
    return carry_out(x.session, np.lib.stride_tricks.as_strided, "__call__", (x,), options)
