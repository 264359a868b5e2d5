"""The tracked array: looks like a numpy array, and records every operation on it.

It is not a subclass of `numpy.ndarray`, so no code can reach the memory past the protocols. All
access except attributes of the shape goes to `Recorder.carry_out`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from predtrace.arrays.capture.call import Array
from predtrace.arrays.capture.capture import as_table
from predtrace.arrays.tracked.buffers import Buffer, repeats_cells
from predtrace.arrays.tracked.lineage import ArrayLineage
from predtrace.arrays.tracked.methods import REFUSED, ArrayMethods
from predtrace.arrays.tracked.recorder import Recorder
from predtrace.errors import ArrayLineageError, LineageLostWarning
from predtrace.packed.boxes import Shape

_FOREIGN = "__array_ufunc__"


class LineageArray(ArrayMethods, NDArrayOperatorsMixin):
    """A numpy array whose cells' lineage is recorded; made by `Tracking.array` and `track`.

    A result that is a number in numpy is an array without axes, which cannot be written to.
    """

    def __init__(
        self,
        session: Recorder,
        buffer: Buffer,
        values: Array,
        name: str,
        is_number: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.session = session
        self.buffer = buffer
        self._values = values
        self._name = name
        self._version = buffer.version
        self.is_number = is_number
        self._aliases = dict(aliases or {})

    # facts that need no cell

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self._values.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._values.ndim

    @property
    def size(self) -> int:
        """The number of cells."""
        return self._values.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the cells."""
        return self._values.dtype

    @property
    def device(self) -> str:
        """The device of the cells, in the terms of the array API standard."""
        return "cpu"

    @property
    def itemsize(self) -> int:
        """Bytes of a cell."""
        return self._values.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all cells."""
        return self._values.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one cell to the next, on every axis."""
        return self._values.strides

    def __len__(self) -> int:
        return len(self._values)

    # lineage

    @property
    def name(self) -> str:
        """The store's name for the array in its present state."""
        if self._version != self.buffer.version:
            if self.buffer.is_whole(self._values):
                self._name = self.buffer.name
            else:
                table = as_table(self.buffer.seen_by(self._values))
                self._name = self.session.viewed(self.buffer.name, self._values, table)
            self._version = self.buffer.version
        return self._name

    @property
    def lineage(self) -> ArrayLineage:
        """Questions about the cells of the array in its present state."""
        return ArrayLineage(self.session.store, self.name, self._aliases)

    @property
    def values(self) -> Array:
        """The cells as a read-only numpy array.

        Results computed from them are not tracked.
        """
        values = self._values.view()
        values.flags.writeable = False
        return values

    # numpy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not all(map(_is_known, inputs)):
            return NotImplemented
        return self.session.carry_out(ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if not all(issubclass(kind, LineageArray | np.ndarray) for kind in types):
            return NotImplemented
        return self.session.carry_out(function, "__call__", args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The cells as a numpy array, with a warning: they leave tracking here.

        Raises ArrayLineageError if they would become Python objects.
        """
        if dtype is not None and np.dtype(dtype) == object:
            raise ArrayLineageError(
                f"the cells of {self.name!r} would become Python objects (as numpy.vectorize makes "
                "them), whose lineage is not known; use predtrace.arrays.black_box"
            )
        warnings.warn(
            f"a numpy array was made of the tracked array {self.name!r}: what is computed from it "
            "has no lineage. Use numpy's functions on tracked arrays (numpy.stack for numbers of "
            "them), values to look at cells, or to_numpy() to leave tracking on purpose",
            LineageLostWarning,
            stacklevel=2,
        )
        self.session.leave(self.name, "a numpy array was made of it")
        if copy or (dtype is not None and np.dtype(dtype) != self.dtype):
            return np.array(self._values, dtype)
        return self.values

    def to_numpy(self) -> Array:
        """A copy of the cells as a numpy array; they leave tracking on purpose."""
        self.session.leave(self.name, "a numpy array was made of it")
        return self._values.copy()

    # cells

    def __getitem__(self, key: Any) -> Any:
        return self.session.carry_out(operator.getitem, "__call__", (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.session.carry_out(operator.setitem, "__call__", (self, key, value), {})

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over an array without axes")
        return (self[index] for index in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    # values that become plain Python values: later lineage may lack them

    def __bool__(self) -> bool:
        return bool(self._decide("bool()"))

    def __int__(self) -> int:
        return int(self._decide("int()"))

    def __float__(self) -> float:
        return float(self._decide("float()"))

    def __complex__(self) -> complex:
        return complex(self._decide("complex()"))

    def __index__(self) -> int:
        return operator.index(self._decide("an index"))

    def item(self, *place: Any) -> Any:
        """A cell as a Python number; it leaves tracking."""
        return self._decide("item()").item(*place)

    def tolist(self) -> Any:
        """Nested lists of Python numbers; they leave tracking."""
        return self._decide("tolist()").tolist()

    def _decide(self, how: str) -> Array:
        self.session.decide(self.name, how)
        return self._values

    def __round__(self, digits: int | None = None) -> Any:
        if not self.is_number:
            raise TypeError("round() is for numbers; use numpy.round")
        rounded = np.round(self, digits or 0)
        return rounded.astype(np.int64) if digits is None else rounded

    def __repr__(self) -> str:
        return f"LineageArray({self.name!r},\n{self._values!r})"

    def __str__(self) -> str:
        return str(self._values)

    def __format__(self, spec: str) -> str:
        return format(self._values if self.ndim else self._values[()], spec)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        raise ArrayLineageError(
            f"the tracked array {self.name!r} cannot be pickled; store to_numpy() of it"
        )

    def __getattr__(self, attribute: str) -> Any:
        why = REFUSED.get(attribute)
        if why is None:
            raise AttributeError(f"a tracked array has no attribute {attribute!r}")
        raise AttributeError(f"{attribute!r} of a tracked array is not offered: {why}")

    # for this package

    def write(self, state: Array, name: str) -> None:
        """Take on a new state, which the store knows as `name`."""
        np.copyto(self._values, state)
        before, self.buffer.version = self.buffer.name, self.buffer.version + 1
        self._name, self._version = name, self.buffer.version
        if self.buffer.is_whole(self._values):
            self.buffer.name = name
            return
        kept, put = map(as_table, self.buffer.overwritten(self._values))
        self.buffer.name = self.session.written_back(before, name, self.buffer.data, kept, put)

    def checked_writable(self) -> LineageArray:
        """The array itself. Raises ValueError, as numpy does, if it cannot be written to."""
        if self.is_number:
            raise ValueError(f"{self.name!r} is a number: numbers cannot be written to")
        if not self._values.flags.writeable or repeats_cells(self._values):
            raise ValueError(f"the array {self.name!r} is read-only: write to a copy of it")
        return self

    def known_as(self, aliases: Mapping[str, str]) -> LineageArray:
        """The same array, with other names for the arrays that questions may name."""
        self.name  # noqa: B018  the present state
        return LineageArray(
            self.session, self.buffer, self._values, self._name, self.is_number, aliases
        )


def _is_known(value: Any) -> bool:
    """Whether it is not an array of another library, which may handle the operation itself."""
    return isinstance(value, LineageArray | np.ndarray | np.generic) or not hasattr(
        type(value), _FOREIGN
    )
