"""The truth of a text against lineage by hand: a case for each rule of docs/semantics.md."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tpch.truth import read_truth
from tpch.truth.queries import Table
from tpch.truth.tables import alike

R = [(1, "a", 5), (1, "b", 7), (2, "a", 7), (2, None, None), (3, "c", 1), (3, "c", 1)]
S = [(1, 10), (1, 20), (3, 30), (None, 40)]
TABLES = {"r": Table(["k", "g", "v"], R), "s": Table(["k", "w"], S)}

CASES = {
    "filter and projection": (
        "SELECT v + 1 FROM r WHERE g = 'a'", (6,), {"r 1": {0}}),
    "equal rows together": ("SELECT g FROM r", ("c",), {"r 1": {4, 5}}),
    "inner join": (
        "SELECT r.k, w FROM r, s WHERE r.k = s.k AND v = 5", (1, 20), {"r 1": {0}, "s 1": {1}}),
    "a padded side": (
        "SELECT g, w FROM r LEFT JOIN s ON r.k = s.k WHERE v = 7 AND g = 'a'", ("a", None),
        {"r 1": {2}, "s 1": set()}),
    "a full join": (
        "SELECT v, w FROM r FULL JOIN s ON r.k = s.k", (None, 40), {"r 1": set(), "s 1": {3}}),
    "an inner join after an outer one": (
        "SELECT r.v, s.w, t.w FROM r LEFT JOIN s ON r.k = s.k AND s.w = 10, s AS t "
        "WHERE t.k = r.k AND r.v = 5", (5, 10, 20), {"r 1": {0}, "s 1": {0}, "s 2": {1}}),
    "a whole group": (
        "SELECT k, count(*), sum(v) FROM r GROUP BY k", (2, 2, 7), {"r 1": {2, 3}}),
    "minimum and maximum": (
        "SELECT min(v), max(v) FROM r WHERE k < 3", (5, 7), {"r 1": {0, 1, 2}}),
    "a maximum beside a sum that is not read": (
        "SELECT m FROM (SELECT max(v) AS m, sum(v) AS t FROM r) AS q", (7,), {"r 1": {1, 2}}),
    "a group of NULLs": (
        "SELECT max(v) FROM r WHERE g IS NULL", (None,), {"r 1": {3}}),
    "HAVING": (
        "SELECT g FROM r GROUP BY g HAVING count(*) > 1 AND max(v) > 5", ("a",),
        {"r 1": {0, 2}}),
    "EXISTS": (
        "SELECT v FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k AND w > 5) AND v = 5",
        (5,), {"r 1": {0}, "s 1": {0, 1}}),
    "NOT EXISTS": (
        "SELECT g FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.k = r.k)", ("a",),
        {"r 1": {2}, "s 1": set()}),
    "IN": (
        "SELECT v FROM r WHERE k IN (SELECT k FROM s WHERE w > 5) AND v = 7", (7,),
        {"r 1": {1}, "s 1": {0, 1}}),
    "NOT IN beside a NULL": ("SELECT v FROM r WHERE k NOT IN (SELECT k FROM s)", None, {}),
    "EXISTS under OR": (
        "SELECT g FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k AND w > 25) OR v = 5",
        ("a",), {"r 1": {0}, "s 1": set()}),
    "a scalar subquery": (
        "SELECT g, (SELECT max(w) FROM s WHERE s.k = r.k) FROM r WHERE v = 5", ("a", 20),
        {"r 1": {0}, "s 1": {1}}),
    "a common term of an OR": (
        "SELECT w FROM r, s WHERE (r.k = s.k AND g = 'a') OR (r.k = s.k AND g = 'c')", (30,),
        {"r 1": {4, 5}, "s 1": {2}}),
    "DISTINCT": ("SELECT DISTINCT k FROM r", (2,), {"r 1": {2, 3}}),
    "UNION": (
        "SELECT k FROM r UNION SELECT k FROM s", (1,), {"r 1": {0, 1}, "s 1": {0, 1}}),
    "INTERSECT": (
        "SELECT k FROM r INTERSECT SELECT k FROM s", (3,), {"r 1": {4, 5}, "s 1": {2}}),
    "EXCEPT": (
        "SELECT k FROM r EXCEPT SELECT k FROM s", (2,), {"r 1": {2, 3}, "s 1": set()}),
    "a CTE used twice": (
        "WITH t AS (SELECT k, sum(v) AS n FROM r GROUP BY k) SELECT a.n, b.n FROM t AS a, t AS b "
        "WHERE a.k = 1 AND b.k = 3", (12, 2), {"r 1": {0, 1}, "r 2": {4, 5}}),
    "a level of ROLLUP": (
        "SELECT k, g, grouping(g), count(*) FROM r GROUP BY ROLLUP (k, g)", (2, None, 1, 2),
        {"r 1": {2, 3}}),
    "a NULL key beside the level above": (
        "SELECT k, g, grouping(g), count(*) FROM r GROUP BY ROLLUP (k, g)", (2, None, 0, 1),
        {"r 1": {3}}),
    "rank": (
        "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) FROM r", (1, 7, 2),
        {"r 1": {0, 1}}),
    "a rank that only a filter reads": (
        "SELECT k, v FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS n FROM r) AS t "
        "WHERE n <= 2", (1, 7), {"r 1": {1}}),
    "the rank of NULL": (
        "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) FROM r", (2, None, 1),
        {"r 1": {3}}),
    "peers": (
        "SELECT k, v, rank() OVER (ORDER BY k) FROM r", (3, 1, 5), {"r 1": {0, 1, 2, 3, 4, 5}}),
    "a window over the partition": (
        "SELECT v, sum(v) OVER (PARTITION BY k) FROM r", (5, 12), {"r 1": {0, 1}}),
    "a running sum": (
        "SELECT g, sum(v) OVER (ORDER BY k) FROM r WHERE v IS NOT NULL", ("b", 12),
        {"r 1": {0, 1}}),
    "a running maximum": (
        "SELECT g, max(v) OVER (ORDER BY k) FROM r", (None, 7), {"r 1": {1, 2, 3}}),
    "a window over groups": (
        "SELECT k, sum(sum(v)) OVER (ORDER BY k) FROM r GROUP BY k", (2, 19),
        {"r 1": {0, 1, 2, 3}}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_lineage_by_hand(name: str) -> None:
    text, target, expected = CASES[name]
    truth = read_truth(text, TABLES)
    if target is None:
        assert not truth.rows
        return
    numbers = alike(truth.rows, target)
    assert numbers, [row for row, _ in truth.rows]
    assert {str(name): rows for name, rows in truth.lineage(numbers).items()} == expected


def test_the_whole_group_of_a_minimum() -> None:
    truth = read_truth("SELECT min(v) FROM r WHERE k < 3", TABLES, "whole")
    assert list(truth.lineage([0]).values()) == [{0, 1, 2, 3}]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1 / 4", 0.25),
        ("v / 0", None),
        ("CAST(v AS DECIMAL(9, 2)) * 1.5", Decimal("7.5")),
        ("round(2.5)", Decimal(3)),
        ("coalesce(NULL, g)", "a"),
        ("substr('abcd', 2, 2)", "bc"),
        ("concat(g, 'x')", "ax"),
        ("CASE WHEN v > 9 THEN 1 WHEN v > 4 THEN 2 END", 2),
        ("CASE v WHEN 4 THEN 1 END", None),
        ("v BETWEEN 1 AND NULL", None),
        ("v BETWEEN 6 AND NULL", False),
        ("v IN (4, NULL)", None),
        ("g LIKE '_'", True),
        ("NOT (v > 4 AND g IS NULL)", True),
        ("CAST('2000-02-28' AS DATE) + INTERVAL 2 DAYS = CAST('2000-03-01' AS DATE)", True),
    ],
)
def test_values(written: str, value: object) -> None:
    ((row, _),) = read_truth(f"SELECT {written} FROM r WHERE v = 5", TABLES).rows
    assert row == (value,)


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(NotImplementedError, match="LAG"):
        read_truth("SELECT lag(v) OVER (ORDER BY k) FROM r", TABLES)
    with pytest.raises(NotImplementedError, match="LIMIT"):
        read_truth("SELECT k FROM (SELECT k FROM r ORDER BY k LIMIT 1) AS t", TABLES)
