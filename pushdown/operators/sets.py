"""Set operations: UNION ALL, INTERSECT, EXCEPT. They compare rows with ``<=>``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import (
    Columns,
    Guesses,
    Ids,
    OperatorBase,
    Repeats,
    TwoInputs,
    ids_of,
)
from symbolic.expr import Column, Expr
from symbolic.types import DataType


class Union_(OperatorBase, frozen=True, tag="Union", kw_only=True):
    """UNION ALL: `branches[i]` are the columns of input i that feed `columns`, by position."""

    inputs: tuple[int, ...]
    branches: tuple[tuple[Column, ...], ...]
    columns: tuple[Column, ...]

    def with_inputs(self, *ids: int) -> Self:
        """The operator over other inputs."""
        return msgspec.structs.replace(self, inputs=ids)

    def output(self, *inputs: Columns) -> Columns:
        """Its own columns."""
        return self.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """By position."""
        return {
            column.id: frozenset(branch[place].id for branch in self.branches)
            for place, column in enumerate(self.columns)
        }

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """What feeds the needed columns."""
        return tuple(
            frozenset(
                fed.id
                for fed, column in zip(branch, self.columns, strict=True)
                if column.id in needed
            )
            for branch in self.branches
        )

    def pruned(self, needed: Ids) -> Self:
        """The needed columns, by position."""
        places = [place for place, column in enumerate(self.columns) if column.id in needed]
        return msgspec.structs.replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            branches=tuple(tuple(branch[place] for place in places) for branch in self.branches),
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
        """None: a row does not show which branch it is from."""
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
        """Nothing."""
        return frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The rows of all inputs."""
        return sum(rows)


class Intersect(TwoInputs, frozen=True, tag=True, kw_only=True):
    """Rows on both sides (NULLs equal), by position; `all` keeps duplicates (the smaller count)."""

    branches: tuple[tuple[Column, ...], ...]
    columns: tuple[Column, ...]
    all: bool = False

    def output(self, *inputs: Columns) -> Columns:
        """Its own columns."""
        return self.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """By position."""
        return {
            column.id: frozenset(branch[place].id for branch in self.branches)
            for place, column in enumerate(self.columns)
        }

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """All: it compares whole rows."""
        return tuple(map(ids_of, inputs))

    def pruned(self, needed: Ids) -> Self:
        """There is nothing to leave out."""
        return self

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Whole rows."""
        return tuple(column.type for column in self.columns)

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
        """Its whole rows."""
        return ids_of(self.columns)

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The smaller side."""
        return min(rows)


class Except(TwoInputs, frozen=True, tag=True, kw_only=True):
    """Left rows not on the right (NULLs equal), by position; `all` subtracts counts."""

    branches: tuple[tuple[Column, ...], ...]
    columns: tuple[Column, ...]
    all: bool = False

    def output(self, *inputs: Columns) -> Columns:
        """Its own columns."""
        return self.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """No expressions."""
        return ()

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """By position."""
        return {
            column.id: frozenset(branch[place].id for branch in self.branches)
            for place, column in enumerate(self.columns)
        }

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """All: it compares whole rows."""
        return tuple(map(ids_of, inputs))

    def pruned(self, needed: Ids) -> Self:
        """There is nothing to leave out."""
        return self

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Whole rows."""
        return tuple(column.type for column in self.columns)

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
        """None: a row is a left one."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """Its rows come in no order."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """Its whole rows."""
        return ids_of(self.columns)

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The smaller side."""
        return min(rows)


SetOperation = Union_ | Intersect | Except
