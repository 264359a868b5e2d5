"""Narrows outer joins whose padded rows are dropped by a filter."""

from __future__ import annotations

from predtrace.frontends.spark.building import Builder, builder_in
from predtrace.frontends.spark.catalyst import CATALYST, JavaObject, Jvm, singleton
from predtrace.frontends.spark.tree import Node, read_tree

_RULE = f"{CATALYST}.optimizer.EliminateOuterJoin"


def drop_padding(plan: JavaObject, jvm: Jvm) -> JavaObject:
    """Turn outer joins into narrower joins if the filter right above drops the padded rows.

    Catalyst's rule decides, but is shown only a filter and its join. Below a projection or an
    aggregation it would drop the whole side of an outer join that gives no column, and with it a
    scan that has lineage.
    """
    if singleton(jvm, _RULE).apply(plan).fastEquals(plan):
        return plan
    return _narrowed(read_tree(plan), builder_in(jvm))


def _narrowed(node: Node, builder: Builder) -> JavaObject:
    children = [_narrowed(child, builder) for child in node.children]
    plan = builder.with_children(node.handle, children) if children else node.handle
    if node.cls != "Filter" or node.children[0].cls != "Join":
        return plan
    join = plan.child()
    blank = builder.with_children(join, [builder.blank(join.left()), builder.blank(join.right())])
    decided = singleton(builder.jvm, _RULE).apply(builder.with_children(plan, [blank])).child()
    return builder.with_children(plan, [builder.joined(join, decided.joinType())])
