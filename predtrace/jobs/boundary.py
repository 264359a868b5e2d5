"""Where what a job's record says is put to use: what goes wrong there is told as one error.

Records come from files. What is checked when one is read does not show all nonsense: a call
with too few arguments, say, shows when it is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from predtrace.errors import JobFormatError, PredTraceError


@contextmanager
def of_record(job_id: str) -> Iterator[None]:
    """Raise JobFormatError for an error that none of the layers below foresees."""
    try:
        yield
    except (PredTraceError, OSError, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise JobFormatError(
            f"job {job_id} could not be put to use ({type(error).__name__}: {error}): its record "
            "does not make sense, or this is a defect of predtrace (--debug, or the error's cause, "
            "shows where); run the pipeline again"
        ) from error
