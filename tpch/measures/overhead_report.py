"""A record of overheads as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tpch import paper
from tpch.bench.figures import Times
from tpch.measures.overhead import INLINE, KINDS, LATE, PLAIN, OverheadFigures
from tpch.measures.record import Record, by_query
from tpch.measures.text import bound_line, milliseconds, ratios, spread, table

MOST_OVERHEAD = {INLINE: 0.15, LATE: 0.02}
"""Of the median query, at scale 1."""


def overhead_report(record: Record[OverheadFigures]) -> str:
    """Times and paired ratios per query, bytes stored, medians beside the bounds."""
    queries = [figures for _, figures in by_query(record)]
    parts = [
        "# Overhead of runs on Spark",
        record.heading,
        "Milliseconds until the result is written, the median of the rounds with the least and the "
        "greatest; ratios are of the runs of one round. `tracing` comes once per pipeline and is "
        "not in the runs, nor is what a late run does `after` its result is there.",
        _times(queries),
        "\n".join(_summary(queries)),
    ]
    return "\n\n".join(parts) + "\n"


def _times(queries: Sequence[OverheadFigures]) -> str:
    headings = (
        "query", *KINDS, "inline / plain", "late / plain", "tracing", "after", "kept",
        "bytes inline", "bytes late",
    )  # fmt: skip
    rows = [
        (
            f"Q{query.number}",
            *(spread(query.seconds[kind]) for kind in KINDS),
            ratios(query.ratios(INLINE)),
            ratios(query.ratios(LATE)),
            milliseconds(query.traced.median),
            milliseconds(query.late_seconds.median),
            str(query.intermediates),
            *(f"{query.stored[kind]:,}" for kind in (INLINE, LATE)),
        )
        for query in queries
    ]
    return table(headings, rows)


def _summary(queries: Sequence[OverheadFigures]) -> Iterator[str]:
    if not queries:
        return
    for kind, most in MOST_OVERHEAD.items():
        overheads = [query.overhead(kind) for query in queries]
        median = statistics.median(overheads)
        spread_text = f"{median:+.1%} ({min(overheads):+.1%} to {max(overheads):+.1%})"
        yield bound_line(
            f"median overhead, {kind}", spread_text, median <= most, f"{most:.0%} at scale 1"
        )
        whole = sum(_sum(query.seconds[kind]) for query in queries)
        plain = sum(_sum(query.seconds[PLAIN]) for query in queries)
        yield f"- all queries together, {kind}: {whole / plain - 1:+.1%}."
        traced = statistics.median(
            (query.seconds[kind].median + query.traced.median) / query.seconds[PLAIN].median - 1
            for query in queries
        )
        yield f"- median overhead with tracing in it, {kind}: {traced:+.1%}."
    sizes = [query.stored[INLINE] for query in queries]
    mean, most_bytes = statistics.fmean(sizes), max(sizes)
    yield bound_line(
        "mean stored",
        _mb(mean),
        mean <= paper.MEAN_BYTES / 2,
        f"{_mb(paper.MEAN_BYTES / 2)} at scale 1",
    )
    yield bound_line(
        "most stored",
        _mb(most_bytes),
        most_bytes <= paper.MOST_BYTES / 2,
        f"{_mb(paper.MOST_BYTES / 2)} at scale 1",
    )


def _sum(times: Times) -> float:
    return times.median


def _mb(size: float) -> str:
    return f"{size / 1e6:.2f} MB"
