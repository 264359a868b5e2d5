"""Values for the keywords of numpy's functions, by name; a call takes those that numpy accepts."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

_MASKS = [
    np.array([True, False, True, True]),
    np.array([[True], [False], [True]]),
    np.array([[False, True, True, True], [True, True, False, True], [True] * 4]),
]
_STEPS = [2.0, np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0])]
_ORDERS = ["C", "F", "A", "K", "f"]

VALUES: dict[str, list[Any]] = {
    "N": [2, 5, 0],
    "UPLO": ["L", "U"],
    "a_max": [0.5],
    "a_min": [0.3],
    "append": _STEPS,
    "atol": [0.1],
    "aweights": [np.array([1.0, 2.0, 1.0, 2.0])],
    "axes": [0, 1, -1, (0, 1), (1, 0), (-1,), ([0], [0]), ([-1], [0]), ([1], [-1]), [1]],
    "axis": [-1, 0, 1, -2, 2, (0, 1), (-1, 0), None],
    "axis1": [0, 1, -1],
    "axis2": [0, 1, -2],
    "axisa": [0, -1, 1],
    "axisb": [0, -1, 1],
    "axisc": [0, -1],
    "base": [2.0],
    "bias": [True],
    "bins": [4, np.array([0.2, 0.5, 0.8]), "auto", [0, 0.5, 1], (2, 3)],
    "casting": ["unsafe", "same_kind"],
    "check_bounds": [True, False],
    "compute_uv": [False],
    "copy": [True],
    "correction": [1],
    "cov": [True],
    "ddof": [1, 0],
    "decimals": [0, 2, -1],
    "default": [5.0],
    "deg": [True],
    "density": [True, False],
    "descending": [True, False],
    "device": ["cpu"],
    "discont": [1.0, 4.0],
    "dtype": [np.float32, np.int8, complex],
    "dx": [2.0],
    "edge_order": [1, 2],
    "endpoint": [False],
    "equal_nan": [True, False],
    "full": [True],
    "full_matrices": [False],
    "fweights": [np.array([1, 2, 1, 2])],
    "hermitian": [True],
    "include_initial": [True],
    "increasing": [True],
    "indexing": ["ij", "xy"],
    "initial": [2.0],
    "inv": [True],
    "invert": [True],
    "k": [-2, -1, 0, 1, 2, 0.5],
    "keepdims": [True, 1, np.True_, False],
    "kind": ["stable", "heapsort", "sort"],
    "kth": [0, -1, (0, 2)],
    "left": [0.3],
    "m": [0, 1, 2, 3],
    "max": [0.5],
    "method": ["lower", "nearest", "median_unbiased", "inverted_cdf"],
    "min": [0.3],
    "minlength": [0, 7],
    "mode": [
        *("raise", "wrap", "clip", "full", "same", "valid", "constant", "edge", "reflect"),
        *("symmetric", "empty", "reduced", "complete", "r"),
    ],
    "n": [0, 1, 2, 3, 5, 7],
    "nan": [1.0],
    "neginf": [2.0],
    "norm": ["ortho", "forward"],
    "num": [1, 2, 5],
    "offset": [-1, 1, 5],
    "optimize": [True],
    "ord": [1, 2, np.inf, "fro", "nuc", -1],
    "order": _ORDERS,
    "p": [1, 2, "fro"],
    "period": [6.0],
    "posinf": [1.0],
    "prepend": _STEPS,
    "range": [(0, 1), (0.3, 0.6), [(0, 1), (0, 1)]],
    "rcond": [1e-3],
    "reflect_type": ["even"],
    "retstep": [False],
    "return_counts": [True],
    "return_index": [True],
    "return_indices": [True],
    "return_inverse": [True],
    "returned": [True],
    "right": [True, 0.7],
    "rowvar": [False],
    "rtol": [1e-3],
    "s": [(2, 3), (3,), (2, 5), (2, -1)],
    "side": ["right"],
    "sorted": [False],
    "sorter": [np.array([0, 1, 2, 3])],
    "sparse": [True],
    "stable": [True],
    "strict": [True],
    "strides": [(8, 8), (8, 16)],
    "subok": [True, False],
    "to_begin": [3.0, np.array([1.0, 2.0])],
    "to_end": [3.0, np.array([1.0, 2.0])],
    "tol": [1e-3],
    "trim": ["f", "b"],
    "upper": [True],
    "w": [np.array([1.0, 2.0, 3.0, 4.0])],
    "weights": [np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 1, 2, 1, 3, 1]), np.arange(1.0, 6)],
    "where": _MASKS,
    "wrap": [True],
    "writeable": [False],
    "x": [np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.0, 1.0, 4.0])],
    "y": [np.array([0.3, 0.1, 0.7, 0.2])],
    "assume_unique": [True],
    "mean": [np.array([[0.5, 0.4, 0.3, 0.2]]), 0.5],
    "overwrite_input": [False],
    "shape": [(2, 2), (5,)],
    "start": [1],
    "ind": [1],
}

OF_FUNCTION: dict[tuple[str, str], list[Any]] = {
    ("clip", "max"): [0.5, np.array([0.5, 0.6, 0.7])],
    ("clip", "a_min"): [0.3],
    ("linalg.matrix_power", "n"): [0, 1, 2, 3, -1],
    ("linalg.tensorsolve", "axes"): [None],
    ("permute_dims", "axes"): [(2, 0, 1), (-1, 0, -2), (1, 0)],
    ("partition", "kind"): ["introselect"],
    ("argpartition", "kind"): ["introselect"],
    ("copyto", "where"): [np.array([True, False, True])],
    ("array_equal", "equal_nan"): [True],
}
"""Where a name means something of its own."""

NOT_HERE = {
    "out": "is refused for all functions by the same check, which has tests of its own",
    "like": "is for functions that take no array",
}
"""Keywords that are tried elsewhere."""

NO_VALUE = {
    **dict.fromkeys(
        [(name, "order") for name in ("sort", "argsort", "partition", "argpartition")],
        "is for records, which are not tracked",
    ),
    **dict.fromkeys(
        [(name, "axes") for name in ("matmul", "matvec", "vecmat", "vecdot")],
        "is tried in all ways below",
    ),
    ("matmul", "axis"): "is for functions of one core axis",
    ("matvec", "axis"): "is for functions of one core axis",
    ("vecmat", "axis"): "is for functions of one core axis",
    ("matmul", "keepdims"): "is for functions without core axes in the output",
    ("matvec", "keepdims"): "is for functions without core axes in the output",
    ("vecmat", "keepdims"): "is for functions without core axes in the output",
}
"""Keywords of which numpy takes no value for arrays such as these, and why."""

BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    (name, "where"): {"initial": 0.5} for name in ("max", "min", "amax", "amin", "nanmax", "nanmin")
}
"""What a keyword needs beside it."""
BESIDE |= {
    (name, "weights"): {"method": "inverted_cdf"}
    for name in ("quantile", "percentile", "nanquantile", "nanpercentile")
}
BESIDE[("clip", "a_min")] = {"a_max": 0.6}

WITHOUT_SIGNATURE: dict[str, list[str]] = {
    name: ["axes", "axis", "keepdims", "casting", "order", "dtype", "subok"]
    for name in ("matmul", "matvec", "vecmat", "vecdot")
}


def keywords_of(name: str, function: Any) -> dict[str, int]:
    """The names of the parameters that may be given by keyword, and the place of each."""
    if name in WITHOUT_SIGNATURE:
        return dict.fromkeys(WITHOUT_SIGNATURE[name], 99)
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: place
        for place, parameter in enumerate(parameters)
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is not parameter.empty
    }
