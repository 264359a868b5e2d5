"""Operators over one input that make several rows of each of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import Columns, Guesses, Ids, OneInput, Repeats
from symbolic.expr import Column, Expr, column_ids, same
from symbolic.types import DataType


class Expand(OneInput, frozen=True, tag=True, kw_only=True):
    """One row for each input row and projection: a UNION ALL of projections in one pass.

    ROLLUP, CUBE, GROUPING SETS and unpivots are made of it. `projections[p]` has the values of
    `columns` in the rows of projection p. A column that all projections pass on may keep its id.
    """

    projections: tuple[tuple[Expr, ...], ...]
    columns: tuple[Column, ...]

    def values(self, place: int) -> tuple[Expr, ...]:
        """The values of a column, by its place, one a projection."""
        return tuple(projection[place] for projection in self.projections)

    def passing(self, columns: Columns) -> Self:
        """The operator with further columns of its input in its output."""
        return msgspec.structs.replace(
            self,
            projections=tuple((*projection, *columns) for projection in self.projections),
            columns=(*self.columns, *columns),
        )

    def output(self, *inputs: Columns) -> Columns:
        """Its own columns."""
        return self.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The values of all projections."""
        return tuple(value for projection in self.projections for value in projection)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """What their values read, in any projection."""
        return {
            column.id: column_ids(*self.values(place)) for place, column in enumerate(self.columns)
        }

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """What the needed values read."""
        return (column_ids(*self.pruned(needed).expressions),)

    def pruned(self, needed: Ids) -> Self:
        """The needed values; as many rows."""
        kept = [place for place, column in enumerate(self.columns) if column.id in needed]
        return msgspec.structs.replace(
            self,
            projections=tuple(
                tuple(values[place] for place in kept) for values in self.projections
            ),
            columns=tuple(self.columns[place] for place in kept),
        )

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """It is a function of its rows."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """Its only one: each output row is made of one row."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is made of its input's row."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """Its rows come beside each other, in no order of theirs."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """Columns that all projections pass on or rename alike."""
        alike = ((c, set(self.values(place))) for place, c in enumerate(self.columns))
        return tuple(
            same(column, value)
            for column, values in alike
            if len(values) == 1 and isinstance(value := next(iter(values)), Column)
        )

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """As many for each projection."""
        return rows[0] * len(self.projections)
