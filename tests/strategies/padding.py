"""Random trees of joins, outer ones above all, under conditions that a padded row may satisfy."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Filter,
    GroupBy,
    InnerJoin,
    OuterJoin,
    RowTransform,
    SemiJoin,
)
from symbolic.expr import TRUE, Call, Column, Expr, Literal, call, conjunction
from symbolic.types import INTEGER
from tests.strategies.expressions import Draw, likely, one_of
from tests.strategies.graphs import GraphBuilder, Node, Pipeline, Table

_NAMES = ("r", "s", "u")
_COLUMNS = (("id", INTEGER, True), ("a", INTEGER, True))
_VALUES = st.sampled_from([None, 0, 1, 2])
_JOINS = ("left", "left", "right", "full", "inner", "semi")


def _tolerant(draw: Draw, columns: tuple[Column, ...]) -> Expr:
    """A comparison of two columns that may be true where one of them is NULL."""
    first, second = one_of(draw, columns), one_of(draw, columns)
    filled = Call("coalesce", (first, Literal(draw(st.integers(0, 2)), INTEGER)), INTEGER)
    compared = one_of(draw, ("lt", "le", "gt", "ge", "eq", "nullsafe_eq"))
    if likely(draw, 2):
        return call(compared, filled, second)
    test = one_of(draw, ("is_null", "is_not_null"))
    return call("or", call(test, first), call(compared, first, second))


def _condition(draw: Draw, columns: tuple[Column, ...]) -> Expr:
    return conjunction(*(_tolerant(draw, columns) for _ in range(one_of(draw, (0, 1, 1, 2)))))


def _joined(build: GraphBuilder, left: Node, right: Node) -> Node:
    draw = build.draw
    equal = [call("eq", one_of(draw, left.columns), one_of(draw, right.columns))]
    both = (*left.columns, *right.columns)
    condition = conjunction(
        *equal, *(_tolerant(draw, both) for _ in range(one_of(draw, (0, 0, 1))))
    )
    ends: dict[str, Any] = {"left": left.id, "right": right.id, "condition": condition}
    kind = one_of(draw, _JOINS)
    if kind == "semi":
        return build.add(SemiJoin, left, right, **ends)
    if kind == "inner":
        return build.add(InnerJoin, left, right, **ends)
    return build.add(OuterJoin, left, right, kind=kind, **ends)


def _grouped(build: GraphBuilder, source: Node) -> Node:
    key = one_of(build.draw, source.columns)
    counted = Aggregation(build.column("n", INTEGER), AggregateCall("count", (), INTEGER))
    return build.add(
        GroupBy, source, input=source.id, keys=(Assignment(key, key),), aggregations=(counted,)
    )


def _filtered(build: GraphBuilder, source: Node) -> Node:
    condition = _condition(build.draw, source.columns)
    if condition == TRUE:
        return source
    return build.add(Filter, source, input=source.id, condition=condition)


@st.composite
def padded_pipelines(draw: Any) -> Pipeline:
    """Two or three small tables joined, filtered above each join, some columns selected."""
    rows = st.lists(st.tuples(_VALUES, _VALUES), min_size=1, max_size=4)
    tables = {name: Table(_COLUMNS, draw(rows)) for name in _NAMES}
    build = GraphBuilder(draw, tables, ())
    part = build.scan()
    for _ in range(one_of(draw, (1, 2, 2))):
        other = build.scan()
        if likely(draw, 4):
            other = _grouped(build, other)
        pair = (part, other) if likely(draw, 2) else (other, part)
        part = _filtered(build, _joined(build, *pair))
    if likely(draw, 4):
        part = _filtered(build, _grouped(build, part))
    kept = draw(st.lists(st.sampled_from(part.columns), min_size=1, max_size=3, unique=True))
    top = build.add(
        RowTransform, part, input=part.id, assignments=tuple(Assignment(c, c) for c in kept)
    )
    graph = OperatorGraph(build.operators, top.id)
    return Pipeline(graph, {name: table.rows for name, table in tables.items()})
