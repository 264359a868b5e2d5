"""Several rows of each row (ROLLUP, CUBE, GROUPING SETS, unpivots): the rows behind each of them.

The truth of a query is computed here in plain Python from the tables' rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from tests.byhand import TABLES, check, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Truth = dict[tuple[Any, ...], dict[str, list[int]]]
ENGINES = ("duckdb", "spark")


def rows(table: str) -> list[Row]:
    columns = TABLES[table]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values())]  # noqa: B905


S = rows("s")


def traced(scan: str, found: Iterable[tuple[tuple[Any, ...], Iterable[int]]]) -> Truth:
    """Output rows with the source rows behind them; those of equal rows together."""
    truth: Truth = {}
    for row, ids in found:
        kept = truth.setdefault(row, {scan: []})[scan]
        kept += (id_ for id_ in ids if id_ not in kept)
    return truth


def levels(
    source: Sequence[Row],
    keys: Sequence[str],
    sets: Iterable[Iterable[str]],
    result: Callable[[list[Row], int], tuple[Any, ...]],
    lineage: Callable[[list[Row]], list[Row]] = lambda members: members,
) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Every group of every grouping set: its keys with the results of `result`, and its rows.

    `result` takes the group's rows and the level's grouping id.
    """
    found = []
    for kept in map(set, sets):
        number = sum(2**place for place, key in enumerate(reversed(keys)) if key not in kept)
        groups: dict[tuple[Any, ...], list[Row]] = {} if kept else {(None,) * len(keys): []}
        for row in source:
            values = tuple(row[key] if key in kept else None for key in keys)
            groups.setdefault(values, []).append(row)
        for values, members in groups.items():
            ids = [row["id"] for row in lineage(members)]
            found.append(((*values, *result(members, number)), ids))
    return found


def count(members: list[Row], level: int) -> tuple[int]:
    return (len(members),)


def known(members: list[Row]) -> list[int]:
    return [row["c"] for row in members if row["c"] is not None]


def most(members: list[Row]) -> Any:
    return max(known(members), default=None)


def attaining(members: list[Row]) -> list[Row]:
    """The rows with the greatest `c`; all if there is none."""
    return [row for row in members if row["c"] == most(members)]


ROLLUP = (("a", "c"), ("a",), ())
CUBE = (*ROLLUP, ("c",))
COUNTED: dict[str, tuple[str, Truth]] = {
    "rollup, levels with equal rows together": (
        "SELECT a, c, count(*) AS n FROM s GROUP BY ROLLUP (a, c)",
        traced("s", levels(S, "ac", ROLLUP, count)),
    ),
    "cube, levels apart by their id": (
        "SELECT a, c, count(*) AS n, grouping_id() AS g FROM s GROUP BY CUBE (a, c)",
        traced("s", levels(S, "ac", CUBE, lambda rows, level: (len(rows), level))),
    ),
    "grouping sets, levels apart by grouping()": (
        "SELECT a, c, grouping(c) AS g, count(c) AS n FROM s GROUP BY GROUPING SETS ((c), (a))",
        traced(
            "s",
            levels(S, "ac", ("c", "a"), lambda rows, level: (level & 1, len(known(rows)))),
        ),
    ),
    "a key that all levels keep": (
        "SELECT a, c, count(*) AS n FROM s GROUP BY a, ROLLUP (c)",
        traced("s", levels(S, "ac", ("ac", "a"), count)),
    ),
    "a grouping set that is there twice": (
        "SELECT a, count(*) AS n FROM s GROUP BY GROUPING SETS ((a), (a), ())",
        traced("s", levels(S, "a", ("a", "a", ""), count)),
    ),
    "of the levels some by HAVING": (
        "SELECT a, c, count(*) AS n FROM s GROUP BY ROLLUP (a, c) HAVING grouping(c) = 1",
        traced("s", levels(S, "ac", ROLLUP[1:], count)),
    ),
    "a key that is aggregated as it was": (
        "SELECT a, max(a) AS m, count(*) AS n FROM s GROUP BY ROLLUP (a)",
        traced(
            "s",
            levels(
                S,
                "a",
                ("a", ""),
                lambda rows, level: (
                    max((r["a"] for r in rows if r["a"] is not None), default=None),
                    len(rows),
                ),
            ),
        ),
    ),
    "a computed key": (
        "SELECT a + 1 AS k, count(*) AS n FROM s GROUP BY ROLLUP (a + 1)",
        traced(
            "s",
            levels(
                [{**row, "k": None if row["a"] is None else row["a"] + 1} for row in S],
                "k",
                ("k", ""),
                count,
            ),
        ),
    ),
    "distinct values of every level": (
        "SELECT a, count(DISTINCT c) AS n FROM s GROUP BY CUBE (a)",
        traced("s", levels(S, "a", ("a", ""), lambda rows, level: (len({*known(rows)}),))),
    ),
    "the first of a rollup": (
        "SELECT a, n FROM (SELECT a, count(*) AS n FROM s GROUP BY ROLLUP (a)) "
        "ORDER BY n DESC LIMIT 1",
        {(None, 6): {"s": [0, 1, 2, 3, 4, 5]}},
    ),
    "unpivot": (
        "SELECT id, n, v FROM s UNPIVOT (v FOR n IN (a, c AS other))",
        traced(
            "s",
            [
                ((row["id"], name, row[column]), [row["id"]])
                for row in S
                for name, column in (("a", "a"), ("other", "c"))
                if row[column] is not None
            ],
        ),
    ),
    "unpivot with NULLs, names dropped": (
        "SELECT v FROM (SELECT a, c FROM s) UNPIVOT INCLUDE NULLS (v FOR n IN (a, c))",
        traced("s", [((row[column],), [row["id"]]) for row in S for column in "ac"]),
    ),
    "unpivot of pairs": (
        "SELECT v, w FROM s UNPIVOT INCLUDE NULLS ((v, w) FOR n IN ((a, c), (c, a)))",
        traced(
            "s",
            [
                ((row[one], row[other]), [row["id"]])
                for row in S
                for one, other in ("ac", "ca")
            ],
        ),
    ),
    "sums of what was unpivoted": (
        "SELECT n, sum(v) AS total FROM s UNPIVOT (v FOR n IN (a, c)) GROUP BY n",
        {("a", 10): {"s": [0, 1, 2, 4, 5]}, ("c", 90): {"s": [0, 1, 2, 3, 5]}},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    register(own, tmp_path_factory.mktemp("expansions"))
    return own


@pytest.mark.parametrize("name", COUNTED)
def test_lineage(session: SparkSession, tmp_path: Path, name: str) -> None:
    query, truth = COUNTED[name]
    engines = ENGINES if name in ("unpivot of pairs", "a computed key") else ENGINES[:1]
    check(session.sql(query), truth, tmp_path, engines)


@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
def test_extremes_of_levels(session: SparkSession, tmp_path: Path, aggregates: str) -> None:
    query = "SELECT a, max(c) AS m FROM s GROUP BY ROLLUP (a)"
    kept = attaining if aggregates == "minimal" else list
    truth = traced("s", levels(S, "a", ("a", ""), lambda rows, level: (most(rows),), kept))
    check(session.sql(query), truth, tmp_path, aggregates=aggregates)


def test_levels_of_a_join(session: SparkSession, tmp_path: Path) -> None:
    query = """
        SELECT b, s.a, count(*) AS n FROM r JOIN s ON r.a = s.a GROUP BY CUBE (b, s.a)
    """
    pairs = [
        {"b": r["b"], "a": s["a"], "r": r["id"], "s": s["id"]}
        for r in rows("r")
        for s in S
        if r["a"] is not None and r["a"] == s["a"]
    ]
    truth: Truth = {}
    for kept in (("b", "a"), ("b",), ("a",), ()):
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for pair in pairs:
            values = tuple(pair[key] if key in kept else None for key in ("b", "a"))
            groups.setdefault(values, []).append(pair)
        for values, members in groups.items():
            row = truth.setdefault((*values, len(members)), {"r": [], "s": []})
            for side, ids in row.items():
                ids += [member[side] for member in members]
    check(session.sql(query), truth, tmp_path, ENGINES)


def test_frames(session: SparkSession, tmp_path: Path) -> None:
    """The same by DataFrames: cube, rollup and unpivot."""
    frame = session.table("s")
    check(
        frame.rollup("a").count(),
        traced("s", levels(S, "a", ("a", ""), count)),
        tmp_path / "rollup",
    )
    check(
        frame.unpivot("id", ["a", "c"], "n", "v").where("v > 5"),
        {(r["id"], "c", r["c"]): {"s": [r["id"]]} for r in S if (r["c"] or 0) > 5},
        tmp_path / "unpivot",
    )


def test_a_subquery_that_nothing_reads_is_no_lineage(session: SparkSession, tmp_path: Path) -> None:
    """A column that the expansion hands on, and nothing above reads."""
    query = """
        SELECT a, count(*) AS n FROM (SELECT a, (SELECT max(c) FROM u) AS top FROM s)
        GROUP BY ROLLUP (a)
    """
    check(session.sql(query), traced("s", levels(S, "a", ("a", ""), count)), tmp_path)


def test_a_level_and_a_key_that_is_null_are_told_apart(
    session: SparkSession, tmp_path: Path
) -> None:
    """Row 3 of `s` has no `a`: its group is no total."""
    query = "SELECT a, grouping(a) AS g, sum(c) AS t FROM s GROUP BY ROLLUP (a)"
    job = predtrace.trace(session.sql(query)).run(store=tmp_path)
    for mode in ("stored", "replayed"):
        for level, ids in ((0, [3]), (1, [0, 1, 2, 3, 4, 5])):
            answer = job.lineage({"a": None, "g": level}, mode=mode)
            found = sorted(answer["s"].to_arrow(columns=["id"])["id"].to_pylist())
            assert (answer.label, found) == ("precise", ids)
