"""Windows, rankings, PIVOT, UNPIVOT and lateral joins of the evaluator, by hand from section 2."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sqltruth import functions as f
from tests.sqltruth.by_hand import R, S, U, col, constant, eq, group, lineage, select
from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Derived,
    Edge,
    Expr,
    Frame,
    Grouping,
    Join,
    Pivot,
    Ref,
    Select,
    Sorting,
    Unpivot,
    Values,
    View,
    Window,
    Windows,
)

A, C, ID = col(S, "a"), col(S, "c"), col(S, "id")
UP, DOWN = (Sorting(C, "ASC"),), (Sorting(C, "DESC"),)
ONE = constant(1)
AROUND = Frame("ROWS", Edge(-1, "1", 1), Edge(0))
NEAR = Frame("RANGE", Edge(-1, "5", lambda s, v, sign: v + 5 * sign),
             Edge(1, "10", lambda s, v, sign: v + 10 * sign))  # fmt: skip


def window(name: str, *arguments: Expr, **clauses: Any) -> Window:
    return Window(name, arguments, f.INT, **{"partition": (A,), "order": UP, **clauses})


def windowed(*items: Expr, function: Window, **clauses: Any) -> Select:
    windows = Windows(20, (function,))
    value = Ref(20, 0, f.INT, of=function)
    return select(*items, value, source=S, windows=windows, **clauses)


# Rows of s with a = 1, in order: 0 (c = 10), then 1 and 5 (c = 20).
@pytest.mark.parametrize(
    ("function", "target", "expected"),
    [
        (window("rank"), (1, 1), {0}),
        (window("rank"), (1, 2), {0, 1, 5}),
        (window("row_number"), (1, 1), {0}),
        (window("row_number"), (1, 3), {0, 1, 5}),
        (window("row_number", order=DOWN), (1, 1), {1, 5}),
        (window("row_number", order=DOWN), (1, 2), {1, 5}),
        (window("ntile", constant(2)), (1, 1), {0, 1, 5}),
        (window("lag", C, ONE), (1, None), {0}),
        (window("lag", C, ONE), (1, 10), {0, 1, 5}),
        (window("lag", C, ONE), (1, 20), {1, 5}),
        (window("lag", C, ONE, constant(7)), (1, 7), {0}),
        (window("first_value", C), (1, 10), {0, 1, 5}),
        (window("last_value", C, order=DOWN), (1, 20), {1, 5}),
        (window("nth_value", C, constant(2)), (1, None), {0}),
        (window("max", C, frame=AROUND), (1, 20), {1, 5}),
        (window("count", C, frame=NEAR), (1, 3), {0, 1, 5}),
        (window("count", C, frame=NEAR), (1, 2), {1, 5}),
        (window("min", C), (5, None), {4}),
        (window("count", C, partition=(), order=DOWN), (2, 5), {0, 1, 2, 3, 5}),
    ],
)
def test_functions(function: Window, target: tuple[Any, ...], expected: set[int]) -> None:
    assert lineage(windowed(A, function=function), target) == {"s": expected}


def test_both_readings() -> None:
    first = windowed(A, function=window("max", C))
    assert lineage(first, (1, 20)) == {"s": {1, 5}}
    assert lineage(first, (1, 20), "whole") == {"s": {0, 1, 5}}
    # Rows of one value of all that passes are traced together, others are not.
    single = windowed(ID, A, function=window("last_value", ID, order=(*UP, Sorting(ID, "ASC"))))
    assert lineage(single, (1, 1, 1)) == {"s": {1}}
    assert lineage(single, (1, 1, 1), "whole") == {"s": {0, 1}}


def test_ignored_nulls_and_frames_beside_the_row() -> None:
    given = window("last_value", C, partition=(), order=(Sorting(ID, "ASC"),), skips=True)
    query = windowed(ID, function=given)
    assert lineage(query, (4, 30)) == {"s": {3, 4}}
    before = Frame("ROWS", Edge(-1), Edge(-1, "1", 1))
    none = windowed(ID, function=window("sum", ID, frame=before, order=(Sorting(ID, "ASC"),)))
    assert lineage(none, (0, None)) == {"s": {0}}
    assert lineage(none, (5, 1)) == {"s": {0, 1, 5}}


def test_rankings_that_only_cut() -> None:
    number = Ref(20, 0, f.INT)
    few = Call(f.comparison("<=", f.INT), (number, constant(2)))
    for silent, expected in ((True, {1}), (False, {0, 1})):
        function = window("rank", partition=(), order=(Sorting(ID, "ASC"),), silent=silent)
        query = select(ID, source=S, windows=Windows(20, (function,)), qualify=few)
        assert lineage(query, (1,)) == {"s": expected}


def test_windows_over_groups() -> None:
    count = Aggregate("count", None, f.LONG)
    by, (a, number) = group(9, (A,), count)
    rank = Window("rank", (), f.INT, (), (Sorting(number, "DESC"),))
    query = select(a, Ref(20, 0, f.INT, of=rank), source=S, grouping=by,
                   windows=Windows(20, (rank,)))  # fmt: skip
    assert lineage(query, (1, 1)) == {"s": {0, 1, 5}}
    assert lineage(query, (2, 2)) == {"s": {0, 1, 2, 5}}


def test_pivot_and_unpivot() -> None:
    query = select(A, C, ID, source=S)
    options = tuple(Constant(n, f.INT, str(n)) for n in (10, 20))
    total = Aggregate("sum", Ref(30, 2, f.INT, "k2"), f.LONG)
    names = ("k0", "k1", "k2", "ten", "twenty", "n")
    turned = Pivot(31, query, "p", (0,), 1, options, (total,), 30, names)
    read = [Ref(31, place, f.INT) for place in range(3)]
    assert lineage(select(*read, source=turned), (1, 0, 6)) == {"s": {0, 1, 5}}
    assert lineage(select(*read, source=turned), (None, None, None)) == {"s": {3}}
    below = Unpivot(31, query, "p", (0,), (1, 2), False, ("k0", "k1", "k2", "n", "v"))
    shown = select(*read, source=below)
    assert lineage(shown, (1, "k1", 20)) == {"s": {1, 5}}
    assert lineage(shown, (5, "k2", 4)) == {"s": {4}}
    with pytest.raises(KeyError):
        lineage(shown, (5, "k1", None))


def test_lateral_joins_and_rows_of_the_text() -> None:
    smallest, (least,) = group(9, (), Aggregate("min", C, f.INT))
    inner = select(least, source=S, where=(eq(A, col(R, "a")),), grouping=smallest)
    side = Derived(40, inner, "d", 1, lateral=True)
    query = select(col(R, "id"), Ref(40, 0, f.INT), source=Join("LEFT JOIN", R, side))
    assert lineage(query, (0, 10)) == {"r": {0}, "s": {0}}
    assert lineage(query, (3, None)) == {"r": {3}, "s": set()}
    rows = Values(41, ((1,), (2,), (1,)), "(VALUES (1), (2), (1))", "x", ("k",))
    key = Ref(41, 0, f.INT, "x.k")
    both = select(key, source=Join("JOIN", rows, U, eq(key, col(U, "a"))))
    assert lineage(both, (1,)) == {"rows 1": {0, 2}, "u": {0}}


def test_generators_and_levels() -> None:
    view = View(50, "posexplode", ((A,), (C,)), "v", ("p", "x"), outer=True)
    place, value = Ref(50, 0, f.INT), Ref(50, 1, f.INT)
    query = select(place, value, source=S, views=(view,))
    assert lineage(query, (0, 1)) == {"s": {0, 1, 5}}
    assert lineage(query, (1, 20)) == {"s": {1, 5}}
    level = Aggregate("grouping_id", None, f.LONG)
    grouping = Grouping(9, (A,), (level,), ("1",), sets=((0,), ()), levels="ROLLUP (s.a)")
    a, bits = Ref(9, 0, f.INT, of=A), Ref(9, 1, f.LONG, of=level)
    assert lineage(select(a, bits, source=S, grouping=grouping), (None, 0)) == {"s": {3}}
    assert lineage(select(a, bits, source=S, grouping=grouping), (None, 1)) == {"s": {*range(6)}}
    plain = Grouping(9, (A,), (), ("1",), sets=((0,), ()), levels="ROLLUP (s.a)")
    assert lineage(select(a, source=S, grouping=plain), (None,)) == {"s": {*range(6)}}
