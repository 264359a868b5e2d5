"""What all drawing of statements shares: random choices, numbers and names."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from tests.sqltruth.syntax import Item, Query, Ref, SetOperation, Top, quoted

T = TypeVar("T")
Scope = Sequence[Ref]
_ODD = ("{0}", "{0}", "{0}", "{0}", "a.{0}", "{0} b", '"{0}"', "`{0}", "{0}'")


class Column(NamedTuple):
    """A column in scope: its name, and the reference with its FROM item's alias."""

    ref: Ref
    name: str


Source = tuple[Item, list[Column]]


class Names:
    """Draws choices, numbers and names."""

    def __init__(self, rng: random.Random, ansi: bool) -> None:
        self.rng = rng
        self.ansi = ansi
        self._numbers = itertools.count(1)

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        """Whether something with that probability happens."""
        return self.rng.random() < probability

    def number(self) -> int:
        """A number for a FROM item, a grouping or windows."""
        return next(self._numbers)

    def alias(self, number: int) -> str:
        """A name for a FROM item."""
        return self.pick(_ODD).format(f"x{number}")

    def fresh(self, count: int) -> tuple[str, ...]:
        """Names for columns."""
        return tuple(self.pick(_ODD).format(f"k{self.number()}") for _ in range(count))

    def columns(
        self, relation: int, alias: str, columns: Sequence[tuple[str, str]]
    ) -> list[Column]:
        """References to a FROM item's columns, given by names and types."""
        made = []
        for place, (name, data_type) in enumerate(columns):
            written = f"{quoted(alias)}.{quoted(name)}"
            written = written.swapcase() if self.chance(0.1) else written
            made.append(Column(Ref(relation, place, data_type, written), name))
        return made


def names_of(query: Query) -> tuple[str, ...]:
    """The names of a query's columns."""
    while isinstance(query, (Top, SetOperation)):
        query = query.query if isinstance(query, Top) else query.left
    return query.names
