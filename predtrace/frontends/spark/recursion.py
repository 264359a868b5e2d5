"""Recursive queries: of which rows a row is made is not followed through the rounds.

The whole loop becomes one `Opaque` operator over the leaves that its query reads.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence

from predtrace.frontends.spark.catalyst import JavaObject, items, origin_of
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.registry import BECOMES
from predtrace.frontends.spark.translation import Translated, Translation
from predtrace.frontends.spark.tree import Node
from pushdown.operators import Opaque

LOOPS = ("UnionLoop",)
"""Node classes of recursive queries."""
_ITSELF = "UnionLoopRef"
"""The node class of a leaf that reads the rows of the round before."""
BECOMES.update({**dict.fromkeys(LOOPS, "Opaque"), _ITSELF: "nothing: a part of UnionLoop"})


@functools.lru_cache(maxsize=64)
def loop_inputs(node: Node) -> tuple[Node, ...]:
    """The leaves that a loop reads, also in subqueries."""
    return tuple(_leaves(node))


def _leaves(node: Node) -> Iterator[Node]:
    for below in node.walk():
        if not below.children and below.cls != _ITSELF:
            yield below
        for root in below.all_expressions():
            for expr in root.walk():
                if expr.is_subquery:
                    yield from _leaves(expr.subplan())


def translate_loop(
    translation: Translation, node: Node, inputs: Sequence[Translated]
) -> Translated:
    """One Opaque for the loop over the inputs that `loop_inputs` names."""
    attributes = list(items(node.handle.output()))
    columns = tuple(
        translation.column(
            int(each.exprId().id()),
            str(each.name()),
            value_type(node, json.loads(each.dataType().json())),
        )
        for each in attributes
    )
    leaves = loop_inputs(node)
    read = tuple(each.node for each in inputs)
    operator = Opaque(
        id=translation.next_node,
        inputs=read,
        name="recursion",
        columns=columns,
        origin=origin_of(node.handle),
    )

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        return _over(translation, node, dict(zip(leaves, plans, strict=True)))

    added = translation.add(operator, build, read)
    return Translated(added, tuple((translation.expr_ids[c.id], c) for c in columns))


def _over(translation: Translation, node: Node, plans: Mapping[Node, JavaObject]) -> JavaObject:
    """The loop over other leaves; leaves in subqueries stay as they are."""
    if node in plans:
        return plans[node]
    if not any(below in plans for below in node.walk()):
        return node.handle
    children = [_over(translation, child, plans) for child in node.children]
    return translation.builder.with_children(node.handle, children)
