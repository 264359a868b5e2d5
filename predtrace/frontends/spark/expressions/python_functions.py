"""Functions of the user in Python, as Catalyst has them: bytes that are hashed and never loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from predtrace.environment.python_functions import digest, find, known
from predtrace.environment.settled_functions import is_settled
from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, Jvm, place
from predtrace.frontends.spark.expressions.reader import ExpressionReader
from predtrace.frontends.spark.expressions.refusals import refusal
from predtrace.frontends.spark.expressions.registry import reads
from predtrace.frontends.spark.python_calls import PythonCall
from predtrace.frontends.spark.tree import Node
from symbolic import types as t
from symbolic.expr import Call, Column, Expr, Literal, substitute
from symbolic.functions import PythonFunction, python_function
from symbolic.pyfunc.lowering import NotLowered, lowered
from symbolic.pyfunc.reading import Unread, read_function

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
    if kind in _OF_SERIES and any(map(_changes_beside_null, args)):
        raise refusal(node, "pandas gives it other numbers where the batch has a NULL")
    call = reader.asked(node, _function(reader, node, names).id, args)
    return _read(reader, call) or _called(reader, node, call)


def _called(reader: ExpressionReader, node: Node, call: Call) -> Call:
    """A call of a function that is not read, which the pipeline's run may keep the results of."""
    function = python_function(call.function)
    assert function is not None
    assert reader.carrier is not None
    found = PythonCall(function, node, call, reader.below, reader.replaced)
    reader.carrier.python_calls.append(found)
    return call


_OF_SERIES = (200, 204)


def _changes_beside_null(arg: Expr) -> bool:
    """Whether pandas gives values another type if another row's value is NULL: 1 becomes 1.0."""
    may_be_null = arg.value is None if isinstance(arg, Literal) else arg.nullable
    return may_be_null and isinstance(arg.type, (t.Integer, t.Boolean))


def _read(reader: ExpressionReader, call: Call) -> Expr | None:
    """What a function computes, in functions of Spark; None if that is not known exactly.

    It is read from the source of the function, if that is at hand.
    """
    function = python_function(call.function)
    assert function is not None
    assert reader.carrier is not None
    find((function,), reader.carrier.functions)
    live = known(function)
    if live is None or any(function.arguments) or not _gets_values(reader, function.kind):
        return None
    places = tuple(Column(place, "", arg.type) for place, arg in enumerate(call.args))
    try:
        if not is_settled(live.function):
            return None
        found = lowered(
            read_function(live.function, places), call.type, checked=function.kind == 101
        )
    except (Unread, NotLowered, RecursionError):
        return None
    given = dict(enumerate(call.args))
    if _written_size(found, {place: _written_size(arg) for place, arg in given.items()}) > _LONGEST:
        return None
    reader.carrier.python_read[function] = None
    return substitute(found, given)


def _gets_values(reader: ExpressionReader, kind: int) -> bool:
    """Whether a function is called with a row's values as they are."""
    return kind in (_BY_PICKLE, _BY_ARROW) and reader.settings.conf.get(_LEGACY) != "true"


_BY_PICKLE, _BY_ARROW = 100, 101
"""Of these, whole numbers that leave the result's type are an error by Arrow."""
_LEGACY = "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled"
_LONGEST = 1_000
"""The most terms of a function in functions of Spark: written out, shared terms are repeated."""


def _written_size(expr: Expr, columns: Mapping[int, int] = MappingProxyType({})) -> int:
    """The number of terms of an expression written out, where columns stand for so many terms.

    No more is counted than is too many.
    """
    count = 0
    waiting = [expr]
    while waiting and count <= _LONGEST:
        node = waiting.pop()
        count += columns.get(node.id, 1) if isinstance(node, Column) else 1
        waiting.extend(node.args if isinstance(node, Call) else ())
    return count


def _function(reader: ExpressionReader, node: Node, names: tuple[str, ...]) -> PythonFunction:
    """The function of a call whose arguments have these names."""
    if reader.carrier is None:
        raise refusal(node)
    sent = function_bytes(reader.carrier.builder.jvm, node.handle.func())
    return PythonFunction(
        name=str(node.fields["name"]),
        digest=digest(sent),
        kind=int(node.fields["evalType"]),
        returns=str(node.handle.dataType().json()),
        arguments=names,
    )


def _argument_name(node: Node) -> str:
    return str(node.fields["key"]) if node.cls == "NamedArgumentExpression" else ""


def sent_bytes(jvm: Jvm, function: JavaObject) -> bytes:
    """The bytes in the plan of a function: of a large one, they name a broadcast."""
    return bytes(function.command().toArray(jvm.scala.reflect.ClassTag.Byte()))


def function_bytes(jvm: Jvm, function: JavaObject) -> bytes:
    """The bytes of a function: those in the plan or, of a large function, in its broadcast."""
    sent = sent_bytes(jvm, function)
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
