"""Panda's mappings and filters: against the reference tracer, and what they do not reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from predtrace.errors import EngineError
from predtrace.sql import DUCKDB_DIALECT, physical_name, plan_query
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Distinct,
    Filter,
    GroupBy,
    InnerJoin,
    Limit,
    RowTransform,
    Scan,
    Sort,
    SortKey,
)
from symbolic.expr import TRUE, Column, Literal, call
from symbolic.types import INTEGER, LONG
from tests.reference import trace_graph
from tests.strategies import Pipeline, block_pipelines, count
from tests.tpch.memory import Answer, MemoryTables, lineages, memory_tables
from tpch.bench.panda.tracing import Augmented, Tracer, storing_graph
from tpch.bench.panda.transformations import (
    REACHED,
    REFUSED,
    Transformation,
    transformations,
)
from tpch.errors import TpchError


class Panda:
    """Panda on a graph over tables in memory, its augmented outputs being temporary tables."""

    def __init__(self, tables: MemoryTables, top: Transformation) -> None:
        self._tables = tables
        stored = {each.node: self._stored(each) for each in top.all() if each.augmented}
        self._tracer = Tracer(tables.graph, top, DUCKDB_DIALECT, tables.relation, stored)

    def _stored(self, transformation: Transformation) -> Augmented:
        graph = storing_graph(self._tables.graph, transformation)
        scans = {scan.id: self._tables.relation(scan, None) for scan in graph.scans()}
        text = plan_query(graph, graph.root, DUCKDB_DIALECT, scans).sql("duckdb")
        name = f"augmented{transformation.node}"
        connection = self._tables.connection
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {text}")
        columns = [assignment.column.id for assignment in transformation.stored]
        never_null = {
            column
            for column in columns
            if not connection.execute(
                f"SELECT 1 FROM {name} WHERE {physical_name(column)} IS NULL"
            ).fetchall()
        }
        return Augmented(exp.to_table(name), frozenset(never_null))

    def many(self, rows: Sequence[tuple[Any, ...]]) -> list[Answer]:
        self._tables.give_targets(rows)
        texts = {scan: self._tracer.of_many(scan, rows) for scan in self._tracer.scans}
        return self._answers(texts, len(rows))

    def one(self, row: tuple[Any, ...]) -> Answer:
        texts = {scan: self._tracer.of_one(scan, row) for scan in self._tracer.scans}
        return self._answers(texts, 1)[0]

    def rows(self, row: tuple[Any, ...]) -> dict[int, list[tuple[Any, ...]]]:
        return {
            scan: self._tables.connection.execute(self._tracer.rows_of(scan, row)).fetchall()
            for scan in self._tracer.scans
        }

    def _answers(self, texts: dict[int, str], targets: int) -> list[Answer]:
        answers = [self._tables.nothing() for _ in range(targets)]
        for scan, text in texts.items():
            found = self._tables.connection.execute(text).fetchall()
            assert len(found) == len(set(found))
            for target, row in found:
                answers[target][scan].add(row)
        return answers


@contextmanager
def panda(pipeline: Pipeline, aggregates: str) -> Iterator[Panda]:
    with memory_tables(pipeline) as tables:
        yield Panda(tables, transformations(pipeline.graph, aggregates))


def check_panda(pipeline: Pipeline, aggregates: str) -> None:
    """All output rows at once, and two alone, have the reference's lineage."""
    expected = lineages(trace_graph(*pipeline, aggregates, keep_outputs=True))
    with panda(pipeline, aggregates) as system:
        assert system.many(list(expected)) == list(expected.values())
        for row, answer in list(expected.items())[:2]:
            assert system.one(row) == answer
            for scan, rows in system.rows(row).items():
                table = pipeline.tables[pipeline.graph[scan].table]  # type: ignore[union-attr]
                assert sorted(map(repr, rows)) == sorted(repr(table[n]) for n in answer[scan])


@given(pipeline=block_pipelines(), aggregates=st.sampled_from(["minimal", "whole"]))
@settings(max_examples=count(50))
def test_panda_gives_the_reference_lineage(pipeline: Pipeline, aggregates: str) -> None:
    try:
        check_panda(pipeline, aggregates)
    except (TpchError, EngineError) as error:
        # The only ones that such graphs may meet.
        if not any(
            words in str(error)
            for words in ("several extremes", "cannot compute", "cannot evaluate")
        ):
            raise
        assume(False)


A, B = Column(1, "a", INTEGER), Column(2, "b", INTEGER)
C, D = Column(3, "c", INTEGER), Column(4, "d", INTEGER)
N = Column(5, "n", LONG)
LEFT = Scan(id=1, table="l", occurrence=1, columns=(A, B))
RIGHT = Scan(id=2, table="r", occurrence=1, columns=(C, D))
JOIN = InnerJoin(id=3, left=1, right=2, condition=call("eq", B, C))
COUNT = Aggregation(N, AggregateCall("count", (), LONG))
TABLES = {
    "l": [(1, 1), (1, 1), (1, None), (None, 2), (2, 2), (2, 3), (2, 9)],
    "r": [(1, 1), (2, 5), (2, None), (3, 7), (None, 7)],
}


def grouped(*keys: Column, below: int = 3) -> GroupBy:
    assignments = tuple(Assignment(key, key) for key in keys)
    return GroupBy(id=10, input=below, keys=assignments, aggregations=(COUNT,))


GRAPHS = {
    "a scan": ([LEFT], False),
    "a group of a scan": ([LEFT, grouped(A, below=1)], False),
    "a filter on an input": (
        [
            LEFT,
            Filter(id=3, input=1, condition=call("lt", B, Literal(3, INTEGER))),
            grouped(A, below=3),
        ],
        False,
    ),
    "a join that shows its columns": ([LEFT, RIGHT, JOIN], False),
    "keys that tell the other side's": ([LEFT, RIGHT, JOIN, grouped(A, C)], False),
    "keys that do not": ([LEFT, RIGHT, JOIN, grouped(A)], True),
    "a group of all": ([LEFT, RIGHT, JOIN, grouped()], True),
    "computed columns": (
        [
            LEFT,
            RowTransform(
                id=3, input=1, assignments=(Assignment(N, call("add", A, B, type=INTEGER)),)
            ),
        ],
        True,
    ),
    "some of the columns that rows differ in": (
        [
            LEFT,
            RIGHT,
            InnerJoin(id=3, left=1, right=2, condition=TRUE),
            Distinct(id=4, input=3),
            RowTransform(id=5, input=4, assignments=(Assignment(A, A),)),
        ],
        True,
    ),
    "a condition across inputs": (
        [
            LEFT,
            RIGHT,
            InnerJoin(id=3, left=1, right=2, condition=TRUE),
            Filter(id=4, input=3, condition=call("lt", A, D)),
            grouped(B, below=4),
        ],
        True,
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_output_is_augmented_where_mappings_are_missing(name: str) -> None:
    operators, augmented = GRAPHS[name]
    graph = OperatorGraph(operators, operators[-1].id)
    top = transformations(graph, "minimal")
    assert any(each.augmented for each in top.all()) == augmented
    check_panda(Pipeline(graph, TABLES), "minimal")


@pytest.mark.parametrize("left", [TABLES["l"], []], ids=["rows", "none"])
@pytest.mark.parametrize("least", [0, 99])
def test_a_group_of_all_may_have_no_rows(
    left: list[tuple[int | None, int | None]], least: int
) -> None:
    """A cross product with nothing, and a group that a condition drops, are no lineage."""
    cross = InnerJoin(id=3, left=1, right=2, condition=TRUE)
    total = Column(6, "m", LONG)
    counted = Aggregation(total, AggregateCall("count", (), LONG))
    graph = OperatorGraph(
        [
            LEFT,
            RIGHT,
            cross,
            grouped(),
            Filter(id=11, input=10, condition=call("ge", N, Literal(least, LONG))),
            GroupBy(id=12, input=11, keys=(), aggregations=(counted,)),
        ],
        12,
    )
    check_panda(Pipeline(graph, {"l": left, "r": TABLES["r"]}), "minimal")


def test_an_extreme_maps_to_its_argument() -> None:
    greatest = Aggregation(N, AggregateCall("max", (D,), INTEGER))
    group = GroupBy(id=10, input=3, keys=(Assignment(A, A),), aggregations=(greatest,))
    pipeline = Pipeline(OperatorGraph([LEFT, RIGHT, JOIN, group], 10), TABLES)
    for aggregates in ("minimal", "whole"):
        check_panda(pipeline, aggregates)
    least = Aggregation(Column(6, "m", INTEGER), AggregateCall("min", (D,), INTEGER))
    two = GroupBy(id=10, input=3, keys=(), aggregations=(greatest, least))
    graph = OperatorGraph([LEFT, RIGHT, JOIN, two], 10)
    with pytest.raises(TpchError, match="one of several extremes"):
        transformations(graph, "minimal")


def test_the_last_limit_only_is_no_obstacle() -> None:
    sort = Sort(id=4, input=1, keys=(SortKey(A), SortKey(B)))
    limit = Limit(id=5, input=4, count=3)
    check_panda(Pipeline(OperatorGraph([LEFT, sort, limit], 5), TABLES), "minimal")
    graph = OperatorGraph([LEFT, sort, limit, grouped(A, below=5)], 10)
    with pytest.raises(TpchError, match="Limit: which rows"):
        transformations(graph, "minimal")


def test_no_operator_is_both_reached_and_refused() -> None:
    assert REACHED.isdisjoint(REFUSED)
