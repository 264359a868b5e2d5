"""Subqueries under OR, in CASE and as values: NOT IN's NULL rule decides, but matches nothing."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark import read_pipeline
from tests.boolean_queries import condition, lineage
from tests.byhand import TABLES, Expected, check, register
from tests.reference import row_key, trace_graph

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES: dict[str, Expected] = {
    "SELECT id FROM r WHERE a NOT IN (SELECT a FROM s) OR id = 4 OR id = 0": {
        (0,): {"r": [0], "s": [0, 1, 5]},
        (4,): {"r": [4]},
    },
    "SELECT id, a NOT IN (SELECT a FROM s WHERE id <> 3) AS x FROM r": {
        (0, False): {"r": [0], "s": [0, 1, 5]},
        (1, False): {"r": [1], "s": [0, 1, 5]},
        (2, False): {"r": [2], "s": [2]},
        (3, False): {"r": [3]},
        (4, True): {"r": [4]},
    },
    "SELECT id FROM r WHERE a NOT IN (SELECT a FROM s WHERE s.c > r.id + 10) OR id < 2": {
        (0,): {"r": [0], "s": [1, 5]},
        (1,): {"r": [1], "s": [1, 5]},
    },
    "SELECT id FROM r WHERE 1 NOT IN (SELECT a FROM s) OR id = 4": {
        (4,): {"r": [4], "s": [0, 1, 5]},
    },
    "SELECT id FROM r "
    "WHERE (a, id) NOT IN (SELECT a, id + 1 FROM s WHERE c IS NOT NULL) OR id = 1": {
        (0,): {"r": [0]},
        (1,): {"r": [1], "s": [0]},
        (2,): {"r": [2]},
    },
    "SELECT id FROM r WHERE CASE WHEN a NOT IN (SELECT a FROM u) THEN id > 3 ELSE id < 2 END": {
        (0,): {"r": [0], "u": [0]},
        (1,): {"r": [1], "u": [0]},
        (4,): {"r": [4]},
    },
    # The condition of an EXISTS may say the same: then these rows match.
    "SELECT id FROM r WHERE a NOT IN (SELECT a FROM s) "
    "OR EXISTS (SELECT a FROM s WHERE s.a = r.a OR (s.a = r.a) IS NULL)": {
        (0,): {"r": [0], "s": [0, 1, 5], "s2": [0, 1, 3, 5]},
        (1,): {"r": [1], "s": [0, 1, 5], "s2": [0, 1, 3, 5]},
        (2,): {"r": [2], "s": [2], "s2": [2, 3]},
        (3,): {"r": [3], "s2": [0, 1, 2, 3, 4, 5]},
        (4,): {"r": [4], "s2": [3]},
    },
    # NOT moves inwards: this is a NOT IN, though the query does not write it so.
    "SELECT id FROM r WHERE NOT (a IN (SELECT a FROM s WHERE id <> 3) AND id >= 0)": {
        (4,): {"r": [4]},
    },
    "SELECT count(*) FROM r WHERE NOT (a NOT IN (SELECT a FROM s) AND NOT id = 4)": {
        (4,): {"r": [0, 1, 2, 4], "s": [0, 1, 2, 5]},
    },
}
JOINED: dict[str, Expected] = {
    # NOT IN in a join's condition: where the comparison is NULL, there is no pair.
    "SELECT count(*) AS n FROM r JOIN s ON r.id = s.id AND r.a NOT IN (SELECT a FROM u)": {
        (1,): {"r": [4], "s": [4]},
    },
    "SELECT s.id FROM s LEFT SEMI JOIN r ON r.id > s.id AND r.a NOT IN (SELECT max(a) FROM u)": {
        (0,): {"r": [1, 4], "s": [0]},
        (1,): {"r": [4], "s": [1]},
        (2,): {"r": [4], "s": [2]},
        (3,): {"r": [4], "s": [3]},
    },
    "SELECT s.id, count(r.id) AS n FROM s LEFT JOIN r "
    "ON r.id >= s.id AND (r.a NOT IN (SELECT a FROM u) OR r.id = 2) GROUP BY s.id": {
        (0, 2): {"r": [2, 4], "s": [0], "u": [1, 2]},
        (1, 2): {"r": [2, 4], "s": [1], "u": [1, 2]},
        (2, 2): {"r": [2, 4], "s": [2], "u": [1, 2]},
        (3, 1): {"r": [4], "s": [3]},
        (4, 1): {"r": [4], "s": [4]},
        (5, 0): {"s": [5]},
    },
}
NEGATIONS = (
    "NOT (a IN (SELECT a FROM s) AND id >= 0)",
    "NOT (a IN (SELECT a FROM s) OR id = 0)",
    "NOT (NOT (a IN (SELECT a FROM s)) AND id <> 4)",
    "NOT (a NOT IN (SELECT a FROM s)) OR id = 4",
    "NOT (NOT (NOT (a IN (SELECT a FROM s)))) OR id = 1",
    "NOT ((a IN (SELECT a FROM s) OR id = 0) AND (a IN (SELECT a FROM u) OR id = 1))",
    "NOT (a + 1 IN (SELECT c FROM u) AND NOT (id IN (SELECT a FROM s) OR b = 'w'))",
    "CASE WHEN NOT (a IN (SELECT a FROM s) AND id > 0) THEN id > 1 ELSE id = 2 END",
)
IN_CONDITIONS: dict[str, tuple[Expected, tuple[str, ...]]] = {
    # A padded row is no pair: what its subquery matches is not its lineage, and u a superset.
    "SELECT r.id, s.id AS s FROM r LEFT JOIN s "
    "ON r.id = s.id AND (r.id = 3 OR NOT EXISTS (SELECT 1 FROM u WHERE u.a = r.a))": (
        {
            (0, None): {"r": [0]},
            (1, None): {"r": [1]},
            (2, None): {"r": [2]},
            (3, 3): {"r": [3], "s": [3]},
            (4, 4): {"r": [4], "s": [4]},
        },
        ("u",),
    ),
    "SELECT s.id, r.id AS r FROM s FULL JOIN r ON r.id = s.id AND s.c < (SELECT max(c) FROM u)": (
        {
            (0, 0): {"r": [0], "s": [0], "u": [0]},
            (1, None): {"s": [1]},
            (2, 2): {"r": [2], "s": [2], "u": [0]},
            (3, None): {"s": [3]},
            (4, None): {"s": [4]},
            (5, None): {"s": [5]},
            (None, 1): {"r": [1]},
            (None, 3): {"r": [3]},
            (None, 4): {"r": [4]},
        },
        ("u",),
    ),
    # Asked of the side that is padded, it decides about pairs alone.
    "SELECT r.id, s.id AS s FROM s RIGHT JOIN r "
    "ON r.id = s.id AND EXISTS (SELECT 1 FROM u WHERE u.a = s.a)": (
        {
            (0, 0): {"r": [0], "s": [0], "u": [0]},
            (1, 1): {"r": [1], "s": [1], "u": [0]},
            (2, 2): {"r": [2], "s": [2], "u": [1, 2]},
            (3, None): {"r": [3]},
            (4, None): {"r": [4]},
        },
        (),
    ),
    # What an anti join keeps is no pair.
    "SELECT r.id FROM r LEFT ANTI JOIN s "
    "ON r.id = s.id AND EXISTS (SELECT 1 FROM u WHERE u.a = r.a)": (
        {(3,): {"r": [3]}, (4,): {"r": [4]}},
        ("u",),
    ),
    "SELECT r.id FROM r LEFT ANTI JOIN s ON r.id = s.id + 4 AND r.a IN (SELECT a FROM u)": (
        {(0,): {"r": [0]}, (1,): {"r": [1]}, (2,): {"r": [2]}, (3,): {"r": [3]}, (4,): {"r": [4]}},
        ("u",),
    ),
    # Computed before the join it belongs to the row, with or without a partner.
    "SELECT q.id, s.id AS s FROM (SELECT id, EXISTS (SELECT 1 FROM u WHERE u.a = r.a) AS e FROM r) "
    "AS q LEFT JOIN s ON q.id = s.id AND NOT e": (
        {
            (0, None): {"r": [0], "u": [0]},
            (1, None): {"r": [1], "u": [0]},
            (2, None): {"r": [2], "u": [1, 2]},
            (3, 3): {"r": [3], "s": [3]},
            (4, 4): {"r": [4], "s": [4]},
        },
        (),
    ),
}
"""Subqueries in the condition of an outer or anti join, with the scans that are supersets."""

SEEDS = (17, 18, 21, 22)
"""Of random conditions."""


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session of this module's own, with the tables."""
    own = spark.newSession()
    register(own, tmp_path_factory.mktemp("tables"))
    return own


@pytest.mark.parametrize("statement", [*CASES, *JOINED])
def test_rows(session: SparkSession, tmp_path: Path, statement: str) -> None:
    check(session.sql(statement), {**CASES, **JOINED}[statement], tmp_path)


@pytest.mark.parametrize("statement", IN_CONDITIONS)
def test_conditions_of_outer_joins(session: SparkSession, tmp_path: Path, statement: str) -> None:
    expected, supersets = IN_CONDITIONS[statement]
    check(session.sql(statement), expected, tmp_path, supersets=supersets)


def test_a_subquery_that_spark_cannot_plan_is_refused(session: SparkSession) -> None:
    """Spark accepts it, and finds out when it optimizes: so does predtrace."""
    from pyspark.errors import AnalysisException

    frame = session.sql(
        "SELECT r.id FROM r JOIN s ON (r.id, s.c) IN (SELECT u.id, c FROM u WHERE u.a = r.a)"
    )
    with pytest.raises(AnalysisException, match="cannot reference both join inputs"):
        frame.collect()
    with pytest.raises(UnsupportedOperatorError, match="cannot run this query"):
        read_pipeline(frame, session)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_conditions(session: SparkSession, tmp_path: Path, seed: int) -> None:
    """As a filter, or as a value."""
    made = condition(random.Random(seed))
    where = f"SELECT id FROM r WHERE {made.text}"
    frame = session.sql(where if seed % 2 else f"SELECT id, {made.text} AS x FROM r")
    found = [tuple(row) for row in frame.collect()]
    assert found, "the seed makes a query without an output"
    check(frame, lineage(found, made.atoms), tmp_path)


@pytest.mark.parametrize("negation", NEGATIONS)
def test_negations_are_read_as_spark_runs_them(session: SparkSession, negation: str) -> None:
    frame = session.sql(f"SELECT id FROM r WHERE {negation}")
    tables = {name: list(zip(*columns.values(), strict=True)) for name, columns in TABLES.items()}
    graph = read_pipeline(frame, session).graph
    found = Counter(map(row_key, trace_graph(graph, tables).rows))
    assert found == Counter(row_key(tuple(row)) for row in frame.collect())
