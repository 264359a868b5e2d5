"""Functions of the user in Python, as Catalyst has them: bytes that are hashed and never loaded."""

from __future__ import annotations

import re
from pathlib import Path

from predtrace.environment.python_functions import digest
from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, Jvm, place
from predtrace.frontends.spark.expressions.reader import ExpressionReader
from predtrace.frontends.spark.expressions.refusals import refusal
from predtrace.frontends.spark.expressions.registry import reads
from predtrace.frontends.spark.tree import Node
from symbolic import types as t
from symbolic.expr import Expr, Literal
from symbolic.functions import PythonFunction

ROWWISE: dict[int, str] = {
    100: "a function of a row's values",
    101: "a function of a row's values, which travel by Arrow",
    200: "a function of pandas series",
    204: "a function of an iterator over pandas series",
    250: "a function of Arrow arrays",
    251: "a function of an iterator over Arrow arrays",
}
"""PySpark's evaluation types of functions that give a value to each row."""


@reads("PythonUDF", function=None, says="a function of the user, known by its bytes")
def _python_udf(reader: ExpressionReader, node: Node) -> Expr:
    kind = int(node.fields["evalType"])
    if kind not in ROWWISE:
        raise UnsupportedOperatorError(
            f"the Python function {node.name} aggregates or makes tables, which is not traced yet"
            f"{place(node.handle)}"
        )
    if not node.handle.deterministic():
        raise refusal(node)
    names = tuple(_argument_name(child) for child in node.children)
    values = (c.children[0] if n else c for c, n in zip(node.children, names, strict=True))
    args = tuple(reader.read(value) for value in values)
    if any(isinstance(arg, Literal) and isinstance(arg.type, t.Opaque) for arg in args):
        raise refusal(node, "an argument is a constant of a type without literals")
    return reader.asked(node, _function(reader, node, names).id, args)


def _function(reader: ExpressionReader, node: Node, names: tuple[str, ...]) -> PythonFunction:
    """The function of a call whose arguments have these names."""
    if reader.carrier is None:
        raise refusal(node)
    sent = _bytes(reader.carrier.builder.jvm, node.handle.func())
    return PythonFunction(
        name=str(node.fields["name"]),
        digest=digest(sent),
        kind=int(node.fields["evalType"]),
        returns=str(node.handle.dataType().json()),
        arguments=names,
    )


def _argument_name(node: Node) -> str:
    return str(node.fields["key"]) if node.cls == "NamedArgumentExpression" else ""


def _bytes(jvm: Jvm, function: JavaObject) -> bytes:
    """The bytes of a function: those in the plan or, of a large function, in its broadcast."""
    sent = bytes(function.command().toArray(jvm.scala.reflect.ClassTag.Byte()))
    reference = _BROADCAST.fullmatch(sent)
    if reference is None:
        return sent
    number = int.from_bytes(reference[1][1:], "little")
    broadcasts = function.broadcastVars()
    found = (broadcasts.get(place) for place in range(broadcasts.size()))
    (path,) = (str(each.value().path()) for each in found if int(each.id()) == number)
    return Path(path).read_bytes()


_BROADCAST = re.compile(
    rb"\x80.(?:\x95.{8})?\x8c\x16pyspark\.core\.broadcast\x94?\x8c\x08_from_id\x94?\x93\x94?"
    rb"(K.|M..|J.{4})\x85\x94?R\x94?\.",
    re.DOTALL,
)
"""The pickled reference to a broadcast: nothing but its number."""
