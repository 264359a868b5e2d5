"""How times grow with the scale and with the number of targets, out of runs of the benchmark."""

from __future__ import annotations

import html
import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from tpch.bench.figures import MANY, MEASURES, ONE, Run, as_text, read_run
from tpch.bench.page import STYLE
from tpch.errors import TpchError
from tpch.measures.text import milliseconds, table

SCALE, TARGETS = "scale", "targets"
_SIZE = (9.0, 4.5)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A system at one scale, or asked for so many targets at once.

    `seconds` is the mean over the `queries` that were answered at every point of the series,
    `least` and `most` the extremes of these. `place` is the scale or the number of targets.
    """

    place: float
    seconds: float
    least: float
    most: float
    queries: int


Series = Mapping[str, Sequence[Point]]
"""Points by system, in the order of their places."""


def read_runs(files: Sequence[Path]) -> list[Run]:
    """Runs by scale, then targets.

    Raises TpchError for fewer than two, for runs with the same scale and targets, or of
    different machines or versions, which cannot be compared.
    """
    runs = sorted(map(read_run, files), key=_place)
    if len(runs) < 2:
        raise TpchError("growth needs two runs of bench or more, at other scales or targets")
    if len(set(map(_place, runs))) < len(runs):
        raise TpchError("two runs have the same scale and number of targets: leave one out")
    if any(_where(run) != _where(runs[0]) for run in runs):
        raise TpchError("the runs are of different machines or versions: run them again")
    return runs


def _place(run: Run) -> tuple[float, int]:
    return run.settings.scale, run.settings.targets


def _where(run: Run) -> tuple[str, dict[str, str], str]:
    return run.settings.machine, run.settings.versions, run.settings.engine


def with_scale(runs: Sequence[Run], measure: str = ONE) -> Series:
    """One target (or another measure), by scale. Of each scale the run with most targets."""
    chosen = {run.settings.scale: run for run in sorted(runs, key=lambda r: r.settings.targets)}
    return _series([(scale, run) for scale, run in sorted(chosen.items())], measure)


def with_targets(runs: Sequence[Run]) -> dict[float, Series]:
    """All targets at once, by their number, for each scale that has several numbers."""
    found: dict[float, Series] = {}
    for scale in sorted({run.settings.scale for run in runs}):
        points = [(r.settings.targets, r) for r in runs if r.settings.scale == scale]
        if len(points) > 1:
            found[scale] = _series(points, MANY)
    return found


def _series(points: Sequence[tuple[float, Run]], measure: str) -> Series:
    series: dict[str, list[Point]] = {}
    for system in dict.fromkeys(name for _, run in points for name in run.settings.systems):
        times = [
            {q.number: s for q in run.queries if (s := q.seconds(system, measure)) is not None}
            for _, run in points
        ]
        shared = set.intersection(*map(set, times))
        if shared:
            series[system] = [
                Point(
                    place=place,
                    seconds=statistics.fmean(found[number] for number in shared),
                    least=min(found[number] for number in shared),
                    most=max(found[number] for number in shared),
                    queries=len(shared),
                )
                for (place, _), found in zip(points, times, strict=True)
            ]
    return series


def growth_report(runs: Sequence[Run]) -> str:
    """The tables, as Markdown."""
    return "\n\n".join(["# Growth", _made(runs), *_sections(runs)]) + "\n"


def growth_page(runs: Sequence[Run]) -> str:
    """One HTML file with the charts in it. Raises TpchError without matplotlib."""
    charts = "\n".join(
        f"<h2>{html.escape(title)}</h2>\n{growth_chart(series, axis)}"
        for title, axis, series in _all_series(runs)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Growth</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>Growth</h1>\n{charts}\n"
        f"<h2>Report</h2>\n<pre>{html.escape(growth_report(runs))}</pre>\n</body></html>\n"
    )


def _made(runs: Sequence[Run]) -> str:
    settings = runs[0].settings
    loads = [load for run in runs for load in run.loads.values()]
    commands = "\n".join(f"    {run.command}" for run in runs)
    load = f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"
    return (
        f"{commands}\n\n{settings.machine}, load {load} when queries began; "
        f"{as_text(settings.versions)}. Milliseconds: medians of the rounds, of these the mean "
        "over the queries that a system answered at every place of its row, with the least and "
        "the greatest."
    )


def _all_series(runs: Sequence[Run]) -> Iterator[tuple[str, str, Series]]:
    if len({run.settings.scale for run in runs}) > 1:
        for measure in (ONE, MANY):
            series = with_scale(runs, measure)
            if series:
                yield f"With the scale: {MEASURES[measure]}", SCALE, series
    for scale, series in with_targets(runs).items():
        yield f"With the targets, at scale {scale:g}: {MEASURES[MANY]}", TARGETS, series


def _sections(runs: Sequence[Run]) -> Iterator[str]:
    for title, axis, series in _all_series(runs):
        yield f"## {title}"
        places = [point.place for point in next(iter(series.values()))]
        headings = ("system", "queries", *(f"{axis} {place:g}" for place in places), "last / first")
        rows = [
            (
                system,
                str(points[0].queries),
                *(_shown(point) for point in points),
                f"{points[-1].seconds / points[0].seconds:.2f}",
            )
            for system, points in series.items()
        ]
        yield table(headings, rows)


def _shown(point: Point) -> str:
    return (
        f"{milliseconds(point.seconds)} ({milliseconds(point.least)} to {milliseconds(point.most)})"
    )


def growth_chart(series: Series, axis: str) -> str:
    """A line per system on log scales, with the extremes over queries, as an SVG element."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TpchError("charts need matplotlib: pip install 'predtrace[bench]'") from error
    # The same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = axis
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    for system, points in series.items():
        places = [point.place for point in points]
        (line,) = axes.plot(places, [p.seconds * 1e3 for p in points], marker="o", label=system)
        least, most = [p.least * 1e3 for p in points], [p.most * 1e3 for p in points]
        axes.fill_between(places, least, most, color=line.get_color(), alpha=0.1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(axis)
    axes.set_ylabel("milliseconds")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    found = text.getvalue()
    return found[found.index("<svg") :]
