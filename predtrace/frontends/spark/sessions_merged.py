"""Merges session windows in the plan, where Spark merges them unseen.

Spark groups by a column that it marked as a session window in a way of its own: windows of one key
that overlap or touch become one. Here the column is replaced below the grouping by the merged
window of each row. In the order of their starts, a window begins a session if it starts after the
ends of all windows that start before; a row's session is the last one that began up to its start::

    ends before  max(end) OVER (PARTITION BY keys ORDER BY start RANGE … TO 1 PRECEDING)
    begins       start, if it is after these ends
    session      max(begins) OVER (PARTITION BY keys ORDER BY start)
    its end      max(end) OVER (PARTITION BY keys, session)

All of them are facts about the row alone: its lineage is itself (SEMANTICS section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from predtrace.frontends.spark.catalyst import JavaObject, items
from predtrace.frontends.spark.rewriting import PlanRewriter
from predtrace.frontends.spark.session_windows import MARK
from predtrace.frontends.spark.tree import Node, read_tree
from pushdown.graph import OperatorGraph
from pushdown.operators import Operator, Window

_GROUPING = ("Aggregate", "Distinct")
_FIELDS = ("start", "end")


@dataclass
class SessionMerger(PlanRewriter):
    """Merges the sessions of one plan; `added` has the ids of the columns that windows compute."""

    added: set[int] = field(default_factory=set)

    def holds(self, tree: Node) -> bool:
        """Whether a plan, or a plan inside it, may have session windows."""
        return any(all(f"'{name}'" in str(node.fields) for name in _FIELDS) for node in tree.walk())

    def changed(self, node: Node, plan: JavaObject) -> JavaObject:
        """Merged windows below a grouping."""
        return self._grouped(plan) if node.cls in _GROUPING else plan

    def _grouped(self, plan: JavaObject) -> JavaObject:
        """A grouping over the sessions of its rows, if it groups by a session window."""
        node = read_tree(plan)
        if node.cls == "Distinct":
            attributes = list(items(plan.output()))
            if not any(each.metadata().contains(MARK) for each in attributes):
                return plan
            node = read_tree(self.builder.aggregate(attributes, attributes, plan.child()))
        keys = node.expressions("groupingExpressions")
        results = node.expressions("aggregateExpressions")
        window = next(filter(_is_session, keys), None)
        if window is None or not _is_mergeable(window, results):
            return plan
        others = [key.handle for key in keys if not _is_of(key, window)]
        below, session = self._sessions(window, others, node.children[0].handle)
        return self._over(window, session, keys, results, below)

    def _over(
        self,
        window: Node,
        session: JavaObject,
        keys: Sequence[Node],
        results: Sequence[Node],
        below: JavaObject,
    ) -> JavaObject:
        """The grouping by sessions; it counts rows, so that all of them are lineage."""
        builder = self.builder
        uses = {
            use: session
            for root in (*keys, *results)
            for use in root.walk()
            if use.cls == "AttributeReference" and use.expr_id == window.expr_id
        }
        # A result that is the window keeps Spark's mark: it may be grouped by again.
        made = [
            builder.named_as(session, each.handle.toAttribute())
            if each in uses or (each.children and each.children[0] in uses)
            else builder.expression(each, uses)
            for each in results
        ]
        count = self._alias("rows of the session", builder.aggregated(builder.count()))
        by = [builder.expression(key, uses) for key in keys]
        grouped = builder.aggregate(by, [*made, count], below)
        return builder.project([each.toAttribute() for each in made], grouped)

    def _sessions(
        self, window: Node, keys: Sequence[JavaObject], plan: JavaObject
    ) -> tuple[JavaObject, JavaObject]:
        """The grouping's input with each row's session; the attribute that has the session."""
        builder = self.builder
        kind = window.handle.dataType()
        bounds = [kind.apply(place).dataType() for place in range(2)]
        given = list(items(plan.output()))
        fields = [builder.field(window.handle, place) for place in range(2)]
        start, end = (
            self._alias(name, builder.microseconds(value))
            for name, value in zip(_FIELDS, fields, strict=True)
        )
        plan = builder.project([*given, start, end], plan)
        start, end = start.toAttribute(), end.toAttribute()
        by_start = [builder.ascending(start)]
        plan, ends = self._window("ends before", end, keys, by_start, plan, before=True)
        after = builder.call(
            "Or", builder.call("IsNull", ends), builder.call("GreaterThan", start, ends)
        )
        nothing = builder.null(start.dataType())
        begins = self._alias("begins", builder.call("If", after, start, nothing))
        plan = builder.extend(plan, begins)
        plan, session = self._window("session", begins.toAttribute(), keys, by_start, plan)
        plan, last = self._window("its end", end, [*keys, session], [], plan)
        merged = self._alias(
            window.name,
            builder.struct(
                _FIELDS,
                [
                    builder.from_microseconds(value, bound)
                    for value, bound in zip((session, last), bounds, strict=True)
                ],
            ),
        )
        return builder.project([*given, merged], plan), merged.toAttribute()

    def _window(
        self,
        name: str,
        argument: JavaObject,
        keys: Sequence[JavaObject],
        order: Sequence[JavaObject],
        plan: JavaObject,
        *,
        before: bool = False,
    ) -> tuple[JavaObject, JavaObject]:
        """A plan with the greatest value among the rows up to each one; the value's attribute.

        The rows that start where it does count, unless only those `before` do. Without an order all
        rows of the partition count.
        """
        made = self._alias(name, self.builder.running_max(argument, keys, order, before=before))
        self.added.add(int(made.exprId().id()))
        return self.builder.window([made], keys, order, plan), made.toAttribute()

    def _alias(self, name: str, value: JavaObject) -> JavaObject:
        return self.builder.alias(value, name, self.builder.new_id())


def without_lineage(graph: OperatorGraph, columns: Iterable[int]) -> OperatorGraph:
    """The graph in which the window functions of some columns have no lineage of their own."""
    silent = set(columns)
    if not silent:
        return graph
    return OperatorGraph((_silenced(each, silent) for each in graph.operators()), graph.root)


def _silenced(operator: Operator, columns: set[int]) -> Operator:
    if not isinstance(operator, Window):
        return operator
    functions = tuple(
        msgspec.structs.replace(each, silent=True) if each.column.id in columns else each
        for each in operator.functions
    )
    return msgspec.structs.replace(operator, functions=functions)


def _is_session(key: Node) -> bool:
    kind = key.fields.get("dataType")
    if key.cls != "AttributeReference" or not isinstance(kind, dict):
        return False
    names = tuple(each["name"] for each in kind.get("fields", ()))
    return names == _FIELDS and bool(key.handle.metadata().contains(MARK))


def _is_of(key: Node, window: Node) -> bool:
    return key.cls == window.cls and key.expr_id == window.expr_id


def _is_mergeable(window: Node, results: Iterable[Node]) -> bool:
    """Whether the windows are never NULL, and no aggregate reads them."""
    read = {
        each.expr_id
        for result in results
        for expr in result.walk()
        if expr.cls == "AggregateExpression"
        for each in expr.walk()
        if each.cls == "AttributeReference"
    }
    return not window.handle.nullable() and window.expr_id not in read
