"""Operator graphs as one line of text, for expectations in tests."""

from __future__ import annotations

import re
from collections.abc import Iterable

from predtrace.frontends.spark import SparkPipeline
from pushdown import operators as ops
from symbolic.expr import Expr, render


def shape(pipeline: SparkPipeline, node: int | None = None) -> str:
    """The operators as nested calls, scans as table name and occurrence."""
    graph = pipeline.graph
    operator = graph[graph.root if node is None else node]
    if isinstance(operator, ops.Scan):
        return f"{operator.table}{operator.occurrence}"
    name = type(operator).__name__.rstrip("_")
    if isinstance(operator, ops.OuterJoin):
        name = f"{operator.kind.title()}Join"
    inner = ", ".join(shape(pipeline, child) for child in graph.inputs(operator.id))
    return f"{name}({inner})"


def kinds_in(shapes: Iterable[str]) -> set[type[ops.Operator]]:
    """The classes of the operators in such texts."""
    kinds = {kind.__name__.rstrip("_"): kind for kind in ops.Operator.__args__}
    named = {**kinds, **{f"{side}Join": ops.OuterJoin for side in ("Left", "Right", "Full")}}
    return {named.get(word, ops.Scan) for text in shapes for word in re.findall(r"\w+", text)}


def projected(pipeline: SparkPipeline) -> list[Expr]:
    """The values of the topmost projection."""
    for operator in pipeline.graph.operators():
        if isinstance(operator, ops.RowTransform):
            return [assignment.value for assignment in operator.assignments]
    raise AssertionError("no projection")


def condition(pipeline: SparkPipeline) -> str:
    """The condition of the topmost operator that has one, as text."""
    for operator in pipeline.graph.operators():
        if hasattr(operator, "condition"):
            return render(operator.condition)
    raise AssertionError("no condition")
