"""Operators over one input that make several rows of each of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import Columns, Guesses, Ids, OneInput, Repeats, itself
from symbolic.expr import Call, Column, Expr, Literal, column_ids, same
from symbolic.types import STRING, Array, DataType

ROWS_A_ROW = 3.0
"""The guessed number of rows that a generator makes of one."""


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
        """The rows of each row stand at its place."""
        return True

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


class Generate(OneInput, frozen=True, tag=True, kw_only=True):
    """Each input row with every row that a generator makes of it: ``explode`` and its like.

    `rows` is an array of the generated rows. With `fields`, its elements are structs, and each of
    `columns` has the field at its place; without, the elements are the values of the one column. An
    input row without generated rows (an empty array, or NULL) is dropped; if `outer`, it comes once
    with NULL in `columns`. `opaque` says that `rows` cannot be computed as a value: it only says
    which function of Spark makes the rows, of which arguments.
    """

    rows: Expr
    columns: tuple[Column, ...]
    fields: tuple[str, ...] = ()
    outer: bool = False
    opaque: bool = False

    @property
    def element(self) -> DataType:
        """The type of a generated row."""
        assert isinstance(self.rows.type, Array)
        return self.rows.type.element

    def values(self, element: Expr) -> tuple[Expr, ...]:
        """The values of its columns in a generated row."""
        if not self.fields:
            return tuple(element for _ in self.columns)
        return tuple(
            Call("get_field", (element, Literal(name, STRING)), column.type)
            for name, column in zip(self.fields, self.columns, strict=True)
        )

    def output(self, *inputs: Columns) -> Columns:
        """The input's columns, then the generated ones."""
        return (*inputs[0], *self.columns)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The array of rows."""
        return (self.rows,)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The input's columns themselves; generated ones of what the array reads."""
        read = column_ids(self.rows)
        return itself(inputs[0]) | {column.id: read for column in self.columns}

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Also what the array reads: it decides how many rows there are."""
        return (needed | column_ids(self.rows),)

    def pruned(self, needed: Ids) -> Self:
        """The needed fields; as many rows."""
        if self.opaque or not self.fields:
            return self
        kept = [place for place, column in enumerate(self.columns) if column.id in needed]
        return msgspec.structs.replace(
            self,
            columns=tuple(self.columns[place] for place in kept),
            fields=tuple(self.fields[place] for place in kept),
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
        """The rows of each row stand at its place."""
        return True

    def pins(self, *inputs: Columns) -> Ids:
        """What decides the rows, if they cannot be computed."""
        return column_ids(self.rows) if self.opaque else frozenset()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """None."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """A few for each."""
        return rows[0] * ROWS_A_ROW
