"""Connectives, cases and tests for NULL or NaN."""

from __future__ import annotations

from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.expressions.reader import ExpressionReader
from predtrace.frontends.spark.expressions.refusals import refusal
from predtrace.frontends.spark.expressions.registry import function_of, made, reads
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.unreadable import OpaqueExpressionError
from symbolic import types as t
from symbolic.expr import Call, Expr, Literal, conjunction, walk
from symbolic.functions import row_of, shown


@reads("And", function="and")
@reads("Or", function="or")
def _connective(reader: ExpressionReader, node: Node) -> Expr:
    # Flattened with a stack: long OR lists nest as deep as they are long.
    terms: list[Expr] = []
    stack = [node]
    while stack:
        current = stack.pop()
        if current.cls == node.cls:
            stack.extend(reversed(current.children))
        else:
            terms.append(reader.read(current))
    return made(function_of(node), *terms)


@reads("CaseWhen", function="case")
def _case(reader: ExpressionReader, node: Node) -> Expr:
    args = reader.arguments(node)
    if len(args) % 2 == 0:
        args = (*args, Literal(None, args[1].type))
    return reader.asked(node, "case", args)


@reads("If", function="case")
def _if(reader: ExpressionReader, node: Node) -> Expr:
    return reader.asked(node, "case", reader.arguments(node))


@reads("NaNvl", function="case", says="case over is_nan")
def _nan_value(reader: ExpressionReader, node: Node) -> Expr:
    value, other = reader.arguments(node)
    return reader.asked(node, "case", (made("is_nan", value), other, value))


@reads("AtLeastNNonNulls", function="is_not_null", says="is_not_null and not is_nan (dropna)")
def _non_nulls(reader: ExpressionReader, node: Node) -> Expr:
    if node.fields["n"] != len(node.children):
        raise refusal(node)
    terms: list[Expr] = []
    for arg in reader.arguments(node):
        terms.append(made("is_not_null", arg))
        if isinstance(arg.type, t.Float):
            terms.append(made("not", made("is_nan", arg)))
    return conjunction(*terms)


@reads("TryEval", function=None, says="its expression, if all in it is NULL where a part is")
def _try_eval(reader: ExpressionReader, node: Node) -> Expr:
    value = reader.read(node.children[0])
    calls = [part for part in walk(value) if isinstance(part, Call)]
    rows = [row_of(call.function) for call in calls]
    if all(row is not None and row.nulls.propagates for row in rows):
        # In questions a part that fails is NULL, and so is the whole.
        return value
    around = " and ".join(sorted({shown(call.function) for call in calls}))
    raise OpaqueExpressionError(
        f"try_… around {around} cannot be traced; compute its arguments in a subquery of FROM"
        f"{place(node.handle)}"
    )
