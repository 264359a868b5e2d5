"""The boundary where a job's record is used: failures there become one clear error.

Records come from files. The checks on reading do not find all nonsense: a call with too few
arguments, say, is noticed only when it is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from predtrace.errors import EngineError, JobFormatError, PredTraceError


@contextmanager
def of_record(job_id: str) -> Iterator[None]:
    """Raise JobFormatError for an error that the layers below do not foresee."""
    try:
        yield
    except (PredTraceError, OSError, MemoryError, RecursionError):
        raise
    except UnicodeDecodeError as error:
        raise EngineError(
            f"a text of job {job_id}'s output or sources is not valid UTF-8 ({error}); "
            "cast the column to binary in the pipeline, or ask for row numbers alone"
        ) from error
    except Exception as error:
        raise JobFormatError(
            f"job {job_id} could not be used ({type(error).__name__}: {error}): its record "
            "does not make sense, or this is a defect of predtrace (--debug, or the error's cause, "
            "shows where); run the pipeline again"
        ) from error
