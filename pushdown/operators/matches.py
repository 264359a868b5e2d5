"""The base of operators that match rows of a left and a right input."""

from __future__ import annotations

from typing import Self

from pushdown.operators.base import Columns, Ids, Repeats, TwoInputs, ids_of
from symbolic.expr import Expr, column_ids
from symbolic.types import DataType


class Matching(TwoInputs, frozen=True, kw_only=True):
    """An operator that pairs left and right rows by a condition."""

    condition: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The condition."""
        return (self.condition,)

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Also what its expressions read."""
        both = needed | column_ids(*self.expressions)
        return tuple(both & ids_of(columns) for columns in inputs)

    def pruned(self, needed: Ids) -> Self:
        """Without the condition there would be other rows."""
        return self

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing else."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """It is a function of its rows."""
        return Repeats.ALWAYS

    @property
    def keeps_order(self) -> bool:
        """Its rows come in no order."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """What the condition reads."""
        return column_ids(self.condition)
