"""The report of a check: a table for people, JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from tpch import paper
from tpch.check import AnswerCheck, QueryCheck

_COLUMNS = (
    "query", "output", "asked", "rows", "label", "infer ms", "trace ms", "plain s", "run s",
    "kept", "paper", "bytes", "lineage ms", "removed", "verdict",
)  # fmt: skip

_SCAN_COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("query", "right"), ("mode", "left"), ("engine", "left"), ("min/max", "left"),
    ("scan", "left"), ("label", "left"), ("rows", "right"), ("precise", "right"),
    ("false", "right"), ("passes", "right"), ("source read", "right"), ("answer ms", "right"),
)  # fmt: skip
_FROM_SOURCES = {
    "naive": f"; the paper: {paper.NAIVE_FALSE_POSITIVES:.1%}",
    "refined": f"; the paper: {paper.FALSE_POSITIVES:.1%}",
    "replayed": "",
}
"""The modes that answer without stored results, and the paper's mean rate of false positives."""


def check_table(checks: Sequence[QueryCheck], title: str) -> Table:
    """One line per query, and the totals beside the paper's."""
    table = Table(title=title, box=None, header_style="bold", show_footer=True)
    table.title_justify = "left"
    total = sum(check.stored_bytes for check in checks)
    footers = {"query": "all", "bytes": f"{total:,}"}
    for name in _COLUMNS:
        left = name in ("label", "lineage ms", "verdict")
        table.add_column(name, footers.get(name, ""), justify="left" if left else "right")
    for check in checks:
        table.add_row(*_cells(check))
    return table


def notes(checks: Sequence[QueryCheck], scale_factor: float) -> list[Text]:
    """The problems, one a line, and how the bytes compare with the paper's."""
    lines = [
        Text(f"Q{check.number}: {problem}", style="red")
        for check in checks
        for problem in check.problems
    ]
    slow = [check.number for check in checks if check.inference_seconds > paper.INFERENCE_SECONDS]
    if slow:
        names = ", ".join(f"Q{number}" for number in slow)
        lines.append(Text(f"Inference took more than 1 s: {names}", style="yellow"))
    lines += _false_positives(checks)
    sizes = [check.stored_bytes for check in checks]
    if sizes:
        lines.append(
            Text(
                f"Stored at scale {scale_factor:g}: mean {sum(sizes) / len(sizes) / 1e6:.3f} MB,"
                f" most {max(sizes) / 1e6:.3f} MB a query; the paper at scale"
                f" {paper.SCALE_FACTOR:g}: mean {paper.MEAN_BYTES / 1e6:.1f} MB,"
                f" most {paper.MOST_BYTES / 1e6:.0f} MB."
            )
        )
    return lines


def scans_table(checks: Sequence[QueryCheck]) -> Table | None:
    """One line per scan of every answer that nothing stored was used for; None without any."""
    table = Table(title="Answers per scan", box=None, header_style="bold")
    table.title_justify = "left"
    for name, justify in _SCAN_COLUMNS:
        table.add_column(name, justify=justify)
    for check in checks:
        for answer in check.answers:
            if answer.mode in _FROM_SOURCES:
                _add_scans(table, check.number, answer)
    return table if table.row_count else None


def _add_scans(table: Table, number: int, answer: AnswerCheck) -> None:
    for scan in answer.scans:
        table.add_row(
            f"Q{number}",
            answer.mode,
            answer.engine,
            answer.aggregates,
            str(scan.scan),
            scan.label,
            f"{scan.rows:,}",
            f"{scan.precise:,}",
            f"{scan.false_positives:.1%}",
            str(answer.passes or 1),
            str(answer.reads.get(scan.scan.table, 0)),
            f"{answer.seconds * 1000:.0f}",
        )


def _false_positives(checks: Sequence[QueryCheck]) -> list[Text]:
    """Per mode, the rows returned that are no lineage: on average and by query."""
    lines = []
    for mode, beside in _FROM_SOURCES.items():
        rates: dict[int, float] = {}
        passes = 1
        for check in checks:
            for answer in check.answers:
                if answer.mode == mode:
                    rates[check.number] = max(answer.false_positives, rates.get(check.number, 0.0))
                    passes = max(passes, answer.passes or 1)
        if rates:
            listed = ", ".join(f"Q{number} {rate:.1%}" for number, rate in rates.items() if rate)
            mean = sum(rates.values()) / len(rates)
            lines.append(
                Text(
                    f"False positives, {mode}: mean {mean:.1%} ({listed or 'none'}){beside}."
                    f" At most {passes} passes."
                )
            )
    return lines


def write_json(checks: Sequence[msgspec.Struct], file: Path) -> None:
    """Write the results as a JSON list, one object a query."""
    encoded = msgspec.json.format(msgspec.json.encode(list(checks)), indent=2)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(encoded + b"\n")


def _cells(check: QueryCheck) -> list[str | Text]:
    good = not check.problems
    lineage = ", ".join(
        f"{answer.mode} {answer.engine} {answer.seconds * 1000:.0f}" for answer in check.answers
    )
    tried = sum(removal.tried for removal in check.removals)
    mattered = sum(removal.mattered for removal in check.removals)
    return [
        f"Q{check.number}",
        f"{check.output_rows:,}",
        str(check.targets),
        f"{sum(scan.rows for scan in check.answers[0].scans):,}" if check.answers else "",
        ", ".join(check.labels),
        f"{check.inference_seconds * 1000:.0f}",
        f"{check.trace_seconds * 1000:.0f}",
        f"{check.plain_seconds:.2f}",
        f"{check.run_seconds:.2f}",
        str(check.intermediates),
        str(paper.intermediates(check.number)),
        f"{check.stored_bytes:,}",
        lineage,
        f"{mattered}/{tried}" if tried else "",
        Text("ok", style="green") if good else Text("differs", style="bold red"),
    ]
