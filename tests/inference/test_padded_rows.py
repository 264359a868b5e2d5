"""Refinement and replay where rows of outer joins are padded: conditions above may accept them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from predtrace.inference import infer
from predtrace.inference.refinement import infer_refinement
from predtrace.vocabulary import PRECISE
from tests.byhand import Expected, check, register
from tests.inference.test_unstored import all_pay_off, refine, replay
from tests.reference import trace_graph
from tests.strategies import Pipeline, compared, count
from tests.strategies.padding import padded_pipelines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES: dict[str, Expected] = {
    "SELECT r.id, s.id AS s_id FROM r LEFT JOIN s ON r.a = s.a WHERE coalesce(s.c, 0) < r.id": {
        (3, None): {"r": [3]},
        (4, None): {"r": [4]},
    },
    "SELECT r.id, s.id AS s_id FROM r LEFT JOIN s ON r.a = s.a WHERE s.id IS NULL OR s.id < r.id": {
        (1, 0): {"r": [1], "s": [0]},
        (3, None): {"r": [3]},
        (4, None): {"r": [4]},
    },
    "SELECT r.id FROM s RIGHT JOIN r ON r.a = s.a AND s.c > 10 WHERE s.c <=> NULL OR s.c = r.id": {
        (2,): {"r": [2]},
        (3,): {"r": [3]},
        (4,): {"r": [4]},
    },
    "SELECT r.id, u.id AS u_id FROM r FULL JOIN u ON r.a = u.a WHERE NOT (r.id <=> u.id)": {
        (1, 0): {"r": [1], "u": [0]},
        (2, 1): {"r": [2], "u": [1]},
        (3, None): {"r": [3]},
        (4, None): {"r": [4]},
    },
    # A third table that the padded side is compared with.
    "SELECT r.id, u.id AS u_id FROM r LEFT JOIN s ON r.a = s.a JOIN u ON coalesce(s.c, 0) < u.id": {
        **{(id_, u_id): {"r": [id_], "u": [u_id]} for id_ in (3, 4) for u_id in (1, 2)},
    },
    # Groups as the padded side.
    "SELECT r.id FROM r LEFT JOIN (SELECT a, count(*) AS n FROM s GROUP BY a) g ON r.a = g.a "
    "WHERE coalesce(g.n, 0) < r.id": {
        (2,): {"r": [2], "s": [2]},
        (3,): {"r": [3]},
        (4,): {"r": [4]},
    },
    # A correlated scalar subquery is an outer join.
    "SELECT id FROM r WHERE coalesce((SELECT c FROM u WHERE u.id = r.id), r.id) = r.id": {
        (2,): {"r": [2], "u": [2]},
        (3,): {"r": [3]},
        (4,): {"r": [4]},
    },
}


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session of this module's own, with the tables."""
    own = spark.newSession()
    register(own, tmp_path_factory.mktemp("tables"))
    return own


@pytest.mark.parametrize("statement", CASES)
def test_rows(session: SparkSession, tmp_path: Path, statement: str) -> None:
    check(session.sql(statement), CASES[statement], tmp_path)


@given(pipeline=padded_pipelines())
@settings(max_examples=count(40))
def test_refined_and_replayed(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    reference = trace_graph(graph, tables, "whole", keep_outputs=True)
    plan = infer(graph, aggregates="whole")
    refined = infer_refinement(graph, "whole")
    compared(len(reference.rows))
    for row in reference.distinct_rows():
        expected = reference.lineage(row)
        with all_pay_off():
            replayed = replay(plan, pipeline, reference, row)
        answers = refine(refined, graph, tables, row), replayed
        for mode, found in zip(("refined", "replayed"), answers, strict=True):
            for node, answer in found.items():
                where = f"{mode}: scan {node}, row {row!r}"
                assert answer.rows >= expected[node], f"rows are missing, {where}"
                exact = answer.label != PRECISE or answer.rows == expected[node]
                assert exact, f"too many rows are precise, {where}"
