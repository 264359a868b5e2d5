"""The rows of an engine's table of functions: the spelling, and where it is exact.

Exact means that the value is the value of the pipeline's own engine. A row needs both facts. A
function that an engine is never sent has a row, too, which says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from predtrace.jobs.model import EngineSettings

_Call = TypeVar("_Call")
_Spelling = TypeVar("_Spelling")


class Exactness(msgspec.Struct, Generic[_Call], frozen=True):
    """The conditions under which an engine is exact: in words, and as a check of a call.

    `inexactness` gives None for a call that is evaluated exactly.
    """

    says: str
    inexactness: Callable[[_Call, EngineSettings], str | None]


class Evaluated(msgspec.Struct, Generic[_Spelling, _Call], frozen=True):
    """A function that an engine evaluates."""

    spelling: _Spelling
    exact: Exactness[_Call]


class Refused(msgspec.Struct, frozen=True):
    """A function that an engine is never sent."""

    reason: str


ALWAYS: Exactness[Any] = Exactness("always", lambda call, settings: None)


def call_inexactness(
    row: Evaluated[Any, _Call] | Refused | None, call: _Call, settings: EngineSettings
) -> str | None:
    """The reason why the engine with this row does not evaluate a call exactly; None if it does."""
    if row is None:
        return "unknown to this engine"
    return row.reason if isinstance(row, Refused) else row.exact.inexactness(call, settings)


def spellings(
    rows: Mapping[str, Evaluated[_Spelling, Any] | Refused],
) -> dict[str, _Spelling]:
    """The spellings of the functions that an engine evaluates."""
    return {id: row.spelling for id, row in rows.items() if isinstance(row, Evaluated)}
