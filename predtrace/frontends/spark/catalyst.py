"""Talking to Catalyst through py4j: singletons, Scala collections, and where a node came from.

A call into the JVM takes about a tenth of a millisecond, so plans travel as JSON
(`tree`) and single calls fetch only what the JSON leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pushdown.operators import Origin

CATALYST = "org.apache.spark.sql.catalyst"
_SHOWN_TEXT = 160

Jvm = Any
"""A py4j JVM view."""
JavaObject = Any
"""A py4j reference to a JVM object: a plan, an expression, an attribute."""


def singleton(jvm: Jvm, name: str) -> JavaObject:
    """The Scala object `name`, e.g. ``org.apache.spark.…optimizer.ReorderJoin``."""
    loader = jvm.Thread.currentThread().getContextClassLoader()
    found = jvm.java.lang.Class.forName(f"{name}$", True, loader)
    return found.getField("MODULE$").get(None)


def scala_seq(jvm: Jvm, items: Iterable[JavaObject]) -> JavaObject:
    """A Scala Seq of the items."""
    return jvm.PythonUtils.toSeq(list(items))


def items(seq: JavaObject) -> Iterator[JavaObject]:
    """The items of a Scala Seq."""
    for index in range(seq.size()):
        yield seq.apply(index)


def option(value: JavaObject) -> Any:
    """The content of a Scala Option, or None."""
    return value.get() if value.isDefined() else None


def class_name(value: JavaObject) -> str:
    """The simple class name of a JVM object, without the ``$`` of Scala objects."""
    return str(value.getClass().getSimpleName()).rstrip("$")


def origin_of(handle: JavaObject) -> Origin | None:
    """Where in the SQL text a plan or expression stands, if Catalyst knows."""
    origin = handle.origin()
    if not origin.sqlText().isDefined():
        return None
    line = option(origin.line())
    text = " ".join(str(origin.context().fragment()).split())
    shown = text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
    return Origin(text=shown, line=None if line is None else int(line))


def place(handle: JavaObject) -> str:
    """Where a node stands, as the end of an error message; empty if unknown."""
    origin = origin_of(handle)
    if origin is None:
        return ""
    line = "" if origin.line is None else f" at line {origin.line}"
    return f"{line}: {origin.text}"
