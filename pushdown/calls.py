"""The functions of users that a pipeline calls."""

from __future__ import annotations

from collections.abc import Iterable

from pushdown.graph import OperatorGraph
from symbolic.expr import Call, Expr, walk
from symbolic.functions import PythonFunction, python_function


def python_functions(graph: OperatorGraph) -> tuple[PythonFunction, ...]:
    """The Python functions that the operators of a graph call, each once."""
    return called(expr for operator in graph.operators() for expr in operator.expressions)


def called(exprs: Iterable[Expr]) -> tuple[PythonFunction, ...]:
    """The Python functions that the expressions call, each once."""
    calls = (node for expr in exprs for node in walk(expr) if isinstance(node, Call))
    found = (python_function(call.function) for call in calls)
    return tuple(dict.fromkeys(each for each in found if each is not None))
