"""How the check of row-id indexes is shown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tpch.indexes import IndexCheck

_COLUMNS = (
    "query", "output", "links", "bytes", "int32 zstd", "size ratio", "plain", "query s", "build s",
    "build ratio", "ids ms", "question ms", "forward ms", "label", "verdict",
)  # fmt: skip


def index_table(checks: Sequence[IndexCheck], title: str) -> Table:
    """One line per query's index, and the totals."""
    table = Table(title=title, box=None, header_style="bold", show_footer=True)
    table.title_justify = "left"
    ours, theirs = sum(c.bytes for c in checks), sum(c.zstd_bytes for c in checks)
    footers = {
        "query": "all",
        "bytes": f"{ours:,}",
        "int32 zstd": f"{theirs:,}",
        "size ratio": f"{ours / theirs:.2f}" if theirs else "",
        "plain": f"{sum(c.plain_bytes for c in checks):,}",
    }
    for name in _COLUMNS:
        left = name in ("label", "verdict")
        table.add_column(name, footers.get(name, ""), justify="left" if left else "right")
    for check in checks:
        table.add_row(
            f"Q{check.number}",
            f"{check.output_rows:,}",
            f"{check.links:,}",
            f"{check.bytes:,}",
            f"{check.zstd_bytes:,}",
            f"{check.size_ratio:.2f}",
            f"{check.plain_bytes:,}",
            f"{check.query_seconds:.2f}",
            f"{check.build_seconds:.2f}",
            f"{check.build_ratio:.2f}",
            f"{check.ids_ms:.2f}",
            f"{check.ask_ms:.2f}",
            f"{check.forward_ms:.2f}",
            check.label,
            Text("differs", style="bold red") if check.problems else Text("ok", style="green"),
        )
    return table


def index_notes(checks: Sequence[IndexCheck]) -> list[Text]:
    """The differences, and the bounds that do not hold, one a line."""
    wrong = [(check.number, problem, "red") for check in checks for problem in check.problems]
    slow = [(check.number, bound, "yellow") for check in checks for bound in check.missed()]
    return [Text(f"Q{number}: {text}", style=style) for number, text, style in [*wrong, *slow]]
