"""Texts of measurements: medians with their spread, and bounds that hold or are missed."""

from __future__ import annotations

from collections.abc import Sequence

from tpch.bench.figures import Times
from tpch.bench.report import table

__all__ = ["bound_line", "milliseconds", "ratios", "spread", "table"]


def milliseconds(seconds: float) -> str:
    """Three digits, or all before the point."""
    value = seconds * 1e3
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def spread(times: Times) -> str:
    """The median with the fastest and the slowest round, in milliseconds."""
    return (
        f"{milliseconds(times.median)} ({milliseconds(times.least)} to {milliseconds(times.most)})"
    )


def ratios(values: Sequence[float]) -> str:
    """The median of ratios with the least and the greatest."""
    times = Times(list(values))
    return f"{times.median:.2f} ({times.least:.2f} to {times.most:.2f})"


def bound_line(what: str, value: str, holds: bool, bound: str) -> str:
    """One line that tells whether a bound holds."""
    return f"- {what}: {value}; bound {bound}: {'holds' if holds else 'missed'}."
