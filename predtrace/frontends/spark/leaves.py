"""Names and numbers of the scans, collected before the plan loses its aliases.

Scans of a table are numbered in plan order (SEMANTICS section 1): FROM items from left
to right, then subqueries in the order of the text. Leaves are recognised later by the
ids of their attributes, which the normalising rules keep.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import option
from predtrace.frontends.spark.tree import LATERAL, Node

_WRAPPERS = ("SubqueryAlias", "View")
_REFERENCES = ("CTERelationRef", "UnionLoopRef")
"""Leaves that stand for another part of the plan."""
_NO_COLUMNS = -1
"""Leaves without columns have no id; they are taken in order."""


@dataclass(frozen=True)
class Leaf:
    """A leaf by its names in the query, view and alias, and its number among all leaves.

    `within` is a view that consists of this leaf and projections.
    """

    number: int
    view: str | None
    alias: str | None
    within: str | None = None


@dataclass
class Leaves:
    """The leaves of a plan by the id of their first attribute, in plan order."""

    found: dict[int, deque[Leaf]] = field(default_factory=lambda: defaultdict(deque))
    count: int = 0
    within: dict[Node, str] = field(default_factory=dict)
    """The views that are one leaf and projections, by the leaf."""

    def take_of(self, attributes: Sequence[Node]) -> Leaf:
        """The next leaf with these attributes; see `take`."""
        return self.take(attributes[0].expr_id if attributes else _NO_COLUMNS)

    def take(self, expr_id: int) -> Leaf:
        """The next leaf with that first attribute (branches of a union may share ids).

        Refuses a leaf that a rule copied, since the copy has no number of its own.
        """
        waiting = self.found.get(expr_id)
        if not waiting:
            raise UnsupportedOperatorError(
                "a source is read again by a rewritten correlated subquery (Catalyst: DomainJoin); "
                "write the subquery as a join"
            )
        return waiting.popleft()

    def check_all_taken(self) -> None:
        """Raise UnsupportedOperatorError if a leaf of the query did not become a scan."""
        lost = [leaf for waiting in self.found.values() for leaf in waiting]
        if lost:
            name = lost[0].alias or lost[0].view or "a source"
            raise UnsupportedOperatorError(
                f"{name} is in the query, but not in the plan that Spark makes of it: its rows "
                "would be missing; write the part of the query that reads it as a join"
            )

    def _add(self, node: Node, view: str | None, alias: str | None) -> None:
        output = None if node.cls in _REFERENCES else node.fields.get("output")
        if output is not None:
            key = int(output[0][0]["exprId"]["id"]) if output else _NO_COLUMNS
            self.found[key].append(Leaf(self.count, view, alias, self.within.get(node)))
            self.count += 1


def collect_leaves(plan: Node) -> Leaves:
    """Number the leaves of an analyzed plan whose CTEs are inlined."""
    leaves = Leaves()
    _visit_block(plan, leaves)
    return leaves


def _visit_block(plan: Node, leaves: Leaves) -> None:
    """One query block: its FROM items, then the subqueries of its expressions."""
    subqueries: list[Node] = []
    _visit_from(plan, leaves, subqueries)
    for subquery in _in_text_order(subqueries):
        _visit_block(subquery.subplan(), leaves)


def _visit_from(node: Node, leaves: Leaves, subqueries: list[Node]) -> None:
    if node.cls in _WRAPPERS:
        _visit_wrapped(node, leaves)
        return
    if not node.children:
        leaves._add(node, None, None)
    for child in node.children:
        if len(node.children) == 1 or node.cls == "Join":
            _visit_from(child, leaves, subqueries)
        else:  # a branch of a set operation
            _visit_block(child, leaves)
    for expr in (expr for root in node.all_expressions() for expr in root.walk()):
        if expr.cls == LATERAL:
            _visit_block(expr.subplan(), leaves)
        elif expr.is_subquery:
            subqueries.append(expr)


def _visit_wrapped(node: Node, leaves: Leaves) -> None:
    """A chain of aliases and views: it names the leaf right below, else it begins a block."""
    alias = node.fields["identifier"]["name"] if node.cls == "SubqueryAlias" else None
    view: str | None = None
    inner = node
    while inner.cls in _WRAPPERS:
        if inner.cls == "View" and view is None:
            view = inner.fields["desc"]["identifier"]["table"]
        inner = inner.children[0]
    if inner.children:
        if view is not None:
            leaves.within.setdefault(_under_projections(inner), view)
        _visit_block(inner, leaves)
    else:
        leaves._add(inner, view, alias)


def _under_projections(node: Node) -> Node:
    while node.cls in ("Project", *_WRAPPERS):
        (node,) = node.children
    return node


def _in_text_order(subqueries: list[Node]) -> list[Node]:
    """Sort subqueries by the place of their SELECT in the text; keep their order if it is
    unknown."""
    if len(subqueries) < 2:
        return subqueries
    # The expression's own place does not help: for EXISTS it is the whole WHERE condition.
    starts = [option(each.handle.plan().origin().startIndex()) for each in subqueries]
    if None in starts:
        return subqueries
    return [subqueries[index] for index in sorted(range(len(starts)), key=starts.__getitem__)]
