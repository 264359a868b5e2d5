"""A lineage plan evaluated by its definition, on the reference's own intermediate results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from predtrace.inference.plan import LineagePlan
from pushdown.graph import OperatorGraph
from symbolic.expr import Column, Expr, Param, params_of, transform
from tests.reference.functions import Settings
from tests.reference.joins import matching
from tests.reference.tracer import ReferenceResult
from tests.reference.values import Row

_PARAM_IDS = 1_000_000_000
"""Params become columns of the bound row, numbered from here."""


class PlanAnswer(NamedTuple):
    """The rows that a plan selects from one scan, by index, and what it claims of them."""

    rows: frozenset[int]
    label: str


class _Bound(NamedTuple):
    columns: tuple[Column, ...]
    rows: list[Row]


def evaluate_plan(
    plan: LineagePlan,
    graph: OperatorGraph,
    reference: ReferenceResult,
    targets: Sequence[Row],
    time_zone: str = "UTC",
) -> dict[int, PlanAnswer]:
    """The lineage of the targets (together) by the plan, per scan node.

    `reference` must have kept the outputs of all nodes: stored intermediates are taken
    from them. Raises AssertionError for a plan that is not well formed.
    """
    settings = Settings(time_zone)
    bindings: dict[int, _Bound] = {0: _Bound(graph.output(), list(targets))}
    for intermediate in sorted(plan.intermediates, key=lambda stored: stored.binding):
        stored = project(reference.outputs[intermediate.node], graph.output(intermediate.node),
                          intermediate.columns)  # fmt: skip
        found = (_selected(stored, intermediate.columns, one.predicate, one.binding, bindings,
                           settings) for one in intermediate.selections)  # fmt: skip
        rows = [stored[index] for index in sorted(set().union(*found))]
        bindings[intermediate.binding] = _Bound(intermediate.columns, rows)
    answers: dict[int, PlanAnswer] = {}
    for scan in plan.scans:
        rows = reference.outputs[scan.node]
        columns = graph.output(scan.node)
        found = (_selected(rows, columns, one.predicate, one.binding, bindings, settings)
                 for one in scan.selections)  # fmt: skip
        answers[scan.node] = PlanAnswer(frozenset().union(*found), scan.label)
    return answers


def project(rows: Sequence[Row], columns: Sequence[Column], kept: Sequence[Column]) -> list[Row]:
    """The rows cut down to some of their columns, by id."""
    places: Mapping[int, int] = {column.id: index for index, column in enumerate(columns)}
    order = [places[column.id] for column in kept]
    return [tuple(row[place] for place in order) for row in rows]


def _selected(
    rows: Sequence[Row],
    columns: Sequence[Column],
    predicate: Expr,
    binding: int,
    bindings: Mapping[int, _Bound],
    settings: Settings,
) -> list[int]:
    """The indexes of the rows that some bound row of the binding selects."""
    assert {param.binding for param in params_of(predicate)} <= {binding}, "params of one binding"
    bound = bindings[binding]
    named = tuple(
        Column(_PARAM_IDS + column.id, column.name, column.type) for column in bound.columns
    )
    condition = _with_columns(predicate)
    matches = matching(rows, columns, bound.rows, named, condition, settings)
    return [index for index, found in enumerate(matches) if found]


def _with_columns(predicate: Expr) -> Expr:
    """The predicate with params as columns of the bound row."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Param):
            return Column(_PARAM_IDS + node.column, node.name, node.type)
        return None

    return transform(predicate, change)
