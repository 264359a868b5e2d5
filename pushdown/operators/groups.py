"""Grouping and aggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from pushdown.operators.base import (
    Assignment,
    Columns,
    Guesses,
    Ids,
    OneInput,
    Repeats,
)
from pushdown.operators.rows import renames
from symbolic.expr import (
    Call,
    Column,
    Expr,
    column_ids,
)
from symbolic.functions import Aggregate, Combines, aggregate_of
from symbolic.types import LONG, DataType, Float, Integer, has_floats


class AggregateCall(msgspec.Struct, frozen=True):
    """An aggregate over a group; `symbolic.functions.aggregate_of` knows its `function`.

    ``count`` without arguments counts rows. `distinct` drops repeated argument tuples
    first; `filter` keeps the rows for which it is true.
    """

    function: str
    args: tuple[Expr, ...]
    type: DataType
    distinct: bool = False
    filter: Expr | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The arguments and the filter."""
        return self.args if self.filter is None else (*self.args, self.filter)

    @property
    def row(self) -> Aggregate:
        """What is known of the function. Raises KeyError if it is unknown."""
        if (row := aggregate_of(self.function)) is None:
            raise KeyError(self.function)
        return row

    @property
    def repeats(self) -> Repeats:
        """Adding floating-point numbers depends on the order of the rows, and so may `try_sum`.

        For integers the order may not matter. Some aggregates depend on the order for all values.
        """
        if not self._depends_on_order():
            return Repeats.ALWAYS
        return Repeats.NEVER if self.added_integer is None else Repeats.BY_DATA

    def _depends_on_order(self) -> bool:
        function = self.row
        if function.combines.by_order:
            return True
        if function.try_of is not None:
            return self.args[0].type == LONG
        if not has_floats(self.type) or function.attained:
            return False
        # The first argument is sorted; a percentile's share is the same in all rows.
        return has_floats(self.args[0].type) or function.combines is not Combines.SORTS

    @property
    def added_integer(self) -> Expr | None:
        """The integer that is added as a double: ``avg(n)``, ``sum(CAST(n AS DOUBLE))``."""
        if self.row.combines is not Combines.ADDS:
            return None
        (value,) = self.args
        match value:
            case Call(function="cast", args=(inner,), type=Float(64)):
                value = inner
        return value if isinstance(value.type, Integer) else None


class Aggregation(msgspec.Struct, frozen=True):
    """An aggregate and the output column that takes its value."""

    column: Column
    call: AggregateCall


class GroupBy(OneInput, frozen=True, tag=True, kw_only=True):
    """One row per group of equal keys (NULLs equal), with `aggregations`.

    Without keys: always exactly one row, also for an empty input.
    """

    keys: tuple[Assignment, ...]
    aggregations: tuple[Aggregation, ...]

    def output(self, *inputs: Columns) -> Columns:
        """Keys, then results."""
        return (*(key.column for key in self.keys), *(a.column for a in self.aggregations))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The keys' values; the aggregates' arguments and filters."""
        return (
            *(key.value for key in self.keys),
            *(expr for aggregation in self.aggregations for expr in aggregation.call.expressions),
        )

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """What their values, arguments and filters read."""
        return {key.column.id: column_ids(key.value) for key in self.keys} | {
            a.column.id: column_ids(*a.call.expressions) for a in self.aggregations
        }

    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """All keys, which make the groups, and what the needed results read."""
        calls = (a.call for a in self.aggregations if a.column.id in needed)
        read = (expr for aggregate in calls for expr in aggregate.expressions)
        return (column_ids(*(key.value for key in self.keys), *read),)

    def pruned(self, needed: Ids) -> Self:
        """The needed aggregates."""
        kept = tuple(a for a in self.aggregations if a.column.id in needed)
        return msgspec.structs.replace(self, aggregations=kept)

    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """The keys."""
        return tuple(key.column.type for key in self.keys)

    @property
    def repeats(self) -> Repeats:
        """If all of its aggregates do."""
        found = {aggregation.call.repeats for aggregation in self.aggregations}
        if Repeats.NEVER in found:
            return Repeats.NEVER
        return Repeats.BY_DATA if Repeats.BY_DATA in found else Repeats.ALWAYS

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """A group is made of many rows."""
        return ()

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a group is made of its rows."""
        return ()

    @property
    def keeps_order(self) -> bool:
        """Its rows come in no order."""
        return False

    def pins(self, *inputs: Columns) -> Ids:
        """The keys."""
        return frozenset(key.column.id for key in self.keys)

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """Keys that are columns of the input."""
        return renames(self.keys)

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """One row for each group."""
        return guesses.groups(rows[0], [key.value for key in self.keys])
