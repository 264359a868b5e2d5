"""What the PredTrace paper reports about TPC-H: the figures that `check` prints ours beside.

Section 7: the intermediate results kept per query, their size at scale factor 1, the time
that inference takes, and the mean rate of false positives without them (Table 6).
"""

from __future__ import annotations

SCALE_FACTOR = 1.0
MEAN_BYTES = 4_500_000
MOST_BYTES = 34_000_000
INFERENCE_SECONDS = 1.0
FALSE_POSITIVES = 0.066

_NONE = {1, 6, 15, 18}
_TWO = {10, 20}


def intermediates(number: int) -> int:
    """How many intermediate results the paper keeps for a query."""
    if number in _NONE:
        return 0
    return 2 if number in _TWO else 1
