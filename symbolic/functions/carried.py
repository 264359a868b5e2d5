"""Functions that no row of the table knows: carried by the engine's own name for them.

Of such a function it is known that it is deterministic, and nothing else: equal arguments give
equal results. The engine whose function it is evaluates it. Its id says all that tells it from
others: the class of its expression, its name, and its parameters that are no arguments.
"""

from __future__ import annotations

import functools

import msgspec

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros

KEY = "carried"
"""Under this key the tables of engines say what becomes of carried functions."""
_PREFIX = f"{KEY} "

ROW = Function(
    KEY,
    None,
    Nulls.OWN,
    "a function without a row of its own, by the engine's name",
    Zeros.APART,
    Semantics.SPARK,
    Encoding.UNINTERPRETED,
)
"""What holds of every carried function."""


class Carried(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function by its engine's name; `expression` is the class that the engine makes of it.

    `parameters` are pairs of a name and a value, sorted: what a call is made with beside its
    arguments (options, a schema, a time zone, ANSI mode).
    """

    name: str
    expression: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """The function's id in calls."""
        return _PREFIX + msgspec.json.encode(self).decode()

    def parameter(self, name: str) -> str | None:
        """The value of a parameter; None for one that the function does not have."""
        return dict(self.parameters).get(name)


@functools.lru_cache(maxsize=4096)
def carried(function: str) -> Carried | None:
    """The carried function with this id; None for the id of another function.

    Raises ValueError for an id of neither kind.
    """
    if not function.startswith(_PREFIX):
        return None
    try:
        found = msgspec.json.decode(function.removeprefix(_PREFIX), type=Carried)
    except msgspec.DecodeError as error:
        raise ValueError(f"{function!r} is no carried function: {error}") from error
    if found.id != function:
        raise ValueError(f"{function!r} is not how a carried function is written")
    return found


def is_carried(function: str) -> bool:
    """Whether an id is that of a carried function."""
    return function.startswith(_PREFIX)


def key_of(function: str) -> str:
    """The key of a function in the tables of engines: its id, or that of all carried ones."""
    return KEY if is_carried(function) else function
