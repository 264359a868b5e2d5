"""The errors for expressions that cannot be traced, with names and places that users know."""

from __future__ import annotations

import re

from predtrace.errors import NonDeterministicError, UnsupportedOperatorError
from predtrace.frontends.spark import functions_table as table
from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.unreadable import OpaqueExpressionError


def refusal(
    node: Node, reason: str | None = None
) -> UnsupportedOperatorError | NonDeterministicError:
    """The error for an expression that cannot be traced."""
    name = shown_name(node)
    if node.cls in table.NON_DETERMINISTIC or not node.handle.deterministic():
        return NonDeterministicError(
            f"function {name} (Catalyst: {node.cls}) need not give the same value again; "
            f"compute it before, write the result to Parquet and read that{_place(node)}"
        )
    why = table.UNSUPPORTED.get(node.cls, reason or "it is not known to predtrace")
    known = node.cls in table.UNSUPPORTED and node.cls not in table.OF_VALUES
    kind = UnsupportedOperatorError if known or node.is_subquery else OpaqueExpressionError
    return kind(f"function {name} (Catalyst: {node.cls}) cannot be traced: {why}{_place(node)}")


def _place(node: Node) -> str:
    """The place of an expression, or of the nearest enclosing expression whose place is known."""
    found = place(node.handle)
    while not found and node.above is not None:
        node = node.above
        found = place(node.handle)
    return found


def shown_name(node: Node) -> str:
    """The name by which a user knows an expression; for a call of an evaluator, the evaluator's."""
    if node.is_subquery:
        return "subquery"
    if node.cls in ("Invoke", "StaticInvoke"):
        called = str(node.handle.toString())
        evaluator = re.match(r"(?:static_)?invoke\((\w+?)(?:Evaluator)?[(.]", called)
        name = evaluator[1] if evaluator else called
        return _EVALUATORS.get(name, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    if node.cls in _OF_USERS:
        return str(node.fields["name"])
    return str(node.handle.prettyName())


_OF_USERS = frozenset({"PythonUDF", "PythonUDAF", "PythonUDTF"})
"""Classes of functions that have a name of their own."""
_EVALUATORS = {"StructsToJson": "to_json"}
"""Functions that Spark replaces by a call of an evaluator with another name."""
