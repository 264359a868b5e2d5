"""`track`: a function of numpy arrays whose results know their lineage."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, overload

import numpy as np

from predtrace.arrays.capture.call import Array
from predtrace.arrays.store import ArrayStore
from predtrace.arrays.tracked.array import LineageArray
from predtrace.arrays.tracked.recorder import Unknown
from predtrace.arrays.tracked.session import Tracking, current
from predtrace.errors import ArrayLineageError

F = TypeVar("F", bound=Callable[..., Any])


@overload
def track(function: F, /) -> F: ...


@overload
def track(
    *, store: ArrayStore | str | os.PathLike[str] | None = None, unknown: Unknown = "refuse"
) -> Callable[[F], F]: ...


def track(
    function: Any = None,
    /,
    *,
    store: ArrayStore | str | os.PathLike[str] | None = None,
    unknown: Unknown = "refuse",
) -> Any:
    """Make a function of numpy arrays track them.

    numpy arrays among its arguments, also in lists, tuples and dicts, become sources named like
    their parameters; tracked arrays stay tracked. Returned arrays are tracked, and can be asked
    about the parameters by name. A call records in the tracking of its tracked arrays, else in the
    tracking of the enclosing `with` block, else in a new tracking with `store`.

    Raises ArrayLineageError if an argument or result has cells but is not a tracked array (a
    DataFrame), or if the function writes into numpy arrays that share memory.
    """
    if function is None:
        return functools.partial(track, store=store, unknown=unknown)
    signature = inspect.signature(function)

    @functools.wraps(function)
    def tracked(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        session = _session_of(bound.arguments) or current() or Tracking(store, unknown)
        sources = _Sources(session)
        for name, value in bound.arguments.items():
            bound.arguments[name] = sources.tracked(name, value)
        with session.active():
            try:
                result = function(*bound.args, **bound.kwargs)
            finally:
                sources.write_back()
        return _returned(result, function.__qualname__, sources.names)

    return tracked


class _Sources:
    """The arrays that a function is called with, and the store's names for them."""

    def __init__(self, session: Tracking) -> None:
        self.session = session
        self.names: dict[str, str] = {}
        self._given: list[tuple[Array, LineageArray]] = []

    def tracked(self, name: str, value: Any) -> Any:
        """A parameter's value with tracked arrays."""
        if isinstance(value, tuple | list):
            return _rebuilt(
                value, [self.tracked(f"{name}[{k}]", item) for k, item in enumerate(value)]
            )
        if isinstance(value, dict):
            return {key: self.tracked(str(key), item) for key, item in value.items()}
        if isinstance(value, np.ndarray):
            known = next((source for array, source in self._given if array is value), None)
            source = known if known is not None else self.session.source(name, value)
            self._given.append((value, source))
            value = source
        if _is_foreign(value):
            raise ArrayLineageError(
                f"the argument {name!r} is a {type(value).__name__}, whose cells are not tracked; "
                "give numpy arrays (to_numpy())"
            )
        if isinstance(value, LineageArray):
            self.names[name] = self.session.own(value).name
        return value

    def write_back(self) -> None:
        """Copy what the function wrote into its arrays to the caller's arrays."""
        for array, source in self._given:
            if not source.buffer.version:
                continue
            for other, _ in self._given:
                if other is not array and np.shares_memory(array, other):
                    raise ArrayLineageError(
                        "a tracked function wrote into an argument that shares its memory with "
                        "another one; call it with copies"
                    )
            np.copyto(array, source.buffer.data)


def _is_foreign(value: Any) -> bool:
    """Whether a value has cells, like a DataFrame, but is not an array that can be tracked."""
    known = (LineageArray, np.ndarray, np.generic)
    return hasattr(type(value), "__array__") and not isinstance(value, known)


def _session_of(tree: Any) -> Tracking | None:
    sessions = (array.session for array in tracked_arrays(tree))
    return next((session for session in sessions if isinstance(session, Tracking)), None)


def tracked_arrays(tree: Any) -> Iterator[LineageArray]:
    """All tracked arrays of nested arguments."""
    if isinstance(tree, LineageArray):
        yield tree
    elif isinstance(tree, Mapping | tuple | list):
        for item in tree.values() if isinstance(tree, Mapping) else tree:
            yield from tracked_arrays(item)


def _rebuilt(given: Any, items: list[Any]) -> Any:
    """A list, tuple or NamedTuple of the same class with other items."""
    make = getattr(type(given), "_make", type(given))
    return make(items)


def _returned(result: Any, function: str, names: Mapping[str, str]) -> Any:
    if isinstance(result, LineageArray):
        return result.known_as(names)
    if isinstance(result, np.ndarray | np.generic) or _is_foreign(result):
        raise ArrayLineageError(
            f"{function} returned a {type(result).__name__} that is not tracked: "
            "make arrays with zeros_like(…) or "
            "zeros(…, like=…) of a tracked array, or have the function run as a "
            "predtrace.arrays.black_box"
        )
    if isinstance(result, tuple | list):
        return _rebuilt(result, [_returned(item, function, names) for item in result])
    if isinstance(result, dict):
        return {key: _returned(item, function, names) for key, item in result.items()}
    return result
