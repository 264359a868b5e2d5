"""What lineage adds to a run on Spark: plain and stored runs in turns, in one session.

The plain run writes the query's result as Parquet, as a stored run does. The time until the result
is written is compared. With ``keep="late"`` the intermediate results are stored after that, before
the next run begins. The JVM collects its garbage before each run, so that no run pays for the
previous one.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import predtrace
from tpch.bench.figures import Times
from tpch.check import stored_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLAIN, INLINE, LATE = "plain", "inline", "late"
KINDS = (PLAIN, INLINE, LATE)
# Each kind follows each other one as often, and none profits from its place.
_ORDERS = tuple(permutations(KINDS))


class OverheadFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One query: the seconds of each kind of run until its result is there, per round.

    `cold` is the round that came before these. `traced` is reading the plan and inferring,
    which comes once per pipeline and is not in the runs; `late_seconds` what storing took after
    the result was there. `stored` are the bytes of the intermediates, by kind of run: what is
    stored late is cut down to what the output looks up.
    """

    number: int
    seconds: dict[str, Times]
    cold: dict[str, float]
    traced: Times
    late_seconds: Times
    intermediates: int
    stored: dict[str, int]

    def ratios(self, kind: str) -> list[float]:
        """Of each round: the stored run in plain runs."""
        pairs = zip(self.seconds[kind].rounds, self.seconds[PLAIN].rounds, strict=True)
        return [stored / plain for stored, plain in pairs]

    def overhead(self, kind: str) -> float:
        """The median over the rounds, above 0 if lineage costs time."""
        return statistics.median(self.ratios(kind)) - 1


class OverheadMeter:
    """Measures queries; `frame` gives a new DataFrame of a query at each call."""

    def __init__(
        self,
        frame: Callable[[int], DataFrame],
        folder: Path,
        *,
        rounds: int,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._frame = frame
        self._folder = folder
        self._rounds = rounds
        self._step = step
        self._traced: list[float] = []
        self._late: list[float] = []
        self._stored: dict[str, int] = {}
        self._intermediates = 0

    def measure(self, number: int) -> OverheadFigures:
        """Measure one query."""
        self._traced, self._late = [], []
        seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for done in range(self._rounds + 1):
            for kind in _ORDERS[done % len(_ORDERS)]:
                self._step(f"{kind}, round {done} of {self._rounds}")
                seconds[kind].append(self._run(number, kind))
        return OverheadFigures(
            number=number,
            seconds={kind: Times(rounds[1:]) for kind, rounds in seconds.items()},
            cold={kind: rounds[0] for kind, rounds in seconds.items()},
            traced=Times(self._traced[2:]),
            late_seconds=Times(self._late[1:]),
            intermediates=self._intermediates,
            stored=dict(self._stored),
        )

    def _run(self, number: int, kind: str) -> float:
        frame = self._frame(number)
        frame.sparkSession.sparkContext._jvm.System.gc()
        try:
            return self._plain(frame) if kind == PLAIN else self._keeping(frame, kind)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _plain(self, frame: DataFrame) -> float:
        started = time.perf_counter()
        frame.write.option("compression", "zstd").parquet(str(self._folder))
        return time.perf_counter() - started

    def _keeping(self, frame: DataFrame, kind: str) -> float:
        started = time.perf_counter()
        trace = predtrace.trace(frame)
        self._intermediates = len(trace.plan().intermediates)
        self._traced.append(time.perf_counter() - started)
        started = time.perf_counter()
        job = trace.run(store=str(self._folder), keep=kind)
        there = time.perf_counter()
        job.wait()
        if kind == LATE:
            self._late.append(time.perf_counter() - there)
        self._stored[kind] = stored_bytes(job)
        return there - started
