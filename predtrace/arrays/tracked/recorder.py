"""The interface between tracked arrays, with their operations, and the tracking that records
them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from predtrace.arrays.basis import Basis
from predtrace.arrays.calls import Predictor
from predtrace.arrays.capture.call import Array
from predtrace.arrays.catalogue import ArrayEntry
from predtrace.arrays.relation import LineageTable
from predtrace.arrays.store import ArrayStore

Unknown: TypeAlias = Literal["refuse", "everything"]


class Recorded(Protocol):
    """An array of some tracking."""

    session: Recorder

    @property
    def name(self) -> str:
        """The store's name for it."""


R = TypeVar("R", bound=Recorded)


class Recorder(ABC):
    """Records operations on tracked arrays in `store`.

    `unknown` says how functions without a rule are treated, `reuse` predicts lineage, and `bases`
    are the bases of predictions.
    """

    store: ArrayStore
    unknown: Unknown
    reuse: Predictor | None
    bases: set[Basis]

    @abstractmethod
    def carry_out(
        self,
        function: Callable[..., Any],
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of numpy's function, with arrays tracked."""

    @abstractmethod
    def own(self, array: R) -> R:
        """The array itself. Raises ArrayLineageError if it belongs to another tracking."""

    @abstractmethod
    def doubt(self) -> None:
        """Mark predicted lineage whose basis a captured call has contradicted."""

    @abstractmethod
    def leave(self, name: str, how: str) -> None:
        """Note that cells left as a numpy array: they can come back as an argument."""

    @abstractmethod
    def decide(self, name: str, how: str) -> None:
        """Note that cells became plain Python values: they can decide on anything from now on."""

    @abstractmethod
    def made(self, name: str, array: Array, has_plain: bool) -> ArrayEntry:
        """The entry of an array that an operation made, perhaps with the help of numpy arrays."""

    @abstractmethod
    def viewed(self, buffer: str, values: Array, table: LineageTable) -> str:
        """Record what a view sees of a buffer that was written to; returns the view's new name."""

    @abstractmethod
    def written_back(
        self, buffer: str, view: str, data: Array, kept: LineageTable, put: LineageTable
    ) -> str:
        """Record the buffer's state after a write through a view; returns the buffer's new name."""
