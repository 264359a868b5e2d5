"""Functions that no row of the table knows: their ids say all that tells them from others.

An id has the key of the function's kind, and its description as JSON. Of such a function it is
known that it is deterministic, and what the row of its kind says: equal arguments give equal
results.
"""

from __future__ import annotations

import functools
from typing import ClassVar, Self

import msgspec

from symbolic.functions.base import Function


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function by its description; `name` is what people call it.

    Under `KEY` the tables of engines say what becomes of functions of its kind, and `ROW` has what
    holds of all of them.
    """

    KEY: ClassVar[str]
    ROW: ClassVar[Function]

    name: str

    @property
    def id(self) -> str:
        """The function's id in calls."""
        return f"{self.KEY} {msgspec.json.encode(self).decode()}"

    @classmethod
    def is_kind_of(cls, function: str) -> bool:
        """Whether an id is that of a function of this kind."""
        return function.startswith(f"{cls.KEY} ")

    @classmethod
    def read(cls, function: str) -> Self | None:
        """The function with this id; None for the id of a function of another kind.

        Raises ValueError for an id of no kind.
        """
        return cls._known(function) if cls.is_kind_of(function) else None

    @classmethod
    @functools.lru_cache(maxsize=4096)
    def _known(cls, function: str) -> Self:
        text = function.removeprefix(f"{cls.KEY} ")
        try:
            found = msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise ValueError(f"{function!r} is no {cls.KEY} function: {error}") from error
        if found.id != function:
            raise ValueError(f"{function!r} is not how a {cls.KEY} function is written")
        return found
