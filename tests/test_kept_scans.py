"""Reading a plan keeps every scan, also scans that only lineage needs; truth is hand-written
rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark import read_pipeline
from tests.byhand import Expected, check, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALL_S = range(6)
OUTER_JOINS: dict[str, Expected] = {
    # The joined side gives no column, and the aggregation does not count duplicates.
    "SELECT r.a FROM r LEFT JOIN s ON r.a = s.a GROUP BY r.a": {
        (1,): {"r": [0, 1], "s": [0, 1, 5]},
        (2,): {"r": [2], "s": [2]},
        (3,): {"r": [4]},
        (None,): {"r": [3]},
    },
    "SELECT r.a, max(r.b) FROM s RIGHT JOIN r ON r.a = s.a GROUP BY r.a": {
        (1, "y"): {"r": [1], "s": [0, 1, 5]},
        (2, "x"): {"r": [2], "s": [2]},
        (3, "w"): {"r": [4]},
        (None, "z"): {"r": [3]},
    },
    "SELECT DISTINCT r.a + 1 FROM r LEFT JOIN s ON r.a = s.a WHERE r.id < 3": {
        (2,): {"r": [0, 1], "s": [0, 1, 5]},
        (3,): {"r": [2], "s": [2]},
    },
    # It has at most one partner for each row.
    "SELECT r.id FROM r LEFT JOIN (SELECT DISTINCT a FROM s) d ON r.a = d.a": {
        (0,): {"r": [0], "s": [0, 1, 5]},
        (1,): {"r": [1], "s": [0, 1, 5]},
        (2,): {"r": [2], "s": [2]},
        (3,): {"r": [3]},
        (4,): {"r": [4]},
    },
    "SELECT r.id FROM (SELECT a, sum(c) FROM s GROUP BY a) d RIGHT JOIN r ON r.a = d.a": {
        (0,): {"r": [0], "s": [0, 1, 5]},
        (1,): {"r": [1], "s": [0, 1, 5]},
        (2,): {"r": [2], "s": [2]},
        (3,): {"r": [3]},
        (4,): {"r": [4]},
    },
    # A filter makes a left join of the full one, which then gives no column.
    "SELECT r.a FROM r FULL JOIN s ON r.a = s.a WHERE r.a > 0 GROUP BY r.a": {
        (1,): {"r": [0, 1], "s": [0, 1, 5]},
        (2,): {"r": [2], "s": [2]},
        (3,): {"r": [4]},
    },
    "SELECT x.a FROM (SELECT r.a FROM r LEFT JOIN s ON r.a = s.a WHERE s.c = 20) x "
    "LEFT JOIN u ON u.a = x.a GROUP BY x.a": {
        (1,): {"r": [0, 1], "s": [1, 5], "u": [0]},
    },
}
SUBQUERIES: dict[str, Expected] = {
    # Boolean simplification makes a constant of what the subquery stands in.
    "SELECT id FROM r WHERE (1 = 1) OR EXISTS (SELECT 1 FROM s)": {
        (id_,): {"r": [id_], "s": ALL_S} for id_ in range(5)
    },
    "SELECT id FROM r WHERE (1 = 1) OR EXISTS (SELECT 1 FROM s WHERE s.a = r.a)": {
        (0,): {"r": [0], "s": [0, 1, 5]},
        (1,): {"r": [1], "s": [0, 1, 5]},
        (2,): {"r": [2], "s": [2]},
        (3,): {"r": [3]},
        (4,): {"r": [4]},
    },
    "SELECT id FROM r WHERE ((1 = 0) AND EXISTS (SELECT 1 FROM s)) OR id = 3": {
        (3,): {"r": [3], "s": ALL_S},
    },
    "SELECT id FROM r WHERE id < 2 OR true OR a > (SELECT sum(a) FROM s WHERE id > 1)": {
        (id_,): {"r": [id_], "s": [2, 3, 4, 5]} for id_ in range(5)
    },
    # It keeps one of two equal subqueries.
    "SELECT id FROM r WHERE id = 2 AND (EXISTS (SELECT 1 FROM u) OR EXISTS (SELECT 1 FROM u))": {
        (2,): {"r": [2], "u": [0, 1, 2], "u2": [0, 1, 2]},
    },
    # A filter that moves into a union takes its subquery along, twice.
    "SELECT a FROM (SELECT a FROM r UNION ALL SELECT a FROM s) WHERE a > (SELECT sum(id) FROM u)": {
        (5,): {"s": [4], "u": [0, 1, 2]},
    },
}
CASES = {**OUTER_JOINS, **SUBQUERIES}


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session of this module's own, with the tables."""
    own = spark.newSession()
    register(own, tmp_path_factory.mktemp("tables"))
    return own


@pytest.fixture
def lax(session: SparkSession) -> Iterator[SparkSession]:
    """The session without ANSI mode."""
    session.conf.set("spark.sql.ansi.enabled", "false")
    yield session
    session.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.parametrize("statement", CASES)
def test_rows(session: SparkSession, tmp_path: Path, statement: str) -> None:
    check(session.sql(statement), CASES[statement], tmp_path)


def test_rows_on_spark_without_ansi(lax: SparkSession, tmp_path: Path) -> None:
    statement = next(iter(OUTER_JOINS))
    check(lax.sql(statement), OUTER_JOINS[statement], tmp_path, ("spark",))


def test_a_filter_that_drops_padded_rows_still_narrows_the_join(session: SparkSession) -> None:
    """Also beside an outer join that the same rule would drop."""
    graph = read_pipeline(
        "SELECT x.a FROM (SELECT r.a, s.id FROM r FULL JOIN s ON r.a = s.a WHERE s.c = 20) x "
        "LEFT JOIN u ON u.a = x.a GROUP BY x.a",
        session,
    ).graph
    kinds = [getattr(o, "kind", type(o).__name__) for o in graph.operators()]
    assert [kind for kind in kinds if kind in ("left", "right", "full", "InnerJoin")] == [
        "left",
        "right",
    ]


def test_scans_have_the_order_of_the_text(session: SparkSession) -> None:
    """Also where joins are reordered, and subqueries of WHERE stand below those of SELECT."""
    graph = read_pipeline(
        "SELECT (SELECT sum(c) FROM s p) FROM s x, r, s y "
        "WHERE x.a = y.a AND y.id = r.id AND EXISTS (SELECT 1 FROM s q WHERE q.a = r.a)",
        session,
    ).graph
    found = [(scan.table, scan.occurrence, scan.alias) for scan in graph.scans()]
    assert found == [("r", 1, None), *(("s", n, a) for n, a in enumerate("xypq", start=1))]


def test_a_scan_that_a_rule_drops_by_itself_is_refused(session: SparkSession) -> None:
    """Pulling the correlation out of a subquery simplifies the conditions inside."""
    with pytest.raises(UnsupportedOperatorError, match="subquery"):
        read_pipeline(
            "SELECT id FROM r WHERE EXISTS "
            "(SELECT 1 FROM s WHERE s.a = r.a AND (true OR EXISTS (SELECT 1 FROM u)))",
            session,
        )
