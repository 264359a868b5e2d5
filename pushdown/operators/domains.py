"""The values of outer rows for which a correlated subquery is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pushdown.operators.base import (
    Assignment,
    Columns,
    Guesses,
    Ids,
    OneInput,
    Repeats,
)
from symbolic.expr import Expr, column_ids
from symbolic.types import DataType


class Domain(OneInput, frozen=True, tag=True, kw_only=True):
    """The distinct values of some columns of outer rows, under names of their own.

    A correlated subquery is computed for each of them, and joined with the outer rows that have
    them. So the outer rows here only say what is computed: they are no lineage of it.
    """

    assignments: tuple[Assignment, ...]

    def output(self, *inputs: Columns) -> Columns:
        """The assigned columns."""
        return tuple(assignment.column for assignment in self.assignments)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The values."""
        return tuple(assignment.value for assignment in self.assignments)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """What the values read."""
        return {a.column.id: column_ids(a.value) for a in self.assignments}

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """All: it compares whole rows."""
        return (column_ids(*self.expressions),)

    def pruned(self, needed: Ids) -> Domain:
        """There is nothing to leave out."""
        return self

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Whole rows."""
        return tuple(assignment.column.type for assignment in self.assignments)

    @property
    def repeats(self) -> Repeats:
        """It is a function of its rows."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """A row stands for its equals."""
        return ()

    @property
    def padded(self) -> tuple[int, ...]:
        """None: its columns are its own."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """Its rows come in no order."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing: none of its rows are lineage."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """None: no lineage is to be found by them."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """One for each combination of values."""
        return guesses.groups(rows[0], self.expressions)
