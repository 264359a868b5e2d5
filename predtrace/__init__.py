"""Row-level lineage for data pipelines by predicate pushdown.

    trace = predtrace.trace(df)                      # infers, runs nothing
    job = trace.run(store="lineage/")                # runs the pipeline, keeps what lineage needs
    rows = job.lineage({"priority": "1-URGENT"})     # source rows, computed when read
    rows["orders"].head(20)

The names below are loaded when first used, so that importing this package is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predtrace.api import Trace, open_job, trace
    from predtrace.attachment.attaching import Attachment, attach, detach
    from predtrace.environment.local_spark import local_session
    from predtrace.errors import (
        EngineError,
        EnvironmentError_,
        JobFormatError,
        NonDeterministicError,
        PredTraceError,
        SourceError,
        StoreError,
        TargetError,
        UnsupportedOperatorError,
    )
    from predtrace.handle import JobHandle
    from predtrace.lineage.answer import Lineage

_HOMES = {
    **dict.fromkeys(("Trace", "open_job", "trace"), "predtrace.api"),
    **dict.fromkeys(("Attachment", "attach", "detach"), "predtrace.attachment.attaching"),
    "JobHandle": "predtrace.handle",
    "Lineage": "predtrace.lineage.answer",
    "local_session": "predtrace.environment.local_spark",
    **dict.fromkeys(
        (
            "EngineError",
            "EnvironmentError_",
            "JobFormatError",
            "NonDeterministicError",
            "PredTraceError",
            "SourceError",
            "StoreError",
            "TargetError",
            "UnsupportedOperatorError",
        ),
        "predtrace.errors",
    ),
}

__all__ = [
    "Attachment",
    "EngineError",
    "EnvironmentError_",
    "JobFormatError",
    "JobHandle",
    "Lineage",
    "NonDeterministicError",
    "PredTraceError",
    "SourceError",
    "StoreError",
    "TargetError",
    "Trace",
    "UnsupportedOperatorError",
    "attach",
    "detach",
    "local_session",
    "open_job",
    "trace",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
