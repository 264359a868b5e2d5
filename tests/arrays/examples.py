"""Calls of every numpy function that is tracked, at sizes small enough to try every cell.

`EXAMPLES` has, for every name of the registry, functions from a source of arrays to the
arguments of one call. Sources give arrays of generic values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Source = Callable[..., np.ndarray]
Example = Callable[[Source], Arguments]


def call(*args: Any, **kwargs: Any) -> Arguments:
    return args, kwargs


def symmetric(a: np.ndarray) -> np.ndarray:
    """Positive definite, and so a good argument of any decomposition."""
    return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(a.shape[-1])


def _reductions(names: str) -> dict[str, list[Example]]:
    examples: list[Example] = [
        lambda a: call(a(3, 4)),
        lambda a: call(a(3, 4), axis=1),
        lambda a: call(a(2, 3, 2), axis=-2, keepdims=True),
        lambda a: call(a(1, 3), axis=0),
        lambda a: call(a(4)),
    ]
    return dict.fromkeys(names.split(), examples)


def _scans(names: str) -> dict[str, list[Example]]:
    examples: list[Example] = [
        lambda a: call(a(5)),
        lambda a: call(a(3, 4)),
        lambda a: call(a(2, 2, 3)),
        lambda a: call(a(3, 4), axis=0),
        lambda a: call(a(2, 3, 1), axis=-1),
    ]
    return dict.fromkeys(names.split(), examples)


def _unary(names: str) -> dict[str, list[Example]]:
    examples: list[Example] = [
        lambda a: call(a(2, 3)),
        lambda a: call(a()),
        lambda a: call(a(1, 2)),
    ]
    return dict.fromkeys(names.split(), examples)


EXAMPLES: dict[str, list[Example]] = {
    **_unary(
        "fix i0 sinc real imag isneginf isposinf iscomplex isreal angle real_if_close copy"
        " round around"
    ),
    "astype": [lambda a: call(a(2, 3), np.float32)],
    "clip": [
        lambda a: call(a(2, 3), 0.2, 0.6),
        lambda a: call(a(2, 3), a(3), a(2, 1) + 1),
        lambda a: call(a(2, 3), max=a()),
    ],
    "nan_to_num": [lambda a: call(a(2, 3)), lambda a: call(a(3), nan=a())],
    "isclose": [lambda a: call(a(2, 3), a(3))],
    "piecewise": [lambda a: call(a(4), [np.array([1, 0, 1, 0], bool)], [lambda v: v * v.sum(), 0])],
    "zeros_like": [lambda a: call(a(2, 3))],
    "ones_like": [lambda a: call(a(2, 3))],
    "empty_like": [lambda a: call(a(2, 3))],
    "full_like": [lambda a: call(a(2, 3), a(3)), lambda a: call(a(2), a())],
    # reductions
    **_reductions("prod nansum nanprod min amax amin nanmax nanmin all any nanmean ptp nanmedian"),
    **{
        name: [*examples, lambda a: call(a(3, 2), axis=(0, 1)), lambda a: call(a(2, 2, 2), (0, 2))]
        for name, examples in _reductions("sum max mean median").items()
    },
    **{
        name: [
            lambda a: call(a(3, 4)),
            lambda a: call(a(2, 3, 2), axis=-2, keepdims=True),
            lambda a: call(a(3, 4), axis=0, ddof=1),
        ]
        for name in ["std", "var", "nanstd", "nanvar"]
    },
    **{
        name: [
            lambda a: call(a(3, 4)),
            lambda a: call(a(3, 4), axis=1),
            lambda a: call(a(3, 4), axis=0, keepdims=True),
        ]
        for name in ["argmax", "argmin", "nanargmax", "nanargmin"]
    },
    "count_nonzero": [lambda a: call(a(3, 4)), lambda a: call(a(3, 4), axis=1)],
    **{
        name: [
            lambda a: call(a(3, 4), a(), axis=0),
            lambda a: call(a(5), a(2)),
            lambda a: call(a(2, 5), 0.3 * np.ones((2, 1)), axis=1),
            lambda a: call(a(3, 2), 0.7, axis=-2, keepdims=True),
        ]
        for name in ["quantile", "nanquantile", "percentile", "nanpercentile"]
    },
    "average": [
        lambda a: call(a(3, 4)),
        lambda a: call(a(3, 4), axis=1, weights=a(4)),
        lambda a: call(a(3, 4), axis=0, weights=a(3, 4)),
        lambda a: call(a(3, 4), weights=a(3, 4)),
    ],
    "trapezoid": [
        lambda a: call(a(4)),
        lambda a: call(a(3, 4), axis=0),
        lambda a: call(a(3, 4), x=np.cumsum(a(4))),
        lambda a: call(a(4), dx=a()),
    ],
    "linalg.norm": [
        lambda a: call(a(3, 4)),
        lambda a: call(a(3, 4), axis=1),
        lambda a: call(a(2, 3, 2), axis=(0, 2), keepdims=True),
        lambda a: call(a(4), ord=3),
    ],
    "linalg.vector_norm": [lambda a: call(a(3, 4)), lambda a: call(a(3, 4), axis=0)],
    "linalg.matrix_norm": [lambda a: call(a(2, 3, 4)), lambda a: call(a(3, 4), keepdims=True)],
    "trace": [
        lambda a: call(a(3, 4)),
        lambda a: call(a(3, 4), 1),
        lambda a: call(a(3, 2, 3), -1, 0, 2),
    ],
    "linalg.trace": [lambda a: call(a(2, 3, 3)), lambda a: call(a(3, 3), offset=-1)],
    "allclose": [lambda a: call(a(2, 2), a(2, 2))],
    "array_equal": [lambda a: call(*(2 * [a(2, 2)]))],
    "array_equiv": [lambda a: call(*(2 * [a(2, 2)]))],
    "apply_along_axis": [
        lambda a: call(np.cumsum, 0, a(3, 2)),
        lambda a: call(np.sum, 1, a(3, 2)),
        lambda a: call(lambda v: np.outer(v, v), 0, a(2, 3)),
    ],
    # scans
    **_scans("cumsum cumprod nancumsum nancumprod"),
    **{
        name: [
            lambda a: call(a(4)),
            lambda a: call(a(3, 2), axis=0),
            lambda a: call(a(3, 2), axis=1, include_initial=True),
        ]
        for name in ["cumulative_sum", "cumulative_prod"]
    },
    "unwrap": [lambda a: call(20 * a(4)), lambda a: call(20 * a(3, 3), axis=0)],
    # creation
    **{
        name: [
            lambda a: call(a(), a() + 1, 4),
            lambda a: call(a(2), a(2) + 1, 3),
            lambda a: call(a(2, 1), a(3) + 1, 3, axis=-1),
            lambda a: call(a(), a() + 1, 3, endpoint=False),
            lambda a: call(a(2), a(2) + 1, 1),
        ]
        for name in ["linspace", "logspace", "geomspace"]
    },
    # data movement
    "transpose": [lambda a: call(a(2, 3)), lambda a: call(a(2, 3, 2), (1, 2, 0))],
    "permute_dims": [lambda a: call(a(2, 3, 2), (1, 2, 0))],
    "matrix_transpose": [lambda a: call(a(2, 3, 4))],
    "linalg.matrix_transpose": [lambda a: call(a(2, 3, 4))],
    "swapaxes": [lambda a: call(a(2, 3, 2), 0, 2)],
    "moveaxis": [lambda a: call(a(2, 3, 2), 0, -1)],
    "rollaxis": [lambda a: call(a(2, 3, 2), 2)],
    "flip": [lambda a: call(a(2, 3)), lambda a: call(a(2, 3), axis=1), lambda a: call(a(4))],
    "fliplr": [lambda a: call(a(2, 3))],
    "flipud": [lambda a: call(a(2, 3))],
    "rot90": [lambda a: call(a(2, 3)), lambda a: call(a(2, 3), k=2)],
    "squeeze": [lambda a: call(a(2, 1, 3)), lambda a: call(a(1, 1))],
    "expand_dims": [lambda a: call(a(2, 3), 1), lambda a: call(a(2), (0, 2))],
    "diagonal": [lambda a: call(a(3, 4)), lambda a: call(a(3, 2, 4), 1, 0, 2)],
    "linalg.diagonal": [lambda a: call(a(2, 3, 4)), lambda a: call(a(3, 3), offset=-1)],
    "broadcast_to": [lambda a: call(a(3, 1), (2, 3, 4)), lambda a: call(a(), (2, 2))],
    "split": [lambda a: call(a(6), 3), lambda a: call(a(5, 2), [1, 3])],
    "array_split": [lambda a: call(a(7), 3), lambda a: call(a(2, 5), 2, axis=1)],
    "hsplit": [lambda a: call(a(2, 4), 2)],
    "vsplit": [lambda a: call(a(4, 2), 2)],
    "dsplit": [lambda a: call(a(2, 2, 4), 2)],
    "unstack": [lambda a: call(a(3, 2)), lambda a: call(a(3, 2), axis=1)],
    "lib.stride_tricks.sliding_window_view": [
        lambda a: call(a(6), 3),
        lambda a: call(a(3, 4), (2, 2)),
        lambda a: call(a(3, 4), 2, axis=-1),
    ],
    "lib.stride_tricks.as_strided": [
        lambda a: call(a(6), (3, 2), (16, 8)),
        lambda a: call(a(6), (2, 3), (8, 8)),
        lambda a: call(a(2, 3), (3, 2), (8, 24)),
    ],
    "reshape": [
        lambda a: call(a(2, 6), (3, 4)),
        lambda a: call(a(2, 3, 4), (2, -1)),
        lambda a: call(a(2, 6), (3, 4), order="F"),
        lambda a: call(a(1, 1), ()),
    ],
    "ravel": [lambda a: call(a(2, 3)), lambda a: call(a(2, 3), order="F"), lambda a: call(a())],
    "atleast_1d": [lambda a: call(a()), lambda a: call(a(2), a(2, 2))],
    "atleast_2d": [lambda a: call(a(3))],
    "atleast_3d": [lambda a: call(a(3)), lambda a: call(a(2, 3))],
    "broadcast_arrays": [lambda a: call(a(2, 1), a(3))],
    "meshgrid": [
        lambda a: call(a(2), a(3)),
        lambda a: call(a(2), a(3), a(2), indexing="ij"),
        lambda a: call(a(2), a(3), a(2)),
        lambda a: call(a(2), a(3), sparse=True),
        lambda a: call(a(), a(3)),
    ],
    "ix_": [
        lambda a: call(a(2), a(3)),
        lambda a: call(np.array([0, 2]), np.array([1, 2, 3])),
    ],
    "concatenate": [
        lambda a: call([a(2, 3), a(1, 3)]),
        lambda a: call((a(2, 3), a(2, 2)), axis=1),
        lambda a: call((a(2, 2), a(3)), axis=None),
    ],
    "concat": [lambda a: call([a(2), a(3), a(1)])],
    "stack": [lambda a: call([a(2, 3), a(2, 3)]), lambda a: call([a(2), a(2)], axis=1)],
    "vstack": [lambda a: call([a(3), a(2, 3)])],
    "hstack": [lambda a: call([a(2, 3), a(2, 1)]), lambda a: call([a(2), a(3)])],
    "dstack": [lambda a: call([a(2, 3), a(2, 3)])],
    "column_stack": [lambda a: call([a(2), a(2, 3)])],
    "append": [lambda a: call(a(2, 2), a(3)), lambda a: call(a(2, 2), a(1, 2), axis=0)],
    "block": [lambda a: call([[a(2, 2), a(2, 1)], [a(1, 2), a(1, 1)]])],
    "tile": [lambda a: call(a(2, 3), (2, 2)), lambda a: call(a(2), (2, 1)), lambda a: call(a(), 3)],
    "roll": [
        lambda a: call(a(5), 2),
        lambda a: call(a(3, 4), -1, axis=1),
        lambda a: call(a(2, 3), 2),
    ],
    "resize": [lambda a: call(a(2, 3), (3, 3)), lambda a: call(a(4), (2,))],
    "diag": [lambda a: call(a(3)), lambda a: call(a(3, 4), 1), lambda a: call(a(2), -1)],
    "diagflat": [lambda a: call(a(2, 2))],
    "fft.fftshift": [lambda a: call(a(5)), lambda a: call(a(3, 4), axes=1)],
    "fft.ifftshift": [lambda a: call(a(5)), lambda a: call(a(3, 4))],
    "tril": [lambda a: call(a(3, 4)), lambda a: call(a(2, 3, 3), 1)],
    "triu": [lambda a: call(a(3, 4)), lambda a: call(a(3, 3), -1)],
    "pad": [
        lambda a: call(a(2, 3), 1),
        lambda a: call(a(2, 3), ((1, 0), (0, 2)), mode="edge"),
        lambda a: call(a(4), 3, mode="reflect"),
        lambda a: call(a(3), 2, mode="symmetric"),
        lambda a: call(a(3), 2, mode="wrap"),
        lambda a: call(a(3), 2, constant_values=7.5),
    ],
    "repeat": [
        lambda a: call(a(2, 3), 2),
        lambda a: call(a(2, 3), [1, 0, 2], axis=1),
        lambda a: call(a(2, 3), 3, axis=0),
    ],
    "take": [
        lambda a: call(a(4), np.array([0, 3, 3])),
        lambda a: call(a(2, 4), np.array([[0, 3], [1, 1]]), axis=1),
        lambda a: call(a(2, 2), [3, 0]),
    ],
    "take_along_axis": [lambda a: call(a(2, 3), np.array([[0, 2], [1, 1]]), axis=1)],
    "insert": [
        lambda a: call(a(4), 2, a()),
        lambda a: call(a(2, 3), [0, 2], a(2, 2), axis=1),
        lambda a: call(a(2, 2), 1, a(3)),
    ],
    "delete": [lambda a: call(a(4), 1), lambda a: call(a(3, 3), [0, 2], axis=1)],
    "trim_zeros": [lambda a: call(np.concatenate([np.zeros(2), a(3), np.zeros(1)]))],
    "vander": [lambda a: call(a(3)), lambda a: call(a(2), 4, increasing=True)],
    # choices
    "where": [
        lambda a: call(np.array([1, 0, 1], bool), a(2, 3), a(3)),
        lambda a: call(np.array([[1, 0], [1, 1]], bool)),
        lambda a: call(np.array([1, 0], bool), a(2), 0.0),
    ],
    "select": [
        lambda a: call([np.array([1, 0, 0], bool), np.array([1, 1, 0], bool)], [a(3), a(3)]),
        lambda a: call([np.array([1, 0, 0], bool)], [a(3)], a()),
        lambda a: call([np.array([1, 0, 0], bool)], [a(3)], 7.0),
    ],
    "choose": [lambda a: call(np.array([1, 0, 1]), [a(3), a(3)])],
    "compress": [
        lambda a: call(np.array([1, 0, 1], bool), a(3, 2), axis=0),
        lambda a: call(np.array([0, 1, 1], bool), a(2, 3)),
    ],
    "extract": [lambda a: call(np.array([[1, 0], [0, 1]], bool), a(2, 2))],
    "nonzero": [lambda a: call(np.array([[1.0, 0], [2, 3]]))],
    "flatnonzero": [lambda a: call(np.array([[1.0, 0], [2, 3]]))],
    "argwhere": [lambda a: call(np.array([[1.0, 0], [2, 3]]))],
    "searchsorted": [lambda a: call(np.sort(a(4)), a(2, 2))],
    "digitize": [lambda a: call(a(3), np.sort(a(3)))],
    "interp": [
        lambda a: call(a(4), np.array([0, 0.3, 0.6, 1]), a(4)),
        lambda a: call(np.array([-1.0, 0.2, 3.0]), np.array([0, 0.3, 0.6]), a(3)),
        lambda a: call(np.array([-1.0, 0.2, 3.0]), np.array([0, 0.3, 0.6]), a(3), left=0, right=1),
    ],
    # order and sets
    "sort": [
        lambda a: call(a(5)),
        lambda a: call(a(3, 4), axis=0),
        lambda a: call(a(2, 3), axis=None),
        lambda a: call(np.array([2.0, 1, 2, 1, np.nan])),
    ],
    "sort_complex": [lambda a: call(a(5))],
    "partition": [lambda a: call(a(7), 3), lambda a: call(a(3, 4), 1, axis=0)],
    "argsort": [lambda a: call(a(5)), lambda a: call(a(3, 4), axis=0)],
    "argpartition": [lambda a: call(a(7), 3)],
    "lexsort": [
        lambda a: call((a(4), np.array([1.0, 0, 1, 0]))),
        lambda a: call(np.array([[0.3, 0.1, 0.2], [1, 0, 1]])),
    ],
    "unique": [
        lambda a: call(np.array([2.0, 1, 2, 3])),
        lambda a: call(np.array([[2.0, 1], [2, 3]]), True, True, True),
    ],
    "unique_all": [lambda a: call(np.array([2.0, 1, 2, 3]))],
    "unique_inverse": [lambda a: call(np.array([2.0, 1, 2, 3]))],
    "unique_counts": [lambda a: call(np.array([2.0, 1, 2, 3]))],
    "unique_values": [lambda a: call(np.array([2.0, 1, 2, 3]))],
    "intersect1d": [
        lambda a: call(np.array([3.0, 1, 2]), np.array([2.0, 3, 5])),
        lambda a: call(np.array([3.0, 1, 2]), np.array([2.0, 3, 5]), return_indices=True),
    ],
    "union1d": [lambda a: call(np.array([3.0, 1, 2]), np.array([2.0, 3, 5]))],
    "setdiff1d": [lambda a: call(np.array([3.0, 1, 2]), np.array([2.0, 5]))],
    "setxor1d": [lambda a: call(np.array([3.0, 1, 2]), np.array([2.0, 5]))],
    "isin": [lambda a: call(a(2, 2), a(3))],
    # histograms
    "bincount": [
        lambda a: call(np.array([0, 2, 2, 1])),
        lambda a: call(np.array([0, 2, 2, 1]), a(4), 5),
    ],
    "histogram": [
        lambda a: call(a(6), 3),
        lambda a: call(a(2, 3), np.array([0, 0.5, 1.0])),
        lambda a: call(a(6), 3, (0, 1), weights=a(6)),
        lambda a: call(a(6), 2, density=True),
    ],
    "histogram_bin_edges": [lambda a: call(a(6), 3), lambda a: call(a(6), 3, (0, 1))],
    "histogram2d": [lambda a: call(a(5), a(5), 2)],
    "histogramdd": [lambda a: call(a(5, 2), 2), lambda a: call([a(5), a(5)], 2)],
    # stencils
    "diff": [
        lambda a: call(a(5)),
        lambda a: call(a(3, 4), 2, axis=0),
        lambda a: call(a(4), prepend=a(2), append=a()),
        lambda a: call(a(2, 3), prepend=a(2, 1), append=a(2, 2)),
        lambda a: call(a(2, 3), axis=0, append=a()),
    ],
    "ediff1d": [lambda a: call(a(5)), lambda a: call(a(2, 3)), lambda a: call(a(3), a(2), a(1))],
    "gradient": [
        lambda a: call(a(6)),
        lambda a: call(a(3, 4)),
        lambda a: call(a(5), edge_order=2),
        lambda a: call(a(5), [0, 1, 3, 4, 6.0]),
        lambda a: call(a(3, 4), axis=1),
        lambda a: call(a(2)),
    ],
    **{
        name: [
            lambda a, mode=mode, n=n, m=m: call(a(n), a(m), mode)
            for mode in ("full", "same", "valid")
            for n, m in ((6, 3), (6, 2), (3, 6), (2, 5), (1, 3), (4, 4), (5, 1))
        ]
        for name in ("convolve", "correlate")
    },
    # products
    "matmul": [
        lambda a: call(a(2, 3), a(3, 4)),
        lambda a: call(a(3), a(3, 4)),
        lambda a: call(a(2, 3), a(3)),
        lambda a: call(a(3), a(3)),
        lambda a: call(a(2, 1, 2, 3), a(4, 3, 2)),
    ],
    "linalg.matmul": [lambda a: call(a(2, 3), a(3, 4))],
    "matvec": [lambda a: call(a(2, 3), a(3)), lambda a: call(a(2, 2, 3), a(2, 3))],
    "vecmat": [lambda a: call(a(2), a(2, 3)), lambda a: call(a(3, 2), a(2, 3))],
    "vecdot": [lambda a: call(a(3), a(3)), lambda a: call(a(2, 3), a(3))],
    "linalg.vecdot": [lambda a: call(a(2, 3), a(2, 3)), lambda a: call(a(2, 3), a(2, 3), axis=0)],
    "dot": [
        lambda a: call(a(2, 3), a(3, 2)),
        lambda a: call(a(3), a(3)),
        lambda a: call(a(2, 2, 3), a(2, 3, 2)),
        lambda a: call(a(), a(2, 2)),
        lambda a: call(a(2, 3), a(3)),
    ],
    "vdot": [lambda a: call(a(2, 2), a(2, 2))],
    "inner": [
        lambda a: call(a(2, 3), a(4, 3)),
        lambda a: call(a(3), a(3)),
        lambda a: call(a(), a(2)),
    ],
    "outer": [lambda a: call(a(2), a(3)), lambda a: call(a(2, 2), a(3))],
    "linalg.outer": [lambda a: call(a(2), a(3))],
    "tensordot": [
        lambda a: call(a(2, 3), a(3, 2), 1),
        lambda a: call(a(2, 3, 2), a(2, 3), axes=([0, 1], [0, 1])),
        lambda a: call(a(2), a(2), 0),
    ],
    "linalg.tensordot": [lambda a: call(a(2, 3), a(3, 2), axes=1)],
    "einsum": [
        lambda a: call("ij,jk->ik", a(2, 3), a(3, 2)),
        lambda a: call("ii", a(3, 3)),
        lambda a: call("ii->i", a(3, 3)),
        lambda a: call("ij->ji", a(2, 3)),
        lambda a: call("ba", a(2, 3)),
        lambda a: call("...i,i", a(2, 2, 3), a(3)),
        lambda a: call("ij,jk,kl", a(2, 2), a(2, 3), a(3, 2)),
        lambda a: call("iij,j->", a(2, 2, 3), a(3)),
    ],
    "kron": [
        lambda a: call(a(2, 2), a(2, 3)),
        lambda a: call(a(2), a(3)),
        lambda a: call(a(2), a(2, 2)),
    ],
    "cross": [
        lambda a: call(a(3), a(3)),
        lambda a: call(a(2, 3), a(3)),
        lambda a: call(a(3, 2), a(3, 2), axis=0),
        lambda a: call(a(4, 3), a(3, 4), axisb=0, axisc=0),
    ],
    "linalg.cross": [lambda a: call(a(2, 3), a(2, 3))],
    "linalg.multi_dot": [
        lambda a: call([a(2, 3), a(3, 2), a(2, 2)]),
        lambda a: call([a(3), a(3, 2), a(2)]),
        lambda a: call([a(3), a(3, 2)]),
    ],
    "linalg.matrix_power": [lambda a, n=n: call(a(2, 3, 3), n) for n in (0, 1, 2, 3, -1)],
    "cov": [
        lambda a: call(a(3, 4)),
        lambda a: call(a(5)),
        lambda a: call(a(4, 2), rowvar=False),
        lambda a: call(a(4), a(4)),
        lambda a: call(a(2, 4), a(1, 4)),
        lambda a: call(a(2, 4), aweights=a(4)),
    ],
    "corrcoef": [lambda a: call(a(3, 4)), lambda a: call(a(4), a(4))],
    # linear algebra
    **{
        name: [lambda a: call(symmetric(a(3, 3))), lambda a: call(symmetric(a(2, 2, 2)))]
        for name in [
            "linalg.inv",
            "linalg.det",
            "linalg.slogdet",
            "linalg.eig",
            "linalg.eigvals",
            "linalg.pinv",
            "linalg.matrix_rank",
            "linalg.cond",
            "linalg.svd",
            "linalg.svdvals",
            "linalg.cholesky",
        ]
    },
    **{
        name: [
            lambda a: call(symmetric(a(3, 3))),
            lambda a: call(symmetric(a(2, 2, 2)), UPLO="U"),
        ]
        for name in ("linalg.eigh", "linalg.eigvalsh")
    },
    "linalg.qr": [
        lambda a: call(a(4, 3)),
        lambda a: call(a(3, 4)),
        lambda a: call(a(3, 3)),
        lambda a: call(a(4, 2), mode="complete"),
        lambda a: call(a(2, 3, 2), mode="r"),
    ],
    "linalg.solve": [
        lambda a: call(symmetric(a(3, 3)), a(3)),
        lambda a: call(symmetric(a(3, 3)), a(3, 2)),
        lambda a: call(symmetric(a(2, 2, 2)), a(2, 2, 3)),
    ],
    "linalg.lstsq": [lambda a: call(a(4, 2), a(4)), lambda a: call(a(4, 2), a(4, 3))],
    "linalg.tensorsolve": [lambda a: call(symmetric(a(4, 4)).reshape(2, 2, 4), a(2, 2))],
    "linalg.tensorinv": [lambda a: call(symmetric(a(4, 4)).reshape(4, 2, 2), ind=1)],
    # Fourier transforms; real lines of half spectra have weights of zero in some places
    **{
        name: [
            lambda a, part=part: call(a(5) + part * a(5)),
            lambda a, part=part: call(a(2, 4) + part * a(2, 4), 3),
            lambda a, part=part: call(a(4, 2) + part * a(4, 2), axis=0),
            lambda a, part=part: call(a(3) + part * a(3), n=6),
        ]
        for names, part in (("fft.fft fft.ifft fft.irfft fft.hfft", 1j), ("fft.rfft fft.ihfft", 0))
        for name in names.split()
    },
    **{
        name: [
            lambda a, part=part: call(a(3, 4) + part * a(3, 4)),
            lambda a, part=part: call(a(2, 3, 2) + part * a(2, 3, 2), (2, 2), axes=(0, 1)),
        ]
        for names, part in (("fft.fft2 fft.ifft2 fft.irfft2", 1j), ("fft.rfft2", 0))
        for name in names.split()
    },
    **{
        name: [
            lambda a, part=part: call(a(2, 3, 2) + part * a(2, 3, 2)),
            lambda a, part=part: call(a(2, 3, 3) + part * a(2, 3, 3), axes=(0, 2)),
        ]
        for names, part in (("fft.fftn fft.ifftn fft.irfftn", 1j), ("fft.rfftn", 0))
        for name in names.split()
    },
    # polynomials
    "polyval": [lambda a: call(a(3), a(2, 2))],
    "polyadd": [lambda a: call(a(3), a(2)), lambda a: call(a(2), a(4))],
    "polysub": [lambda a: call(a(3), a(2))],
    "polymul": [lambda a: call(a(3), a(2)), lambda a: call(np.append(0.0, a(2)), a(3))],
    "polyder": [lambda a: call(a(4)), lambda a: call(a(4), 2)],
    "polyint": [lambda a: call(a(3)), lambda a: call(a(3), 2, a(2)), lambda a: call(a(2), 1, a())],
    "polydiv": [lambda a: call(a(5), a(3)), lambda a: call(a(4), a(2))],
    "polyfit": [lambda a: call(a(4), a(4), 2), lambda a: call(a(4), a(4, 2), 1, w=a(4))],
    "poly": [lambda a: call(a(3)), lambda a: call(symmetric(a(3, 3)))],
    "roots": [lambda a: call(a(4))],
    # writing
    "copyto": [
        lambda a: call(a(2, 3), a(3)),
        lambda a: call(a(3), a(3), where=np.array([1, 0, 1], bool)),
    ],
    "fill_diagonal": [lambda a: call(a(3, 3), a(3)), lambda a: call(a(3, 3), 0.0)],
    "place": [lambda a: call(a(4), np.array([1, 0, 1, 1], bool), a(2))],
    "putmask": [lambda a: call(a(4), np.array([1, 0, 1, 1], bool), a(4))],
    "put": [lambda a: call(a(4), [0, 2], a(2)), lambda a: call(a(4), [1], 3.0)],
    "put_along_axis": [lambda a: call(a(2, 3), np.array([[2], [0]]), a(2, 1), 1)],
}
