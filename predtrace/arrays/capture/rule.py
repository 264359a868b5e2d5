"""A rule: numpy functions with the same kind of lineage, and the code that finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from predtrace.arrays.capture.call import Edges
from predtrace.arrays.quality import Quality

Capture = Callable[..., Edges]


class Family(Enum):
    """Operations with the same notion of contribution; the values are headings of the docs."""

    ELEMENTWISE = "element-wise"
    REDUCTION = "reductions"
    SCAN = "scans"
    MOVEMENT = "data movement"
    CHOICE = "choices"
    ORDER = "order"
    SET = "sets"
    GROUP = "histograms"
    STENCIL = "stencils"
    PRODUCT = "products"
    LINALG = "linear algebra"
    FFT = "Fourier transforms"
    POLYNOMIAL = "polynomials"
    CREATION = "creation"
    WRITE = "writing into an array"


@dataclass(frozen=True)
class CaptureRule:
    """The capture of the lineage of some numpy functions.

    `names` are dotted names below ``numpy``, separated by blanks. `capture` takes the call and
    then the parameters of these functions. `by_shape` says that shapes and arguments other
    than the operands determine the lineage (DSLog, section VI-B); without it, values do.
    `writes` marks functions whose only output is their first argument's new state.
    """

    family: Family
    names: str
    capture: Capture
    meaning: str
    by_shape: bool = True
    quality: Quality = Quality.PRECISE
    writes: bool = False

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The numpy functions by their names."""
        return {name: numpy_function(name) for name in self.names.split()}


def numpy_function(name: str) -> Any:
    """The function of a dotted name below ``numpy``."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found
