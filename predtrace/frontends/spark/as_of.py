"""As-of joins: a join with all candidates, of which the nearest is kept for each outer row.

The outer rows get numbers, because two equal rows are given a candidate each. Which of several
nearest candidates is given is up to the run, as for `row_number() = 1`.
"""

from __future__ import annotations

from dataclasses import dataclass

from predtrace.frontends.spark.catalyst import JavaObject, items, option
from predtrace.frontends.spark.rewriting import PlanRewriter
from predtrace.frontends.spark.tree import Node

AS_OF = "AsOfJoin"
"""The node class of as-of joins."""


@dataclass
class AsOfRewriter(PlanRewriter):
    """Rewrites the as-of joins of one plan."""

    def holds(self, tree: Node) -> bool:
        """See `PlanRewriter.holds`."""
        return any(node.cls == AS_OF or AS_OF in str(node.fields) for node in tree.walk())

    def changed(self, node: Node, plan: JavaObject) -> JavaObject:
        """A join, the numbers of its rows among those of an outer row, and those numbered 1."""
        if node.cls != AS_OF:
            return plan
        builder = self.builder
        outer, inner = plan.left(), plan.right()
        shown = [*items(outer.output()), *items(inner.output())]
        number = self._named("outer row", builder.call("MonotonicallyIncreasingID"))
        nearness = plan.orderExpression()
        # Candidates without a distance are never given.
        terms = [plan.asOfCondition(), option(plan.condition())]
        terms += [builder.call("IsNotNull", nearness)]
        joined = builder.join(
            builder.extend(outer, number),
            inner,
            plan.joinType(),
            [term for term in terms if term is not None],
        )
        keys, order = [number.toAttribute()], [builder.ascending(nearness)]
        place = self._named("nearness", builder.numbered(keys, order))
        ranked = builder.window([place], keys, order, joined)
        first = builder.call("EqualTo", place.toAttribute(), builder.constant(1))
        return builder.project(shown, builder.filter([first], ranked))

    def _named(self, name: str, value: JavaObject) -> JavaObject:
        return self.builder.alias(value, name, self.builder.new_id())
