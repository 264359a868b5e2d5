"""A run as one HTML file: the charts as SVG within it, and the report."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence

from tpch.bench.figures import MEASURES, QueryFigures, Run
from tpch.bench.report import report
from tpch.errors import TpchError

_WIDTH, _HEIGHT = 16.0, 4.5
_GROUP = 0.85
STYLE = (
    "body{font-family:sans-serif;margin:2em auto;max-width:1200px}"
    "svg{width:100%;height:auto}pre{overflow-x:auto;font-size:80%}"
)


def page(run: Run) -> str:
    """The page. Raises TpchError without matplotlib."""
    title = html.escape(f"TPC-H lineage at scale {run.settings.scale:g}")
    charts = "\n".join(
        f"<h2>{html.escape(words)}</h2>\n{chart(run.queries, run.settings.systems, measure)}"
        for measure, words in MEASURES.items()
    )
    text = html.escape(report(run))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{charts}\n"
        f"<h2>Report</h2>\n<pre>{text}</pre>\n</body></html>\n"
    )


def chart(queries: Sequence[QueryFigures], systems: Sequence[str], measure: str) -> str:
    """Bars per query and system on a log scale, with the spread of rounds, as an SVG element."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TpchError("charts need matplotlib: pip install 'predtrace[bench]'") from error
    # The same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = measure
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    width = _GROUP / max(len(systems), 1)
    for place, system in enumerate(systems):
        found = [
            (index, answer.times[measure])
            for index, query in enumerate(queries)
            if (answer := query.of(system)) is not None and measure in answer.times
        ]
        left = (place - (len(systems) - 1) / 2) * width
        medians = [times.median * 1e3 for _, times in found]
        spread = [
            [(times.median - times.least) * 1e3 for _, times in found],
            [(times.most - times.median) * 1e3 for _, times in found],
        ]
        axes.bar(
            [index + left for index, _ in found],
            medians,
            width,
            yerr=spread if found else None,
            label=system,
            error_kw={"elinewidth": 0.6},
        )
    axes.set_yscale("log")
    axes.set_ylabel("milliseconds")
    axes.set_xticks(range(len(queries)), [f"Q{query.number}" for query in queries])
    axes.legend(ncols=len(systems), loc="upper center", bbox_to_anchor=(0.5, 1.12), frameon=False)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    found_svg = text.getvalue()
    return found_svg[found_svg.index("<svg") :]
