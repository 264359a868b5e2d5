"""Semi and anti joins, and subqueries as values: every output row is made of one left row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from pushdown.operators.base import (
    Columns,
    Guesses,
    Ids,
    Repeats,
    TwoInputs,
    ids_of,
    itself,
)
from pushdown.operators.matches import Matching
from symbolic.expr import Column, Expr, column_ids
from symbolic.types import DataType


class SemiJoin(Matching, frozen=True, tag=True, kw_only=True):
    """EXISTS, IN: the left rows for which some right row makes `condition` true."""

    def output(self, *inputs: Columns) -> Columns:
        """The input's columns."""
        return inputs[0]

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The columns themselves."""
        return itself(inputs[0])

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """The left one: many right rows may match."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is a left one; the right ones' columns are not in it."""
        return ()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """Half of the left rows."""
        return rows[0] * 0.5


class AntiJoin(Matching, frozen=True, tag=True, kw_only=True):
    """NOT EXISTS, NOT IN: the left rows for which no right row makes `condition` true.

    NOT IN's NULL rule is part of the condition (``a = b OR (a = b) IS NULL``).
    """

    def output(self, *inputs: Columns) -> Columns:
        """The input's columns."""
        return inputs[0]

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The columns themselves."""
        return itself(inputs[0])

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """The left one: many right rows may match."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is a left one; the right ones' columns are not in it."""
        return ()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """Half of the left rows."""
        return rows[0] * 0.5


class MarkJoin(Matching, frozen=True, tag=True, kw_only=True):
    """Every left row, with a Boolean `mark`: whether some right row makes `condition` true.

    `matches`, if given, says which of these right rows match. NOT IN marks rows that it is not
    true of: the mark's condition has NOT IN's NULL rule, a match is a comparison that is true.
    """

    mark: Column
    matches: Expr | None = None

    def output(self, *inputs: Columns) -> Columns:
        """The left columns, and the mark."""
        return (*inputs[0], self.mark)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The condition, and what matches."""
        return (self.condition,) if self.matches is None else (self.condition, self.matches)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The mark is made of what the condition reads."""
        return {**itself(inputs[0]), self.mark.id: column_ids(self.condition)}

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """The left one: many right rows may match."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is a left one; the right ones' columns are not in it."""
        return ()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The left rows."""
        return rows[0]


class ScalarSubquery(TwoInputs, frozen=True, tag=True, kw_only=True):
    """Every left row with `column`: the one value of the uncorrelated right input.

    The right input has one column and at most one row; without a row the value is NULL.
    (Correlated scalar subqueries arrive as left outer joins with a GroupBy.)
    """

    column: Column

    def output(self, *inputs: Columns) -> Columns:
        """The left columns, and the value."""
        return (*inputs[0], self.column)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The value is the right side's."""
        return {**itself(inputs[0]), self.column.id: ids_of(inputs[1])}

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """The right side's value decides nothing but itself; it is kept."""
        return (needed & ids_of(inputs[0]), ids_of(inputs[1]))

    def pruned(self, needed: Ids) -> Self:
        """There is nothing to leave out."""
        return self

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """It is a function of its rows."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """The left one."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: the value has a column of its own."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """Its rows come in no order."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The left rows."""
        return rows[0]
