"""An upper bound on what compression can save, found without compressing.

Every row that a pass saves is merged into a row whose pairs are its neighbours. On an input axis a
neighbour has the same output cell and the next input index. On an output axis it has the next
output index, and input indices that each differ by at most one. So at most as many rows can be
saved as there are pairs with such a neighbour. Their share is estimated on some pairs.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np

from predtrace.arrays.relation import CellRelation
from predtrace.packed.boxes import KEY_LIMIT, Ints, ravel

_SAMPLE = 256
_LEAST = 64
_FEW = 16
"""Small relations are probed on a sixteenth of their pairs, but on at least so many."""

_PROBES = 1 << 14
"""The most neighbours to look for."""

_MIXER = 2654435761
"""An odd number whose multiples spread well."""

_MAX_PLACES = 256


def share_with_neighbours(relation: CellRelation) -> float:
    """The share of the pairs, which are normalized, that compression can save at most.

    The share is 1 if it cannot be estimated: relations of many axes, or of very large arrays.
    """
    p, q = len(relation.out_shape), len(relation.in_shape)
    if math.prod(relation.shape) >= KEY_LIMIT or p * 3**q > _MAX_PLACES or not relation.shape:
        return 1.0
    steps = _steps(p, q)
    few = max(_LEAST, len(relation) // _FEW)
    chosen = _chosen(len(relation), max(1, min(_SAMPLE, few, _PROBES // len(steps))))
    cells = relation.pairs[chosen][:, None, :] + steps
    inside = ((cells >= 0) & (cells < np.array(relation.shape))).all(axis=2)
    wanted = ravel([cells[..., axis] for axis in range(p + q)], relation.shape)
    keys = ravel(list(relation.pairs.T), relation.shape)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = (inside & (keys[place] == wanted)).any(axis=1)
    return float(found.mean())


@cache
def _steps(p: int, q: int) -> Ints:
    """From a pair to its neighbours, shape (neighbours, p + q)."""
    inputs = np.eye(p + q, dtype=np.int64)[p:]
    outputs = [
        (*(int(axis == other) for other in range(p)), *moves)
        for axis in range(p)
        for moves in product((-1, 0, 1), repeat=q)
    ]
    return np.concatenate([inputs, np.array(outputs, np.int64).reshape(len(outputs), p + q)])


def _chosen(count: int, wanted: int) -> Ints:
    """Some numbers below `count`, spread without a period."""
    if count <= wanted:
        return np.arange(count)
    return np.arange(wanted, dtype=np.int64) * _MIXER % count
