"""Calls of which some arrays are tracked and all others are constants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from predtrace.arrays.capture.call import Operand
from predtrace.arrays.capture.capture import Captured, as_table, capture_call

Pairs = set[tuple[int, tuple[int, ...], tuple[int, ...]]]
"""Output, its cell, and the input's cell."""

ODD = 0.25
"""What no constant of these tests ends with."""


def captured_with(
    function: Callable[..., Any], args: Any, kwargs: Any, tracked: Collection[int]
) -> Captured:
    """The call with only these of its arrays tracked, counted in order of appearance."""
    number = itertools.count()

    def wrapped(tree: Any) -> Any:
        if isinstance(tree, np.ndarray):
            position = next(number)
            return Operand(position, tree) if position in tracked else tree
        if isinstance(tree, (list, tuple)):
            return type(tree)(wrapped(item) for item in tree)
        return tree

    given = tuple(wrapped(arg) for arg in args)
    return capture_call(function, "__call__", given, {k: wrapped(v) for k, v in kwargs.items()})


def claimed(captured: Captured, operand: int) -> Pairs:
    """What the rule says of an operand; every table is checked for range and shape."""
    pairs: Pairs = set()
    for edge in captured.edges:
        if edge.operand.position == operand:
            table = as_table(edge.lineage).checked()
            shape = captured.outputs[edge.output].shape
            assert (table.out_shape, table.in_shape) == (shape, edge.operand.shape)
            rows = table.decompress().pairs.tolist()
            pairs |= {
                (edge.output, tuple(row[: len(shape)]), tuple(row[len(shape) :])) for row in rows
            }
    return pairs


def marked(shape: tuple[int, ...], slot: int, layout: str = "C") -> np.ndarray:
    """Cells that can be told from all others: 1000.25, 1001.25 and so on, for every slot anew."""
    cells = np.arange(int(np.prod(shape))).reshape(shape)
    return laid_out(np.asarray(1000.0 * (slot + 1) + ODD + cells), layout)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same array in C's or Fortran's order, turned around, or with gaps."""
    if layout == "F":
        return np.asfortranarray(array) if array.ndim else array
    if layout == "reversed":
        turned = (slice(None, None, -1),) * array.ndim
        return np.array(array[turned], order="C")[(*turned, ...)]
    if layout == "strided":
        wide = np.zeros([2 * size for size in array.shape], array.dtype)
        wide[tuple(slice(None, None, 2) for _ in array.shape)] = array
        return wide[(*(slice(None, None, 2) for _ in array.shape), ...)]
    return array


def copied(outputs: Any, shape: tuple[int, ...], slot: int) -> Pairs:
    """Where the marked cells of a slot have got to, by their values."""
    pairs: Pairs = set()
    for number, output in enumerate(outputs):
        places = np.real(output) - (1000.0 * (slot + 1) + ODD)
        for cell in np.ndindex(output.shape):
            place = float(places[cell])
            if place.is_integer() and 0 <= place < int(np.prod(shape)):
                source = tuple(int(k) for k in np.unravel_index(int(place), shape))
                pairs.add((number, cell, source))
    return pairs
