"""Functions that no row of the table knows: carried by the engine's own name for them.

The engine whose function it is evaluates it. Its id says all that tells it from others: the class
of its expression, its name, and its parameters that are no arguments.
"""

from __future__ import annotations

from typing import ClassVar

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.functions.described import Described

KEY = "carried"
"""Under this key the tables of engines say what becomes of carried functions."""


class Carried(Described, frozen=True, forbid_unknown_fields=True):
    """A function by its engine's name; `expression` is the class that the engine makes of it.

    `parameters` are pairs of a name and a value, sorted: what a call is made with beside its
    arguments (options, a schema, a time zone, ANSI mode).
    """

    KEY: ClassVar[str] = KEY
    ROW: ClassVar[Function] = Function(
        KEY,
        None,
        Nulls.OWN,
        "a function without a row of its own, by the engine's name",
        Zeros.APART,
        Semantics.SPARK,
        Encoding.UNINTERPRETED,
    )

    expression: str
    parameters: tuple[tuple[str, str], ...] = ()

    def parameter(self, name: str) -> str | None:
        """The value of a parameter; None for one that the function does not have."""
        return dict(self.parameters).get(name)


def carried(function: str) -> Carried | None:
    """The carried function with this id; None for the id of another function.

    Raises ValueError for an id of neither kind.
    """
    return Carried.read(function)


def is_carried(function: str) -> bool:
    """Whether an id is that of a carried function."""
    return Carried.is_kind_of(function)
