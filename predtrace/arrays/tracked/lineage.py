"""Questions about one tracked array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import overload

from predtrace.arrays.answers import Answer, CellsLike
from predtrace.arrays.store import ArrayStore
from predtrace.arrays.tracked.recorder import Recorded


@dataclass(frozen=True)
class ArrayLineage:
    """The origins of an array's cells, for the state that the array had when asked.

    Other arrays are given as tracked arrays, in their present state, or by name: `aliases`
    say which arrays a decorated function's parameters stood for.
    """

    store: ArrayStore
    name: str
    aliases: Mapping[str, str]

    @overload
    def backward(self, cells: CellsLike, to: Recorded | str) -> Answer: ...

    @overload
    def backward(self, cells: CellsLike) -> dict[str, Answer]: ...

    def backward(
        self, cells: CellsLike, to: Recorded | str | None = None
    ) -> Answer | dict[str, Answer]:
        """The cells of `to` that these cells of this array came from.

        Without `to`, answers by name for all inputs: the parameters of the function that
        returned the array, else the sources that it came from. `cells` is an index tuple, a
        list of them, a key of slices, a mask or a `Cells`. Raises ArrayLineageError if `to` is
        unknown or cells are outside the array.
        """
        if to is None:
            ends = self.aliases or {name: name for name in self.store.origins(self.name)}
            return {name: self.store.trace(self.name, end, cells) for name, end in ends.items()}
        return self.store.trace(self.name, self._named(to), cells)

    def forward(self, cells: CellsLike, of: Recorded | str) -> Answer:
        """The cells of this array that these cells of `of` went into."""
        return self.store.trace(self._named(of), self.name, cells)

    def _named(self, array: Recorded | str) -> str:
        return self.aliases.get(array, array) if isinstance(array, str) else array.name
