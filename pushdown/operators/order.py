"""Sorts, limits and samples."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pushdown.operators.base import Columns, Guesses, Ids, Repeats, SameColumns, ids_of
from symbolic.expr import Expr, column_ids
from symbolic.types import DataType


class SortKey(msgspec.Struct, frozen=True):
    """One key of a sort order."""

    value: Expr
    ascending: bool = True
    nulls_first: bool = True


class Sort(SameColumns, frozen=True, tag=True, kw_only=True):
    """The same rows in order."""

    keys: tuple[SortKey, ...]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The keys."""
        return tuple(key.value for key in self.keys)

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Also what the keys read."""
        return (needed | column_ids(*self.expressions),)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """The keys."""
        return tuple(key.value.type for key in self.keys)

    @property
    def repeats(self) -> Repeats:
        """The rows are the same; their order among ties is no part of them."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """Its only input."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is its input's row."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """It makes an order of its own."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """As many rows as the input has."""
        return rows[0]


class Limit(SameColumns, frozen=True, tag=True, kw_only=True):
    """`count` rows (None: all) after skipping `offset`.

    Over a Sort these are the next in order, else any: which rows is up to the run.
    """

    count: int | None
    offset: int = 0

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """No columns but the needed ones."""
        return (needed,)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """If no different rows tie at its cut."""
        return Repeats.BY_DATA

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """Equal rows count together."""
        return ()

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is its input's row."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """It leaves rows out."""
        return True

    def pins(self, *inputs: Columns) -> Ids:
        """Its whole rows: others may be equal in part."""
        return ids_of(inputs[0])

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The count."""
        return rows[0] if self.count is None else min(rows[0], float(self.count))


class Sample(SameColumns, frozen=True, tag=True, kw_only=True):
    """A random part of the rows: of the share from `lower` to `upper` of them.

    Each row is drawn or not; `with_replacement`, it may be drawn several times. The same `seed`
    draws the same rows only where they lie in the same partitions, in the same order.
    """

    lower: float
    upper: float
    with_replacement: bool
    seed: int | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """No columns but the needed ones."""
        return (needed,)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """No: it draws again."""
        return Repeats.NEVER

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """Equal rows count together."""
        return ()

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is its input's row."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """It draws row by row."""
        return True

    def pins(self, *inputs: Columns) -> Ids:
        """Its whole rows: others may be equal in part."""
        return ids_of(inputs[0])

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The share."""
        return rows[0] * (self.upper - self.lower)
