"""Functions that only windows have: rankings, and values of other rows.

Aggregates over frames are in `aggregates`. A row says which rows of the partition lead to the value
(SEMANTICS section 2.1), and which rows are enough to compute it again (section 4).
"""

from __future__ import annotations

from enum import Enum
from functools import partial

import msgspec

from symbolic.functions.base import Semantics


class Draws(Enum):
    """The rows, beside its own, that a row's value is lineage of."""

    BEFORE = "all rows strictly before"
    BEFORE_AND_TIES = "all rows strictly before; the peers, too, if it is greater than rank"
    GIVER = "the row that gave the value, and its peers that hold the same value"
    PARTITION = "the whole partition"


class Reach(Enum):
    """The rows of the partition that are enough to compute a row's value again."""

    UP_TO_PEERS = "the rows before, and the peers"
    FROM_PEERS = "the peers, and the rows after"
    FRAME = "the frame"
    PARTITION = "the whole partition"


class WindowOnly(msgspec.Struct, frozen=True):
    """One function that needs a window.

    `by_position`: peers may have different values, which of them is up to the run.
    """

    id: str
    draws: Draws
    reach: Reach
    by_position: bool
    meaning: str
    semantics: Semantics


_spark = partial(WindowOnly, semantics=Semantics.SPARK)
_shared = partial(_spark, by_position=False)
_placed = partial(_spark, by_position=True)

ROWS = (
    _shared("rank", Draws.BEFORE, Reach.UP_TO_PEERS, meaning="1 + number of rows before"),
    _shared("dense_rank", Draws.BEFORE, Reach.UP_TO_PEERS, meaning="1 + number of keys before"),
    _shared("percent_rank", Draws.PARTITION, Reach.PARTITION, meaning="share of the rows before"),
    _shared("cume_dist", Draws.PARTITION, Reach.PARTITION, meaning="share of rows up to the peers"),
    _placed("row_number", Draws.BEFORE_AND_TIES, Reach.UP_TO_PEERS, meaning="place in the order"),
    _placed("ntile", Draws.PARTITION, Reach.PARTITION, meaning="number of the row's bucket"),
    _placed("lag", Draws.GIVER, Reach.UP_TO_PEERS, meaning="value of an earlier row"),
    _placed("lead", Draws.GIVER, Reach.FROM_PEERS, meaning="value of a later row"),
    _placed("first_value", Draws.GIVER, Reach.FRAME, meaning="value of the frame's first row"),
    _placed("last_value", Draws.GIVER, Reach.FRAME, meaning="value of the frame's last row"),
    _placed("nth_value", Draws.GIVER, Reach.FRAME, meaning="value of the frame's nth row"),
)
"""All are Spark's."""
