"""Drops parts of an analyzed plan that mean nothing, above all results that nothing reads.

The definition of lineage is read on the plan without computed columns that nothing above reads
(docs/semantics.md, section 2). Pruning comes before subqueries become operators: a dropped column
takes the subqueries of its expression along, while the joins of the query stay. Catalyst's own
ColumnPruning is not used: it puts projections above nearly every operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.catalyst import JavaObject, items
from predtrace.frontends.spark.registry import DROPPED, KEEPS_COLUMNS
from predtrace.frontends.spark.tree import LATERAL, Node, read_tree

Ids = frozenset[int]

_LISTS = {
    "Project": "projectList",
    "Aggregate": "aggregateExpressions",
    "Window": "windowExpressions",
}
"""Nodes that compute columns, and the field that lists them."""
_ROWS = {"Expand": ("output", "projections")}
"""Nodes that compute several rows of columns, and the fields that list the columns and the rows."""
Roots = dict[str, Any]
"""Expressions by field: one, a tuple of them, or a tuple of tuples."""
_NUMBERING = "AttachDistributedSequence"
"""The node that numbers rows by their place, as pandas-on-Spark's index does."""
_BY_PLACE = ("MonotonicallyIncreasingID", "DistributedSequenceID")
"""Expressions by a row's place, which another run may not repeat."""
_ADDING = ("Window",)
"""Nodes among them that pass their input's columns on, too."""


def prune(plan: JavaObject, builder: Builder) -> JavaObject:
    """The plan without aggregates and subqueries that nothing reads; its output stays.

    Nodes that mean nothing are dropped first. Returns the plan itself if it has neither.
    """
    tree = _Pruned(read_tree(plan), None, builder)
    if tree.holds_dropped:
        plan = tree.without_dropped()
        tree = _Pruned(read_tree(plan), None, builder)
    return tree.rebuilt() if tree.weighs else plan


@dataclass(eq=False)
class _Reads:
    """The expressions of a node: the remaining ones by field, the dropped ones, and all of them."""

    roots: Roots
    given: Roots
    dropped: tuple[Node, ...] = ()

    @cached_property
    def expressions(self) -> tuple[Node, ...]:
        """The remaining expressions."""
        return tuple(_flat(self.roots.values()))


class _Pruned:
    """A plan; the ids `needed` of its output are read (None: all)."""

    def __init__(self, tree: Node, needed: Ids | None, builder: Builder) -> None:
        self._builder = builder
        self._order = list(tree.walk())
        self._needs: dict[Node, Ids | None] = {tree: needed}
        self._reads: dict[Node, _Reads] = {}
        self._subqueries: dict[Node, dict[Node, _Pruned]] = {}
        for node in self._order:
            reads = self._reads[node] = _read_by(node, self._needs[node], builder)
            self._subqueries[node] = {
                expr: _Pruned(expr.subplan(), _needed_of(expr, self._needs[node], reads), builder)
                for root in reads.expressions
                for expr in root.walk()
                if expr.is_subquery
            }
            below = _needed_below(node, self._needs[node], reads)
            self._needs.update(zip(node.children, below, strict=True))

    @cached_property
    def weighs(self) -> bool:
        """Whether a dropped expression has lineage of its own, or other values in another run."""
        dropped = (expr for reads in self._reads.values() for expr in reads.dropped)
        inner = (one for found in self._subqueries.values() for one in found.values())
        return any(map(_matters, dropped)) or any(one.weighs for one in inner)

    @cached_property
    def holds_dropped(self) -> bool:
        """Whether there is a node to drop, here or in a subquery."""
        inner = (one for found in self._subqueries.values() for one in found.values())
        here = any(node.cls in DROPPED or self._is_unread(node) for node in self._order)
        return here or any(one.holds_dropped for one in inner)

    def _is_unread(self, node: Node) -> bool:
        """Whether a node numbers rows for nobody."""
        needed = self._needs[node]
        if node.cls != _NUMBERING or needed is None:
            return False
        number = node.expression("sequenceAttr")
        return number is not None and number.expr_id not in needed

    def without_dropped(self) -> JavaObject:
        """The plan without the nodes to drop, otherwise unchanged."""
        made: dict[Node, JavaObject] = {}
        for node in reversed(self._order):
            below = [made[child] for child in node.children]
            if node.cls in DROPPED:
                (made[node],) = below
                continue
            if self._is_unread(node):
                made[node] = self._builder.constants(node.handle, below[0])
                continue
            replaced = {
                expr: expr.handle.withNewPlan(inner.without_dropped())
                for expr, inner in self._subqueries[node].items()
                if inner.holds_dropped
            }
            plan = node.handle
            if replaced:
                plan = self._builder.with_expressions(node, replaced, self._reads[node].given)
            moved = any(made[child] is not child.handle for child in node.children)
            made[node] = self._builder.with_children(plan, below) if moved else plan
        return made[self._order[0]]

    def rebuilt(self) -> JavaObject:
        """The plan with the remaining expressions."""
        made: dict[Node, JavaObject] = {}
        for node in reversed(self._order):
            plan = self._with_expressions(node)
            if any(child in made for child in node.children):
                below = [self._branch(node, child, made) for child in node.children]
                plan = self._builder.with_children(plan or node.handle, below)
            if plan is not None:
                made[node] = plan
        return made[self._order[0]]

    def _with_expressions(self, node: Node) -> JavaObject | None:
        reads = self._reads[node]
        replaced = {
            expr: expr.handle.withNewPlan(inner.rebuilt())
            for expr, inner in self._subqueries[node].items()
            if inner.weighs
        }
        if not reads.dropped and not replaced:
            return None
        return self._builder.with_expressions(node, replaced, reads.roots)

    def _branch(self, node: Node, child: Node, made: dict[Node, JavaObject]) -> JavaObject:
        """An input; the branches of a union are all pruned alike, since they match by position."""
        plan = made.get(child, child.handle)
        needed = self._needs[node]
        if node.cls != "Union" or needed is None:
            return plan
        attributes = list(items(child.handle.output()))
        return self._builder.project((attributes[p] for p in _places(node, needed)), plan)


def _flat(roots: Iterable[Any]) -> Iterator[Node]:
    for one in roots:
        if isinstance(one, tuple):
            yield from _flat(one)
        else:
            yield one


def _read_by(node: Node, needed: Ids | None, builder: Builder) -> _Reads:
    if node.cls in DROPPED:
        return _Reads({}, {})
    roots = node.roots()
    if node.cls in _ROWS and needed is not None:
        return _read_in_rows(node, needed, roots, builder)
    name = _LISTS.get(node.cls)
    listed = roots.get(name) if name else None
    if name is None or not isinstance(listed, tuple) or needed is None:
        return _Reads(roots, roots)
    kept = tuple(one for one in listed if one.expr_id in needed)
    left = {**roots, name: kept}
    if node.cls in _ADDING and not kept:
        # Without functions a window passes its input on: nothing reads its keys.
        left = {key: () if isinstance(value, tuple) else value for key, value in roots.items()}
    return _Reads(left, roots, tuple(one for one in listed if one not in kept))


def _read_in_rows(node: Node, needed: Ids, given: Roots, builder: Builder) -> _Reads:
    listed, rows = _ROWS[node.cls]
    columns, values = given[listed], builder.rows_of(node, rows)
    kept = [place for place, column in enumerate(columns) if column.expr_id in needed]
    roots = {
        **given,
        listed: tuple(columns[place] for place in kept),
        rows: tuple(tuple(row[place] for place in kept) for row in values),
    }
    dropped = (column for place, column in enumerate(columns) if place not in kept)
    return _Reads(roots, given, tuple(dropped))


def _needed_below(node: Node, needed: Ids | None, reads: _Reads) -> Sequence[Ids | None]:
    """The ids that a node reads of each input."""
    if node.cls in _ADDING:
        return [None if needed is None else needed | _ids_in(reads.expressions)]
    if node.cls in _LISTS or (node.cls in _ROWS and needed is not None):
        return [_ids_in(reads.expressions)]
    if needed is not None and node.cls == "Union":
        outputs = map(_output_ids, node.children)
        return [frozenset(ids[place] for place in _places(node, needed)) for ids in outputs]
    if needed is not None and node.cls in KEEPS_COLUMNS:
        return [needed | _ids_in(reads.expressions) for _ in node.children]
    return [None for _ in node.children]


def _needed_of(subquery: Node, needed: Ids | None, reads: _Reads) -> Ids | None:
    """The ids that are read of a subquery's output: for EXISTS (SELECT …), none.

    Of a lateral join's subquery, those `needed` of the join's output, and read by its condition.
    """
    if subquery.cls == LATERAL:
        others = (expr for expr in reads.expressions if expr is not subquery)
        return None if needed is None else needed | _ids_in(others)
    selects = subquery.cls == "Exists" and subquery.subplan().cls in _LISTS
    return frozenset() if selects else None


def _matters(expr: Node) -> bool:
    """Whether an expression has lineage beside its own row's, or depends on a row's place."""
    draws = ("AggregateExpression", "WindowExpression", *_BY_PLACE)
    return any(below.is_subquery or below.cls in draws for below in expr.walk())


def _ids_in(expressions: Iterable[Node]) -> Ids:
    """The ids of all attributes that expressions read, also in plans inside them."""
    return frozenset(
        id_ for root in expressions for node in root.walk() for id_ in _ids_of(node.fields)
    )


def _ids_of(value: Any) -> Iterator[int]:
    """The ids of expressions in the JSON form of something."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            if isinstance(one.get("exprId"), dict):
                yield int(one["exprId"]["id"])
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def _output_ids(node: Node) -> list[int]:
    return [int(attribute.exprId().id()) for attribute in items(node.handle.output())]


def _places(node: Node, needed: Ids) -> list[int]:
    return [place for place, id_ in enumerate(_output_ids(node)) if id_ in needed]
