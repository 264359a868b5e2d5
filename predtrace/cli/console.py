"""The output of commands: answers on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.text.layout import duration
from predtrace.text.printable import printable, steers

if TYPE_CHECKING:
    from rich.console import Console, RenderHook


class Progress:
    """Names the current step on stderr, and times every step. Silent unless stderr is a
    terminal."""

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do one step; `name` is shown while it lasts."""
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(Text(f"{printable(name)} …")), self.timed(name):
            yield

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time a step without showing it; several may run at the same time."""
        started = time.perf_counter()
        yield
        self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - started


def new_console() -> Console:
    """The console for answers: as wide as the terminal, or wide enough for a file.

    Control characters in anything printed become escapes.
    """
    from rich.console import Console

    console = Console(highlight=False)
    # A file or pipe has no screen width.
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.push_render_hook(_escaping())
    return console


def _escaping() -> RenderHook:
    from rich.console import ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
    from rich.measure import Measurement
    from rich.segment import Segment

    class Escaped:
        """A renderable with its control characters as escapes."""

        def __init__(self, inner: ConsoleRenderable) -> None:
            self._inner = inner

        def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
            return Measurement.get(console, options, self._inner)

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for text, style, control in console.render(self._inner, options):
                yield Segment(text if control else printable(text, keep="\n"), style, control)

    class Escaping(RenderHook):
        """Escapes all that a console prints."""

        def process_renderables(
            self, renderables: list[ConsoleRenderable]
        ) -> list[ConsoleRenderable]:
            return [Escaped(renderable) for renderable in renderables]

    return Escaping()


def write_json(data: Any) -> None:
    """Write answers for programs to stdout; characters that steer a terminal become JSON
    escapes."""
    text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
    sys.stdout.writelines(_json_line(line) + "\n" for line in text.split("\n"))


def _json_line(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(json.dumps(char)[1:-1] if steers(char) else char for char in line)


def print_times(console: Console, timings: Mapping[str, float]) -> None:
    """Print the times of the steps of a command."""
    from rich.text import Text

    times = ", ".join(f"{printable(step)} {duration(seconds)}" for step, seconds in timings.items())
    console.print(Text(f"\nTimes: {times}", style="dim"))
