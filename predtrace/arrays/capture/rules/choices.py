"""Choices by value: filters, masks and conditions.

An output cell comes from the cell that was chosen (where-provenance), and from the condition's
cells that let it through. Cells that were not chosen are not lineage of any cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from predtrace.arrays.capture.call import (
    Call,
    Edge,
    Edges,
    Operand,
    edge,
    plain,
    shape_of,
)
from predtrace.arrays.capture.regions import broadcast, everything
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.sources import from_ids, ids, layers, moved, moved_alone


def _where(call: Call, condition: Any, *choices: Any) -> Edges:
    if not choices:
        yield from _nonzero(call, condition)
        return
    yield from edge(condition, broadcast, call.shape, shape_of(condition))
    mask = plain(condition)
    yield from moved(call, lambda x, y: np.where(mask, x, y), *choices)


def _select(call: Call, condlist: Any, choicelist: Any, default: Any = 0) -> Edges:
    """A condition contributes where none before it holds."""
    conditions = plain(condlist)
    yield from moved(
        call, lambda chosen, rest: np.select(conditions, chosen, rest), choicelist, default
    )
    pending = np.ones(call.shape, np.bool_)
    for condition in condlist:
        if isinstance(condition, Operand):
            number = np.broadcast_to(ids(condition.shape), call.shape)
            yield Edge(condition, from_ids(np.where(pending, number, 0), condition.shape))
        pending = pending & ~np.broadcast_to(plain(condition), call.shape)


def _choose(call: Call, a: Any, choices: Any, out: None = None, mode: Any = "raise") -> Edges:
    yield from edge(a, broadcast, call.shape, shape_of(a))
    number = plain(a)
    yield from moved(call, lambda choices: np.choose(number, choices, mode=mode), choices)


def _compress(
    call: Call, condition: Any, a: Any, axis: int | None = None, out: None = None
) -> Edges:
    if isinstance(a, Operand):
        yield from moved_alone(call, a)
    if isinstance(condition, Operand):
        axis = 0 if axis is None else axis % len(shape_of(a))
        kept = np.flatnonzero(condition.value) + 1
        number = np.expand_dims(kept, [k for k in range(len(call.shape)) if k != axis])
        yield Edge(condition, from_ids(np.broadcast_to(number, call.shape), condition.shape))


def _extract(call: Call, condition: Any, arr: Any) -> Edges:
    if isinstance(arr, Operand):
        yield from moved_alone(call, arr)
    if isinstance(condition, Operand):
        kept = np.flatnonzero(condition.value) + 1
        yield Edge(condition, from_ids(kept, condition.shape))


def _nonzero(call: Call, a: Any) -> Edges:
    """Positions come from the cells at these positions."""
    found = np.flatnonzero(plain(a)) + 1
    for output in range(len(call.outputs)):
        yield from edge(a, from_ids, found, shape_of(a), output=output)


def _argwhere(call: Call, a: Any) -> Edges:
    found = np.flatnonzero(plain(a)) + 1
    yield from edge(a, from_ids, np.broadcast_to(found[:, None], call.shape), shape_of(a))


def _searchsorted(
    call: Call, a: Any, v: Any, side: str = "left", sorter: Any = None, *, out: None = None
) -> Edges:
    yield from edge(v, broadcast, call.shape, shape_of(v))
    for operand in (a, sorter):
        yield from edge(operand, everything, call.shape, shape_of(operand))


def _digitize(call: Call, x: Any, bins: Any, right: bool = False) -> Edges:
    return _searchsorted(call, bins, x)


def _interp(
    call: Call, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Edges:
    """The two points around x; outside of all points, the first or last value."""
    if period is not None:
        raise call.refuse("with a period")
    yield from edge(x, broadcast, call.shape, shape_of(x))
    at, points = np.asarray(plain(x), float), np.asarray(plain(xp), float)
    after = np.searchsorted(points, at, side="right")
    inside = (after > 0) & (after < len(points))
    ends = np.where((at < points[0]) & (left is None), 1, 0)
    ends = np.where((at > points[-1]) & (right is None) | (at == points[-1]), len(points), ends)
    both = [np.where(inside, after, 0), np.where(inside, after + 1, 0)]
    yield from edge(xp, layers, both, shape_of(xp))
    yield from edge(fp, layers, [*both, ends], shape_of(fp))


_CHOSEN = "the cell that was chosen, and its condition"

RULES = (
    CaptureRule(Family.CHOICE, "where", _where, _CHOSEN, by_shape=False),
    CaptureRule(
        Family.CHOICE,
        "select",
        _select,
        "the cell that was chosen, and the conditions up to its own",
        by_shape=False,
    ),
    CaptureRule(Family.CHOICE, "choose", _choose, _CHOSEN, by_shape=False),
    CaptureRule(Family.CHOICE, "compress", _compress, _CHOSEN, by_shape=False),
    CaptureRule(Family.CHOICE, "extract", _extract, _CHOSEN, by_shape=False),
    CaptureRule(
        Family.CHOICE, "nonzero flatnonzero", _nonzero, "the cell at the position", by_shape=False
    ),
    CaptureRule(Family.CHOICE, "argwhere", _argwhere, "the cell at the position", by_shape=False),
    CaptureRule(
        Family.CHOICE,
        "searchsorted",
        _searchsorted,
        "the value, and all cells that it is sought in",
    ),
    CaptureRule(Family.CHOICE, "digitize", _digitize, "the value, and all bins"),
    CaptureRule(
        Family.STENCIL,
        "interp",
        _interp,
        "the place, and the points on both sides of it",
        by_shape=False,
    ),
)
