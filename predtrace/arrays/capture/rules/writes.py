"""Operations that write into their first argument: what is overwritten loses its old lineage.

The operation is run on cell numbers, the written array's own and those of what is written.
A mask contributes to the cells in its places, whether it lets them be written or not; an index
array, to the cells that it chose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from predtrace.arrays.boxes import Shape
from predtrace.arrays.capture.call import Call, Edge, Edges, Lineage, Operand, edge, plain
from predtrace.arrays.capture.regions import broadcast
from predtrace.arrays.capture.rule import Family, Rule
from predtrace.arrays.capture.rules.movement import key_numbers
from predtrace.arrays.capture.sources import Ids, from_ids, ids


def written(target: Operand, values: Any, write: Callable[[Ids, Ids], Any]) -> Edges:
    """Edges of the old state and of the values; `write` puts numbers into an array of numbers."""
    start = target.value.size
    if isinstance(values, Operand):
        numbers = ids(values.shape) + start
    else:
        numbers = np.zeros(np.shape(values), np.int64)
    state = ids(target.shape)
    write(state, numbers)
    yield Edge(target, from_ids(state, target.shape))
    yield from edge(values, from_ids, state, np.shape(plain(values)), start)


def _setitem(call: Call, target: Any, key: Any, value: Any) -> Edges:
    fixed = plain(key)
    yield from written(target, value, lambda state, numbers: state.__setitem__(fixed, numbers))
    for part in key if isinstance(key, tuple) else (key,):
        yield from edge(part, _chosen_by, target.shape, key, part)


def _chosen_by(shape: Shape, key: Any, part: Operand) -> Lineage:
    if part.value.dtype == bool and part is key:
        number = ids(part.shape).reshape(part.shape + (1,) * (len(shape) - part.ndim))
        return from_ids(np.broadcast_to(number, shape), part.shape)
    state = np.zeros(shape, np.int64)
    state[plain(key)] = key_numbers(shape, key, part)
    return from_ids(state, part.shape)


def _copyto(call: Call, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Edges:
    mask = plain(where)
    yield from written(dst, src, lambda state, numbers: np.copyto(state, numbers, where=mask))
    yield from edge(where, broadcast, call.shape, np.shape(mask))


def _fill_diagonal(call: Call, a: Any, val: Any, wrap: bool = False) -> Edges:
    return written(a, val, lambda state, numbers: np.fill_diagonal(state, numbers, wrap))


def _place(call: Call, arr: Any, mask: Any, vals: Any) -> Edges:
    where = plain(mask)
    yield from written(arr, vals, lambda state, numbers: np.place(state, where, numbers))
    yield from edge(mask, broadcast, call.shape, np.shape(where))


def _putmask(call: Call, a: Any, mask: Any, values: Any) -> Edges:
    where = plain(mask)
    yield from written(a, values, lambda state, numbers: np.putmask(state, where, numbers))
    yield from edge(mask, broadcast, call.shape, np.shape(where))


def _put(call: Call, a: Any, ind: Any, v: Any, mode: Any = "raise") -> Edges:
    if isinstance(ind, Operand):
        raise call.refuse("with tracked positions")
    return written(a, v, lambda state, numbers: np.put(state, ind, numbers, mode))


def _put_along_axis(call: Call, arr: Any, indices: Any, values: Any, axis: Any) -> Edges:
    places = plain(indices)

    def write(state: Ids, numbers: Ids) -> None:
        np.put_along_axis(state, places, numbers, axis)

    yield from written(arr, values, write)
    if isinstance(indices, Operand):
        state = np.zeros(arr.shape, np.int64)
        np.put_along_axis(state, places, ids(indices.shape), axis)
        yield Edge(indices, from_ids(state, indices.shape))


_WRITTEN = "the cell that was written there, and its mask or index; elsewhere, the old cell"

RULES = (
    Rule(Family.WRITE, "copyto", _copyto, _WRITTEN, by_shape=False, writes=True),
    Rule(Family.WRITE, "fill_diagonal", _fill_diagonal, _WRITTEN, writes=True),
    Rule(Family.WRITE, "place", _place, _WRITTEN, by_shape=False, writes=True),
    Rule(Family.WRITE, "putmask", _putmask, _WRITTEN, by_shape=False, writes=True),
    Rule(Family.WRITE, "put", _put, _WRITTEN, writes=True),
    Rule(Family.WRITE, "put_along_axis", _put_along_axis, _WRITTEN, by_shape=False, writes=True),
)

SETITEM = Rule(Family.WRITE, "", _setitem, _WRITTEN, by_shape=False, writes=True)
"""``a[key] = value``; the function of the call is `operator.setitem`."""
