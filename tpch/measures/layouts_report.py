"""A record of layouts as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tpch.layouts import LAYOUTS
from tpch.measures.layouts import KINDS, LayoutFigures
from tpch.measures.record import Record, by_query
from tpch.measures.text import milliseconds, spread, table

_TITLES = {
    "query": "The query itself",
    "ids": "Row ids of all scans, one target",
    "rows": "Full rows of all scans, one target",
}


def layouts_report(record: Record[LayoutFigures]) -> str:
    """What each layout is, then a table per kind: queries down, layouts across."""
    queries = [figures for _, figures in by_query(record)]
    parts = [
        "# Layouts of the sources",
        record.heading,
        "Milliseconds, the median of the rounds with the least and the greatest; `rows` is how "
        "many source rows the first target has.",
        "\n".join(f"- `{name}`: {layout.meaning}." for name, layout in LAYOUTS.items()),
    ]
    for kind in KINDS:
        parts += [f"## {_TITLES[kind]}", "\n".join(_kind(queries, kind))]
    return "\n\n".join(parts) + "\n"


def _kind(queries: Sequence[LayoutFigures], kind: str) -> Iterator[str]:
    layouts = list(dict.fromkeys(layout for query in queries for layout in query.seconds))
    rows = [
        (
            f"Q{query.number}",
            f"{query.rows:,}",
            *(spread(query.seconds[layout][kind]) for layout in layouts),
        )
        for query in queries
    ]
    means = [
        milliseconds(statistics.fmean(q.seconds[layout][kind].median for q in queries))
        for layout in layouts
        if queries
    ]
    yield table(("query", "rows", *layouts), [*rows, ("mean", "", *means)] if rows else rows)
