"""Identities carried up to a node are its rows' lineage; carried further, that is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings

from predtrace.inference.identities import carrying
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Distinct,
    GroupBy,
    Intersect,
    Limit,
    OneRow,
    Operator,
    RowTransform,
    Scan,
    SemiJoin,
    Union_,
)
from symbolic.expr import columns_of
from tests.reference import row_key, trace_graph
from tests.reference.plans import project
from tests.strategies import Pipeline, compared, count, pipelines
from tests.test_mutants import CORPUS

NOT_THERE = "an identity does not get through"


def check_identities(example: Pipeline) -> int:
    """By definition, at the top; how many scans have identities there."""
    graph, tables = example
    reference = trace_graph(graph, tables, keep_outputs=True)
    carried, found = carrying(graph, graph.root, [scan.id for scan in graph.scans()])
    columns = carried.output()
    numbered: dict[str, list[tuple[Any, ...]]] = {}
    operators: list[Operator] = []
    for operator in carried.operators():
        if isinstance(operator, Scan):
            name = f"scan {operator.id}"
            own = tables[operator.table]
            beside = operator.id in found
            numbered[name] = [(*row, "f", i) if beside else row for i, row in enumerate(own)]
            operator = msgspec.structs.replace(operator, table=name, occurrence=1)
        if isinstance(operator, RowTransform):
            read = columns_of(*(a.value for a in operator.assignments))
            assert read <= set(carried.output(operator.input)), NOT_THERE
        operators.append(operator)
    run = trace_graph(OperatorGraph(operators, carried.root), numbered, keep_outputs=True)
    rows = run.outputs[carried.root]
    plain = list(map(row_key, project(rows, columns, graph.output())))
    assert Counter(plain) == Counter(map(row_key, reference.rows)), "other rows than without"
    lineage = {row: reference.lineage(row) for row in reference.distinct_rows()}
    for node, identity in found.items():
        assert identity.row in columns, NOT_THERE
        numbers = [row for (row,) in project(rows, columns, [identity.row])]
        for row, expected in lineage.items():
            known = {
                number
                for key, number in zip(plain, numbers, strict=True)
                if key == row_key(row) and number is not None
            }
            assert known == expected[node], f"not the lineage: scan {node}, row {row!r}"
    return len(found)


@given(pipeline=pipelines(operators=5))
@settings(max_examples=count(40))
def test_identities_are_lineage(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    for node in graph.top_down():
        part = OperatorGraph([graph[below] for below in graph.top_down(node)], node)
        if not isinstance(graph[node], Scan):
            scans = check_identities(Pipeline(part, tables))
            compared(scans)
            event(f"{scans} scans")


@pytest.mark.parametrize("name", CORPUS)
def test_identities_of_small_pipelines(name: str) -> None:
    check_identities(CORPUS[name]())


def test_a_graph_without_columns() -> None:
    nowhere = OperatorGraph([OneRow(id=0), Limit(id=1, input=0, count=1)], 1)
    assert check_identities(Pipeline(nowhere, {})) == 0


LEFT_ONLY: dict[str, type[Operator]] = {"anti join": AntiJoin, "semi join": SemiJoin}
FURTHER: dict[str, type[Operator]] = {
    "count": GroupBy,
    "max": GroupBy,
    "distinct": Distinct,
    "limit in the middle": Limit,
    "union": Union_,
    "intersect": Intersect,
    **LEFT_ONLY,
}
"""Examples whose operator is taken for one that combines single rows of all its inputs."""


@pytest.mark.parametrize("name", FURTHER)
def test_identities_carried_too_far_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    example: Callable[[], Pipeline] = CORPUS[name]
    check_identities(example())
    everything = property(lambda operator: tuple(range(len(operator.inputs))))
    monkeypatch.setattr(FURTHER[name], "keeps_apart", everything)
    noticed = r"other rows than without|does not get through|not the lineage"
    with pytest.raises(AssertionError, match=noticed):
        check_identities(example())
