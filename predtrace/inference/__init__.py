"""Logical lineage inference: from an operator graph to a lineage plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predtrace.inference.planner import infer

__all__ = ["infer"]


def __getattr__(name: str) -> Any:
    # Reading a job needs the records of `plan` but not the solver, which `planner` loads.
    if name == "infer":
        from predtrace.inference.planner import infer

        return infer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
