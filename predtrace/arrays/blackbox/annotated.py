"""Annotated execution: a function is run on cells that carry their lineage (thesis, section 3.3).

The function gets arrays of Python objects. It is run a second time on numbers, and both results
must agree: a function that treats objects differently is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from predtrace.arrays.blackbox.cell import Cell, Notebook, unannotated
from predtrace.arrays.blackbox.result import (
    Found,
    Run,
    check_size,
    flows_between,
    run_once,
    unravelled,
)
from predtrace.arrays.capture.call import Array, arrays_of
from predtrace.arrays.capture.regions import no_lineage
from predtrace.arrays.capture.sources import pairs
from predtrace.arrays.provrc import compress
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import LineageTable
from predtrace.errors import ArrayLineageError, PredTraceError

Control: TypeAlias = Literal["superset", "ignored"]

LIMIT = 20_000
"""The most input cells: a set of cells takes that many bits."""

_MADE_ANEW = ("zeros", "ones", "empty", "full")


def annotated(
    name: str,
    run: Run,
    run_on_objects: Run,
    arrays: Sequence[Array],
    control: Control = "superset",
    limit: int = LIMIT,
) -> Found:
    """Lineage by running a function on numbers and on annotated cells (see
    `with_object_arrays`).

    If values decide what the function does, or become plain numbers, the cells that they came from
    count as lineage of all outputs, a superset; with "ignored" they count for none, and the lineage
    is observed. Raises ArrayLineageError if there are more than `limit` input cells, or if the
    function treats objects differently from numbers.
    """
    check_size(name, arrays, limit, "run on annotated cells")
    result, outputs = run_once(name, run, arrays)
    notebook = Notebook()
    found = _run_annotated(name, run_on_objects, arrays, notebook)
    _check_same(name, outputs, arrays_of(_guarded(name, unannotated, found)))
    sets = [_sets(array) for array in arrays_of(found)]
    quality, reason = Quality.PRECISE, ""
    if notebook.ways:
        ways = ", ".join(notebook.ways)
        if control == "superset":
            sets = [[cells | notebook.cells for cells in each] for each in sets]
            quality = Quality.SUPERSET
            reason = f"{name}: values were used as {ways}, so their cells count everywhere"
        else:
            quality, reason = Quality.OBSERVED, f"{name}: what values decide ({ways}) is ignored"
    starts = np.cumsum([0, *(array.size for array in arrays)])

    def related(output: int, into: int) -> LineageTable:
        return _table(sets[output], outputs[output], arrays[into], int(starts[into]))

    return Found(result, outputs, tuple(flows_between(outputs, arrays, related, quality, reason)))


def _run_annotated(name: str, run: Run, arrays: Sequence[Array], notebook: Notebook) -> Any:
    start, given = 0, []
    for array in arrays:
        cells = np.empty(array.shape, object)
        for number, place in enumerate(np.ndindex(array.shape)):
            cells[place] = Cell(array[place], 1 << (start + number), notebook)
        given.append(cells)
        start += array.size
    return _guarded(name, run, *given)


def _guarded(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except PredTraceError:
        raise
    except Exception as error:
        raise ArrayLineageError(
            f"{name} does not run on annotated cells ({type(error).__name__}: {error}); "
            'use how="probe"'
        ) from error


def _check_same(name: str, expected: Sequence[Array], found: Sequence[Array]) -> None:
    """Check that results are equal up to the order in which floats are added."""
    same = len(expected) == len(found) and all(
        ours.shape == numpys.shape
        and (
            np.allclose(ours, numpys, rtol=1e-6, atol=1e-12, equal_nan=True)
            if numpys.dtype.kind in "fc"
            else np.array_equal(ours, numpys)
        )
        for ours, numpys in zip(found, expected, strict=True)
    )
    if not same:
        raise ArrayLineageError(
            f"{name} does something else with annotated cells than with numbers, or is not "
            'deterministic; use how="probe" if it is'
        )


def _sets(array: Array) -> list[int]:
    """The set of every cell in row-major order; numbers without an origin have empty sets."""
    cells = array.ravel().tolist() if array.dtype == object else [0] * array.size
    return [cell.came_from if isinstance(cell, Cell) else 0 for cell in cells]


def _table(sets: Sequence[int], output: Array, into: Array, start: int) -> LineageTable:
    """The cells of one input, whose bits begin at `start`."""
    if not (into.size and output.size):
        return no_lineage(output.shape, into.shape)
    mask = (1 << into.size) - 1
    size = -(-into.size // 8)
    rows = [((cells >> start) & mask).to_bytes(size, "little") for cells in sets]
    bits = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), size)
    related = np.unpackbits(bits, axis=1, bitorder="little", count=into.size)
    out, cells = np.nonzero(related)
    columns = unravelled(out, output.shape), unravelled(cells, into.shape)
    if not output.ndim and not into.ndim and not len(out):
        return no_lineage((), ())
    return compress(pairs(output.shape, into.shape, *columns))


def with_object_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function, with ``numpy.zeros`` and the like making arrays of objects.

    Cells that are written into arrays of numbers become numbers and lose their lineage, and results
    are often filled cell by cell. Only the function's own names for numpy are replaced.
    """
    if not isinstance(function, types.FunctionType):
        return function
    names = {name: _OBJECT_NUMPY for name, value in function.__globals__.items() if value is np}
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


class _ObjectNumpy:
    """numpy, except that new arrays hold objects."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name not in _MADE_ANEW:
            return found
        return lambda *args, **kwargs: found(*args, **kwargs).astype(object)


_OBJECT_NUMPY = _ObjectNumpy()
