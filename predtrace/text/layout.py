"""Small pieces of text that reports share: sizes, durations, counts, and rendering by width."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size(count: float | None) -> str:
    """A number of bytes for people: ``4.5 MB``; ``?`` if unknown."""
    if count is None or not math.isfinite(count):
        return "?"
    for unit in _UNITS:
        if count < 1000 or unit == _UNITS[-1]:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("the last unit takes everything")


def duration(seconds: float) -> str:
    """A time for people: ``35 ms``, ``1.9 s``, ``2 min 5 s``."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def number(count: float | None) -> str:
    """A count with separators: ``1,500,000``; ``?`` if unknown."""
    return "?" if count is None or not math.isfinite(count) else f"{round(count):,}"


def counted(count: float | None, noun: str) -> str:
    """A count of things for people: ``1 row``, ``2,767 rows``, ``? rows`` if unknown.

    >>> counted(1, "more value"), counted(0, "column"), counted(2, "pass")
    ('1 more value', '0 columns', '2 passes')
    """
    return f"{number(count)} {noun if count == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def plain(renderable: RenderableType, width: int = 100) -> str:
    """A rich renderable as plain text of the given width."""
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
