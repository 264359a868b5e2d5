"""Lateral joins and correlated subqueries, against their definition: the inner query is computed
for one outer row after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.byhand import TABLES, check, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Inner = list[tuple[tuple[Any, ...], set[int]]]
"""What the inner query gives: values, and the rows of `s` that they are made of."""


def rows(table: str) -> list[Row]:
    columns = TABLES[table]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


S = rows("s")


def less(left: Any, right: Any) -> bool:
    return left is not None and right is not None and left < right


def same(left: Any, right: Any) -> bool:
    return left is not None and left == right


def added(values: Iterable[Any]) -> Any:
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def matching(test: Callable[[Row, Row], bool], outer: Row) -> list[Row]:
    return [row for row in S if test(row, outer)]


def grouped(make: Callable[[list[Row]], Any], test: Callable[[Row, Row], bool]) -> Any:
    """One value of all matching rows, which also comes if there are none."""

    def inner(outer: Row) -> Inner:
        found = matching(test, outer)
        return [((make(found),), {row["id"] for row in found})]

    return inner


def each(make: Callable[[Row, Row], Any], test: Callable[[Row, Row], bool]) -> Any:
    def inner(outer: Row) -> Inner:
        return [((make(row, outer),), {row["id"]}) for row in matching(test, outer)]

    return inner


def first(test: Callable[[Row, Row], bool], count: int = 1) -> Any:
    """The first values of `c`, NULL first, each with the rows that have it."""

    def inner(outer: Row) -> Inner:
        found = matching(test, outer)
        values = sorted((row["c"] for row in found), key=lambda c: (c is not None, c))[:count]
        return [((c,), {row["id"] for row in found if row["c"] == c}) for c in values]

    return inner


def before(row: Row, outer: Row) -> bool:
    return less(row["a"], outer["id"])


def of_key(row: Row, outer: Row) -> bool:
    return same(row["a"], outer["a"])


def of_all(row: Row, outer: Row) -> bool:
    return True


LATERAL: dict[str, tuple[bool, Callable[[Row], Inner]]] = {
    "SELECT r.id, x.c FROM r, LATERAL (SELECT c FROM s WHERE s.a = r.a) x": (
        False, each(lambda row, outer: row["c"], of_key)
    ),
    "SELECT r.id, x.c FROM r LEFT JOIN LATERAL (SELECT c + r.id AS c FROM s WHERE s.a < r.id) x": (
        True, each(lambda row, outer: None if row["c"] is None else row["c"] + outer["id"], before)
    ),
    "SELECT r.id, x.n FROM r, LATERAL (SELECT count(*) AS n FROM s WHERE s.a = r.a) x": (
        False, grouped(len, of_key)
    ),
    "SELECT r.id, x.n FROM r, LATERAL (SELECT sum(c) AS n FROM s WHERE s.a < r.id) x": (
        False, grouped(lambda found: added(row["c"] for row in found), before)
    ),
    "SELECT r.id, x.y FROM r, LATERAL (SELECT r.a + 1 AS y) x": (
        False, lambda outer: [((None if outer["a"] is None else outer["a"] + 1,), set())]
    ),
    "SELECT r.id, x.c FROM r, LATERAL (SELECT c FROM s) x": (
        False, each(lambda row, outer: row["c"], of_all)
    ),
    "SELECT r.id, x.c FROM r, LATERAL (SELECT c FROM s WHERE s.a < r.id ORDER BY c LIMIT 2) x":
        (False, first(before, 2)),
    "SELECT r.id, (SELECT c FROM s WHERE s.a = r.a ORDER BY c LIMIT 1) AS c FROM r": (
        True, first(of_key)
    ),
    "SELECT r.id, (SELECT c FROM s WHERE s.a < r.id ORDER BY c LIMIT 1) AS c FROM r": (
        True, first(before)
    ),
    "SELECT r.id, (SELECT sum(c) FROM s WHERE s.a < r.id) AS n FROM r": (
        True, grouped(lambda found: added(row["c"] for row in found), before)
    ),
    "SELECT r.id, (SELECT count(c) FROM s WHERE s.a < r.id) AS n FROM r": (
        True, grouped(lambda found: sum(row["c"] is not None for row in found), before)
    ),
    "SELECT r.id, (SELECT sum(c) FROM (SELECT c FROM s WHERE s.a = r.a "
    "UNION ALL SELECT c FROM s WHERE s.a < r.id)) AS n FROM r": (True, None),
}  # fmt: skip
FILTERS: dict[str, Callable[[Row], tuple[bool, set[int]]]] = {}


def ids(test: Callable[[Row, Row], bool], outer: Row) -> set[int]:
    return {row["id"] for row in matching(test, outer)}


def some(test: Callable[[Row, Row], bool]) -> Callable[[Row], tuple[bool, set[int]]]:
    return lambda outer: (bool(ids(test, outer)), ids(test, outer))


FILTERS = {
    "EXISTS (SELECT 1 FROM s WHERE s.a < r.id)": some(before),
    "EXISTS (SELECT a FROM s WHERE s.a < r.id GROUP BY a HAVING count(*) > 1)": lambda outer: (
        len({row["id"] for row in S if less(row["a"], outer["id"]) and row["a"] == 1}) >= 2,
        {row["id"] for row in S if less(row["a"], outer["id"]) and row["a"] == 1},
    ),
    "EXISTS (SELECT 1 FROM s WHERE s.a = r.a LIMIT 5)": some(of_key),
    "NOT EXISTS (SELECT a FROM s WHERE s.a < r.id GROUP BY a HAVING count(*) > 1)": lambda outer: (
        len({row["id"] for row in S if less(row["a"], outer["id"]) and row["a"] == 1}) < 2,
        set(),
    ),
    "r.a IN (SELECT s.a FROM s WHERE s.a <= r.id)": some(
        lambda row, outer: of_key(row, outer) and row["a"] <= outer["id"]
    ),
    "r.id > (SELECT count(*) FROM s WHERE s.a < r.id)": lambda outer: (
        outer["id"] > len(ids(before, outer)),
        ids(before, outer),
    ),
}


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session of this module's own, with the tables."""
    own = spark.newSession()
    register(own, tmp_path_factory.mktemp("tables"))
    return own


@pytest.mark.parametrize("text", [text for text, (_, inner) in LATERAL.items() if inner])
def test_what_is_computed_for_each_outer_row(
    session: SparkSession, tmp_path: Path, text: str
) -> None:
    padded, inner = LATERAL[text]
    expected: dict[tuple[Any, ...], dict[str, set[int]]] = {}
    for outer in rows("r"):
        for values, made_of in inner(outer) or ([((None,), set())] if padded else []):
            found = expected.setdefault((outer["id"], *values), defaultdict(set))
            found["r"].add(outer["id"])
            found["s"] |= made_of
    if " s" not in text:
        for found in expected.values():
            del found["s"]
    wanted = {
        row: {name: sorted(made_of) for name, made_of in found.items()}
        for row, found in expected.items()
    }
    check(session.sql(text), wanted, tmp_path)


@pytest.mark.parametrize("condition", FILTERS)
def test_outer_rows_that_a_subquery_selects(
    session: SparkSession, tmp_path: Path, condition: str
) -> None:
    chosen = {outer["id"]: FILTERS[condition](outer) for outer in rows("r")}
    expected = {
        (id_,): {"r": [id_], "s": sorted(made_of)}
        for id_, (kept, made_of) in chosen.items()
        if kept
    }
    assert expected
    check(session.sql(f"SELECT id FROM r WHERE {condition}"), expected, tmp_path)


def test_the_branches_of_a_union_are_scans_of_their_own(
    session: SparkSession, tmp_path: Path
) -> None:
    text = next(text for text, (_, inner) in LATERAL.items() if inner is None)
    expected = {}
    for outer in rows("r"):
        found = [matching(test, outer) for test in (of_key, before)]
        total = added(row["c"] for part in found for row in part)
        one, two = ([row["id"] for row in part] for part in found)
        expected[outer["id"], total] = {"r": [outer["id"]], "s": one, "s2": two}
    check(session.sql(text), expected, tmp_path)
