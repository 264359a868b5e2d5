"""Aggregates of Catalyst as calls: with a row of the function table, carried by name, or opaque.

An opaque aggregate is a function of its whole group, like any other, but nobody except the run
computes it. It reads columns, whatever its arguments make of them.
"""

from __future__ import annotations

from collections.abc import Callable

from predtrace.errors import NonDeterministicError, PredTraceError
from predtrace.frontends.spark import functions_table as table
from predtrace.frontends.spark.carrying import NotCarried
from predtrace.frontends.spark.expressions import ExpressionReader, refusal
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.unreadable import OpaqueExpressionError
from pushdown.operators import AggregateCall
from symbolic.expr import Expr, Literal
from symbolic.functions import AGGREGATES, Opaque
from symbolic.types import Array


def aggregate_call(reader: ExpressionReader, node: Node, number: int) -> AggregateCall:
    """The call of an ``AggregateExpression``; `number` tells opaque ones of an operator apart.

    Raises UnsupportedOperatorError, or NonDeterministicError for a min or max of what only the run
    knows.
    """
    function = _evaluated(reader, node.children[0])
    problems: list[PredTraceError] = []
    for read in (_with_row, _carried):
        try:
            return read(reader, node, function)
        except (OpaqueExpressionError, NonDeterministicError) as problem:
            problems.append(problem)
    row = table.AGGREGATE.get(function.cls)
    if row is not None and AGGREGATES[row.function].attained:
        # The rows that attain the value are known only to who knows the arguments.
        raise problems[0]
    return _opaque(reader, node, number)


def _evaluated(reader: ExpressionReader, function: Node) -> Node:
    """The aggregate that Spark evaluates in the place of one without a row."""
    if function.cls in table.AGGREGATE:
        return function
    replacement = reader.replacement(function)
    return function if replacement is None else replacement


def _with_row(reader: ExpressionReader, node: Node, function: Node) -> AggregateCall:
    row = table.AGGREGATE.get(function.cls)
    if row is None:
        raise refusal(function)
    name = row.function
    reader.check_captured(function)
    args = reader.arguments(function)
    kind = reader.asked(function, name, args).type
    if row.has_mode:
        name = reader.in_mode(function, name, kind)
    if name in _ARGUMENTS:
        args = _ARGUMENTS[name](node, function, args)
    # Duplicates never change a minimum, and min/max have their own lineage rules.
    distinct = _is_distinct(node) and not AGGREGATES[name].attained
    return AggregateCall(name, args, kind, distinct, _filter(reader, node))


def _percentile(node: Node, function: Node, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    value, share, frequency, *_ = args
    once = isinstance(frequency, Literal) and frequency.value == 1
    if not once or bool(function.handle.reverse()) or isinstance(share.type, Array):
        raise refusal(function)
    return (value, share)


def _count(node: Node, function: Node, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """None, if no argument is ever NULL: then rows are counted."""
    if not all(isinstance(a, Literal) and a.value is not None for a in args):
        return args
    if _is_distinct(node):
        raise refusal(function, "it counts constants")
    return ()


_ARGUMENTS: dict[str, Callable[[Node, Node, tuple[Expr, ...]], tuple[Expr, ...]]] = {
    "percentile": _percentile,
    "count": _count,
}
"""Aggregates whose arguments are not all of their class's children."""


def _carried(reader: ExpressionReader, node: Node, function: Node) -> AggregateCall:
    if reader.carrier is None:
        raise refusal(function)
    arguments = reader.carrier.arguments(function)
    args = tuple(reader.read(argument.node) for argument in arguments)
    try:
        found = reader.carrier.aggregate(function, arguments)
    except NotCarried as problem:
        raise refusal(function, str(problem)) from None
    kind = reader.asked(function, found.id, args).type
    return AggregateCall(found.id, args, kind, _is_distinct(node), _filter(reader, node))


def _opaque(reader: ExpressionReader, node: Node, number: int) -> AggregateCall:
    function = node.children[0]
    found = Opaque(str(function.handle.prettyName()), number)
    args = reader.columns_read(node)
    kind = reader.asked(function, found.id, args).type
    return AggregateCall(found.id, args, kind, _is_distinct(node))


def _is_distinct(node: Node) -> bool:
    return bool(node.fields["isDistinct"])


def _filter(reader: ExpressionReader, node: Node) -> Expr | None:
    filters = node.children[1:]
    return reader.read(filters[0]) if filters else None
