"""Structs, arrays, maps, and functions of their elements."""

from __future__ import annotations

import json

from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.expressions.reader import ExpressionReader
from predtrace.frontends.spark.expressions.refusals import refusal
from predtrace.frontends.spark.expressions.registry import reads
from predtrace.frontends.spark.tree import Node
from symbolic import types as t
from symbolic.expr import Expr, Lambda, Literal, Variable


@reads("GetStructField", function="get_field")
def _get_field(reader: ExpressionReader, node: Node) -> Expr:
    value = reader.read(node.children[0])
    if not isinstance(value.type, t.Record):
        raise refusal(node)
    name = value.type.fields[int(node.fields["ordinal"])].name
    return reader.asked(node, "get_field", (value, Literal(name, t.STRING)))


@reads("GetArrayItem", "GetMapValue", function="get_item")
def _get_item(reader: ExpressionReader, node: Node) -> Expr:
    return reader.asked(node, "get_item", reader.arguments(node))


@reads("ElementAt", function="element_at", says="element_at; get_item for maps")
def _element_at(reader: ExpressionReader, node: Node) -> Expr:
    if node.fields.get("defaultValueOutOfBound"):
        raise refusal(node)
    args = reader.arguments(node)
    function = "get_item" if isinstance(args[0].type, t.Map) else "element_at"
    return reader.asked(node, function, args)


@reads("LambdaFunction", function=None, says="a function of elements")
def _lambda(reader: ExpressionReader, node: Node) -> Expr:
    body, *parameters = node.children
    around = dict(reader.variables)
    # Numbered by depth, so that equal functions are equal expressions.
    for parameter in parameters:
        kind = data_type(json.loads(parameter.handle.dataType().json()))
        nullable = bool(parameter.handle.nullable())
        reader.variables[parameter.expr_id] = Variable(
            len(reader.variables), parameter.name, kind, nullable
        )
    variables = tuple(reader.variables[parameter.expr_id] for parameter in parameters)
    try:
        return Lambda(variables, reader.read(body))
    finally:
        reader.variables = around


@reads("NamedLambdaVariable", function=None, says="a function's parameter")
def _variable(reader: ExpressionReader, node: Node) -> Expr:
    return reader.variables[node.expr_id]


@reads("CreateNamedStruct", function="make_struct")
def _make_struct(reader: ExpressionReader, node: Node) -> Expr:
    return reader.asked(node, "make_struct", reader.arguments(node)[1::2])
