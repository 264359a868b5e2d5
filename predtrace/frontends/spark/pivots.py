"""Pivots, however Spark plans them, as one grouping whose aggregates have filters.

Spark plans a pivot in one of two ways. It groups by the index and pivot columns and then by the
index columns, with the aggregate ``pivotfirst`` and a projection that takes its results apart. Or,
for types that ``pivotfirst`` does not know, it groups once, and every argument of an aggregate
becomes ``if(pivot <=> value, argument, NULL)``. Both become ``aggregate(argument) FILTER (WHERE
pivot <=> value)`` over the groups of the index columns.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.catalyst import JavaObject, scala_seq
from predtrace.frontends.spark.tree import Node, read_tree

_NULL_OF_NO_ROWS = ("Sum", "Min", "Max", "Average")
"""Aggregates that are NULL of no rows, as a pivot's cell is; another one's cell has to ask."""

_ATTAINED = ("Min", "Max")
"""Aggregates whose lineage depends on whether they have a filter."""


def without_pivots(plan: JavaObject, builder: Builder) -> Node:
    """The plan, as a tree, with its pivots as groupings with filters."""
    tree = read_tree(plan)
    return read_tree(_Rewriter(builder).plan(tree)) if _holds_pivots(tree) else tree


def _holds_pivots(tree: Node) -> bool:
    return any(_is_pivot(node) or any(map(_holds_pivots, _plans_in(node))) for node in tree.walk())


def _plans_in(node: Node) -> Iterator[Node]:
    yield from (expr.subplan() for expr in _subqueries(node.roots()))


def _subqueries(roots: Mapping[str, Any]) -> Iterator[Node]:
    for found in roots.values():
        for root in found if isinstance(found, tuple) else (found,):
            yield from (expr for expr in root.walk() if expr.is_subquery)


def _is_pivot(node: Node) -> bool:
    return _in_two_steps(node) or _in_one_step(node)


def _in_two_steps(node: Node) -> bool:
    """Whether this is the projection above a ``pivotfirst``."""
    above = node.children[0] if node.cls == "Project" else None
    if above is None or above.cls != "Aggregate" or above.children[0].cls != "Aggregate":
        return False
    aggregates = [expr for expr in _results(above).values() if _aggregates(expr)]
    return bool(aggregates) and all(map(_is_pivot_first, aggregates))


def _in_one_step(node: Node) -> bool:
    """Whether this groups, and all arguments of its aggregates depend on one pivot column."""
    if node.cls != "Aggregate":
        return False
    found = [one for expr in _results(node).values() for one in _aggregates(expr)]
    if not found or not all(one.children[0].children for one in found):
        return False
    tests = [arg for one in found for arg in one.children[0].children if arg.cls != "Literal"]
    return bool(tests) and all(map(_is_cell, tests)) and len(set(map(_pivot_of, tests))) == 1


def _is_cell(arg: Node) -> bool:
    """Whether an argument is ``if(pivot <=> value, argument, NULL)``."""
    if arg.cls != "If":
        return False
    test, _, otherwise = arg.children
    return (
        test.cls == "EqualNullSafe" and otherwise.cls in ("Literal", "Cast") and _is_null(otherwise)
    )


def _is_null(node: Node) -> bool:
    while node.cls == "Cast":
        (node,) = node.children
    return node.cls == "Literal" and node.fields.get("value") is None


def _pivot_of(arg: Node) -> str:
    return str(arg.children[0].children[0].handle.canonicalized().toString())


def _results(node: Node) -> Mapping[int, Node]:
    """The results of an aggregation, by their ids."""
    return {one.expr_id: one for one in node.expressions("aggregateExpressions")}


def _aggregates(expr: Node) -> tuple[Node, ...]:
    return tuple(below for below in expr.walk() if below.cls == "AggregateExpression")


def _is_pivot_first(result: Node) -> bool:
    found = _aggregates(result)
    return len(found) == 1 and found[0].children[0].cls == "PivotFirst"


@dataclass
class _Rewriter:
    builder: Builder

    def plan(self, tree: Node) -> JavaObject:
        """The plan without pivots, inputs first."""
        made: dict[Node, JavaObject] = {}
        for node in reversed(list(tree.walk())):
            roots = node.roots()
            replaced = {
                expr: expr.handle.withNewPlan(self.plan(expr.subplan()))
                for expr in _subqueries(roots)
                if _holds_pivots(expr.subplan())
            }
            if _in_one_step(node):
                replaced |= self._of_one_step(roots)
            plan = node.handle
            if replaced:
                plan = self.builder.with_expressions(node, replaced, roots)
            if any(made[child] is not child.handle for child in node.children):
                plan = self.builder.with_children(plan, [made[child] for child in node.children])
            if _in_two_steps(node):
                grouped = node.children[0].children[0]
                plan = self._of_two_steps(node, made[grouped.children[0]])
            made[node] = plan
        return made[tree]

    def _of_two_steps(self, projection: Node, source: JavaObject) -> JavaObject:
        second = projection.children[0]
        (first,) = second.children
        inner, outer = _results(first), _results(second)
        index = [one.expr_id for one in second.expressions("groupingExpressions")]
        results = []
        for one in projection.expressions("projectList"):
            if one.expr_id in inner:
                results.append(inner[one.expr_id].handle)
            else:
                (taken,) = one.children
                array, place = taken.children
                cell = self._cell(outer[array.expr_id], place, inner)
                results.append(self.builder.alias(cell, one.name, one.handle.exprId()))
        keys = [_stands_for(inner[expr_id]).handle for expr_id in index]
        return self.builder.aggregate(keys, results, source)

    def _cell(self, result: Node, place: Node, inner: Mapping[int, Node]) -> JavaObject:
        """What a pivot has in a column: NULL, unless a row of the group has the column's value."""
        builder = self.builder
        (aggregate,) = _aggregates(result)
        pivot_first = aggregate.children[0]
        pivot, value = (_stands_for(inner[one.expr_id]) for one in pivot_first.children)
        test = self._same(pivot, self._value(pivot_first, place))
        filtered = {one: self._filtered(one, None, test) for one in _aggregates(value)}
        computed = builder.expression(value, filtered)
        if value in filtered and value.children[0].cls in _NULL_OF_NO_ROWS:
            return computed
        one_row = self._filtered(_aggregates(value)[0], builder.count(), test)
        there = builder.call("GreaterThan", one_row, builder.zero())
        return builder.call("If", there, computed, builder.null(value.handle.dataType()))

    def _value(self, pivot_first: Node, place: Node) -> JavaObject:
        """The pivot value of a column, as an expression; it is folded like other constants."""
        builder, handle = self.builder, pivot_first.handle
        kind = handle.pivotColumn().dataType()
        values = builder.array(handle.pivotColumnValues(), kind)
        return builder.call("GetArrayItem", values, place.handle, False)

    def _of_one_step(self, roots: Mapping[str, Any]) -> dict[Node, JavaObject]:
        """Filters in place of the tests in the arguments of min and max.

        The others are aggregates of whole groups in any case, and may be of NULLs.
        """
        found = {}
        results: tuple[Node, ...] = roots["aggregateExpressions"]
        for one in (one for result in results for one in _aggregates(result)):
            function = one.children[0]
            for cell in (arg for arg in function.children if arg.cls == "If"):
                test, argument, _ = cell.children
                pivot, value = test.children
                same = self._same(pivot, value.handle)
                if function.cls in _ATTAINED:
                    plain = scala_seq(self.builder.jvm, [argument.handle])
                    found[one] = self._filtered(one, function.handle.withNewChildren(plain), same)
                elif pivot.cls == "CreateNamedStruct":
                    found[test] = same
        return found

    def _same(self, pivot: Node, value: JavaObject) -> JavaObject:
        """Whether a row has a pivot value: of several columns, all of them."""
        builder = self.builder
        if pivot.cls != "CreateNamedStruct":
            return builder.call("EqualNullSafe", pivot.handle, value)
        columns = pivot.children[1::2]
        tests = [
            builder.call("EqualNullSafe", column.handle, builder.field(value, place))
            for place, column in enumerate(columns)
        ]
        return functools.reduce(lambda one, other: builder.call("And", one, other), tests)

    def _filtered(self, one: Node, function: JavaObject | None, test: JavaObject) -> JavaObject:
        """An aggregate, or another function in its place, of the rows that satisfy a test."""
        builder, handle = self.builder, one.handle
        if handle.filter().isDefined():
            test = builder.call("And", handle.filter().get(), test)
        return handle.copy(
            (handle.aggregateFunction() if function is None else function).clone(),
            handle.mode(),
            handle.isDistinct() if function is None else False,
            builder.jvm.scala.Some(test),
            builder.new_id(),
        )


def _stands_for(result: Node) -> Node:
    """What a result of a grouping is computed by."""
    return result.children[0] if result.cls == "Alias" else result
