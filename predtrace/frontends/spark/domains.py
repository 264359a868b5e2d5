"""Domains: the values of outer rows for which Spark computes a correlated subquery.

Where the correlation cannot be pulled up, Spark joins the subquery's plan with the distinct values
of the outer columns that it reads (DomainJoin), and then the outer rows with that. Its rewriting
copies the outer plan for this. Here a leaf takes the place of the copy, and becomes a `Domain` over
the outer side of the join that the rewriting makes: rows of other values would find no partner
there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, items, origin_of, place
from predtrace.frontends.spark.translation import Translated, Translation
from predtrace.frontends.spark.tree import Node
from pushdown.operators import Assignment, Domain
from symbolic.expr import Column


def is_domain(translation: Translation, node: Node) -> bool:
    """Whether a leaf stands for a domain."""
    if node.cls != "LocalRelation" or not translation.normalizer.domains:
        return False
    output = node.expressions("output")
    return bool(output) and output[0].expr_id in translation.normalizer.domains


def translate_domain(
    translation: Translation, node: Node, done: Mapping[Node, Translated]
) -> Translated:
    """The Domain over the outer side of the nearest join that has the outer columns."""
    attributes = node.expressions("output")
    wanted = [translation.normalizer.domains[attribute.expr_id] for attribute in attributes]
    outer = _outer_side(node, wanted, done)
    scope = outer.scope
    assignments = tuple(
        Assignment(_named(translation, attribute, scope[id_]), scope[id_])
        for attribute, id_ in zip(attributes, wanted, strict=True)
    )
    operator = Domain(
        id=translation.next_node,
        input=outer.node,
        assignments=assignments,
        origin=origin_of(node.handle),
    )
    builder = translation.builder

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        given = {int(each.exprId().id()): each for each in items(plans[0].output())}
        named = [
            builder.alias(given[id_], attribute.name, attribute.handle.exprId())
            for attribute, id_ in zip(attributes, wanted, strict=True)
        ]
        return builder.distinct(builder.project(named, plans[0]))

    added = translation.add(operator, build, (outer.node,))
    ids = (attribute.expr_id for attribute in attributes)
    return Translated(added, tuple(zip(ids, (a.column for a in assignments), strict=True)))


def _named(translation: Translation, attribute: Node, value: Column) -> Column:
    return translation.column(attribute.expr_id, value.name, value.type, value.nullable)


def _outer_side(node: Node, wanted: Sequence[int], done: Mapping[Node, Translated]) -> Translated:
    below = node
    while below.above is not None:
        above = below.above
        if above.cls == "Join" and below is above.children[1] and above.children[0] in done:
            outer = done[above.children[0]]
            if outer.scope.keys() >= set(wanted):
                return outer
        below = above
    raise UnsupportedOperatorError(
        "this correlated subquery needs a join with its outer rows, and stands apart from them; "
        f"write it as a join{place(node.handle)}"
    )
