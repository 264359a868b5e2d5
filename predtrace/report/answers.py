"""Lineage answers for people and for machines: rows per scan, labels, first rows, times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from predtrace.report.rows import rows_data, rows_table
from predtrace.text.layout import counted, duration
from predtrace.text.printable import one_line, printable
from predtrace.vocabulary import PRECISE

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console


class ScanAnswer(Protocol):
    """The part of one scan's lineage that a report needs (see `predtrace.lineage.answer`)."""

    name: str
    occurrence: int

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the source."""

    @property
    def label(self) -> str:
        """``precise`` or ``superset``."""

    @property
    def reason(self) -> str:
        """The reason why the label is not ``precise``."""

    def count(self) -> int:
        """The number of lineage rows."""

    def head(self, n: int, columns: Sequence[str] | None) -> pa.Table:
        """Any n of the lineage rows."""

    def predicate_sql(self) -> str:
        """The lineage predicate, as SQL."""


class ScanReport(msgspec.Struct, frozen=True, kw_only=True):
    """One scan's evaluated answer: `rows` are its first rows, `seconds` is the time it took."""

    name: str
    label: str
    reason: str
    count: int
    rows: Any
    seconds: float
    predicate: str
    paths: tuple[str, ...]


class AnswerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer, evaluated to be printed.

    `missing` are the numbers of the targets (from 0) that are not in the output.
    """

    job: str
    label: str
    mode: str
    engine: str
    target_rows: int
    missing: tuple[int, ...]
    notes: tuple[str, ...]
    scans: tuple[ScanReport, ...]
    timings: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data for JSON."""
        return {
            "job": self.job,
            "label": self.label,
            "mode": self.mode,
            "engine": self.engine,
            "target_rows": self.target_rows,
            "missing": list(self.missing),
            "notes": list(self.notes),
            "timings": self.timings,
            "scans": [
                {
                    "scan": scan.name,
                    "label": scan.label,
                    "reason": scan.reason,
                    "count": scan.count,
                    "seconds": scan.seconds,
                    "paths": list(scan.paths),
                    "predicate": scan.predicate,
                    **rows_data(scan.rows),
                }
                for scan in self.scans
            ],
        }

    def print(self, console: Console) -> None:
        """The answer as text: a heading, then a table of rows for every scan."""
        from rich.text import Text

        heading = f"Lineage of {counted(self.target_rows, 'output row')} of job {self.job}: "
        console.print(
            Text(heading, style="bold"), Text(self.label, style=_style(self.label)), sep="", end=""
        )
        console.print(Text(f" (mode {self.mode}, engine {self.engine})"))
        for note in self.notes:
            console.print(Text(f"Note: {one_line(note)}"))
        if not self.target_rows:
            console.print(Text("The target is not in the output, so nothing led to it."))
        elif self.missing:
            numbers = ", ".join(map(str, self.missing))
            targets = "target" if len(self.missing) == 1 else "targets"
            console.print(Text(f"Not in the output: {targets} {numbers} (counted from 0)"))
        for scan in self.scans:
            _print_scan(scan, console)
        times = [f"{printable(step)} {duration(s)}" for step, s in self.timings.items()]
        console.print(Text(f"\nTimes: {', '.join(times)}", style="dim"))


def scan_label(name: str, occurrence: int, names: Sequence[str]) -> str:
    """The table's name, with the occurrence if `names` (of all scans) repeats it."""
    return f"{name}[{occurrence}]" if list(names).count(name) > 1 else name


def evaluate_scan(
    scan: ScanAnswer, name: str, limit: int, columns: Sequence[str] | None = None
) -> ScanReport:
    """Count a scan's lineage rows and read the first `limit`, only the named columns."""
    started = time.perf_counter()
    count = scan.count()
    rows = scan.head(limit, columns)
    return ScanReport(
        name=name,
        label=scan.label,
        reason=scan.reason,
        count=count,
        rows=rows,
        seconds=time.perf_counter() - started,
        predicate=scan.predicate_sql(),
        paths=tuple(scan.paths),
    )


def _print_scan(scan: ScanReport, console: Console) -> None:
    from rich.text import Text

    label = printable(f"{scan.label} ({scan.reason})" if scan.reason else scan.label)
    console.print(
        Text.assemble(
            "\n",
            (printable(scan.name), "bold cyan"),
            f": {counted(scan.count, 'row')}, ",
            (label, _style(scan.label)),
            (f", {duration(scan.seconds)}", "dim"),
            (f", from {printable(', '.join(scan.paths))}", "dim"),
        )
    )
    if scan.count and scan.rows.num_columns:
        console.print(rows_table(scan.rows, console.width))
        more = scan.count - scan.rows.num_rows
        if more > 0:
            console.print(Text(f"and {counted(more, 'more row')}", style="dim"))


def _style(label: str) -> str:
    return "green" if label == PRECISE else "yellow"
