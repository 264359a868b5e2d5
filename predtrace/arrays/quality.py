"""Labels of lineage: every answer has the weakest label on its way."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Quality(StrEnum):
    """The label of an answer, from best to worst."""

    PRECISE = "precise"
    """Exactly the cells that the operation's contract names (docs/arrays-capture.md)."""
    SUPERSET = "superset"
    """All of these cells, and perhaps others."""
    OBSERVED = "observed"
    """The cells that a run or experiments showed; cells may be missing."""
    ESTIMATED = "estimated"
    """The cells that a model's explanation considers important; cells may be missing or too
    many."""

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Quality).index(self)


def weakest(qualities: Iterable[Quality]) -> Quality:
    """The worst of these labels; `precise` if there are none."""
    return max(qualities, key=lambda quality: quality.rank, default=Quality.PRECISE)
