"""Expressions with common parts, which are defined once and referred to."""

from __future__ import annotations

from predtrace.frontends.spark.expressions.reader import ExpressionReader
from predtrace.frontends.spark.expressions.registry import reads
from predtrace.frontends.spark.tree import Node
from symbolic.expr import Expr


@reads("With", function=None, says="its expression, the common parts put in")
def _with(reader: ExpressionReader, node: Node) -> Expr:
    body, *definitions = node.children
    for definition in definitions:
        reader.shared[_shared_id(definition)] = reader.read(definition.children[0])
    return reader.read(body)


@reads("CommonExpressionRef", function=None, says="the common part")
def _shared_part(reader: ExpressionReader, node: Node) -> Expr:
    return reader.shared[_shared_id(node)]


def refers_outside(node: Node) -> bool:
    """Whether the expression uses a common part that it does not define itself."""
    used = {_shared_id(below) for below in node.walk() if below.cls == "CommonExpressionRef"}
    made = {_shared_id(below) for below in node.walk() if below.cls == "CommonExpressionDef"}
    return not used <= made


def _shared_id(node: Node) -> str:
    return str(node.handle.id().toString())
