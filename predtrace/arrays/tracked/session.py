"""A tracking: the store that operations are recorded in, and the cells that left it.

    with predtrace.arrays.tracking() as t:
        a = t.array("a", data)
        total = (a * 2).sum(axis=0)
    total.lineage.backward([(1,)], to="a").cells()

Values that become plain Python values (``if a[0] > 1``, ``float(a[0])``) can come back in ways that
no array notices. Arrays made after that are marked: answers about them are `observed`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from predtrace.arrays.answers import Answer, CellsLike
from predtrace.arrays.basis import Basis
from predtrace.arrays.calls import Predictor
from predtrace.arrays.capture.call import Array
from predtrace.arrays.capture.regions import broadcast
from predtrace.arrays.catalogue import ArrayEntry
from predtrace.arrays.ledger import SOURCE
from predtrace.arrays.provrc import compress
from predtrace.arrays.quality import Quality
from predtrace.arrays.recording import Flow, Recording
from predtrace.arrays.relation import LineageTable
from predtrace.arrays.reuse.predictor import Reuse
from predtrace.arrays.store import ArrayStore
from predtrace.arrays.tracked.array import LineageArray
from predtrace.arrays.tracked.buffers import Buffer, owned
from predtrace.arrays.tracked.operations import carry_out
from predtrace.arrays.tracked.recorder import R, Recorder, Unknown
from predtrace.arrays.weights import Weights, reason_of, significant
from predtrace.errors import ArrayLineageError

_active: ContextVar[Tracking | None] = ContextVar("predtrace_tracking", default=None)
_KINDS = "biufcmMSU"


class Tracking(Recorder):
    """Makes tracked arrays, and records their operations in `store`.

    `unknown` says how to treat numpy functions without a rule, and arguments that rules do not
    know: "refuse" them, or say that "everything" came from everything, a superset. Functions with a
    reason against them are always refused. With `reuse`, or the folder of its learnt facts, lineage
    that earlier calls predict is not captured again. Answers through it are `observed`; `bases` are
    the bases of the predictions. A tracking must not be used by several threads at once.
    """

    def __init__(
        self,
        store: ArrayStore | str | os.PathLike[str] | None = None,
        unknown: Unknown = "refuse",
        reuse: Predictor | str | os.PathLike[str] | None = None,
    ) -> None:
        if unknown not in get_args(Unknown):
            raise ArrayLineageError(f"unknown={unknown!r} is none of {get_args(Unknown)}")
        self.store = store if isinstance(store, ArrayStore) else ArrayStore(store)
        self.unknown = unknown
        self.reuse = Reuse(reuse) if isinstance(reuse, (str, os.PathLike)) else reuse
        self.bases: set[Basis] = set()
        self._decided = ""
        self._left = ""

    def array(self, name: str, data: npt.ArrayLike) -> LineageArray:
        """A tracked copy of `data` under this name: a source, or a tracked array by its name.

        Raises ArrayLineageError if the store has an array of this name, or the cells are
        Python objects or records.
        """
        if name in self.store:
            raise ArrayLineageError(
                f"the store has an array {name!r} already; choose another name or store"
            )
        return self.source(name, data)

    def source(self, name: str, data: npt.ArrayLike) -> LineageArray:
        """The same, with a number after the name if it is taken."""
        if not isinstance(name, str) or not name:
            raise ArrayLineageError("an array needs a name, which is a text and comes first")
        if isinstance(data, LineageArray):
            values, entry = np.array(data.values, order="K"), ArrayEntry(name, data.shape)
            flow = Flow(0, 0, broadcast(data.shape, data.shape))
            recording = Recording(SOURCE, (self.own(data).name,), (entry,), (flow,))
        else:
            values = _plain(name, data)
            recording = Recording(SOURCE, (), (ArrayEntry(name, values.shape),))
        [name] = self.store.record(recording)
        return LineageArray(self, Buffer(values, name), values, name)

    def explained(
        self,
        name: str,
        values: npt.ArrayLike,
        sources: Sequence[tuple[LineageArray, Weights]],
        *,
        threshold: float | None = None,
        top: int | None = None,
    ) -> LineageArray:
        """A model's results, with `estimated` lineage from the weights of its explanation.

        Each source comes with weights between the cells of `values` and its own cells; see
        `predtrace.arrays.significant` for the weights that count.
        """
        array = _plain(name, values)
        reason = f"{name}: {reason_of(threshold, top)}"
        flows = []
        for number, (one, weights) in enumerate(sources):
            found = significant(weights, array.shape, one.shape, threshold=threshold, top=top)
            flows.append(Flow(0, number, compress(found), Quality.ESTIMATED, reason))
        names = tuple(self.own(one).name for one, _ in sources)
        entry = self.made(name, array, False)
        [name] = self.store.record(Recording("explanation", names, (entry,), tuple(flows)))
        return LineageArray(self, Buffer(array, name), array, name)

    def trace(self, start: LineageArray | str, end: LineageArray | str, cells: CellsLike) -> Answer:
        """The cells of `end` that `cells` of `start` came from, or went into, along all paths.

        See `ArrayStore.trace`.
        """
        here, there = (one if isinstance(one, str) else self.own(one).name for one in (start, end))
        return self.store.trace(here, there, cells)

    @contextmanager
    def active(self) -> Iterator[Tracking]:
        """Let functions decorated with `track` use this tracking during the block."""
        token = _active.set(self)
        try:
            yield self
        finally:
            _active.reset(token)

    def carry_out(
        self,
        function: Callable[..., Any],
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of numpy's function, with arrays tracked (see `operations.carry_out`)."""
        return carry_out(self, function, method, args, kwargs)

    def own(self, array: R) -> R:
        """The array itself. Raises ArrayLineageError if it belongs to another tracking."""
        if array.session is not self:
            raise ArrayLineageError(
                f"the array {array.name!r} belongs to another tracking; open one with "
                "predtrace.arrays.tracking() around all calls"
            )
        return array

    def doubt(self) -> None:
        """Mark predicted lineage that rests on what a captured call has contradicted."""
        withdrawn = {basis for basis in self.bases if self.reuse and self.reuse.is_withdrawn(basis)}
        if withdrawn:
            self.bases -= withdrawn
            self.store.doubtful(self.reuse)

    # what leaves

    def leave(self, name: str, how: str) -> None:
        """Cells left as a numpy array: they can come back as an argument."""
        self._left = self._left or f"{how}: {name!r}; then arrays without lineage were used"

    def decide(self, name: str, how: str) -> None:
        """Cells became Python's own: they can decide on anything from now on."""
        self._decided = self._decided or f"{how} of {name!r} may have decided on what came after"

    # records

    def made(self, name: str, array: Array, has_plain: bool) -> ArrayEntry:
        """The entry of an array that an operation made, perhaps with numpy arrays' help."""
        gap = self._decided or (self._left if has_plain else "")
        return ArrayEntry(name, array.shape, gap)

    def viewed(self, buffer: str, values: Array, table: LineageTable) -> str:
        """Record what a view sees of a buffer that was written to; the view's new name."""
        entry = self.made("view", values, False)
        [name] = self.store.record(Recording("view", (buffer,), (entry,), (Flow(0, 0, table),)))
        return name

    def written_back(
        self, buffer: str, view: str, data: Array, kept: LineageTable, put: LineageTable
    ) -> str:
        """Record what a write through a view made of the buffer; the buffer's new name."""
        flows = (Flow(0, 0, kept), Flow(0, 1, put))
        entry = self.made("written", data, False)
        [name] = self.store.record(Recording("write", (buffer, view), (entry,), flows))
        return name


@contextmanager
def tracking(
    store: ArrayStore | str | os.PathLike[str] | None = None,
    unknown: Unknown = "refuse",
    reuse: Predictor | str | os.PathLike[str] | None = None,
) -> Iterator[Tracking]:
    """Track arrays in a store: a new one in memory, one in a folder, or one that is open.

    Arrays stay tracked after the block. In the block, functions decorated with `track` also use its
    store. `unknown` and `reuse` are explained at `Tracking`.
    """
    with Tracking(store, unknown, reuse).active() as session:
        yield session


def current() -> Tracking | None:
    """The tracking of the innermost block."""
    return _active.get()


def _plain(name: str, data: npt.ArrayLike) -> Array:
    if isinstance(data, np.ma.MaskedArray):
        raise ArrayLineageError(f"{name!r} is a masked array; give its data or filled() values")
    if isinstance(data, np.matrix):
        raise ArrayLineageError(f"{name!r} is a matrix, whose * is no product of cells; give its A")
    values = np.array(data, order="K", subok=False)
    if values.dtype.kind not in _KINDS:
        raise ArrayLineageError(
            f"{name!r} has cells of type {values.dtype}; numbers, dates and text are tracked"
        )
    return owned(values)
