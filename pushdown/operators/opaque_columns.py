"""Columns whose values only the run knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import Columns, Guesses, Ids, OneInput, Repeats, ids_of, itself
from symbolic.expr import Column, Expr, column_ids
from symbolic.types import DataType


class OpaqueColumn(msgspec.Struct, frozen=True):
    """A column, the text of what computes it, and the columns that are read for it."""

    column: Column
    text: str
    args: tuple[Expr, ...]


class OpaqueColumns(OneInput, frozen=True, tag=True, kw_only=True):
    """The input's rows with more columns: each row has values of its own.

    Rows that are equal otherwise may have different values (``rand()``). Nobody computes them a
    second time.
    """

    made: tuple[OpaqueColumn, ...]

    def output(self, *inputs: Columns) -> Columns:
        """The input's columns, then its own."""
        return (*inputs[0], *(each.column for each in self.made))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What is read for its columns."""
        return tuple(arg for each in self.made for arg in each.args)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The columns themselves; of its own, what is read for them."""
        return itself(inputs[0]) | {each.column.id: column_ids(*each.args) for each in self.made}

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """The needed columns of the input, and what the needed columns of its own read."""
        kept = self.pruned(needed)
        own = frozenset(each.column.id for each in self.made)
        return (needed - own | column_ids(*kept.expressions),)

    def pruned(self, needed: Ids) -> Self:
        """The needed columns of its own."""
        kept = tuple(each for each in self.made if each.column.id in needed)
        return msgspec.structs.replace(self, made=kept)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """Nothing."""
        return ()

    @property
    def repeats(self) -> Repeats:
        """No: nobody computes its columns again."""
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
        """It reads row by row."""
        return True

    def pins(self, *inputs: Columns) -> Ids:
        """The input's whole rows: others may be equal in part."""
        return ids_of(inputs[0])

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """None."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """As many."""
        return rows[0]
