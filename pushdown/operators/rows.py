"""Operators over one input whose output rows are input rows, changed or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import (
    Assignment,
    Columns,
    Guesses,
    Ids,
    OneInput,
    Repeats,
    SameColumns,
    ids_of,
    pruned_to,
)
from symbolic.expr import (
    Column,
    Expr,
    column_ids,
    conjuncts,
    same,
)
from symbolic.types import DataType


class Filter(SameColumns, frozen=True, tag=True, kw_only=True):
    """The input rows for which `condition` is true."""

    condition: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The condition."""
        return (self.condition,)

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Also what the condition reads."""
        return (needed | column_ids(self.condition),)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """It is a function of its rows."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """Its only input."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is made of its input's row."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """It reads row by row."""
        return True

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """What the condition says."""
        return conjuncts(self.condition)

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The condition's share."""
        return rows[0] * guesses.selectivity(self.condition)


class RowTransform(OneInput, frozen=True, tag=True, kw_only=True):
    """Projection: each row becomes one row of `assignments` (dropping columns included)."""

    assignments: tuple[Assignment, ...]

    def output(self, *inputs: Columns) -> Columns:
        """The assigned columns."""
        return tuple(assignment.column for assignment in self.assignments)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The assigned values."""
        return tuple(assignment.value for assignment in self.assignments)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """What their values read."""
        return {a.column.id: column_ids(a.value) for a in self.assignments}

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """What the needed values read."""
        return (column_ids(*(a.value for a in pruned_to(self.assignments, needed))),)

    def pruned(self, needed: Ids) -> Self:
        """The needed assignments."""
        return msgspec.structs.replace(self, assignments=pruned_to(self.assignments, needed))

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """It is a function of its rows."""
        return Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """Its only input."""
        return (0,)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a row is made of its input's row."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """It reads row by row."""
        return True

    def pins(self, *inputs: Columns) -> Ids:
        """Nothing."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """Columns that are passed on or renamed."""
        return renames(self.assignments)

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """As many rows as the input has."""
        return rows[0]


class Distinct(SameColumns, frozen=True, tag=True, kw_only=True):
    """One of each set of equal rows."""

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """All: it compares whole rows."""
        return (ids_of(inputs[0]),)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Whole rows."""
        return tuple(column.type for column in inputs[0])

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
        """None: a row stands for its equals."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """Its rows come in no order."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Its whole rows."""
        return ids_of(inputs[0])

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """Half of the rows."""
        return rows[0] * 0.5


def renames(assignments: Iterable[Assignment]) -> tuple[Expr, ...]:
    """Equalities between columns that are passed on or renamed and their sources."""
    return tuple(same(a.column, a.value) for a in assignments if isinstance(a.value, Column))
