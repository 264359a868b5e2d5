"""Columns, literals, casts and plain functions with parameters that are no children."""

from __future__ import annotations

import json

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.expressions.reader import ExpressionReader
from predtrace.frontends.spark.expressions.refusals import refusal
from predtrace.frontends.spark.expressions.registry import function_of, made, reads
from predtrace.frontends.spark.literals import read_literal, read_nested
from predtrace.frontends.spark.tree import Node
from symbolic import types as t
from symbolic.expr import Call, Expr, Literal

_INTERVAL = t.Opaque("interval")


@reads("AttributeReference", function=None, says="column")
def _column(reader: ExpressionReader, node: Node) -> Expr:
    if node.expr_id in reader.scope:
        return reader.scope[node.expr_id]
    raise UnsupportedOperatorError(
        f"the column {node.name} comes from outside its operator's input "
        f"(metadata columns and some correlated subqueries do); select it by a plain join or "
        f"from a source{place(node.handle)}"
    )


@reads("Literal", function="make_array", says="literal; make_array and make_struct")
def _literal(_: ExpressionReader, node: Node) -> Expr:
    kind = value_type(node, node.fields["dataType"])
    if kind == _INTERVAL and node.fields.get("value") is not None:
        # Months, days and microseconds, written apart: their text means them again.
        return Call("cast", (Literal(str(node.fields["value"]), t.STRING),), kind, nullable=False)
    return read_nested(node, kind) if isinstance(kind, t.Array | t.Record) else read_literal(node)


@reads("RaiseError", function=None, says="NULL: a job that ran did not come to it")
def _raise_error(reader: ExpressionReader, node: Node) -> Expr:
    return Literal(None, value_type(node, json.loads(node.handle.dataType().json())))


@reads("SparkVersion", function=None, says="literal")
def _version(reader: ExpressionReader, node: Node) -> Expr:
    return Literal(str(node.handle.replacement().eval(None).toString()), t.STRING)


@reads("Alias", function=None, says="its expression")
def _alias(reader: ExpressionReader, node: Node) -> Expr:
    return reader.read(node.children[0])


@reads(
    "PreciseTimestampConversion",
    function=None,
    says="unix_micros, timestamp_micros; nothing where one follows the other",
)
def _in_micros(reader: ExpressionReader, node: Node) -> Expr:
    """A time window's computations are on microseconds."""
    (child,) = node.children
    kind = value_type(node, node.fields["toType"])
    if child.cls == node.cls and value_type(child, child.fields["fromType"]) == kind:
        return reader.read(child.children[0])
    function = "unix_micros" if isinstance(kind, t.Integer) else "timestamp_micros"
    return reader.asked(node, function, reader.arguments(node))


@reads("Cast", function="cast")
def _cast(reader: ExpressionReader, node: Node) -> Expr:
    kind = value_type(node, node.fields["dataType"])
    arg = reader.read(node.children[0])
    if arg.type == kind:
        return arg
    # Every mode reads text as the same date or time, if it does not fail.
    parsed = isinstance(arg.type, t.String) and isinstance(kind, (t.Date, t.Timestamp))
    function = "cast" if parsed else reader.in_mode(node, "cast", kind)
    return Call(function, (arg,), kind, bool(node.handle.nullable()))


@reads("Collate", "CollationCast", function=None, says="its string, if plain")
def _collate(reader: ExpressionReader, node: Node) -> Expr:
    arg = reader.read(node.children[0])
    made = reader.asked(node, "cast", (arg,))
    return arg if made.type == arg.type else made


@reads("Collation", function=None, says="literal, for a plain string")
def _collation(reader: ExpressionReader, node: Node) -> Expr:
    reader.read(node.children[0])
    return reader.seen_through(node)


@reads("Like", function="like")
def _like(reader: ExpressionReader, node: Node) -> Expr:
    escape = Literal(str(node.handle.escapeChar()), t.STRING)
    return made("like", *reader.arguments(node), escape)


@reads("StaticInvoke", "Invoke", function="char_pad", says="char_pad (reading CHAR columns)")
def _static_invoke(reader: ExpressionReader, node: Node) -> Expr:
    if node.fields.get("functionName") == "readSidePadding":
        return Call("char_pad", reader.arguments(node), t.STRING)
    raise refusal(node)


@reads("Murmur3Hash", function="hash")
@reads("XxHash64", function="xxhash64")
def _hash(reader: ExpressionReader, node: Node) -> Expr:
    if int(node.fields["seed"]) != 42:
        raise refusal(node)
    return reader.asked(node, function_of(node), reader.arguments(node))
