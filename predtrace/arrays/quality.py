"""How far lineage can be trusted: a label on every answer, the weakest on the way."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Quality(StrEnum):
    """How far an answer can be trusted; the order is from best to worst."""

    PRECISE = "precise"
    """Exactly the cells that the operation's contract names (docs/arrays-capture.md)."""
    SUPERSET = "superset"
    """All of those, perhaps others, too."""
    OBSERVED = "observed"
    """What a run or experiments showed; cells may be missing."""
    ESTIMATED = "estimated"
    """What a model's explanation holds for important; neither all nor only."""

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Quality).index(self)


def weakest(qualities: Iterable[Quality]) -> Quality:
    """The worst of them, `precise` without any."""
    return max(qualities, key=lambda quality: quality.rank, default=Quality.PRECISE)
