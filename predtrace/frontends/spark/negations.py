"""NOT IN with subqueries: moves NOT next to IN, and records the comparisons."""

from __future__ import annotations

import functools

from predtrace.frontends.spark.building import Builder, builder_in
from predtrace.frontends.spark.catalyst import JavaObject, Jvm, items
from predtrace.frontends.spark.tree import Node, read_tree

_CONNECTIVES = {"And": "Or", "Or": "And"}
"""The connective that replaces each connective when NOT moves through it."""


def negate_inwards(plan: JavaObject, jvm: Jvm) -> JavaObject:
    """``NOT (a IN (…) AND b)`` as ``a NOT IN (…) OR NOT b``, the form of Spark's optimizer.

    If an IN is NULL, Spark evaluates a plain IN as FALSE, but an IN right under NOT as TRUE. So the
    two forms differ there, and the pipeline's result is the result of the second form.
    """
    return _rebuilt(read_tree(plan), builder_in(jvm)) if _has_in(plan, jvm) else plan


def comparisons(plan: JavaObject, jvm: Jvm) -> dict[int, JavaObject]:
    """The comparisons of every NOT IN, by the expression id of the subquery's column.

    The join of a NOT IN has them with the NULL rule, ``a = b OR (a = b) IS NULL``. In the join of
    an EXISTS such a term is the subquery's own condition.
    """
    if not _has_in(plan, jvm):
        return {}
    builder = builder_in(jvm)
    return {
        int(column.exprId().id()): builder.call("EqualTo", value.handle, column)
        for node in read_tree(plan).walk()
        for root in node.all_expressions()
        for expr in root.walk()
        if expr.cls == "Not" and expr.children[0].cls == "InSubquery"
        for *values, query in [expr.children[0].children]
        for value, column in zip(values, items(query.handle.plan().output()), strict=False)
    }


def _has_in(plan: JavaObject, jvm: Jvm) -> bool:
    return bool(plan.containsPattern(_pattern(jvm)))


@functools.lru_cache(maxsize=4)
def _pattern(jvm: Jvm) -> JavaObject:
    return jvm.org.apache.spark.sql.catalyst.trees.TreePattern.IN_SUBQUERY()


def _rebuilt(node: Node, builder: Builder) -> JavaObject:
    children = [_rebuilt(child, builder) for child in node.children]
    roots = node.roots()
    replaced = {
        expr: _negated(expr.children[0], builder)
        for found in roots.values()
        for root in (found if isinstance(found, tuple) else (found,))
        for expr in _outermost(root)
    }
    plan = builder.with_expressions(node, replaced, roots) if replaced else node.handle
    return builder.with_children(plan, children) if children else plan


def _outermost(expr: Node) -> list[Node]:
    """The outermost NOTs of an expression that have to move."""
    if _moves(expr):
        return [expr]
    return [found for child in expr.children for found in _outermost(child)]


def _moves(expr: Node) -> bool:
    return (
        expr.cls == "Not"
        and expr.children[0].cls in (*_CONNECTIVES, "Not")
        and any(below.cls == "InSubquery" for below in expr.walk())
    )


def _negated(expr: Node, builder: Builder) -> JavaObject:
    """The expression's negation, with NOT moved inwards as far as possible."""
    if expr.cls in _CONNECTIVES:
        left, right = (_negated(child, builder) for child in expr.children)
        return builder.call(_CONNECTIVES[expr.cls], left, right)
    if expr.cls == "Not":
        return _plain(expr.children[0], builder)
    return builder.call("Not", _plain(expr, builder))


def _plain(expr: Node, builder: Builder) -> JavaObject:
    """The expression with the NOTs inside it moved."""
    moved = {found: _negated(found.children[0], builder) for found in _outermost(expr)}
    return builder.expression(expr, moved)
