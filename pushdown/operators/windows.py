"""Windows: functions of the rows around a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import Columns, Guesses, Ids, OneInput, Repeats, ids_of, itself
from pushdown.operators.groups import AggregateCall
from pushdown.operators.order import SortKey
from symbolic.expr import Column, Expr, Literal, column_ids
from symbolic.functions import WINDOW_ONLY, Draws, aggregate_of
from symbolic.types import DataType


class Bound(msgspec.Struct, frozen=True):
    """One end of a frame: where the sort keys have the values `keys`, expressions over the own row.

    `offset` is the distance from the current row as the query states it, negative for PRECEDING;
    None stands for CURRENT ROW. Without `keys` it is not known which rows lie within.
    """

    keys: tuple[Expr, ...]
    offset: Literal | None = None


class Frame(msgspec.Struct, frozen=True):
    """The rows between two bounds, with the peers of both; None is unbounded.

    In a frame of `by_rows` the only sort key is the row's number in the partition.
    """

    lower: Bound | None = None
    upper: Bound | None = None
    by_rows: bool = False

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds that there are."""
        return tuple(bound for bound in (self.lower, self.upper) if bound is not None)

    @property
    def holds_current(self) -> bool:
        """Whether the current row and its peers are in it, and this needs no arithmetic."""
        return all(bound.keys and bound.offset is None for bound in self.bounds)


PARTITION = Frame()
"""The whole partition."""


class WindowFunction(msgspec.Struct, frozen=True):
    """A function of the rows around a row, and the output column that takes its value.

    Around it are the rows with equal `partition` keys (NULLs equal), in the `order` of sort keys.
    `call.function` is an aggregate, or a key of `WINDOW_ONLY`. `ignore_nulls` skips rows where the
    first argument is NULL. If `taken` is given, the value is what this expression is in the row
    from which the function takes its value; it is NULL if there is no such row.

    A `silent` function has no lineage: it is there for others, or it only decides which rows pass a
    filter ``<= k``. `beside` are the columns of silent functions that say where the lineage is:
    for `row_number` the rank; for functions that take the value of a row, whether there is such a
    row, then what `giver` is there. These are the sort keys, as the query states them.
    """

    column: Column
    call: AggregateCall
    partition: tuple[Expr, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame = PARTITION
    ignore_nulls: bool = False
    taken: Expr | None = None
    silent: bool = False
    beside: Columns = ()
    giver: tuple[Expr, ...] = ()

    @property
    def keys(self) -> tuple[Expr, ...]:
        """The partition keys, then the sort keys."""
        return (*self.partition, *(key.value for key in self.order))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What it evaluates: keys, arguments, filter, what it takes, and the bounds' keys."""
        bounds = (key for bound in self.frame.bounds for key in bound.keys)
        taken = () if self.taken is None else (self.taken,)
        return (*self.keys, *self.call.expressions, *taken, *self.giver, *bounds)

    @property
    def draws(self) -> Draws | None:
        """The kind of its lineage; None for an aggregate, which draws on its frame."""
        row = WINDOW_ONLY.get(self.call.function)
        return None if row is None else row.draws

    @property
    def attains(self) -> bool:
        """Whether only the rows that have the value may count: min and max."""
        row = aggregate_of(self.call.function)
        return row is not None and row.attained and self.call.filter is None

    @property
    def by_position(self) -> bool:
        """Whether peers may have different values."""
        row = WINDOW_ONLY.get(self.call.function)
        return row is not None and row.by_position


class Window(OneInput, frozen=True, tag=True, kw_only=True):
    """Each input row with `functions` of the rows around it.

    The windows of one SELECT are one operator: none of them reads what another computes.
    """

    functions: tuple[WindowFunction, ...]

    def output(self, *inputs: Columns) -> Columns:
        """The input's columns, then the functions'."""
        return (*inputs[0], *(function.column for function in self.functions))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What the functions evaluate."""
        return tuple(expr for each in self.functions for expr in each.expressions)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The input's columns themselves; for functions what they read."""
        return itself(inputs[0]) | {
            each.column.id: column_ids(*each.expressions) for each in self.functions
        }

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """Also what the needed functions read."""
        read = (expr for each in self._computing(needed) for expr in each.expressions)
        return ((needed & ids_of(inputs[0])) | column_ids(*read),)

    def pruned(self, needed: Ids) -> Self:
        """The needed functions."""
        return msgspec.structs.replace(self, functions=self._computing(needed))

    def _computing(self, needed: Ids) -> tuple[WindowFunction, ...]:
        return tuple(each for each in self.functions if each.column.id in needed)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """The keys."""
        return tuple(key.type for each in self.functions for key in each.keys)

    @property
    def repeats(self) -> Repeats:
        """If its aggregates do. Where values depend on the place among peers, the data decide."""
        found = {Repeats.BY_DATA for each in self.functions if each.by_position}
        found |= {e.call.repeats for e in self.functions if e.call.function not in WINDOW_ONLY}
        if Repeats.NEVER in found:
            return Repeats.NEVER
        return Repeats.BY_DATA if Repeats.BY_DATA in found else Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """A row is made of the rows around it, too."""
        return ()

    @property
    def padded(self) -> tuple[int, ...]:
        """None: every row has its input's row."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """It sorts."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """The keys, and what says which rows count; the whole row if peers are told apart."""
        keys = (key for each in self.functions for key in each.keys)
        found = column_ids(*keys) | ids_of(tuple(self._saying()))
        told_apart = any(each.by_position for each in self.functions)
        return found | ids_of(inputs[0]) if told_apart else found

    def _saying(self) -> Iterator[Column]:
        """The columns of functions that say which rows count."""
        for each in self.functions:
            if not each.silent:
                yield from each.beside
                if each.attains or each.draws in (Draws.GIVER, Draws.BEFORE_AND_TIES):
                    yield each.column

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """As many rows as the input has."""
        return rows[0]
