"""The PredTrace paper's figures for TPC-H, which `check` prints beside ours.

Section 7: the intermediate results kept per query, their size at scale factor 1, the time
that inference takes, and the mean rate of false positives without them
(Table 6), refined and naive.
"""

from __future__ import annotations

SCALE_FACTOR = 1.0
MEAN_BYTES = 4_500_000
MOST_BYTES = 34_000_000
INFERENCE_SECONDS = 1.0
FALSE_POSITIVES = 0.066
NAIVE_FALSE_POSITIVES = 0.707
WITH_FALSE_POSITIVES = (16, 17, 21, 22)
"""The queries that refinement left with false positives; the other 18 had none."""

_NONE = {1, 6, 15, 18}
_TWO = {10, 20}


def intermediates(number: int) -> int:
    """The number of intermediate results that the paper keeps for a query."""
    if number in _NONE:
        return 0
    return 2 if number in _TWO else 1
