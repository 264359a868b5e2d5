"""Asking a job for lineage, and the answer: source rows for each scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predtrace.lineage.answer import Lineage

__all__ = ["Lineage"]


def __getattr__(name: str) -> Any:
    if name != "Lineage":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from predtrace.lineage.answer import Lineage

    return Lineage
