"""The registry of numpy's functions: each has a rule, or a reason why there is none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from predtrace.arrays.capture.rule import Capture, CaptureRule, Family, numpy_function
from predtrace.arrays.capture.rules import (
    choices,
    einsum,
    elementwise,
    fft,
    groups,
    gufuncs,
    linalg,
    movement,
    order,
    polynomials,
    products,
    reductions,
    scans,
    spacing,
    statistics,
    stencils,
    writes,
)
from predtrace.arrays.capture.ufuncs import UFUNC_RULES

RULES: tuple[CaptureRule, ...] = (
    *elementwise.RULES,
    *reductions.RULES,
    *statistics.RULES,
    *scans.RULES,
    *spacing.RULES,
    *movement.RULES,
    *choices.RULES,
    *order.RULES,
    *groups.RULES,
    *stencils.RULES,
    *gufuncs.RULES,
    *products.RULES,
    *einsum.RULES,
    *linalg.RULES,
    *fft.RULES,
    *polynomials.RULES,
    *writes.RULES,
)

UNSUPPORTED: Mapping[str, str] = {
    "works on dates, text or bits, not on float64": (
        "busday_count busday_offset is_busday datetime_as_string datetime_data packbits unpackbits"
        " ravel_multi_index unravel_index isnat isdtype"
    ),
    "calls a function that may do anything to the array": (
        "apply_over_axes frompyfunc fromfunction nested_iters"
    ),
    "reads or writes files, buffers or settings": (
        "save savetxt savez savez_compressed load loadtxt genfromtxt fromfile fromregex"
        " frombuffer fromstring fromiter from_dlpack get_include get_printoptions getbufsize geterr"
        " geterrcall set_printoptions setbufsize seterr seterrcall show_config show_runtime"
        " printoptions info test"
    ),
    "takes the array out of tracking, which would lose its lineage": (
        "array asarray asanyarray asarray_chkfinite ascontiguousarray asfortranarray asmatrix bmat"
        " require matrix"
    ),
    "takes no array": (
        "arange empty eye ones zeros full identity indices tri bartlett blackman hamming hanning"
        " kaiser diag_indices tril_indices triu_indices mask_indices fft.fftfreq fft.rfftfreq"
    ),
    "gives no array": (
        "array2string array_repr array_str format_float_positional format_float_scientific"
        " base_repr binary_repr broadcast_shapes einsum_path iterable isscalar typename"
        " issubdtype mintypecode promote_types"
    ),
    "is deprecated; use vstack": "row_stack",
}
"""Functions without a rule: by reason, their names below ``numpy``."""

SHAPE_ONLY = (
    "shape ndim size result_type can_cast min_scalar_type common_type iscomplexobj isrealobj"
    " isfortran may_share_memory shares_memory diag_indices_from tril_indices_from"
    " triu_indices_from"
)
"""Functions whose results do not depend on any cell: they get the plain arrays."""


@cache
def rules_by_function() -> dict[Callable[..., Any], tuple[str, CaptureRule]]:
    """Every function's first name and rule."""
    table: dict[Callable[..., Any], tuple[str, CaptureRule]] = {}
    for rule in RULES:
        for name, function in rule.functions().items():
            table.setdefault(function, (name, rule))
    return table


@cache
def shape_only() -> frozenset[Callable[..., Any]]:
    """The functions of `SHAPE_ONLY`."""
    return frozenset(numpy_function(name) for name in SHAPE_ONLY.split())


def find_rule(
    function: Callable[..., Any], method: str = "__call__"
) -> tuple[str, CaptureRule] | None:
    """The name and rule of a numpy function, or of a method of a universal function."""
    if function in rules_by_function():
        return rules_by_function()[function] if method == "__call__" else None
    if isinstance(function, np.ufunc) and function.signature is None:
        suffix = "" if method == "__call__" else f".{method}"
        return function.__name__ + suffix, UFUNC_RULES[method]
    return None


def reason_against(name: str) -> str | None:
    """The reason why a function has no rule, if it is known."""
    return next((why for why, names in UNSUPPORTED.items() if name in names.split()), None)


def names_of(family: Family) -> Iterator[tuple[str, CaptureRule]]:
    """All registered names of a family with their rules; universal functions are not listed."""
    for rule in RULES:
        if rule.family is family:
            yield from ((name, rule) for name in rule.names.split())


@cache
def signature_of(capture: Capture) -> inspect.Signature:
    """The parameters that a rule knows, the call first."""
    return inspect.signature(capture)
