"""Calls of the user's Python functions in queries, by names of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from symbolic.expr import Call
from symbolic.functions import PythonFunction, python_function
from symbolic.types import DataType

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args

_PREFIX = "predtrace_python_"


class Called(NamedTuple):
    """A function as a query calls it: its name there, and the types of its arguments and result."""

    function: PythonFunction
    name: str
    takes: tuple[DataType, ...]
    gives: DataType


def python_call(call: Call, args: Args) -> exp.Expr:
    """The function under its name in questions."""
    function = python_function(call.function)
    assert function is not None
    named = (
        exp.Kwarg(this=exp.to_identifier(name, quoted=True), expression=arg)
        if name and not function.kept
        else arg
        for name, arg in zip(function.arguments, args, strict=True)
    )
    name = f"{_PREFIX}{function.kept or f'{function.kind}_{function.digest}'}"
    tree = exp.Anonymous(this=name, expressions=list(named))
    tree.meta[_PREFIX] = Called(function, name, tuple(arg.type for arg in call.args), call.type)
    return tree


def called_in(query: exp.Expr) -> Iterator[Called]:
    """The calls in a query."""
    for node in query.find_all(exp.Anonymous):
        found = node.meta.get(_PREFIX)
        if found is not None:
            yield found
