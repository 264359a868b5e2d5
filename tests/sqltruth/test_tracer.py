"""The evaluator against rows written by hand from section 2."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sqltruth import functions as f
from tests.sqltruth import tracer
from tests.sqltruth.by_hand import (
    TABLES,
    R,
    S,
    U,
    col,
    constant,
    eq,
    group,
    lineage,
    select,
)
from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Derived,
    Exists,
    InQuery,
    Join,
    Ref,
    Scalar,
    SetOperation,
    Statement,
    Table,
    Top,
)
from tests.sqltruth.values import Settings


def least(column: Ref) -> Aggregate:
    return Aggregate("min", column, column.type)


ON_A = eq(col(R, "a"), col(S, "a"))
COUNT = Aggregate("count", None, f.LONG)


def test_a_join_that_nothing_is_read_of_stays() -> None:
    by, refs = group(9, (col(R, "a"),))
    for kind in ("LEFT JOIN", "FULL JOIN", "JOIN"):
        query = select(refs[0], source=Join(kind, R, S, ON_A), grouping=by)
        assert lineage(query, (1,)) == {"r": {0, 1}, "s": {0, 1, 5}}
    left = select(refs[0], source=Join("LEFT JOIN", R, S, ON_A), grouping=by)
    assert lineage(left, (3,)) == {"r": {4}, "s": set()}


def test_min_and_max_by_both_readings() -> None:
    by, refs = group(9, (col(S, "a"),), least(col(S, "c")))
    query = select(*refs, source=S, grouping=by)
    assert lineage(query, (1, 10)) == {"s": {0}}
    assert lineage(query, (1, 10), "whole") == {"s": {0, 1, 5}}
    assert lineage(query, (5, None)) == {"s": {4}}
    counted, refs = group(9, (col(S, "a"),), least(col(S, "c")), COUNT)
    assert lineage(select(*refs, source=S, grouping=counted), (1, 10, 3)) == {"s": {0, 1, 5}}


def test_computed_columns_that_nothing_reads_contribute_nothing() -> None:
    by, refs = group(9, (col(S, "a"),), least(col(S, "c")), COUNT)
    inner = select(*refs, source=S, grouping=by)
    derived = Derived(10, inner, "d", 3)
    key, smallest = (Ref(10, place, f.INT, "") for place in range(2))
    # Without the count the groups have min alone; without both, keys alone: the whole group.
    assert lineage(select(key, smallest, source=derived), (1, 10)) == {"s": {0}}
    assert lineage(select(key, source=derived), (1,)) == {"s": {0, 1, 5}}
    value = Scalar(select(col(U, "c"), source=U, where=(eq(col(U, "id"), constant(0)),)), f.INT)
    wide = Derived(11, select(col(R, "a"), value), "w", 2)
    assert lineage(select(Ref(11, 0, f.INT), source=wide), (3,)) == {"r": {4}, "u": set()}
    assert lineage(select(Ref(11, 1, f.INT), source=wide), (20,))["u"] == {0}
    twice = select(Ref(11, 0, f.INT), Ref(11, 1, f.INT), source=wide, distinct=True)
    assert lineage(select(Ref(12, 0, f.INT), source=Derived(12, twice, "t", 2)), (3,))["u"] == {0}


def test_sorting_and_having_read_their_aggregates() -> None:
    by, refs = group(9, (col(S, "a"),), least(col(S, "c")), COUNT)
    plain = select(refs[0], refs[1], source=S, grouping=by)
    assert lineage(plain, (1, 10)) == {"s": {0}}
    by_count = select(refs[0], refs[1], source=S, grouping=by, order=(refs[2],))
    assert lineage(by_count, (1, 10)) == {"s": {0, 1, 5}}


@pytest.mark.parametrize(
    ("expr", "target", "inner"),
    [
        (lambda q: InQuery((col(R, "a"),), q), 1, {0, 1, 5}),
        (lambda q: InQuery((col(R, "a"),), q, negated=True), None, None),
        (lambda q: Exists(q), 3, {0, 1, 2, 3, 4, 5}),
        (lambda q: Call(f.OR, (InQuery((col(R, "a"),), q, True), eq(col(R, "id"), constant(0)))), 1,
         {0, 1, 5}),
        # The comparison with s.a = NULL is NULL: not a matching row.
        (lambda q: Call(f.OR, (InQuery((col(R, "a"),), q, True), eq(col(R, "id"), constant(4)))), 3,
         set()),
        (lambda q: Call(f.OR, (eq(constant(1), constant(1)), Exists(q))), 3, {0, 1, 2, 3, 4, 5}),
        (lambda q: Call(f.IS_NOT_TRUE, (Exists(q, negated=True),)), 3, {0, 1, 2, 3, 4, 5}),
    ],
)  # fmt: skip
def test_boolean_subqueries(expr: Any, target: int | None, inner: set[int] | None) -> None:
    query = select(col(R, "a"), where=(expr(select(col(S, "a"), source=S)),))
    if inner is None:
        assert not tracer.Tracer(TABLES, Settings("UTC", True), "minimal").run(Statement(query))
    else:
        outer = {n for n, row in enumerate(TABLES["r"]) if row[1] == target}
        found = lineage(query, (target,))
        assert found["s"] == inner
        assert found["r"] <= outer
        assert found["r"]


def test_scalar_subqueries() -> None:
    smallest, refs = group(9, (), least(col(S, "c")))
    inner = select(refs[0], source=S, where=(ON_A,), grouping=smallest)
    query = select(col(R, "id"), Scalar(inner, f.INT))
    assert lineage(query, (0, 10)) == {"r": {0}, "s": {0}}
    assert lineage(query, (0, 10), "whole") == {"r": {0}, "s": {0, 1, 5}}
    assert lineage(query, (4, None)) == {"r": {4}, "s": set()}
    value = Scalar(select(col(U, "c"), source=U, where=(eq(col(U, "id"), col(R, "id")),)), f.INT)
    chosen = Call(f.generic(f.INT)[0], (value, col(R, "id")))
    padded = select(col(R, "id"), where=(eq(chosen, col(R, "id")),))
    assert lineage(padded, (4,)) == {"r": {4}, "u": set()}
    assert lineage(padded, (2,)) == {"r": {2}, "u": {2}}


def test_joins() -> None:
    for kind, target, expected in (
        ("LEFT SEMI JOIN", (1, 1), {"r": {1}, "s": {0, 1, 5}}),
        ("LEFT ANTI JOIN", (3, None), {"r": {3}, "s": set()}),
    ):
        query = select(col(R, "id"), col(R, "a"), source=Join(kind, R, S, ON_A))
        assert lineage(query, target) == expected
    padded = select(col(R, "id"), col(S, "id"), source=Join("RIGHT JOIN", R, S, ON_A))
    assert lineage(padded, (None, 4)) == {"r": set(), "s": {4}}
    using = Join("FULL JOIN", R, S, None, ((col(R, "a"), col(S, "a")),), ("a",), relation=9)
    merged = select(Ref(9, 0, f.INT, "a"), source=using)
    assert lineage(merged, (5,)) == {"r": set(), "s": {4}}
    assert lineage(merged, (None,)) == {"r": {3}, "s": {3}}


def test_set_operations() -> None:
    ours, theirs = select(col(R, "a")), select(col(S, "a"), source=S)
    both = {"r": {0, 1}, "s": {0, 1, 5}}
    for operator, every in (("UNION", True), ("UNION", False), ("INTERSECT", True)):
        assert lineage(SetOperation(operator, every, ours, theirs), (1,)) == both
    assert lineage(SetOperation("INTERSECT", False, ours, theirs), (None,)) == {"r": {3}, "s": {3}}
    assert lineage(SetOperation("EXCEPT", True, theirs, ours), (1,)) == {"s": {0, 1, 5}, "r": set()}
    assert lineage(SetOperation("EXCEPT", False, ours, theirs), (3,)) == {"r": {4}, "s": set()}


def test_first_rows_and_equal_ones() -> None:
    first = Top(select(col(R, "a")), ((0, "ASC NULLS LAST"),), limit=1)
    assert lineage(first, (1,)) == {"r": {0, 1}}
    rest = Top(select(col(R, "a")), ((0, "DESC"),), limit=2, offset=3)
    assert lineage(rest, (None,)) == {"r": {3}}


def test_two_scans_of_a_table_and_a_filtered_maximum() -> None:
    again = Table(4, "s", "t", 3)
    largest = Aggregate(
        "max", Ref(4, 2, f.INT, "t.c"), f.INT, filter=eq(Ref(4, 0, f.INT), constant(0))
    )
    by, refs = group(9, (col(S, "id"),), largest)
    on = eq(col(S, "a"), Ref(4, 1, f.INT, "t.a"))
    query = select(*refs, source=Join("JOIN", S, again, on), grouping=by)
    assert lineage(query, (1, 10)) == {"s1": {1}, "s2": {0, 1, 5}}
