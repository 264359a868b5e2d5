"""One row of each set of rows that agree on some columns."""

from __future__ import annotations

from collections.abc import Sequence

from pushdown.operators.base import Columns, Guesses, Ids, Repeats, SameColumns, ids_of
from symbolic.expr import Column, Expr
from symbolic.types import DataType


class DropDuplicates(SameColumns, frozen=True, tag=True, kw_only=True):
    """One row of each set of rows with equal `keys` (NULLs equal): which one is up to the run.

    Without keys: one row of all.
    """

    keys: tuple[Column, ...]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The keys."""
        return self.keys

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Also the keys."""
        return (needed | ids_of(self.keys),)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """The keys."""
        return tuple(key.type for key in self.keys)

    @property
    def repeats(self) -> Repeats:
        """If no different rows have equal keys."""
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
        """Its rows come in no order."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Its whole rows: others may be equal in part."""
        return ids_of(inputs[0])

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """One row for each set."""
        return guesses.groups(rows[0], self.keys)
