"""A record of starting times as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpch.bench.figures import Times
from tpch.measures.record import Record
from tpch.measures.startup import (
    ENGINE,
    FIRST,
    HELP,
    IMPORT,
    LOAD,
    OPEN,
    SECOND,
    ProcessFigures,
    QuestionFigures,
    StartupFigures,
)
from tpch.measures.text import bound_line, milliseconds, spread, table

MOST_IMPORT, MOST_HELP, MOST_STARTING = 0.1, 0.3, 0.15
"""Seconds: importing, the help as a whole process, opening a job with the engine."""


def startup_report(record: Record[StartupFigures]) -> str:
    """Whole processes, and first questions per query, beside the bounds."""
    entries = record.entries.values()
    questions = [entry.question for entry in entries if entry.question is not None]
    parts = [
        "# Fresh processes",
        record.heading,
        "Milliseconds, the median of the rounds with the least and the greatest.",
    ]
    parts += [_processes(entry.processes) for entry in entries if entry.processes is not None]
    if questions:
        parts += [
            "Of a job in a fresh process: `load` imports what questions need, `open` and `engine` "
            "open the job and start DuckDB, `first` is its first question for one target (row ids "
            "of all scans), `second` the same question again. The last column is `first` when no "
            "file of the job and its sources was in the system's cache.",
            _questions(sorted(questions, key=lambda one: one.number)),
            "\n".join(_bounds(questions)),
        ]
    return "\n\n".join(parts) + "\n"


def _processes(figures: ProcessFigures) -> str:
    rows = [
        (name, spread(times), spread(figures.cpu[name]))
        for name, times in figures.processes.items()
    ]
    imported, helped = figures.beyond_interpreter(IMPORT), figures.processes[HELP]
    bounds = (
        ("import predtrace, beyond the interpreter", imported, MOST_IMPORT),
        ("predtrace --help, whole process", helped, MOST_HELP),
    )
    lines = "\n".join(_bound(what, times, most) for what, times, most in bounds)
    return f"{table(('process', 'ms', 'CPU ms'), rows)}\n\n{lines}"


def _questions(questions: Sequence[QuestionFigures]) -> str:
    headings = (
        "query", "load", "open + engine", "first", "second", "open to first answer", "its CPU",
        "first, files not cached",
    )  # fmt: skip
    rows = [
        (
            f"Q{one.number}",
            *(spread(times) for times in (one.seconds[LOAD], one.starting, one.seconds[FIRST])),
            *(spread(times) for times in (one.seconds[SECOND], one.cold)),
            milliseconds(sum(one.cpu[name].median for name in (OPEN, ENGINE, FIRST))),
            spread(one.uncached[FIRST]) if one.uncached else "",
        )
        for one in questions
    ]
    return table(headings, rows)


def _bounds(questions: Sequence[QuestionFigures]) -> Iterator[str]:
    slowest = max(questions, key=lambda one: one.starting.median)
    yield _bound(
        f"opening a job and starting the engine, slowest (Q{slowest.number})",
        slowest.starting,
        MOST_STARTING,
    )


def _bound(what: str, times: Times, most: float) -> str:
    return bound_line(what, f"{spread(times)} ms", times.median < most, f"{milliseconds(most)} ms")
