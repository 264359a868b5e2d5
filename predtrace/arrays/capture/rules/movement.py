"""Data movement: every output cell is a copy of one input cell, and that cell is its lineage.

Cells that an operation makes up (zeros of `tril`, padding with a constant) have no lineage. Tracked
index arrays contribute the index that chose the cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from predtrace.arrays.capture.call import (
    Call,
    Edge,
    Edges,
    Operand,
    edge,
    operands_of,
    plain,
    shape_of,
    size_of,
)
from predtrace.arrays.capture.regions import (
    broadcast,
    follow,
    separable,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.sources import (
    NONE,
    Ids,
    from_ids,
    from_view,
    ids,
    laid_out,
    moved,
    moved_alone,
    reshaped,
    seen_through,
    viewed,
)
from predtrace.packed.boxes import Shape


def _concatenate(
    call: Call,
    arrays: Any,
    /,
    axis: int | None = 0,
    out: None = None,
    *,
    dtype: Any = None,
    casting: Any = None,
) -> Edges:
    return moved(call, lambda arrays: np.concatenate(arrays, axis), arrays)


def _stack(
    call: Call,
    arrays: Any,
    axis: int = 0,
    out: None = None,
    *,
    dtype: Any = None,
    casting: Any = None,
) -> Edges:
    return moved(call, lambda arrays: np.stack(arrays, axis), arrays)


def _stack_along(call: Call, tup: Any, *, dtype: Any = None, casting: Any = None) -> Edges:
    return moved(call, call.function, tup)


def _append(call: Call, arr: Any, values: Any, axis: int | None = None) -> Edges:
    return moved(call, lambda arr, values: np.append(arr, values, axis), arr, values)


def _block(call: Call, arrays: Any) -> Edges:
    return moved(call, np.block, arrays)


def _view_first(call: Call, a: Any, *arguments: Any, **options: Any) -> Edges:
    if isinstance(a, Operand):
        yield from viewed(call, a)


def _move_first(call: Call, a: Any, *arguments: Any, **options: Any) -> Edges:
    if isinstance(a, Operand):
        yield from moved_alone(call, a)


def _reshape(
    call: Call, a: Any, /, shape: Any, order: str | None = "C", *, copy: Any = None
) -> Edges:
    return _in_order(call, a, order)


def _ravel(call: Call, a: Any, order: str | None = "C") -> Edges:
    return _in_order(call, a, order)


def _in_order(call: Call, a: Any, order: str | None) -> Edges:
    """The same cells one after the other; orders A and K follow the array's layout in memory."""
    if not isinstance(a, Operand):
        return
    if order is None or order in "Cc" or (order in "Aa" and not a.value.flags.fnc):
        yield Edge(a, reshaped(call.shape, a.shape))
    elif order not in "Kk":
        yield Edge(a, from_ids(np.reshape(ids(a.shape), call.shape, order="F"), a.shape))
    else:
        numbers = laid_out(a.value)
        if numbers is None:
            raise call.refuse(f"with order={order!r} on an array whose cells share memory")
        yield Edge(a, from_ids(np.ravel(numbers, "K"), a.shape))


def _broadcast_arrays(call: Call, *args: Any, subok: bool = False) -> Edges:
    for output, a in enumerate(args):
        yield from edge(a, broadcast, call.shape, shape_of(a), output=output)


def _atleast(call: Call, *arys: Any) -> Edges:
    for output, a in enumerate(arys):
        yield from edge(a, reshaped, call.outputs[output].shape, shape_of(a), output=output)


def _meshgrid(
    call: Call, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> Edges:
    for number, x in enumerate(xi):
        axis = number if indexing == "ij" or number > 1 or len(xi) == 1 else 1 - number
        shape = call.outputs[number].shape
        yield from edge(
            x, separable, shape, shape_of(x), [follow(axis)] if shape_of(x) else [], output=number
        )


def _ix(call: Call, *args: Any) -> Edges:
    for number, a in enumerate(args):
        if isinstance(a, Operand) and a.value.dtype == bool:
            raise call.refuse("with a tracked mask")
        shape = call.outputs[number].shape
        yield from edge(a, separable, shape, shape_of(a), [follow(number)], output=number)


def _take(
    call: Call,
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str = "raise",
) -> Edges:
    yield from _move_first(call, a)
    lead = 0 if axis is None else normalize_axis_index(axis, len(shape_of(a)))
    shape = shape_of(indices)
    yield from edge(
        indices,
        separable,
        call.shape,
        shape,
        [follow(lead + k) for k in range(len(shape))],
    )


def _take_along_axis(call: Call, arr: Any, indices: Any, axis: int | None = -1) -> Edges:
    yield from _move_first(call, arr)
    yield from edge(indices, broadcast, call.shape, shape_of(indices))


def _repeat(call: Call, a: Any, repeats: Any, axis: int | None = None) -> Edges:
    yield from _move_first(call, a)
    if isinstance(repeats, Operand):
        counts = repeats.value.reshape(-1)
        size = size_of(a) if axis is None else shape_of(a)[axis]
        which = np.repeat(np.broadcast_to(ids((counts.size,)), (size,)), counts)
        if axis is not None:
            place = normalize_axis_index(axis, len(call.shape))
            which = np.expand_dims(which, [k for k in range(len(call.shape)) if k != place])
        yield Edge(repeats, from_ids(np.broadcast_to(which, call.shape), repeats.shape))


_MOVING_PADS = ("constant", "edge", "reflect", "symmetric", "wrap", "empty")


def _pad(call: Call, array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Edges:
    if mode not in _MOVING_PADS or options.get("reflect_type", "even") != "even":
        raise call.refuse(f"in mode {mode!r}, which computes new values")
    if operands_of(options):
        raise call.refuse("with a tracked padding")
    if isinstance(array, Operand):
        zeros = {"mode": "constant"} if mode in ("constant", "empty") else {"mode": mode}
        yield Edge(array, from_ids(np.pad(ids(array.shape), pad_width, **zeros), array.shape))


def _triangle(call: Call, m: Any, k: int = 0) -> Edges:
    return _move_first(call, m)


def _trim_zeros(call: Call, filt: Any, trim: str = "fb", axis: Any = None) -> Edges:
    """The result is a view of its argument; which one depends on the values."""
    if isinstance(filt, Operand):
        copied = np.ascontiguousarray(filt.value)
        table = from_view(call.rerun(filt, copied)[0], copied)
        assert table is not None
        yield Edge(filt, table)


def _vander(call: Call, x: Any, N: Any = None, increasing: bool = False) -> Edges:
    """A column of ones has no lineage; all others are powers of x."""
    powers = np.broadcast_to(ids(shape_of(x))[:, None], call.shape).copy()
    if call.shape[1]:
        powers[:, 0 if increasing else -1] = 0
    yield from edge(x, from_ids, powers, shape_of(x))


def _insert(call: Call, arr: Any, obj: Any, values: Any, axis: int | None = None) -> Edges:
    if operands_of(obj):
        raise call.refuse("with tracked positions")
    return moved(call, lambda arr, values: np.insert(arr, obj, values, axis), arr, values)


def _delete(call: Call, arr: Any, obj: Any, axis: int | None = None) -> Edges:
    if operands_of(obj):
        raise call.refuse("with tracked positions")
    return _move_first(call, arr)


def _getitem(call: Call, a: Any, key: Any) -> Edges:
    """Basic and fancy indexing, as ``a[key]``."""
    keys = operands_of(key)
    if isinstance(a, Operand):
        if keys or not _basic(key):
            yield from moved_alone(call, a)
        else:
            yield from viewed(call, a)
    for operand in keys:
        yield Edge(operand, from_ids(key_numbers(shape_of(a), key, operand), operand.shape))


def _basic(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        part is None or part is Ellipsis or isinstance(part, (slice, int, np.integer))
        for part in parts
    )


def key_numbers(shape: Shape, key: Any, operand: Operand) -> Ids:
    """The cell of an index array or mask that chose each cell of ``a[key]``.

    The axis of the index array is replaced by an axis with the numbers of the array's own cells,
    which are picked in order; a mask gets its own numbers.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    place = next(place for place, part in enumerate(parts) if operand in operands_of(part))
    unused = len(shape) - sum(_consumed(part) for part in parts)
    first = sum(unused if part is Ellipsis else _consumed(part) for part in parts[:place])
    count = _consumed(parts[place])
    own = _numbers_in(parts[place], operand)
    if np.asarray(plain(parts[place])).dtype != bool:
        parts[place] = np.arange(own.size).reshape(own.shape)
        own = own.reshape(-1)
    fitted = (*shape[:first], *own.shape, *shape[first + count :])
    axes = [k for k in range(len(fitted)) if not first <= k < first + own.ndim]
    numbered = np.broadcast_to(np.expand_dims(own, axes), fitted)
    rest = plain(tuple(parts))
    return np.asarray(numbered[rest if isinstance(key, tuple) else rest[0]])


def _consumed(part: Any) -> int:
    """The number of axes of the array that a part of a key stands for."""
    if part is None or part is Ellipsis:
        return 0
    value = np.asarray(plain(part))
    return value.ndim if value.dtype == bool else 1


def _numbers_in(part: Any, operand: Operand) -> Ids:
    """The numbers of the operand's cells in a part of a key: the operand, or a list with it."""
    if isinstance(part, list | tuple):
        return np.array([_numbers_in(item, operand) for item in part], np.int64)
    return ids(part.shape) if part is operand else np.full(shape_of(part), NONE, np.int64)


def _sliding_windows(
    call: Call,
    x: Any,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Edges:
    return _view_first(call, x)


def _as_strided(
    call: Call,
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
    check_bounds: bool | None = None,
) -> Edges:
    """The view's places among the cells' numbers, which lie in memory as the cells do."""
    if isinstance(x, Operand):
        view, size = call.outputs[0], x.value.itemsize
        numbers = laid_out(x.value)
        if numbers is None or any(stride % size for stride in view.strides):
            raise call.refuse("with these strides")
        steps = [stride // size for stride in view.strides]
        found = seen_through(numbers, view.shape, steps)
        if found is None:
            raise call.refuse("with places outside the array or between its cells")
        yield Edge(x, from_ids(found, x.shape))


def _unstack(call: Call, x: Any, /, *, axis: int = 0) -> Edges:
    return _view_first(call, x)


_COPY = "the cell that was copied"

RULES = (
    CaptureRule(
        Family.MOVEMENT,
        "transpose permute_dims matrix_transpose linalg.matrix_transpose swapaxes moveaxis rollaxis"
        " flip fliplr flipud rot90 squeeze expand_dims diagonal linalg.diagonal broadcast_to"
        " split array_split hsplit vsplit dsplit",
        _view_first,
        _COPY,
    ),
    CaptureRule(Family.MOVEMENT, "unstack", _unstack, _COPY),
    CaptureRule(Family.MOVEMENT, "lib.stride_tricks.sliding_window_view", _sliding_windows, _COPY),
    CaptureRule(
        Family.MOVEMENT, "lib.stride_tricks.as_strided", _as_strided, _COPY, by_shape=False
    ),
    CaptureRule(Family.MOVEMENT, "reshape", _reshape, _COPY),
    CaptureRule(Family.MOVEMENT, "ravel", _ravel, _COPY),
    CaptureRule(Family.MOVEMENT, "atleast_1d atleast_2d atleast_3d", _atleast, _COPY),
    CaptureRule(Family.MOVEMENT, "broadcast_arrays", _broadcast_arrays, _COPY),
    CaptureRule(Family.MOVEMENT, "meshgrid", _meshgrid, _COPY),
    CaptureRule(Family.MOVEMENT, "ix_", _ix, _COPY),
    CaptureRule(Family.MOVEMENT, "concatenate concat", _concatenate, _COPY),
    CaptureRule(Family.MOVEMENT, "stack", _stack, _COPY),
    CaptureRule(Family.MOVEMENT, "vstack hstack dstack column_stack", _stack_along, _COPY),
    CaptureRule(Family.MOVEMENT, "append", _append, _COPY),
    CaptureRule(Family.MOVEMENT, "block", _block, _COPY),
    CaptureRule(
        Family.MOVEMENT,
        "tile roll resize diag diagflat fft.fftshift fft.ifftshift",
        _move_first,
        _COPY,
    ),
    CaptureRule(Family.MOVEMENT, "tril triu", _triangle, _COPY + "; zeros have no lineage"),
    CaptureRule(Family.MOVEMENT, "pad", _pad, _COPY + "; a constant has no lineage"),
    CaptureRule(Family.MOVEMENT, "repeat", _repeat, _COPY + ", and its count"),
    CaptureRule(Family.MOVEMENT, "take", _take, _COPY + ", and its index"),
    CaptureRule(Family.MOVEMENT, "take_along_axis", _take_along_axis, _COPY + ", and its index"),
    CaptureRule(Family.MOVEMENT, "insert", _insert, _COPY),
    CaptureRule(Family.MOVEMENT, "delete", _delete, _COPY),
    CaptureRule(Family.MOVEMENT, "trim_zeros", _trim_zeros, _COPY, by_shape=False),
    CaptureRule(
        Family.MOVEMENT,
        "vander",
        _vander,
        "the cell that the power is of; the column of ones has no lineage",
    ),
)

GETITEM = CaptureRule(
    Family.MOVEMENT, "", _getitem, _COPY + ", and its index or mask", by_shape=False
)
"""``a[key]``; the function of the call is `operator.getitem`."""
