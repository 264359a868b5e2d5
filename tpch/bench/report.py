"""A run as a Markdown report, and as lines for the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from tpch.bench.figures import MANY, MEASURES, ONE, Answered, QueryFigures, Run, Times, as_text
from tpch.bench.summary import Compared, compared, false_positives, grown, paired
from tpch.bench.systems import PAGES, PERM, PRECISE, QUERY

_BASES = (QUERY, PERM, PAGES)
"""What the other systems' times are divided by."""
_REPLAYED = "replayed"


def report(run: Run) -> str:
    """The report: how it was made, a table per measure, ratios, what was not answered."""
    settings = run.settings
    loads = run.loads.values()
    load = f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"
    parts = [
        f"# TPC-H lineage at scale {settings.scale:g}{', twisted' if settings.twisted else ''}, "
        f"on {settings.engine}",
        f"    {run.command}",
        f"{settings.machine}, load {load} when queries began; {as_text(settings.versions)}. "
        f"Rounds: {settings.rounds}; at most {settings.targets} targets a query, spread evenly "
        "over the output; a round asks every system once, in turns, and rounds with one target "
        "go through the targets. Warm: every system has answered before. Times are medians in "
        "milliseconds, with the fastest and the slowest round. A system whose rounds together "
        f"took more than {settings.limit:g} s has no further ones; a rewritten query that alone "
        "takes so long is given up.",
        _agreement(run),
        *(_answers(run) or ["No query was measured."]),
        *_sections(run),
    ]
    return "\n\n".join(parts) + "\n"


def headline(run: Run) -> str:
    """How long a replay takes beside running the query, in this run."""
    found = compared(run.queries, ONE, _REPLAYED, QUERY)
    if found is None:
        return "No query was both replayed and run."
    return (
        f"One target by {_REPLAYED}: mean {_ms(found.mean)} ms over {found.queries} queries; "
        f"running those queries once: mean {_ms(found.other_mean)} ms."
    )


def _agreement(run: Run) -> str:
    wrong = [
        f"{answer.system} on Q{query.number} ({answer.obstacle})"
        for query in run.queries
        for answer in query.answers
        if answer.wrong
    ]
    if wrong:
        return f"**Answers differ**, and were not timed: {'; '.join(wrong)}."
    precise = [name for name in run.settings.systems if name in PRECISE]
    return (
        f"Before anything was timed, the row ids of all targets were compared as sets: those of "
        f"{', '.join(precise)} are the same wherever they answered, those of the others contain "
        "them."
    )


def _answers(run: Run) -> list[str]:
    return [headline(run)] if run.queries else []


def _sections(run: Run) -> Iterator[str]:
    systems, queries = run.settings.systems, run.queries
    for measure, title in MEASURES.items():
        timed = [name for name in systems if any(q.seconds(name, measure) for q in queries)]
        if timed:
            rows = [
                (f"Q{q.number}", str(q.asked), *(_times(q.of(name), measure) for name in timed))
                for q in queries
            ]
            yield f"## Time: {title}"
            yield table(("query", "asked", *timed), rows)
            yield from _ratios(queries, measure, timed)
        if measure == ONE:
            yield from _rounds(queries, timed)
        if measure == MANY:
            yield from _growths(queries, timed)
    yield "## False positives"
    yield "Rows returned that are no lineage, as a share of all returned, for all targets at once."
    traced = [name for name in systems if name != QUERY]
    yield table(("query", "links", *traced), [_rates(query, traced) for query in queries])
    means = ((name, false_positives(queries, name)) for name in traced)
    yield "Mean: " + ", ".join(f"{n} {mean:.1%}" for n, mean in means if mean is not None) + "."
    yield "## What is kept"
    yield "Intermediate results that the job stored: how many, their rows, their bytes of Parquet."
    headings = ("query", "output rows", "scans", "intermediates", "rows", "bytes")
    yield table(headings, map(_kept, queries))
    yield "## Before the first question"
    yield "Seconds, once a query, and bytes that are kept for questions to come."
    before = [name for name in traced if any(_keeps(query.of(name)) for query in queries)]
    rows = [(f"Q{q.number}", *(_prepared(q.of(name)) for name in before)) for q in queries]
    yield table(("query", *before), rows)
    yield from _captures(run)
    refused = [
        f"- Q{query.number}, {answer.system}: {answer.obstacle}"
        for query in queries
        for answer in query.answers
        if answer.obstacle
    ]
    yield "## Answered"
    yield table(("system", "queries", "which"), [_support(queries, name) for name in systems])
    yield "## Not answered"
    yield "\n".join(refused) if refused else "Every system answered every query."


def _support(queries: Sequence[QueryFigures], system: str) -> tuple[str, ...]:
    """On how many queries the system was timed, and on which."""
    found = [q.number for q in queries if (answer := q.of(system)) is not None and answer.times]
    which = "all" if len(found) == len(queries) else ", ".join(f"Q{number}" for number in found)
    return system, f"{len(found)} of {len(queries)}", which


def _captures(run: Run) -> Iterator[str]:
    """What capture of all lineage takes beside the query."""
    rows = [
        (f"Q{query.number}", answer.system, *_captured(query, answer))
        for query in run.queries
        for answer in query.answers
        if answer.captured
    ]
    if rows:
        yield "## Capture"
        yield (
            "Milliseconds of capturing the lineage of the whole output once, beside running the "
            "query, by parts, and in runs of the query (the median of `query`, or the system's "
            "own); the bytes of the indexes, both ways."
        )
        yield table(("query", "system", "query ms", "capture ms", "parts", "runs", "bytes"), rows)


def _captured(query: QueryFigures, answer: Answered) -> tuple[str, ...]:
    capture = sum(answer.captured.values())
    plain = answer.plain or query.seconds(QUERY, MANY)
    parts = ", ".join(f"{name} {_ms(seconds)}" for name, seconds in answer.captured.items())
    runs = "" if plain is None else f"{capture / plain:.1f}"
    kept = f"{answer.kept_bytes:,}" if answer.kept_bytes else ""
    return "" if plain is None else _ms(plain), _ms(capture), parts, runs, kept


def _ratios(queries: Sequence[QueryFigures], measure: str, systems: Sequence[str]) -> Iterator[str]:
    rows = [
        (name, f"{base}", *_ratio(found))
        for base in _BASES
        for name in systems
        if name != base and (found := compared(queries, measure, name, base)) is not None
    ]
    if rows:
        yield (
            "Each system beside another, over the queries that both answered: arithmetic means, "
            "and the geometric mean of the ratios, with the least and the greatest; above 1 the "
            "system is slower."
        )
        headings = ("system", "beside", "queries", "mean ms", "its mean ms", "ratio", "spread")
        yield table(headings, rows)


def _rounds(queries: Sequence[QueryFigures], systems: Sequence[str]) -> Iterator[str]:
    """Times in units of the rewritten query's, each divided within its round."""
    others = [name for name in systems if name != PERM]
    if PERM not in systems or not others:
        return
    yield (
        f"Beside `{PERM}`, round by round: the median of the rounds' ratios, with the least and "
        "the greatest."
    )
    rows = [
        (f"Q{q.number}", *(_spread_of(paired(q, ONE, name, PERM)) for name in others))
        for q in queries
    ]
    yield table(("query", *others), rows)


def _spread_of(ratios: Sequence[float] | None) -> str:
    if not ratios:
        return ""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _growths(queries: Sequence[QueryFigures], systems: Sequence[str]) -> Iterator[str]:
    found = [(name, grown(queries, name)) for name in systems]
    rows = [(name, *_ratio(growth)) for name, growth in found if growth is not None]
    if rows:
        yield "All targets at once beside one, over the queries with several targets:"
        yield table(("system", "queries", "all: mean ms", "one: mean ms", "ratio", "spread"), rows)


def _ratio(found: Compared) -> tuple[str, ...]:
    return (
        str(found.queries),
        _ms(found.mean),
        _ms(found.other_mean),
        f"{found.ratio:.2f}",
        f"{found.least:.2f} to {found.most:.2f}",
    )


def _times(answer: Answered | None, measure: str) -> str:
    times = None if answer is None else answer.times.get(measure)
    return "" if times is None else _spread(times)


def _spread(times: Times) -> str:
    return f"{_ms(times.median)} ({_ms(times.least)} to {_ms(times.most)})"


def _rates(query: QueryFigures, systems: Sequence[str]) -> tuple[str, ...]:
    answers = [query.of(name) for name in systems]
    precise = [a.links for a in answers if a is not None and a.system in PRECISE and a.links]
    rates = ("" if a is None or not a.times else f"{a.false_positives:.1%}" for a in answers)
    return (f"Q{query.number}", f"{max(precise, default=0):,}", *rates)


def _kept(query: QueryFigures) -> tuple[str, ...]:
    counts = (
        query.output_rows,
        query.scans,
        query.intermediates,
        query.intermediate_rows,
        query.intermediate_bytes,
    )
    return (f"Q{query.number}", *(f"{count:,}" for count in counts))


def _keeps(answer: Answered | None) -> bool:
    return answer is not None and answer.kept_bytes > 0


def _prepared(answer: Answered | None) -> str:
    if answer is None or not answer.times:
        return ""
    return f"{answer.prepared:.2f} s, {answer.kept_bytes:,}"


def _ms(seconds: float) -> str:
    """Three digits, or all before the point."""
    milliseconds = seconds * 1e3
    digits = 0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2
    return f"{milliseconds:,.{digits}f}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, all others to the right."""
    rule = ["---", *["--:"] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))
