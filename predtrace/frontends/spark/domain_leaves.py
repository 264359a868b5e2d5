"""Subqueries after their correlation was pulled up: leaves in place of domains (see `domains`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.building import Builder, builder_in
from predtrace.frontends.spark.catalyst import JavaObject, Jvm, items, place
from predtrace.frontends.spark.tree import Node, read_tree


def with_domain_leaves(plan: JavaObject, jvm: Jvm, domains: dict[int, int]) -> JavaObject:
    """The plan with leaves in place of the domains of its subqueries, and windows in some order.

    `domains` takes, by the expression ids of a leaf's attributes, the outer attributes whose
    values they are.
    """
    if not plan.subqueriesAll().size():
        return plan
    tree, builder = read_tree(plan), builder_in(jvm)
    return _with_leaves(tree, builder, domains) if _holds(tree) else plan


def _holds(plan: Node) -> bool:
    """Whether a subquery of the plan may have to change."""
    return any(
        below.cls in ("DomainJoin", "Window")
        for node in plan.walk()
        for root in node.all_expressions()
        for expr in root.walk()
        if expr.is_subquery
        for below in expr.subplan().walk()
    )


def _with_leaves(node: Node, builder: Builder, domains: dict[int, int]) -> JavaObject:
    children = [_with_leaves(child, builder, domains) for child in node.children]
    roots = node.roots()
    replaced = {
        expr: expr.handle.withNewPlan(
            _joined(expr.subplan(), builder, _equal_attributes(expr), domains)
        )
        for found in roots.values()
        for root in (found if isinstance(found, tuple) else (found,))
        for expr in root.walk()
        if expr.is_subquery
    }
    plan = builder.with_expressions(node, replaced, roots) if replaced else node.handle
    return builder.with_children(plan, children) if children else plan


def _equal_attributes(subquery: Node) -> dict[int, int]:
    """The attributes that a subquery's condition equates, both ways."""
    return dict(_equated(subquery.children))


def _equated(conditions: Iterable[Node]) -> Iterator[tuple[int, int]]:
    """The pairs of attributes that conditions equate, both ways."""
    for condition in conditions:
        for expr in condition.walk():
            if expr.cls == "EqualNullSafe" and {c.cls for c in expr.children} == {_ATTRIBUTE}:
                left, right = (child.expr_id for child in expr.children)
                yield left, right
                yield right, left


def _ordered(node: Node, builder: Builder, child: JavaObject) -> JavaObject:
    """A window whose `row_number` has an order, of a constant: without any, Spark's analyzer does
    not take it again. Only the rewriting of LIMIT makes one without."""
    roots = node.roots()
    numbered = [
        below
        for found in roots.values()
        for root in (found if isinstance(found, tuple) else (found,))
        for below in root.walk()
    ]
    if not any(below.cls == "RowNumber" for below in numbered):
        return builder.with_children(node.handle, [child])
    order = builder.constant_order()
    specs = {
        below: builder.call(
            "WindowSpecDefinition",
            below.handle.partitionSpec(),
            order,
            below.handle.frameSpecification(),
        )
        for below in numbered
        if below.cls == "WindowSpecDefinition"
    }
    plan = builder.with_expressions(node, specs, roots, {"orderSpec": order})
    return builder.with_children(plan, [child])


_ATTRIBUTE = "AttributeReference"
_BY_POSITION = ("Union", "Intersect", "Except")


def _equal_below(node: Node, child: Node, equal: Mapping[int, int]) -> Mapping[int, int]:
    """What equals outer attributes in an input.

    Set operations match attributes by position, and a domain join may equate the domain of a plan
    inside it with its own.
    """
    if node.cls == "DomainJoin":
        pairs = _equated(node.all_expressions())
        return {**equal, **{mine: equal[theirs] for mine, theirs in pairs if theirs in equal}}
    if node.cls not in _BY_POSITION:
        return equal
    above, below = (
        [int(attribute.exprId().id()) for attribute in items(plan.handle.output())]
        for plan in (node, child)
    )
    pairs = zip(below, above, strict=True)
    return {**equal, **{mine: equal[theirs] for mine, theirs in pairs if theirs in equal}}


def _joined(
    node: Node, builder: Builder, equal: Mapping[int, int], domains: dict[int, int]
) -> JavaObject:
    """A subquery's plan with joins in place of its domain joins."""
    children = [
        _joined(child, builder, _equal_below(node, child, equal), domains)
        for child in node.children
    ]
    if node.cls == "DomainJoin":
        attributes = node.expressions("domainAttrs")
        ids = [attribute.expr_id for attribute in attributes]
        if any(id_ not in equal for id_ in ids):
            raise UnsupportedOperatorError(
                "this correlated subquery needs a join with its outer rows that cannot be traced; "
                f"write it as a join{place(node.handle)}"
            )
        domains.update((id_, equal[id_]) for id_ in ids)
        return builder.domain_joined(node.handle, children[0])
    if node.cls == "Window" and not node.fields["orderSpec"]:
        return _ordered(node, builder, children[0])
    return builder.with_children(node.handle, children) if children else node.handle
