"""Leaves: where pushdown ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import Columns, Guesses, Ids, Leaf, Repeats, itself
from symbolic.expr import Column, Expr
from symbolic.types import DataType


class Scan(Leaf, frozen=True, tag=True, kw_only=True):
    """One read of a source. `table` is the source's unique name.

    `occurrence` numbers the scans of the same table from 1 in plan order; `alias` is
    what the query calls it there. `columns` are the source's columns as stored.
    """

    table: str
    occurrence: int
    columns: tuple[Column, ...]
    alias: str | None = None

    def output(self, *inputs: Columns) -> Columns:
        """The source's columns."""
        return self.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """Themselves."""
        return itself(self.columns)

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Nothing: there is no input."""
        return ()

    def pruned(self, needed: Ids) -> Self:
        """It reads the needed columns alone."""
        kept = tuple(column for column in self.columns if column.id in needed)
        return msgspec.structs.replace(self, columns=kept)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """Sources stay as they were, or questions fail."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """There is no input."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """There is none to keep."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing: any predicate selects rows of a source."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """Nothing is known of a source's rows."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The source's own count."""
        return guesses.scanned(self.id)


class OneRow(Leaf, frozen=True, tag=True, kw_only=True):
    """A single row without columns (SELECT without FROM). Reads no source."""

    def output(self, *inputs: Columns) -> Columns:
        """No columns."""
        return ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """No columns."""
        return {}

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Nothing: there is no input."""
        return ()

    def pruned(self, needed: Ids) -> Self:
        """There is nothing to leave out."""
        return self

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """One row it is, always."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """There is no input."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """There is none to keep."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing: there are no columns."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """There are no columns."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """One row."""
        return 1.0
