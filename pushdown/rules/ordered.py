"""The meaning of windows on symbolic tables with an order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pushdown.operators.order import SortKey
from pushdown.operators.windows import Window, WindowFunction
from pushdown.readings import MINIMAL
from pushdown.rules.around import takes_from_frame
from pushdown.rules.base import Context, OutputRow, Tables
from pushdown.rules.rows import equal_rows, only
from symbolic.encode import Encoder, Value, equal, is_true, ordered
from symbolic.expr import Expr
from symbolic.functions import WINDOW_ONLY, Draws, Reach
from symbolic.logic import ALWAYS, NEVER, all_of, any_of, implies, negate
from symbolic.table import SymbolicRow


class _Placed:
    """A row, with its place among the rows that a function sees."""

    def __init__(self, function: WindowFunction, row: SymbolicRow, encoder: Encoder) -> None:
        self.row = row
        self._encoder = encoder
        self.partition = self.read(function.partition)
        self.keys = self.read(key.value for key in function.order)

    def read(self, exprs: Iterable[Expr]) -> list[Value]:
        """The values of expressions over the row."""
        return [self._encoder.encode(expr, self.row.values) for expr in exprs]


def _earlier(keys: Sequence[SortKey], left: Sequence[Value], right: Sequence[Value]) -> Any:
    """Z3 Bool: the values `left` come strictly before the values `right`."""
    earlier, tied = NEVER, ALWAYS
    for key, one, other in zip(keys, left, right, strict=True):
        low, high = (one, other) if key.ascending else (other, one)
        less = all_of(
            negate(one.null), negate(other.null), _less(ordered(low.term), ordered(high.term))
        )
        first, second = (one, other) if key.nulls_first else (other, one)
        by_null = all_of(first.null, negate(second.null))
        earlier = any_of(earlier, all_of(tied, any_of(less, by_null)))
        tied = all_of(tied, equal(one, other))
    return earlier


def _less(low: Any, high: Any) -> Any:
    return low < high


def _all_equal(left: Iterable[Value], right: Iterable[Value]) -> Any:
    return all_of(*(equal(one, other) for one, other in zip(left, right, strict=True)))


class _Seen:
    """A function, and all rows of a table placed as it sees them."""

    def __init__(
        self, function: WindowFunction, table: Sequence[SymbolicRow], encoder: Encoder
    ) -> None:
        self.function = function
        self.rows = [_Placed(function, row, encoder) for row in table]
        self._encoder = encoder

    def together(self, one: int, other: int) -> Any:
        """Z3 Bool: two rows are of one partition."""
        return _all_equal(self.rows[one].partition, self.rows[other].partition)

    def earlier(self, one: int, other: int) -> Any:
        """Z3 Bool: the one row stands strictly before the other."""
        return _earlier(self.function.order, self.rows[one].keys, self.rows[other].keys)

    def framed(self, own: int, other: int) -> Any:
        """Z3 Bool: the other row is in the own row's frame; both are of one partition.

        Bounds that are not known may lie anywhere.
        """
        frame, order = self.function.frame, self.function.order
        if not self.knows_frame:
            return self._encoder.fresh_flag("within unknown bounds")
        row, keys = self.rows[own], self.rows[other].keys
        within = []
        if frame.lower is not None:
            within.append(negate(_earlier(order, keys, row.read(frame.lower.keys))))
        if frame.upper is not None:
            within.append(negate(_earlier(order, row.read(frame.upper.keys), keys)))
        return all_of(*within)

    @property
    def knows_frame(self) -> bool:
        """Whether it is known which rows lie in a frame."""
        return all(bound.keys for bound in self.function.frame.bounds)

    def value(self, own: int) -> Value:
        """The function's value in a row: some function of what all rows with it have in common."""
        column, row = self.function.column, self.rows[own]
        if self.function.by_position or not self.knows_frame:
            return self._encoder.fresh(column.type, column.name, nullable=column.nullable)
        placed = self.function.call.function in WINDOW_ONLY or self.function.frame.bounds
        on = [*row.partition, *(row.keys if placed else [])]
        return self._encoder.dependent(column.type, f"window {column.id}", on)


Values = Sequence[dict[int, Value]]
"""The values of all functions, by column, in each row."""


def windowed(
    operator: Window, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row, made of the rows equal to it and of the rows that its functions draw on.

    A ranking is greater than those of all rows before, and at least 1.
    """
    (table,) = tables
    seen = [_Seen(each, table, encoder) for each in operator.functions]
    values: Values = [
        {each.function.column.id: each.value(own) for each in seen} for own in range(len(table))
    ]
    for each in seen:
        if each.function.call.function in _RANKINGS:
            _assume_ranking(each, table, values, encoder)
    minimal = context.aggregates == MINIMAL
    drawing = [each for each in seen if not each.function.silent]

    def is_lineage(own: int, other: int) -> Any:
        equals = equal_rows(context.inputs[0], table[own].values, table[other].values)
        drawn = (
            all_of(each.together(own, other), _is_drawn_on(each, own, other, values[own], minimal))
            for each in drawing
        )
        return any_of(equals, *drawn)

    return [
        OutputRow(
            row.exists,
            {**row.values, **values[own]},
            (tuple(is_lineage(own, other) for other in range(len(table))),),
        )
        for own, row in enumerate(table)
    ]


_RANKINGS = ("rank", "dense_rank", "row_number")


def _assume_ranking(
    seen: _Seen, table: Sequence[SymbolicRow], values: Values, encoder: Encoder
) -> None:
    """Rankings start with 1, and grow with the order; a row's number is at least its rank."""
    place = seen.function.column.id
    for own, row in enumerate(table):
        number = values[own][place]
        encoder.assume(all_of(negate(number.null), number.term >= 1))
        for column in seen.function.beside:
            encoder.assume(number.term >= values[own][column.id].term)
        for other, before in enumerate(table):
            both = all_of(row.exists, before.exists, seen.together(own, other))
            less = values[other][place].term < number.term
            encoder.assume(implies(all_of(both, seen.earlier(other, own)), less))


def _is_drawn_on(seen: _Seen, own: int, other: int, values: dict[int, Value], minimal: bool) -> Any:
    """Z3 Bool: of one partition's rows, the other is lineage of the function's value in the own."""
    function, candidate = seen.function, seen.rows[other]
    result = values[function.column.id]
    match function.draws:
        case Draws.PARTITION:
            return ALWAYS
        case Draws.BEFORE:
            return seen.earlier(other, own)
        case Draws.BEFORE_AND_TIES:
            (rank,) = (values[column.id] for column in function.beside)
            peers = _all_equal(seen.rows[own].keys, candidate.keys)
            return any_of(all_of(peers, result.term > rank.term), seen.earlier(other, own))
        case Draws.GIVER if minimal or not takes_from_frame(function):
            there, *keys = (values[column.id] for column in function.beside)
            (held, *_) = candidate.read(function.call.args)
            peers = _all_equal(keys, candidate.read(function.giver))
            return all_of(is_true(there), peers, equal(held, result))
    framed = seen.framed(own, other)
    if function.attains and minimal:
        (held,) = candidate.read(function.call.args)
        return all_of(framed, negate(result.null), equal(held, result))
    return framed


def reachable(
    operator: Window, tables: Tables, encoder: Encoder, context: Context
) -> list[OutputRow]:
    """Each row, with arbitrary values, and with all rows that these depend on as its lineage."""
    (table,) = tables
    seen = [_Seen(each, table, encoder) for each in operator.functions]
    rows = []
    for own, row in enumerate(table):
        columns = (each.column for each in operator.functions)
        values = {column.id: encoder.fresh(column.type, column.name) for column in columns}
        lineage = tuple(
            any_of(
                itself,
                *(all_of(e.together(own, other), _reaches(e, own, other)) for e in seen),
            )
            for other, itself in enumerate(only(own, table))
        )
        rows.append(OutputRow(row.exists, {**row.values, **values}, (lineage,)))
    return rows


def _reaches(seen: _Seen, own: int, other: int) -> Any:
    """Z3 Bool: the function's value in the own row may depend on the other, of its partition."""
    row = WINDOW_ONLY.get(seen.function.call.function)
    match Reach.FRAME if row is None else row.reach:
        case Reach.UP_TO_PEERS:
            return negate(seen.earlier(own, other))
        case Reach.FROM_PEERS:
            return negate(seen.earlier(other, own))
        case Reach.FRAME:
            return seen.framed(own, other)
    return ALWAYS
