"""A record of inference as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tpch import paper
from tpch.measures.inference import InferenceFigures, Kept, Phases, total_bytes
from tpch.measures.record import Record, by_query
from tpch.measures.text import bound_line, milliseconds, spread, table

MEAN_SECONDS, MOST_SECONDS = 0.2, 1.0
"""Bounds, for a JVM that is warm and a solver that remembers nothing."""


def inference_report(record: Record[InferenceFigures]) -> str:
    """Times per query and phase beside the bounds, and the intermediates both ways."""
    queries = [figures for _, figures in by_query(record)]
    parts = [
        "# Inference",
        record.heading,
        "Milliseconds, the median of the rounds with the least and the greatest. `first`: the "
        "solver remembers nothing; `again`: it remembers what it proved for this query.",
        _times(queries),
        "\n".join(_summary(queries)),
        "## Intermediate results with Algorithm 2 and without",
        "Without it the first place that serves is taken; columns are projected in both cases. "
        "Guessed bytes are what places are chosen by; rows and bytes are those that Spark stores.",
        _places(queries),
        _saved(queries),
    ]
    return "\n\n".join(parts) + "\n"


def _times(queries: Sequence[InferenceFigures]) -> str:
    headings = (
        "query", "calls", "proofs", "capture", "pushdown", "solver", "first", "its CPU", "again",
    )  # fmt: skip
    rows = [
        (
            f"Q{query.number}",
            str(query.calls),
            str(query.proofs),
            *(
                milliseconds(times.median)
                for times in (query.first.capture, query.first.pushdown, query.first.solver)
            ),
            spread(query.first.total),
            milliseconds(query.first.cpu.median),
            spread(query.again.total),
        )
        for query in queries
    ]
    return table(headings, rows)


def _summary(queries: Sequence[InferenceFigures]) -> Iterator[str]:
    if not queries:
        return
    for name in ("first", "again"):
        phases: list[Phases] = [getattr(query, name) for query in queries]
        totals = [one.total.median for one in phases]
        mean, most = statistics.fmean(totals), max(totals)
        parts = ", ".join(
            f"{part} {milliseconds(statistics.fmean(getattr(p, part).median for p in phases))}"
            for part in ("capture", "pushdown", "solver", "cpu")
        )
        yield f"- {name}: mean {milliseconds(mean)} ms ({parts}), most {milliseconds(most)} ms."
        if name == "first":
            bound = f"{milliseconds(MEAN_SECONDS)} ms"
            yield bound_line("mean", f"{milliseconds(mean)} ms", mean < MEAN_SECONDS, bound)
            bound = f"{milliseconds(MOST_SECONDS)} ms"
            yield bound_line("most", f"{milliseconds(most)} ms", most < MOST_SECONDS, bound)


def _places(queries: Sequence[InferenceFigures]) -> str:
    headings = (
        "query",
        "without",
        "guessed",
        "rows",
        "bytes",
        "with",
        "guessed",
        "rows",
        "bytes",
        "paper",
    )
    rows = [
        (
            f"Q{query.number}",
            *_sizes(query.kept_at_once),
            *_sizes(query.kept),
            str(paper.intermediates(query.number)),
        )
        for query in queries
    ]
    return table(headings, rows)


def _sizes(kept: Sequence[Kept]) -> tuple[str, ...]:
    rows = sum(one.rows or 0 for one in kept)
    size = total_bytes(kept)
    guessed = sum(one.estimated_bytes for one in kept)
    stored = ("", "") if size is None else (f"{rows:,}", f"{size:,}")
    return (str(len(kept)), f"{guessed:,.0f}", *stored)


def _saved(queries: Sequence[InferenceFigures]) -> str:
    lines = []
    for query in queries:
        before, after = total_bytes(query.kept_at_once), total_bytes(query.kept)
        if query.deferred and before and after is not None:
            lines.append(f"Q{query.number} {1 - after / before:.1%}")
    return f"Bytes that Algorithm 2 saves: {', '.join(lines) or 'none'}."
