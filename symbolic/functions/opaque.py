"""Functions of which nothing is known: only the run has their results.

Equal arguments may give different results, and nobody computes them a second time. A function's id
says its name, and has a number that tells it from others of the same operator.
"""

from __future__ import annotations

import functools

import msgspec

_PREFIX = "opaque "


class Opaque(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An opaque function: its name for people, and its number."""

    name: str
    number: int

    @property
    def id(self) -> str:
        """The function's id in calls."""
        return _PREFIX + msgspec.json.encode(self).decode()


@functools.lru_cache(maxsize=4096)
def opaque(function: str) -> Opaque | None:
    """The opaque function with this id; None for the id of another function.

    Raises ValueError for an id of neither kind.
    """
    if not function.startswith(_PREFIX):
        return None
    try:
        return msgspec.json.decode(function.removeprefix(_PREFIX), type=Opaque)
    except msgspec.DecodeError as error:
        raise ValueError(f"{function!r} is no opaque function: {error}") from error
