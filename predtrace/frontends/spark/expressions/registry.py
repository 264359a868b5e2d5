"""The readers of expression classes that are more than a function of their children."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from predtrace.frontends.spark.tree import Node
from symbolic.expr import Call, Expr, Literal
from symbolic.functions import FUNCTIONS, Nulls

Reader = Callable[[Any, Node], Expr]
"""Reads a node with an ExpressionReader, for which there is no name here: it knows the registry."""


class Reads(NamedTuple):
    """What a class is read as: a function of the table, if it is one, and a description."""

    function: str | None
    says: str


READERS: dict[str, Reader] = {}
"""Expression classes that have a reader of their own."""
READS: dict[str, Reads] = {}
"""What each such class is read as."""


def reads(
    *classes: str, function: str | None, says: str | None = None
) -> Callable[[Reader], Reader]:
    """Register a reader for Catalyst classes."""

    def register(reader: Reader) -> Reader:
        READERS.update(dict.fromkeys(classes, reader))
        READS.update(dict.fromkeys(classes, Reads(function, says or function or "")))
        return reader

    return register


def function_of(node: Node) -> str:
    """The function of the table that a class is read as."""
    function = READS[node.cls].function
    assert function is not None
    return function


def made(function: str, *args: Expr) -> Call:
    """A call of a function; the function table has its result type and NULLs."""
    row = FUNCTIONS[function]
    assert row.type is not None, function
    nullable = not row.nulls.only_from_nulls or any(map(_may_be_null, args))
    return Call(function, args, row.type, nullable and row.nulls is not Nulls.NEVER_NULL)


def _may_be_null(expr: Expr) -> bool:
    return expr.value is None if isinstance(expr, Literal) else expr.nullable
