"""The number of tasks in a question's shuffles, chosen by what the question reads.

Users set `spark.sql.shuffle.partitions` (200 by default) for their largest jobs. A question joins
and groups many times, mostly few rows, and every empty task costs as much as a small one.

No answer depends on the number. It decides which task handles a row, and so the order in which rows
come and floats are added up. Answers are sets of rows. A replay is refused if its rows depend on an
order (`limits`), or if its keys depend on how a sum was rounded (`rounding`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "spark.sql.shuffle.partitions"
BYTES = 16_000_000
"""Bytes of files for one task: compressed, so several times as much in memory."""


def partitions(size: int, cores: int, most: int) -> int:
    """Tasks for so many bytes of files: at least one a core, but never more than `most`.

    >>> partitions(200_000, 8, 200), partitions(2_000_000_000, 8, 200)
    (8, 125)
    >>> partitions(10**12, 8, 200), partitions(10**12, 8, 1)
    (200, 1)
    """
    return min(most, max(cores, math.ceil(size / BYTES)))


class Partitions:
    """Raises the number of tasks in a question's session as the question reads more sources.

    `most` is what the user set.
    """

    def __init__(self, session: SparkSession) -> None:
        self._conf = session.conf
        self._most = self._now = int(str(session.conf.get(KEY)))
        self._cores = session.sparkContext.defaultParallelism
        self._sizes: dict[str, int] = {}
        self.read("", 0)

    def read(self, name: str, size: int) -> None:
        """Count a named input once, for the queries planned from now on."""
        self._sizes[name] = size
        wanted = partitions(sum(self._sizes.values()), self._cores, self._most)
        if wanted != self._now:
            self._conf.set(KEY, str(wanted))
            self._now = wanted
