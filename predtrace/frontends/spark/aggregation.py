"""Aggregations: a Catalyst ``Aggregate`` as a GroupBy and, where needed, a RowTransform above.

Catalyst computes results over aggregates and keys in one node. A GroupBy only groups: its output is
the keys, then the aggregates. A RowTransform computes everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from predtrace.frontends.spark.aggregates import aggregate_call
from predtrace.frontends.spark.catalyst import JavaObject, origin_of
from predtrace.frontends.spark.expressions import ExpressionReader, refers_outside
from predtrace.frontends.spark.opaque_columns import UNREADABLE, opaque_columns, unreadable
from predtrace.frontends.spark.session_windows import refuse_merging
from predtrace.frontends.spark.translation import (
    Build,
    Prepared,
    Translated,
    Translation,
    assign,
    may_be_null,
)
from predtrace.frontends.spark.tree import Node
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    GroupBy,
    RowTransform,
)
from symbolic import types as t
from symbolic.expr import Column, Expr, render
from symbolic.functions import shown


@dataclass
class _Made:
    """A column of the GroupBy: its node in Catalyst, with the name and id there."""

    node: Node
    column: Column
    attribute: JavaObject | None = None
    alias: JavaObject | None = None


@dataclass
class _Split:
    """One aggregation being taken apart."""

    translation: Translation
    prepared: Prepared
    reader: ExpressionReader
    keys: dict[Expr, _Made] = field(default_factory=dict)
    calls: dict[AggregateCall, _Made] = field(default_factory=dict)
    uses: dict[Node, _Made] = field(default_factory=dict)


def translate_aggregate(translation: Translation, prepared: Prepared) -> Translated:
    """Translate an ``Aggregate``; raises UnsupportedOperatorError for unknown functions."""
    (below,) = prepared.inputs
    reader = translation.reader(below, replaced=prepared.replaced)
    split = _Split(translation, prepared, reader)
    results = prepared.many("aggregateExpressions")
    names = _direct_names(results)
    keys = prepared.many("groupingExpressions")
    refuse_merging(prepared.node, (key.handle for key in keys if _is_struct(key)))
    for key in keys:
        _add_key(split, key, names)
    for result in results:
        _find_uses(split, result, names)
    plain = _plain_order(split, results)
    group_by = GroupBy(
        id=translation.next_node,
        input=below.node,
        keys=tuple(
            Assignment(made.column, value) for value, made in (plain or list(split.keys.items()))
        ),
        aggregations=tuple(Aggregation(made.column, call) for call, made in split.calls.items()),
        origin=origin_of(prepared.node.handle),
    )
    if plain is not None:
        return _one_node(translation, prepared, _named_by(results, group_by))
    return _two_nodes(split, group_by, results)


def _is_struct(key: Node) -> bool:
    # Only attributes and aliases have metadata, in which Spark marks windows that merge.
    named = key.cls == "AttributeReference" and isinstance(key.fields.get("dataType"), dict)
    return key.cls == "Alias" or named


def _direct_names(results: Sequence[Node]) -> dict[Node, Node]:
    """Maps each expression that a result only renames to the alias that renames it."""
    return {result.children[0]: result for result in results if result.cls == "Alias"}


def _add_key(split: _Split, key: Node, names: dict[Node, Node]) -> None:
    value = split.reader.read(key)
    if value in split.keys:
        return
    if isinstance(value, Column) and key.cls == "AttributeReference":
        split.keys[value] = _Made(key, value)
        return
    split.keys[value] = _new(split, key, render(value), value.type, may_be_null(value))


def _new(split: _Split, node: Node, name: str, kind: t.DataType, nullable: bool) -> _Made:
    builder = split.translation.builder
    expr_id = builder.new_id()
    column = split.translation.column(int(expr_id.id()), name, kind, nullable)
    handle = builder.expression(node, split.prepared.attributes)
    alias = builder.alias(handle, name, expr_id)
    return _Made(node, column, alias.toAttribute(), alias)


def _find_uses(split: _Split, node: Node, names: dict[Node, Node]) -> None:
    """Find the outermost aggregates and group keys of a result expression."""
    if node.cls == "AggregateExpression":
        call = aggregate_call(split.reader, node, len(split.calls))
        if call not in split.calls:
            name = names[node].name if node in names else _text(call)
            nullable = not call.row.never_null
            split.calls[call] = _new(split, node, name, call.type, nullable)
        split.uses[node] = split.calls[call]
        return
    if (made := _key_of(split, node)) is not None:
        split.uses[node] = made
        return
    for child in node.children:
        _find_uses(split, child, names)


def _key_of(split: _Split, node: Node) -> _Made | None:
    if node.cls in ("Alias", "Literal") and not split.keys:
        return None
    if node.cls == "Alias" or any(below.cls == "AggregateExpression" for below in node.walk()):
        return None
    # Part of an expression with common parts: only the whole expression says what it means.
    if node.cls == "CommonExpressionDef" or refers_outside(node):
        return None
    try:
        return split.keys.get(split.reader.read(node))
    except UNREADABLE:
        return None


def _text(call: AggregateCall) -> str:
    distinct = "DISTINCT " if call.distinct else ""
    return f"{shown(call.function)}({distinct}{', '.join(map(render, call.args)) or '*'})"


def _plain_order(split: _Split, results: Sequence[Node]) -> list[tuple[Expr, _Made]] | None:
    """The keys in the order of the results, if these are exactly all keys, then all aggregates."""
    made = [
        split.uses.get(r) or (split.uses.get(r.children[0]) if r.children else None)
        for r in results
    ]
    keys = {id(made): (value, made) for value, made in split.keys.items()}
    if len({id(m) for m in made}) < len(made) or len(made) != len(keys) + len(split.calls):
        return None
    if any(m is None or (id(m) in keys) != (i < len(keys)) for i, m in enumerate(made)):
        return None
    if [id(m) for m in made[len(keys) :]] != [id(m) for m in split.calls.values()]:
        return None
    # A renamed key column needs an id of its own: that is a projection.
    renamed = (
        r.cls == "Alias" and m and m.alias is None for r, m in zip(results, made, strict=True)
    )
    return None if any(renamed) else [keys[id(m)] for m in made[: len(keys)]]


def _named_by(results: Sequence[Node], group_by: GroupBy) -> GroupBy:
    """The GroupBy with its columns renamed to the results that they are, one for one."""
    columns = iter(results)
    return replace(
        group_by,
        keys=tuple(_renamed(key, next(columns)) for key in group_by.keys),
        aggregations=tuple(_renamed(each, next(columns)) for each in group_by.aggregations),
    )


_Named = TypeVar("_Named", Assignment, Aggregation)


def _renamed(made: _Named, result: Node) -> _Named:
    return replace(made, column=replace(made.column, name=result.name))


def _one_node(translation: Translation, prepared: Prepared, group_by: GroupBy) -> Translated:
    builder = translation.builder
    results = prepared.many("aggregateExpressions")
    build: Build = translation.same_node(prepared.node)
    if prepared.attributes:

        def build(plans: Sequence[JavaObject]) -> JavaObject:
            plan = builder.with_expressions(prepared.node, prepared.attributes, prepared.roots)
            return builder.with_children(plan, plans)

    node = translation.add(group_by, build, (group_by.input,))
    columns = translation.output_of(node)
    for result, column in zip(results, columns, strict=True):
        translation.expr_ids[column.id] = result.expr_id
    return Translated(node, tuple((translation.expr_ids[c.id], c) for c in columns))


def _two_nodes(split: _Split, group_by: GroupBy, results: Sequence[Node]) -> Translated:
    translation, builder = split.translation, split.translation.builder
    made = [*split.keys.values(), *split.calls.values()]
    grouping = [each.node for each in split.keys.values()]
    attributes = {n: m.attribute or m.node.handle for n, m in split.uses.items()}

    def build_groups(plans: Sequence[JavaObject]) -> JavaObject:
        keys = [builder.expression(key, split.prepared.attributes) for key in grouping]
        return builder.aggregate(keys, [each.alias or each.node.handle for each in made], plans[0])

    grouped = translation.add(group_by, build_groups, (group_by.input,))
    replaced = {node: each.column for node, each in split.uses.items()}
    reader = ExpressionReader(
        translation.settings, {}, replaced, translation.carrier, below=(grouped,)
    )
    used: set[int] = set()
    grouped = _with_opaque(split, grouped, reader, results, replaced, attributes)
    assignments = tuple(
        assign(translation, result, reader.read(result), used) for result in results
    )
    transform = RowTransform(
        id=translation.next_node, input=grouped, assignments=assignments, origin=group_by.origin
    )

    def build_results(plans: Sequence[JavaObject]) -> JavaObject:
        return builder.project((builder.expression(r, attributes) for r in results), plans[0])

    node = translation.add(transform, build_results, (grouped,))
    output = zip(results, assignments, strict=True)
    return Translated(node, tuple((r.expr_id, a.column) for r, a in output))


def _with_opaque(
    split: _Split,
    grouped: int,
    reader: ExpressionReader,
    results: Sequence[Node],
    replaced: dict[Node, Column],
    attributes: dict[Node, JavaObject],
) -> int:
    """The groups with columns for the results that cannot be read, which these replace."""
    computed = [result.children[0] for result in results if result.cls == "Alias"]
    if not (found := tuple(unreadable(reader, computed))):
        return grouped
    node, made = opaque_columns(split.translation, grouped, found, reader.columns_read, attributes)
    for expr, (column, attribute) in made.items():
        replaced[expr] = column
        attributes[expr] = attribute
    return node
