"""Rewriting plan nodes from the leaves upwards, also in the plans inside expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.catalyst import JavaObject
from predtrace.frontends.spark.tree import Node, read_tree


@dataclass
class PlanRewriter(ABC):
    """Rewrites the nodes of one plan."""

    builder: Builder

    @abstractmethod
    def holds(self, tree: Node) -> bool:
        """Whether there is anything to rewrite in a plan, or in the plans inside it."""

    @abstractmethod
    def changed(self, node: Node, plan: JavaObject) -> JavaObject:
        """What takes the place of `plan`, which is a node whose inputs are rewritten."""

    def rewritten(self, tree: Node) -> Node:
        """The rewritten plan."""
        return read_tree(self._plan(tree)) if self.holds(tree) else tree

    def _plan(self, tree: Node) -> JavaObject:
        made: dict[Node, JavaObject] = {}
        for node in reversed(list(tree.walk())):
            roots = node.roots()
            replaced = {
                expr: expr.handle.withNewPlan(self._plan(expr.subplan()))
                for expr in subqueries(roots)
                if self.holds(expr.subplan())
            }
            plan = node.handle
            if replaced:
                plan = self.builder.with_expressions(node, replaced, roots)
            if any(made[child] is not child.handle for child in node.children):
                plan = self.builder.with_children(plan, [made[child] for child in node.children])
            made[node] = self.changed(node, plan)
        return made[tree]


def subqueries(roots: Mapping[str, Node | tuple[Node, ...]]) -> Iterator[Node]:
    """The expressions of a plan node that hold plans."""
    for found in roots.values():
        for root in found if isinstance(found, tuple) else (found,):
            yield from (expr for expr in root.walk() if expr.is_subquery)
