"""Expressions that cannot be read, as columns of an operator below their plan node.

What stands at such a place is evaluated as a whole, in the same order, by the run: it may draw
random numbers, and only for rows for which it is evaluated.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from predtrace.errors import NonDeterministicError
from predtrace.frontends.spark.catalyst import JavaObject, items, origin_of
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.expressions import ExpressionReader
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.unreadable import OpaqueExpressionError
from pushdown.operators import Filter, OpaqueColumn, OpaqueColumns
from symbolic.expr import Column, conjunction

UNREADABLE = (OpaqueExpressionError, NonDeterministicError)
"""The errors of expressions that may be opaque."""
_SHOWN = 60


def pull_out_opaque(translation: Translation, prepared: Prepared) -> bool:
    """Make columns below the node of its expressions that cannot be read.

    False if there are none, or none at a place from which they can be pulled out.
    """
    if prepared.node.cls not in _PLACES or len(prepared.inputs) != 1:
        return False
    if prepared.node.cls == "Filter":
        _filter_before(translation, prepared)
    (below,) = prepared.inputs
    reader = translation.reader(below, replaced=prepared.replaced)
    found = tuple(unreadable(reader, _PLACES[prepared.node.cls](prepared)))
    if not found:
        return False
    node, made = opaque_columns(
        translation, below.node, found, reader.columns_read, prepared.attributes
    )
    output = below.output
    for expr, (column, attribute) in made.items():
        output = (*output, (translation.expr_ids[column.id], column))
        for copy in _copies(expr, prepared):
            prepared.replaced[copy] = column
            prepared.attributes[copy] = attribute
    prepared.inputs = (Translated(node, output),)
    return True


def opaque_columns(
    translation: Translation,
    below: int,
    exprs: Sequence[Node],
    read: Callable[[Node], tuple[Column, ...]],
    attributes: Mapping[Node, JavaObject],
) -> tuple[int, dict[Node, tuple[Column, JavaObject]]]:
    """An operator with a column for each expression; its number, and the columns with attributes.

    `read` gives the columns that an expression reads; `attributes` stand for parts of them.
    """
    builder = translation.builder
    made: dict[Node, tuple[Column, JavaObject]] = {}
    columns: list[OpaqueColumn] = []
    aliases: list[JavaObject] = []
    for expr in exprs:
        text = textwrap.shorten(str(expr.handle.sql()), _SHOWN, placeholder="…")
        args = read(expr)
        kind = value_type(expr, json.loads(expr.handle.dataType().json()))
        expr_id = builder.new_id()
        nullable = bool(expr.handle.nullable())
        column = translation.column(int(expr_id.id()), text, kind, nullable)
        alias = builder.alias(builder.expression(expr, attributes), text, expr_id)
        aliases.append(alias)
        columns.append(OpaqueColumn(column, text, args))
        made[expr] = (column, alias.toAttribute())
    operator = OpaqueColumns(
        id=translation.next_node,
        input=below,
        made=tuple(columns),
        origin=origin_of(exprs[0].handle),
    )

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        return builder.project([*items(plans[0].output()), *aliases], plans[0])

    return translation.add(operator, build, (below,)), made


def unreadable(reader: ExpressionReader, exprs: Iterable[Node]) -> Iterator[Node]:
    """The expressions that cannot be read, each once."""
    for expr in dict.fromkeys(exprs):
        try:
            reader.read(expr)
        except UNREADABLE:
            yield expr


def _filter_before(translation: Translation, prepared: Prepared) -> None:
    """Put the conjuncts that come before one that cannot be read into a filter of their own."""
    (below,) = prepared.inputs
    reader = translation.reader(below, replaced=prepared.replaced)
    condition = prepared.one("condition")
    assert condition is not None
    terms = list(_terms(condition))
    opaque = set(unreadable(reader, terms))
    count = next(number for number, term in enumerate([*terms, None]) if term in opaque or not term)
    if not 0 < count < len(terms):
        return
    builder = translation.builder
    before = [builder.expression(term, prepared.attributes) for term in terms[:count]]
    operator = Filter(
        id=translation.next_node,
        input=below.node,
        condition=conjunction(*map(reader.read, terms[:count])),
        origin=origin_of(prepared.node.handle),
    )
    node = translation.add(operator, lambda plans: builder.filter(before, plans[0]), (below.node,))
    prepared.inputs = (Translated(node, below.output),)


def _terms(condition: Node) -> Iterator[Node]:
    """The terms of an AND, in order."""
    if condition.cls != "And":
        yield condition
        return
    for child in condition.children:
        yield from _terms(child)


def _condition(prepared: Prepared) -> Iterator[Node]:
    condition = prepared.one("condition")
    if condition is not None:
        yield condition


def _computed(prepared: Prepared) -> Iterator[Node]:
    for projection in prepared.many("projectList"):
        if projection.cls == "Alias":
            yield projection.children[0]


def _sort_keys(prepared: Prepared) -> Iterator[Node]:
    for key in prepared.many("order"):
        yield key.children[0]


def _keys_and_arguments(prepared: Prepared) -> Iterator[Node]:
    """Keys of groups, and arguments of aggregates whose lineage their values decide."""
    yield from prepared.many("groupingExpressions")
    for result in prepared.many("aggregateExpressions"):
        for node in result.walk():
            if node.cls in ("Min", "Max"):
                yield node.children[0]


def _of_generators(prepared: Prepared) -> Iterator[Node]:
    generator = prepared.one("generator")
    if generator is not None:
        yield from generator.children


_PLACES: Mapping[str, Callable[[Prepared], Iterator[Node]]] = {
    "Project": _computed,
    "Filter": _condition,
    "Sort": _sort_keys,
    "Aggregate": _keys_and_arguments,
    "Generate": _of_generators,
}
"""The expressions of a plan node that may be columns of an operator below it."""


def _copies(expr: Node, prepared: Prepared) -> Iterator[Node]:
    """The expression, and others of the plan node that are equal."""
    yield expr
    for roots in prepared.roots.values():
        for root in roots if isinstance(roots, tuple) else (roots,):
            for node in root.walk():
                same = node is not expr and node.cls == expr.cls
                if same and node.handle.semanticEquals(expr.handle):
                    yield node
