"""Operations that write into their first argument: overwritten cells lose their old lineage.

The lineage of a write to a box of cells is written directly. Otherwise the operation is run on cell
numbers, of the written array and of the written values. A mask contributes to the cells in its
places, whether it lets them be written or not; an index array contributes to the cells that it
chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from predtrace.arrays.capture.call import (
    Call,
    Edge,
    Edges,
    Lineage,
    Operand,
    edge,
    operands_of,
    plain,
    shape_of,
)
from predtrace.arrays.capture.regions import (
    Limit,
    broadcast,
    constant,
    follow,
    no_lineage,
    separable,
    union,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.rules.movement import key_numbers
from predtrace.arrays.capture.sources import NONE, Ids, from_ids, ids
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


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
    box = _box(target.shape, key)
    if box is not None and len(shape_of(value)) <= sum(place.is_kept for place in box):
        yield Edge(target, _outside(target.shape, box))
        yield from edge(value, _into_box, target.shape, shape_of(value), box)
        return
    fixed = plain(key)
    yield from written(target, value, lambda state, numbers: state.__setitem__(fixed, numbers))
    for operand in operands_of(key):
        yield Edge(operand, _chosen_by(target.shape, key, operand))


class _Place(NamedTuple):
    """The indices low..high of an axis; `is_kept` if a slice chose them, not a number."""

    low: int
    high: int
    is_kept: bool


def _box(shape: Shape, key: Any) -> list[_Place] | None:
    """The box that a key of numbers and slices without a step chooses; None for other keys."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not all(part is Ellipsis or _is_plain(part) for part in parts):
        return None
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    at = next(place for place, part in enumerate(parts) if part is Ellipsis)
    parts[at : at + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    places = []
    for part, size in zip(parts, shape, strict=True):
        if isinstance(part, slice):
            start, stop, _ = part.indices(size)
            places.append(_Place(start, stop - 1, True))
        else:
            places.append(_Place(int(part) % size, int(part) % size, False))
    return places


def _is_plain(part: Any) -> bool:
    if isinstance(part, slice):
        return part.step in (None, 1)
    return isinstance(part, int | np.integer) and not isinstance(part, bool)


def _outside(shape: Shape, box: Sequence[_Place]) -> LineageTable:
    """Every cell outside the box from itself; two rows an axis, before and after the box."""
    if any(place.low > place.high for place in box):
        return broadcast(shape, shape)
    same = [follow(axis) for axis in range(len(shape))]
    tables, inside = [no_lineage(shape, shape)], list[Limit]()
    for axis, (low, high, _) in enumerate(box):
        for first, last in ((0, low - 1), (high + 1, shape[axis] - 1)):
            if first <= last:
                cut = Limit(axis, first, last)
                tables.append(separable(shape, shape, same, *inside, cut))
        inside.append(Limit(axis, low, high))
    return union(*tables)


def _into_box(shape: Shape, in_shape: Shape, box: Sequence[_Place]) -> LineageTable:
    """Every cell of the box from the value's cell in its place, after broadcasting."""
    if any(place.low > place.high for place in box):
        return no_lineage(shape, in_shape)
    kept = [axis for axis, place in enumerate(box) if place.is_kept]
    own = kept[len(kept) - len(in_shape) :]
    axes = [
        constant(0) if size == 1 else follow(axis, -box[axis].low)
        for size, axis in zip(in_shape, own, strict=True)
    ]
    inside = [Limit(axis, place.low, place.high) for axis, place in enumerate(box)]
    return separable(shape, in_shape, axes, *inside)


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
    places = plain(ind)
    yield from written(a, v, lambda state, numbers: np.put(state, places, numbers, mode))
    if isinstance(ind, Operand):
        state = np.full(a.shape, NONE, np.int64)
        np.put(state, places, ids(ind.shape), mode)
        yield Edge(ind, from_ids(state, ind.shape))


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
    CaptureRule(Family.WRITE, "copyto", _copyto, _WRITTEN, by_shape=False, writes=True),
    CaptureRule(Family.WRITE, "fill_diagonal", _fill_diagonal, _WRITTEN, writes=True),
    CaptureRule(Family.WRITE, "place", _place, _WRITTEN, by_shape=False, writes=True),
    CaptureRule(Family.WRITE, "putmask", _putmask, _WRITTEN, by_shape=False, writes=True),
    CaptureRule(Family.WRITE, "put", _put, _WRITTEN, writes=True),
    CaptureRule(
        Family.WRITE, "put_along_axis", _put_along_axis, _WRITTEN, by_shape=False, writes=True
    ),
)

SETITEM = CaptureRule(Family.WRITE, "", _setitem, _WRITTEN, by_shape=False, writes=True)
"""``a[key] = value``; the function of the call is `operator.setitem`."""
