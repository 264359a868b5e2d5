"""A cell that remembers which input cells its value was computed from.

Annotated execution (thesis, section 3.3): a value carries a set of annotations, and a computed
value has the union of its inputs' sets. Sets are the bits of Python's integers.

Decisions on a value (``if cell > 0``) and conversions (``float(cell)``) cannot be followed. The
`Notebook` records them. If the function is deterministic, a cell that is neither in a note nor in
an output's set can be changed without changing that output, because the run would take the same way
through the same operations.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from predtrace.errors import ArrayLineageError


@dataclass(eq=False)
class Notebook:
    """The cells whose values left annotated execution, and how."""

    cells: int = 0
    ways: dict[str, None] = field(default_factory=dict)

    def note(self, came_from: int, how: str) -> None:
        """Record that these cells' values were used in a way that cannot be followed."""
        if came_from:
            self.cells |= came_from
            self.ways[how] = None


class Cell:
    """A value and the input cells, as bits, that it came from."""

    __slots__ = ("came_from", "notebook", "value")

    def __init__(self, value: Any, came_from: int, notebook: Notebook) -> None:
        self.value = value
        self.came_from = came_from
        self.notebook = notebook

    def _seen(self, how: str) -> Any:
        self.notebook.note(self.came_from, how)
        return self.value

    def __bool__(self) -> bool:
        return bool(self._seen("a condition"))

    def __float__(self) -> float:
        return float(self._seen("float()"))

    def __int__(self) -> int:
        return int(self._seen("int()"))

    def __complex__(self) -> complex:
        return complex(self._seen("complex()"))

    def __index__(self) -> int:
        return operator.index(self._seen("an index"))

    def __hash__(self) -> int:
        return hash(self._seen("hash()"))

    def __str__(self) -> str:
        return str(self._seen("text"))

    def __format__(self, spec: str) -> str:
        return format(self._seen("text"), spec)

    def __repr__(self) -> str:
        return f"Cell({self._seen('text')!r})"

    def __round__(self, digits: int | None = None) -> Any:
        return self._apply(lambda value: round(value, digits))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    @property
    def real(self) -> Any:
        """The real part."""
        return self._apply(lambda value: value.real)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self._apply(lambda value: value.imag)

    def item(self) -> Cell:
        """The cell itself: Python's numbers have no annotations."""
        return self

    def _apply(self, function: Callable[..., Any], *others: Any) -> Any:
        came_from = self.came_from
        values = []
        for other in others:
            if isinstance(other, np.ndarray | list | tuple):
                return NotImplemented
            if isinstance(other, Cell):
                came_from |= other.came_from
                other = other.value
            values.append(other)
        return Cell(function(self.value, *values), came_from, self.notebook)


BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift"
COMPARISONS = "lt le eq ne gt ge"
UNARY = "neg pos abs invert"
ROUNDINGS = "floor ceil trunc"
FUNCTIONS = (
    "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh"
    " arcsinh arccosh arctanh degrees radians deg2rad rad2deg rint fabs conjugate"
    " arctan2 hypot logaddexp copysign fmod square reciprocal"
)
"""Functions that numpy calls as methods on cells that are Python objects."""


def _dunder(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: self._apply(function, *others)


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: self._apply(lambda own, others: function(others, own), other)


for _name in f"{BINARY} {COMPARISONS} {UNARY}".split():
    setattr(Cell, f"__{_name.strip('_')}__", _dunder(getattr(operator, _name)))
for _name in BINARY.split():
    setattr(Cell, f"__r{_name.strip('_')}__", _reflected(getattr(operator, _name)))
for _name in ROUNDINGS.split():
    setattr(Cell, f"__{_name}__", _dunder(getattr(math, _name)))
    setattr(Cell, _name, _dunder(getattr(np, _name)))
for _name in FUNCTIONS.split():
    setattr(Cell, _name, _dunder(getattr(np, _name)))


def unannotated(tree: Any) -> Any:
    """Nested results with the values of their cells. Raises ArrayLineageError for others."""
    if isinstance(tree, Cell):
        return np.asarray(tree.value)
    if isinstance(tree, tuple | list):
        return type(tree)(unannotated(item) for item in tree)
    if isinstance(tree, np.ndarray):
        values = [cell.value if isinstance(cell, Cell) else cell for cell in tree.ravel().tolist()]
        return np.array(values).reshape(tree.shape)
    if isinstance(tree, int | float | complex | np.generic):
        return np.asarray(tree)
    raise ArrayLineageError(
        f"a function gave a {type(tree).__name__}; arrays, numbers and tuples of them are tracked"
    )
