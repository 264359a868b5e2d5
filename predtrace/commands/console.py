"""What commands print: answers on stdout, progress on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.report.text import duration

if TYPE_CHECKING:
    from rich.console import Console


class Progress:
    """Names the step at work on stderr, and keeps what each took. Silent unless a terminal."""

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do one step; `name` is shown while it lasts."""
        from rich.console import Console

        started = time.perf_counter()
        with Console(stderr=True).status(f"{name} …"):
            yield
        self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - started


def new_console() -> Console:
    """Where answers go: as wide as the terminal, or wide enough for a file."""
    from rich.console import Console

    console = Console(highlight=False)
    # Into a file or pipe there is no screen whose width would matter.
    return console if console.is_terminal else Console(highlight=False, width=120)


def write_json(data: Any) -> None:
    """Answers for programs, on stdout."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n")


def print_times(console: Console, timings: Mapping[str, float]) -> None:
    """What the steps of a command took."""
    from rich.text import Text

    times = ", ".join(f"{step} {duration(seconds)}" for step, seconds in timings.items())
    console.print(Text(f"\nTimes: {times}", style="dim"))
