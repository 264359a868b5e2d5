"""Functions of whole tables of which nothing is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import Columns, Guesses, Ids, OperatorBase, Repeats, ids_of
from symbolic.expr import Column, Expr, column_ids
from symbolic.types import DataType


class GroupKey(msgspec.Struct, frozen=True):
    """A key of the groups that a program is called on: its output column, and that of each input.

    Keys are equal as SQL groups: NULLs, NaNs, 0.0 and -0.0.
    """

    column: Column
    of: tuple[Column, ...]


class Opaque(OperatorBase, frozen=True, tag=True, kw_only=True):
    """Rows that some program made of whole tables; `name` is what people call the program.

    Any row of the inputs may have led to any row of the output. A `grouped` program is called once
    for each list of values of its `keys`, with all rows of the inputs that have these; each row
    that it returns comes with the keys.
    """

    inputs: tuple[int, ...]
    name: str
    columns: tuple[Column, ...]
    keys: tuple[GroupKey, ...] = ()
    grouped: bool = False

    def with_inputs(self, *ids: int) -> Self:
        """The operator over other inputs."""
        return msgspec.structs.replace(self, inputs=ids)

    def output(self, *inputs: Columns) -> Columns:
        """Its own columns, then the keys."""
        return (*self.columns, *(key.column for key in self.keys))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """None that anybody knows."""
        return ()

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """Everything; keys of theirs."""
        everything = frozenset().union(*map(ids_of, inputs))
        made = {column.id: everything for column in self.columns}
        return made | {key.column.id: column_ids(*key.of) for key in self.keys}

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Everything."""
        return tuple(map(ids_of, inputs))

    def pruned(self, needed: Ids) -> Self:
        """Itself: it makes all of its columns at once."""
        return self

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """The keys."""
        return tuple(key.column.type for key in self.keys)

    @property
    def repeats(self) -> Repeats:
        """Nobody promises it."""
        return Repeats.NEVER

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """None: a row may lead to many, and many to one."""
        return ()

    @property
    def padded(self) -> tuple[int, ...]:
        """None: it passes no column on."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """Nobody knows."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """The keys."""
        return frozenset(key.column.id for key in self.keys)

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """None."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """As many as it reads."""
        return sum(rows)
