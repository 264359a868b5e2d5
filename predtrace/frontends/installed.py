"""The installed front ends: found by the pipeline to read, or by the name in a saved job."""

from __future__ import annotations

from importlib import import_module

from predtrace.errors import PredTraceError
from predtrace.frontends.base import FrontEnd

FRONT_ENDS: dict[str, str] = {"spark": "predtrace.frontends.spark.front_end"}
"""Name: the module that has it as `FRONT_END`, loaded when first needed."""


def front_end_of(given: object) -> FrontEnd:
    """The front end that reads `given`. Raises PredTraceError if none does."""
    known = [named_front_end(name) for name in FRONT_ENDS]
    for front_end in known:
        if front_end.accepts(given):
            return front_end
    takes = " or ".join(front_end.takes for front_end in known)
    raise PredTraceError(f"a pipeline is {takes}, not {type(given).__name__}")


def named_front_end(name: str) -> FrontEnd:
    """The front end of that name. Raises PredTraceError if this version has none."""
    if name not in FRONT_ENDS:
        raise PredTraceError(
            f"there is no front end {name!r} in this version of predtrace; it knows "
            f"{', '.join(FRONT_ENDS)}"
        )
    found: FrontEnd = import_module(FRONT_ENDS[name]).FRONT_END
    return found
