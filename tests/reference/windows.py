"""Windows: the functions' values, and the rows that each value is lineage of.

Written from docs/semantics.md, section 2.1. Peers come in the order of the input. Where that
decides a value, and they differ, another run may give another value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pushdown.operators import Bound, SortKey, Window, WindowFunction
from symbolic.expr import Column, Expr
from symbolic.functions import AGGREGATES
from tests.reference.aggregates import ATTAINED, compile_aggregate
from tests.reference.expressions import compile_expr
from tests.reference.functions import Settings
from tests.reference.provenance import Provenance, union
from tests.reference.values import Row, order_key, row_key, value_key

Found = tuple[Any, list[int]]
"""A value, and the places in the partition of the rows that it is lineage of."""


def evaluate_window(
    operator: Window,
    columns: tuple[Column, ...],
    rows: Sequence[Row],
    provenances: Sequence[Provenance],
    minimal: bool,
    settings: Settings,
) -> tuple[list[Row], list[Provenance], bool]:
    """The rows with the functions' values, their provenances, and whether these are a choice.

    Rows that are equal have the same provenance already.
    """
    made: list[list[Any]] = [list(row) for row in rows]
    drawn: list[list[Provenance]] = [[provenance] for provenance in provenances]
    ambiguous = False
    orders = {(each.partition, each.order) for each in operator.functions if each.by_position}
    for function in operator.functions:
        for partition in _partitions(function, columns, rows, minimal, settings):
            ambiguous |= function.by_position and partition.ties_matter(len(orders) > 1)
            for place, index in enumerate(partition.indexes):
                value, others = partition.found(place)
                made[index].append(value)
                if not function.silent:
                    drawn[index] += [provenances[partition.indexes[other]] for other in others]
    return [tuple(row) for row in made], [union(parts) for parts in drawn], ambiguous


class Partition(NamedTuple):
    """The rows of one partition in order, for one function."""

    function: WindowFunction
    columns: tuple[Column, ...]
    indexes: list[int]
    rows: list[Row]
    keys: list[Row]
    minimal: bool
    settings: Settings

    def found(self, place: int) -> Found:
        """The function's value at a place, and what it is lineage of."""
        name = self.function.call.function
        if name in AGGREGATES:
            return self._aggregate(place)
        return FUNCTIONS[name](self, place)

    def read(self, expr: Expr) -> list[Any]:
        """The values of an expression in all rows."""
        value = compile_expr(expr, self.columns, self.settings)
        return [value(row) for row in self.rows]

    def before(self, place: int) -> list[int]:
        """The places strictly before."""
        return [i for i in range(len(self.rows)) if self._compare(i, self.keys[place]) < 0]

    def peers(self, place: int) -> list[int]:
        """The places of its peers, itself included."""
        return [i for i in range(len(self.rows)) if self._compare(i, self.keys[place]) == 0]

    def frame(self, place: int) -> list[int]:
        """The places of its frame."""
        frame = self.function.frame
        return [
            other
            for other in range(len(self.rows))
            if (frame.lower is None or self._compare(other, self._at(frame.lower, place)) >= 0)
            and (frame.upper is None or self._compare(other, self._at(frame.upper, place)) <= 0)
        ]

    def ties_matter(self, several: bool) -> bool:
        """Whether rows that tie differ; in `several` orders equal rows may pair differently."""
        return any(
            one != other and (several or row_key(self.rows[one]) != row_key(self.rows[other]))
            for one in range(len(self.rows))
            for other in self.peers(one)
        )

    def _at(self, bound: Bound, place: int) -> Row:
        row = self.rows[place]
        return tuple(compile_expr(key, self.columns, self.settings)(row) for key in bound.keys)

    def _compare(self, place: int, keys: Sequence[Any]) -> int:
        return compared(self.function.order, self.keys[place], keys)

    def _aggregate(self, place: int) -> Found:
        call = self.function.call
        frame = self.frame(place)
        compute = compile_aggregate(call, self.columns, self.settings)
        value = compute([self.rows[other] for other in frame])
        plain = call.function in ATTAINED and call.filter is None
        if not self.minimal or not plain:
            return value, frame
        if value is None:
            return value, []
        held = self.read(call.args[0])
        return value, [other for other in frame if value_key(held[other]) == value_key(value)]

    def given(self, place: int, candidates: Sequence[int], number: int) -> Found:
        """The value of the nth candidate, which skips NULLs if told so; its peers that hold it."""
        function = self.function
        held = self.read(function.call.args[0])
        if function.ignore_nulls:
            candidates = [other for other in candidates if held[other] is not None]
        giver = candidates[number - 1] if 0 < number <= len(candidates) else None
        if function.taken is not None:
            return (None if giver is None else self.read(function.taken)[giver]), []
        if giver is None:
            return self._default(place), []
        value = held[giver]
        keys = list(zip(*(self.read(key) for key in function.giver), strict=True))
        same = [
            other
            for other in range(len(self.rows))
            if value_key(held[other]) == value_key(value)
            and (not keys or row_key(keys[other]) == row_key(keys[giver]))
        ]
        return value, same

    def _default(self, place: int) -> Any:
        args = self.function.call.args
        return self.read(args[2])[place] if len(args) > 2 else None


def compared(order: Sequence[SortKey], left: Sequence[Any], right: Sequence[Any]) -> int:
    """Negative if the left keys come first, 0 for peers."""
    for key, one, other in zip(order, left, right, strict=True):
        if one is None or other is None:
            if one is not other:
                return -1 if (one is None) == key.nulls_first else 1
        elif order_key(one) != order_key(other):
            return -1 if (order_key(one) < order_key(other)) == key.ascending else 1
    return 0


def _partitions(
    function: WindowFunction,
    columns: tuple[Column, ...],
    rows: Sequence[Row],
    minimal: bool,
    settings: Settings,
) -> Iterable[Partition]:
    def read(exprs: Iterable[Expr]) -> list[Row]:
        values = [compile_expr(expr, columns, settings) for expr in exprs]
        return [tuple(value(row) for value in values) for row in rows]

    groups: dict[Row, list[int]] = {}
    for index, key in enumerate(read(function.partition)):
        groups.setdefault(row_key(key), []).append(index)
    keys = read(key.value for key in function.order)
    in_order = functools.cmp_to_key(lambda a, b: compared(function.order, keys[a], keys[b]))
    for members in groups.values():
        members.sort(key=in_order)
        yield Partition(
            function, columns, members, [rows[i] for i in members], [keys[i] for i in members],
            minimal, settings,
        )  # fmt: skip


def _rank(partition: Partition, place: int) -> Found:
    before = partition.before(place)
    return len(before) + 1, before


def _dense_rank(partition: Partition, place: int) -> Found:
    before = partition.before(place)
    return len({row_key(partition.keys[other]) for other in before}) + 1, before


def _row_number(partition: Partition, place: int) -> Found:
    before = partition.before(place)
    return place + 1, before + (partition.peers(place) if place > len(before) else [])


def _everyone(partition: Partition) -> list[int]:
    return list(range(len(partition.rows)))


def _percent_rank(partition: Partition, place: int) -> Found:
    others = len(partition.rows) - 1
    share = len(partition.before(place)) / others if others else 0.0
    return share, _everyone(partition)


def _cume_dist(partition: Partition, place: int) -> Found:
    reached = len(partition.before(place)) + len(partition.peers(place))
    return reached / len(partition.rows), _everyone(partition)


def _ntile(partition: Partition, place: int) -> Found:
    buckets = partition.read(partition.function.call.args[0])[place]
    size, larger = divmod(len(partition.rows), buckets)
    in_larger = larger * (size + 1)
    if place < in_larger:
        return place // (size + 1) + 1, _everyone(partition)
    return larger + (place - in_larger) // size + 1, _everyone(partition)


def _shifted(backwards: bool) -> Callable[[Partition, int], Found]:
    def evaluate(partition: Partition, place: int) -> Found:
        args = partition.function.call.args
        distance = partition.read(args[1])[place] if len(args) > 1 else 1
        if distance == 0:
            return partition.given(place, [place], 1)
        others = range(place - 1, -1, -1) if backwards else range(place + 1, len(partition.rows))
        return partition.given(place, list(others), distance)

    return evaluate


def _of_frame(pick: Callable[[Partition, int, list[int]], tuple[list[int], int]]) -> Any:
    def evaluate(partition: Partition, place: int) -> Found:
        frame = partition.frame(place)
        candidates, number = pick(partition, place, frame)
        value, given = partition.given(place, candidates, number)
        drawn = given if partition.minimal or partition.function.taken is not None else frame
        return value, drawn

    return evaluate


def _nth(partition: Partition, place: int, frame: list[int]) -> tuple[list[int], int]:
    return frame, partition.read(partition.function.call.args[1])[place]


FUNCTIONS: dict[str, Callable[[Partition, int], Found]] = {
    "rank": _rank,
    "dense_rank": _dense_rank,
    "row_number": _row_number,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
    "lag": _shifted(backwards=True),
    "lead": _shifted(backwards=False),
    "first_value": _of_frame(lambda partition, place, frame: (frame, 1)),
    "last_value": _of_frame(lambda partition, place, frame: (frame[::-1], 1)),
    "nth_value": _of_frame(_nth),
}
"""Every function that only windows have."""
