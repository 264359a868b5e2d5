"""Means and ratios over the queries of a run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import msgspec

from tpch.bench.figures import MANY, ONE, QueryFigures


class Compared(msgspec.Struct, frozen=True):
    """Two times of the queries that have both: mean seconds, and the ratio's spread.

    `ratio` is the geometric mean of the queries' ratios, `least` and `most` the extremes;
    above 1 the first system is slower.
    """

    queries: int
    mean: float
    other_mean: float
    ratio: float
    least: float
    most: float


def compared(
    queries: Sequence[QueryFigures], measure: str, system: str, other: str
) -> Compared | None:
    """Compare a system with another; None if no query was answered by both."""
    return _summary(list(_pairs(queries, measure, system, other)))


def grown(queries: Sequence[QueryFigures], system: str) -> Compared | None:
    """A system's time for all targets at once beside that for one, where there are several."""
    several = (query for query in queries if query.asked > 1)
    times = ((query.seconds(system, MANY), query.seconds(system, ONE)) for query in several)
    return _summary([(many, one) for many, one in times if many is not None and one is not None])


def _summary(pairs: Sequence[tuple[float, float]]) -> Compared | None:
    if not pairs:
        return None
    ratios = [ours / theirs for ours, theirs in pairs]
    return Compared(
        queries=len(pairs),
        mean=statistics.fmean(ours for ours, _ in pairs),
        other_mean=statistics.fmean(theirs for _, theirs in pairs),
        ratio=statistics.geometric_mean(ratios),
        least=min(ratios),
        most=max(ratios),
    )


def _pairs(
    queries: Sequence[QueryFigures], measure: str, system: str, other: str
) -> Iterator[tuple[float, float]]:
    for query in queries:
        ours, theirs = query.seconds(system, measure), query.seconds(other, measure)
        if ours is not None and theirs is not None:
            yield ours, theirs


def paired(query: QueryFigures, measure: str, system: str, other: str) -> list[float] | None:
    """The ratios of two systems' times, round by round; None unless both took part in all rounds.

    Both were asked the same target in the same round, so whatever else the machine did weighs on
    both.
    """
    ours, theirs = (
        None if answer is None else answer.times.get(measure)
        for answer in (query.of(system), query.of(other))
    )
    if ours is None or theirs is None or len(ours.rounds) != len(theirs.rounds):
        return None
    return [one / two for one, two in zip(ours.rounds, theirs.rounds, strict=True)]


def false_positives(queries: Sequence[QueryFigures], system: str) -> float | None:
    """The mean over the queries of the share of returned rows that are no lineage."""
    found = [query.of(system) for query in queries]
    rates = [answer.false_positives for answer in found if answer is not None and answer.times]
    return statistics.fmean(rates) if rates else None
