"""Joins of all types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import origin_of, place
from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.expressions import ExpressionReader
from predtrace.frontends.spark.pass_through import finish
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from predtrace.frontends.spark.tree import read_tree
from pushdown import operators as ops
from symbolic.expr import TRUE, Column, Expr, call, conjunction, conjuncts

_JOINS: dict[str, Callable[..., ops.Operator]] = {
    "Inner": ops.InnerJoin,
    "Cross": ops.InnerJoin,
    "LeftSemi": ops.SemiJoin,
    "LeftAnti": ops.AntiJoin,
}
_OUTER_JOINS = {
    "LeftOuter": "left",
    "RightOuter": "right",
    "FullOuter": "full",
    # Each row has at most one partner (else the query fails): made for scalar subqueries.
    "LeftSingle": "left",
}


@translates("Join", to="InnerJoin, OuterJoin, SemiJoin, AntiJoin, MarkJoin", keeps_columns=True)
def _join(translation: Translation, prepared: Prepared) -> Translated:
    left, right = prepared.inputs
    condition = prepared.one("condition")
    reader = translation.reader(left, right, replaced=prepared.replaced)
    common: dict[str, Any] = {
        "left": left.node,
        "right": right.node,
        "condition": TRUE if condition is None else reader.read(condition),
        "origin": origin_of(prepared.node.handle),
    }
    kind = prepared.node.fields["joinType"]
    name = kind.get("object", kind.get("product-class", "")).rsplit(".", 1)[-1].rstrip("$")
    mark: tuple[tuple[int, Column], ...] = ()
    if name == "ExistenceJoin":
        expr_id = int(kind["exists"][0]["exprId"]["id"])
        column = translation.column(expr_id, "exists", data_type("boolean"), nullable=False)
        mark = ((expr_id, column),)
    id_ = translation.next_node
    operator: ops.Operator
    if mark:
        matches = _matches(translation, reader, right, common["condition"])
        operator = ops.MarkJoin(id=id_, mark=mark[0][1], matches=matches, **common)
    elif name in _OUTER_JOINS:
        operator = ops.OuterJoin(id=id_, kind=_OUTER_JOINS[name], **common)
    elif name in _JOINS:
        operator = _JOINS[name](id=id_, **common)
    else:
        raise UnsupportedOperatorError(
            f"Catalyst join type {name} cannot be traced{place(prepared.node.handle)}"
        )
    return finish(translation, prepared, operator, (left, right), mark)


def _matches(
    translation: Translation, reader: ExpressionReader, right: Translated, condition: Expr
) -> Expr | None:
    """The condition with NOT IN's comparisons in place of its NULL rule."""
    compared = translation.normalizer.compared
    equal = [
        reader.read(read_tree(compared[expr_id]))
        for expr_id, _ in right.output
        if expr_id in compared
    ]
    if not equal:
        return None
    null_rule = [call("or", term, call("is_null", term)) for term in equal]
    return conjunction(*equal, *(term for term in conjuncts(condition) if term not in null_rule))
