"""Carries out one operation on tracked arrays, and records it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import msgspec
import numpy as np

from predtrace.arrays.capture.call import (
    Array,
    Operand,
    UntrackedCallError,
    arrays_of,
    operands_of,
    plain,
)
from predtrace.arrays.capture.capture import CarriedOut, as_table
from predtrace.arrays.capture.capture import carry_out as execute
from predtrace.arrays.capture.regions import everything
from predtrace.arrays.capture.registry import reason_against, shape_only
from predtrace.arrays.capture.rule import numpy_function
from predtrace.arrays.quality import Quality
from predtrace.arrays.recording import Flow, Recording
from predtrace.arrays.tracked.array import LineageArray
from predtrace.arrays.tracked.buffers import Buffer, owned
from predtrace.arrays.tracked.recorder import Recorder
from predtrace.arrays.tracked.reusing import foreseen

READERS = "array_repr array_str array2string"
"""Functions that show an array: they get the plain arrays."""

CREATION = "zeros ones empty full eye identity arange"
"""Functions that make arrays from nothing; with ``like=`` the arrays are tracked."""


class Arguments:
    """Arguments of a call with tracked arrays as operands; `arrays` are these, by position.

    `has_plain` says whether the other arguments may contain cells that were tracked before.
    """

    def __init__(self, session: Recorder) -> None:
        self.session = session
        self.arrays: list[LineageArray] = []
        self.has_plain = False

    def wrapped(self, tree: Any) -> Any:
        """Nested arguments with operands."""
        if isinstance(tree, LineageArray):
            self.arrays.append(self.session.own(tree))
            return Operand(len(self.arrays) - 1, tree._values, tree.is_number)
        if isinstance(tree, tuple):
            return tuple(self.wrapped(item) for item in tree)
        if isinstance(tree, list):
            self.has_plain |= any(isinstance(item, float | complex) for item in tree)
            return [self.wrapped(item) for item in tree]
        if isinstance(tree, dict):
            return {key: self.wrapped(item) for key, item in tree.items()}
        if isinstance(tree, np.ma.MaskedArray | np.matrix):
            raise UntrackedCallError(
                f"a tracked array cannot meet a {type(tree).__name__}, whose operations mean "
                "something else; give its data, and masks as arrays of their own"
            )
        self.has_plain |= isinstance(tree, np.ndarray | np.generic) and tree.size > 0
        return tree

    def names(self) -> tuple[str, ...]:
        """The store's names for the arrays."""
        return tuple(array.name for array in self.arrays)


@dataclass(frozen=True, eq=False)
class Done:
    """A call that was carried out: its result, the arrays in it, and their lineage.

    `targets` are the arrays that outputs are written into, None for new arrays. `writes` marks
    operations that only write, and return nothing.
    """

    name: str
    result: Any
    outputs: tuple[Array, ...]
    flows: tuple[Flow, ...]
    targets: tuple[LineageArray | None, ...] = ()
    writes: bool = False


def carry_out(
    session: Recorder,
    function: Callable[..., Any],
    method: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The result of numpy's function, with arrays tracked.

    Raises UntrackedCallError for functions and arguments whose lineage is not known, and numpy's
    own errors.
    """
    kwargs = dict(kwargs)
    targets = _targets(function, kwargs.pop("out", None))
    given = Arguments(session)
    wrapped, options = given.wrapped(args), given.wrapped(kwargs)
    if function in shape_only() | _functions(READERS):
        return function(*plain(wrapped), **plain(options))
    if function in _functions(CREATION) and not given.arrays:
        made = function(*args, **kwargs)
        done = Done(function.__name__, made, (made,), ())
    else:
        out = tuple(given.wrapped(target) for target in targets)
        try:
            done = _by_rule(session, function, method, wrapped, options, out)
        except UntrackedCallError:
            name = getattr(function, "__name__", "")
            if session.unknown == "refuse" or targets or reason_against(name):
                raise
            done = _by_everything(function, method, wrapped, options)
        done = replace(done, targets=(given.arrays[0],) if done.writes else targets)
    return record(done, given, wrapped, options)


def record(done: Done, given: Arguments, args: Any, kwargs: dict[str, Any]) -> Any:
    """Record a call; returns its result with tracked arrays, new or written to."""
    session = given.session
    for target in done.targets:
        if target is not None:
            target.checked_writable()
    inputs = given.names()
    entries = tuple(session.made(done.name, array, given.has_plain) for array in done.outputs)
    described = msgspec.json.encode(_described({**dict(enumerate(args)), **kwargs}))
    recording = Recording(done.name, inputs, entries, done.flows, described.decode())
    names = session.store.record(recording)
    arrays = []
    targets = done.targets or (None,) * len(names)
    for values, name, target in zip(done.outputs, names, targets, strict=True):
        if target is None:
            arrays.append(_made(given, values, name))
        else:
            target.write(values, name)
            arrays.append(target)
    return None if done.writes else _rebuilt(done.result, iter(arrays))


def _by_rule(
    session: Recorder,
    function: Callable[..., Any],
    method: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    out: tuple[Operand | None, ...],
) -> Done:
    call = execute(function, method, args, kwargs, out)
    known = foreseen(session.reuse, call)
    flows = known.predicted() if known else None
    if flows is not None:
        session.bases.update(flow.basis for flow in flows if flow.basis is not None)
    else:
        flows = tuple(_flows(call))
        if known:
            known.learn(flows)
            session.doubt()
    return Done(call.name, call.result, call.outputs, flows, writes=call.rule.writes)


def _flows(call: CarriedOut) -> Iterator[Flow]:
    """The flows that the call's rule gives."""
    for edge in call.edges():
        quality = edge.quality or call.rule.quality
        reason = "" if quality is Quality.PRECISE else f"{call.name}: {call.rule.meaning}"
        table = as_table(edge.lineage)
        yield Flow(edge.output, edge.operand.position, table, quality, reason)


def _by_everything(
    function: Callable[..., Any], method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Done:
    """Every cell of every output from every cell of every operand."""
    name = getattr(function, "__name__", "call")
    called = function if method == "__call__" else getattr(function, method)
    before = [operand.value for operand in operands_of((args, kwargs))]
    copies = [operand.copy() for operand in before]
    result = called(*plain(args), **plain(kwargs))
    for array, copy in zip(before, copies, strict=True):
        if not np.array_equal(array, copy, equal_nan=array.dtype.kind in "fc"):
            np.copyto(array, copy)
            raise UntrackedCallError(
                f"numpy.{name} is not tracked: it wrote into its argument; give it a copy"
            )
    outputs = tuple(array.copy() for array in arrays_of(result))
    if any(output.dtype == object for output in outputs):
        raise UntrackedCallError(
            f"numpy.{name} is not tracked: it gives something else than arrays"
        )
    reason = f"{name}: it has no rule, so all cells"
    flows = tuple(
        Flow(k, n, everything(output.shape, operand.shape), Quality.SUPERSET, reason)
        for k, output in enumerate(outputs)
        for n, operand in enumerate(before)
    )
    return Done(name, result, outputs, flows)


def _targets(function: Callable[..., Any], out: Any) -> tuple[LineageArray | None, ...]:
    """The arrays that the caller wants results in. Numbers are not written to but replaced."""
    given = out if isinstance(out, tuple) else () if out is None else (out,)
    for target in given:
        if target is not None and not isinstance(target, LineageArray):
            raise UntrackedCallError(
                f"{getattr(function, '__name__', function)} writes tracked cells into an array "
                "that is not tracked: track that, too, or assign the result"
            )
    targets = tuple(
        None if target is None or target.is_number else target.checked_writable()
        for target in given
    )
    return targets if any(target is not None for target in targets) else ()


def _made(given: Arguments, values: Array, name: str) -> LineageArray:
    """A tracked array; it shares the memory of an operand if it is a view of it."""
    for array in given.arrays:
        if not array.is_number and array.buffer.holds(values):
            return LineageArray(given.session, array.buffer, values, name)
    own = owned(values)
    return LineageArray(given.session, Buffer(own, name), own, name)


def _rebuilt(result: Any, arrays: Iterator[LineageArray]) -> Any:
    """A result with numpy's arrays and numbers replaced."""
    if isinstance(result, tuple | list):
        items = [_rebuilt(item, arrays) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    array = next(arrays)
    array.is_number |= not isinstance(result, np.ndarray)
    return array


def _described(tree: Any) -> Any:
    """Arguments as JSON; operands by their number, other arrays by their shape."""
    if isinstance(tree, dict):
        return {str(key): _described(item) for key, item in tree.items()}
    if isinstance(tree, tuple | list):
        return [_described(item) for item in tree]
    if isinstance(tree, Operand):
        return {"input": tree.position}
    if isinstance(tree, np.ndarray):
        return {"array": tree.shape}
    if isinstance(tree, np.bool_ | np.integer | np.floating):
        tree = tree.item()
    if tree is None or isinstance(tree, bool | float | str):
        return tree
    if isinstance(tree, int):
        return tree if abs(tree) < 2**63 else str(tree)
    return getattr(tree, "__name__", str(tree))


@cache
def _functions(names: str) -> frozenset[Any]:
    return frozenset(numpy_function(name) for name in names.split())
