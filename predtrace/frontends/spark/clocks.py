"""What a pipeline reads of the clock: moments, or only the date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from predtrace.frontends.spark.catalyst import JavaObject, read_json

_OF_A_DAY = frozenset({"CurrentDate", "CurrentTimeZone"})
"""Catalyst's classes of values that stay the same for a day."""


def reads_dates_only(plan: JavaObject, settled: JavaObject) -> bool:
    """Whether nothing but the date was replaced by a literal where a plan became `settled`."""
    replaced = set(_classes(read_json(plan))) - set(_classes(read_json(settled)))
    return replaced <= _OF_A_DAY


def _classes(value: Any) -> Iterator[str]:
    """The simple names of the classes of all plans and expressions in their JSON."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield str(found.get("class", "")).rpartition(".")[2]
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
