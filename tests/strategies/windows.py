"""Random functions of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from pushdown.operators import AggregateCall, Bound, Frame, SortKey, WindowFunction
from pushdown.operators.windows import PARTITION
from symbolic.expr import TRUE, Call, Column, Expr, Literal
from symbolic.types import INTEGER, LONG, DataType
from tests.strategies.aggregates import aggregate_call
from tests.strategies.expressions import Draw, likely, one_of

MakeColumn = Callable[[str, DataType, bool], Column]


def window_functions(
    draw: Draw, columns: Sequence[Column], column: MakeColumn
) -> tuple[WindowFunction, ...]:
    """One or two functions over the columns; `column` makes the columns for their values."""
    found: list[WindowFunction] = []
    for _ in range(one_of(draw, (1, 1, 2))):
        found.extend(_function(draw, columns, column))
    return tuple(sorted(found, key=lambda each: each.silent))


def ranking(draw: Draw, columns: Sequence[Column], column: MakeColumn, name: str) -> WindowFunction:
    """A ranking of the rows; a row's number is by all columns, so that only equal rows tie."""
    order = _order(draw, columns, every=name in ("row_number", "ntile"))
    made = column(name, INTEGER, False)
    args: tuple[Expr, ...] = (Literal(2, INTEGER),) if name == "ntile" else ()
    return WindowFunction(
        made, AggregateCall(name, args, INTEGER), _partition(draw, columns), order
    )


def _function(
    draw: Draw, columns: Sequence[Column], column: MakeColumn
) -> Sequence[WindowFunction]:
    rankings = ("rank", "dense_rank", "row_number", "ntile")
    name = one_of(draw, (*rankings, *["aggregate"] * 4, *_OF_A_ROW))
    if name in _OF_A_ROW:
        return _of_a_row(draw, columns, column, name)
    if name != "aggregate":
        made = ranking(draw, columns, column, name)
        if name != "row_number":
            return [made]
        rank = AggregateCall("rank", (), INTEGER)
        beside = replace(made, column=column("rank", INTEGER, False), call=rank, silent=True)
        return [replace(made, beside=(beside.column,)), beside]
    call = replace(aggregate_call(draw, columns, likely(draw, 2)), distinct=False)
    order = _order(draw, columns) if likely(draw, 2) else ()
    result = column(call.function, call.type, call.function != "count")
    partition = _partition(draw, columns)
    return [WindowFunction(result, call, partition, order, _frame(draw, order))]


_OF_A_ROW = ("lag", "lead", "first_value", "last_value", "nth_value")


def _of_a_row(
    draw: Draw, columns: Sequence[Column], column: MakeColumn, name: str
) -> Sequence[WindowFunction]:
    """A function that takes the value of some row, and the functions that say of which."""
    held = one_of(draw, columns)
    order = _order(draw, columns, every=True)
    giver = tuple(key.value for key in order)
    args: tuple[Expr, ...] = (held,)
    if name not in ("first_value", "last_value"):
        args = (held, Literal(one_of(draw, (1, 1, 2)), INTEGER))
    frame = _frame(draw, order) if name.endswith("value") else PARTITION
    call, skips = AggregateCall(name, args, held.type), likely(draw, 3)
    made = WindowFunction(
        column(name, held.type, True), call, _partition(draw, columns), order, frame, skips
    )
    beside = [
        replace(
            made,
            column=column("taken", taken.type, True),
            call=replace(call, type=taken.type),
            taken=taken,
            silent=True,
        )
        for taken in (TRUE, *giver)
    ]
    beside_columns = tuple(each.column for each in beside)
    return [replace(made, beside=beside_columns, giver=giver), *beside]


def _partition(draw: Draw, columns: Sequence[Column]) -> tuple[Expr, ...]:
    return (one_of(draw, columns),) if likely(draw, 2) else ()


def _order(draw: Draw, columns: Sequence[Column], *, every: bool = False) -> tuple[SortKey, ...]:
    first = one_of(draw, columns)
    others = [other for other in columns if other != first] if every else []
    return tuple(SortKey(key, likely(draw, 2), likely(draw, 2)) for key in (first, *others))


def _frame(draw: Draw, order: tuple[SortKey, ...]) -> Frame:
    if not order:
        return PARTITION
    if len(order) == 1 and order[0].value.type in (INTEGER, LONG) and likely(draw, 2):
        return _between(draw, order[0])
    current = Bound(tuple(key.value for key in order))
    return one_of(
        draw, (PARTITION, Frame(None, current), Frame(current, None), Frame(current, current))
    )


def _between(draw: Draw, key: SortKey, *, by_rows: bool = False) -> Frame:
    """From some distance before or after the row to another one; a bound may be missing."""
    distances = (None, -2, -1, 0, 1)
    lower = one_of(draw, distances)
    upper = one_of(draw, [None, *(n for n in (*distances[1:], 2) if lower is None or n >= lower)])
    if lower is None and upper is None:
        return PARTITION
    return Frame(_beside(key, lower), _beside(key, upper), by_rows)


def _beside(key: SortKey, distance: int | None) -> Bound | None:
    if not distance:
        return None if distance is None else Bound((key.value,))
    kind = key.value.type
    shift = Literal(distance if key.ascending else -distance, kind)
    moved = Call("add", (key.value, shift), kind, getattr(key.value, "nullable", True))
    return Bound((moved,), Literal(distance, kind))


def over_rows(
    draw: Draw, columns: Sequence[Column], column: MakeColumn
) -> tuple[WindowFunction, WindowFunction]:
    """The numbers of rows, and an aggregate over a frame of rows by these numbers."""
    numbered = replace(ranking(draw, columns, column, "row_number"), silent=True)
    call = replace(aggregate_call(draw, columns, likely(draw, 2)), distinct=False)
    key = SortKey(numbered.column)
    frame = _between(draw, key, by_rows=True)
    result = column(call.function, call.type, True)
    return numbered, WindowFunction(result, call, numbered.partition, (key,), frame)
