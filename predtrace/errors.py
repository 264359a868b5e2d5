"""Errors that predtrace raises on purpose; each says what was wrong, where, and what to do."""

from __future__ import annotations

from predtrace.text.printable import one_line

STORED_INLINE = "run the pipeline with keep='inline', and ask in mode='auto' or 'stored'"
"""The way out where a replay need not give what the run gave."""


class PredTraceError(Exception):
    """Base of all errors that predtrace raises on purpose.

    Its text is one line, even if quoted names and values have line breaks.
    """

    def __str__(self) -> str:
        return one_line(super().__str__())


class UnsupportedOperatorError(PredTraceError):
    """The pipeline has an operator or expression that cannot be traced (yet)."""


class NonDeterministicError(PredTraceError):
    """The pipeline has a part whose result another run may not repeat."""


class TargetError(PredTraceError):
    """A lineage question names a column, value or predicate that does not fit the output."""


class SourceError(PredTraceError):
    """A source is missing, unreadable, ambiguous, or changed since the job ran."""


class StoreError(PredTraceError):
    """The job store cannot be written or read, or holds no such job."""


class JobFormatError(StoreError):
    """A `job.json` is corrupt, truncated, or of a newer schema."""


class EngineError(PredTraceError):
    """An engine is not available or cannot answer this question exactly."""


class EnvironmentError_(PredTraceError):
    """The machine lacks something that predtrace needs, e.g. Java."""


class ArrayLineageError(PredTraceError):
    """A lineage relation, capture or query does not fit the arrays it is about."""


class LineageLostWarning(UserWarning):
    """Cells of a tracked array became plain numbers, whose lineage is not recorded."""


class ArrayFormatError(StoreError):
    """Stored array lineage is corrupt, truncated, or of a newer version."""
