"""What tracked arrays, and the operations on them, need of the tracking that records them."""

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
        """The name that the store knows it by."""


R = TypeVar("R", bound=Recorded)


class Recorder(ABC):
    """Records operations on tracked arrays in `store`.

    `unknown` says what becomes of functions without a rule, `reuse` predicts lineage, and
    `bases` are what predictions rest on.
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
        """What numpy's function gives, with arrays tracked."""

    @abstractmethod
    def own(self, array: R) -> R:
        """The array itself. Raises ArrayLineageError if it belongs to another tracking."""

    @abstractmethod
    def doubt(self) -> None:
        """Mark predicted lineage that rests on what a captured call has contradicted."""

    @abstractmethod
    def leave(self, name: str, how: str) -> None:
        """Cells left as a numpy array: they can come back as an argument."""

    @abstractmethod
    def decide(self, name: str, how: str) -> None:
        """Cells became Python's own: they can decide on anything from now on."""

    @abstractmethod
    def made(self, name: str, array: Array, has_plain: bool) -> ArrayEntry:
        """The entry of an array that an operation made, perhaps with numpy arrays' help."""

    @abstractmethod
    def viewed(self, buffer: str, values: Array, table: LineageTable) -> str:
        """Record what a view sees of a buffer that was written to; the view's new name."""

    @abstractmethod
    def written_back(
        self, buffer: str, view: str, data: Array, kept: LineageTable, put: LineageTable
    ) -> str:
        """Record what a write through a view made of the buffer; the buffer's new name."""
