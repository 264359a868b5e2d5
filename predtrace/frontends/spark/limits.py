"""LIMIT and OFFSET: Catalyst's GlobalLimit over LocalLimit over Offset as one Limit."""

from __future__ import annotations

from collections.abc import Sequence

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, origin_of, place
from predtrace.frontends.spark.translation import Translated, Translation
from predtrace.frontends.spark.tree import Node
from pushdown.operators import Limit

LIMITS = ("GlobalLimit", "Offset")
"""Node classes at the top of a limit."""


def limit_input(node: Node) -> Node:
    """The plan below a limit's nodes."""
    for cls in ("GlobalLimit", "LocalLimit", "Offset"):
        if node.cls == cls:
            (node,) = node.children
    return node


def translate_limit(translation: Translation, node: Node, below: Translated) -> Translated:
    """One Limit for the nodes from `node` down to `limit_input(node)`."""
    nodes: list[Node] = []
    current, bottom = node, limit_input(node)
    while current is not bottom:
        nodes.append(current)
        (current,) = current.children
    counts = {each.cls: _count(each) for each in nodes}
    limit = Limit(
        id=translation.next_node,
        input=below.node,
        count=counts.get("GlobalLimit"),
        offset=counts.get("Offset", 0),
        origin=origin_of(node.handle),
    )
    builder = translation.builder

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        plan = plans[0]
        for each in reversed(nodes):
            plan = builder.with_children(each.handle, [plan])
        return plan

    added = translation.add(limit, build, (below.node,))
    return Translated(added, below.output)


def _count(node: Node) -> int:
    field = "offsetExpr" if node.cls == "Offset" else "limitExpr"
    expression = node.expression(field)
    if expression is None or expression.cls != "Literal":
        raise UnsupportedOperatorError(
            f"Catalyst operator {node.cls} has no constant number of rows{place(node.handle)}"
        )
    return int(expression.fields["value"])
