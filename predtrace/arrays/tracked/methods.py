"""The methods of numpy's arrays, in terms of numpy's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

SAME = (
    "all any argmax argmin argpartition argsort choose clip cumprod cumsum diagonal dot max"
    " mean min nonzero prod ravel repeat round searchsorted squeeze std sum swapaxes take trace"
    " var conj conjugate astype put"
)
"""Methods for which numpy has a function with the same name and the same other arguments."""

_REASONS: Mapping[str, str] = {
    "it would give the memory away; to_numpy() leaves tracking on purpose": (
        "data ctypes base flags __array_interface__ __array_struct__ __dlpack__ __dlpack_device__"
    ),
    "it would take the cells out of tracking; take them from to_numpy()": (
        "tobytes tofile dump dumps to_device"
    ),
    "cells of other types would share their memory; use astype": "view getfield setfield byteswap",
    "it changes what other views see; use numpy.resize": "resize setflags",
    "it can be written to in ways that are not seen; use ravel()": "flat",
    "it sorts in place; assign numpy.partition(…)": "partition",
}

REFUSED = {name: why for why, names in _REASONS.items() for name in names.split()}
"""Attributes of numpy's arrays that tracked arrays lack, with the reason."""


class ArrayMethods:
    """Methods and attributes that are short for functions."""

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        """See `numpy.reshape`."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)  # type: ignore[call-overload]

    def transpose(self, *axes: Any) -> Any:
        """See `numpy.transpose`."""
        if not axes or axes == (None,):
            return np.transpose(self)  # type: ignore[call-overload]
        return np.transpose(self, axes[0] if len(axes) == 1 else axes)  # type: ignore[call-overload]

    def flatten(self, order: Any = "C") -> Any:
        """A copy with one axis."""
        return np.copy(np.ravel(self, order=order))  # type: ignore[call-overload]

    def copy(self, order: Any = "C") -> Any:
        """A copy, in C's order unless told otherwise."""
        return np.copy(self, order=order)  # type: ignore[call-overload]

    def compress(self, condition: Any, axis: Any = None) -> Any:
        """See `numpy.compress`."""
        return np.compress(condition, self, axis=axis)  # type: ignore[call-overload]

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Sort in place; see `numpy.sort`."""
        self[...] = np.sort(self, axis=axis, **options)  # type: ignore[call-overload,index]

    def fill(self, value: Any) -> None:
        """Write one value to all cells."""
        self[...] = value  # type: ignore[index]

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return np.transpose(self)  # type: ignore[call-overload]

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return np.matrix_transpose(self)  # type: ignore[call-overload]

    @property
    def real(self) -> Any:
        """The real parts."""
        return np.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return np.imag(self)


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See `numpy.{name}`."
    return method


for _name in SAME.split():
    setattr(ArrayMethods, _name, _method(_name))
