"""Access to Catalyst through py4j: singletons, Scala collections, and the origins of nodes.

A call into the JVM takes a fifth of a millisecond, so plans travel as JSON
(`tree`) and single calls fetch only what the JSON leaves out.
"""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pushdown.operators import Origin

CATALYST = "org.apache.spark.sql.catalyst"
_SHOWN_TEXT = 160
_LOOKED_THROUGH = 100

Jvm = Any
"""A py4j JVM view."""
JavaObject = Any
"""A py4j reference to a JVM object: a plan, an expression, an attribute."""


@functools.lru_cache(maxsize=64)
def singleton(jvm: Jvm, name: str) -> JavaObject:
    """The Scala object `name`, e.g. ``org.apache.spark.…optimizer.ReorderJoin``.

    Finding it takes a dozen calls, so each object is looked up once per JVM.
    """
    loader = jvm.Thread.currentThread().getContextClassLoader()
    found = jvm.java.lang.Class.forName(f"{name}$", True, loader)
    return found.getField("MODULE$").get(None)


def read_json(handle: JavaObject) -> Any:
    """The JSON form (`TreeNode.jsonValue`) of a plan or expression, parsed.

    It travels compressed. py4j's end in the JVM writes 8 KB at once. Longer texts take several
    packets, and the second packet waits until the first is acknowledged: 40 ms, since receivers
    delay that.
    """
    return _fetched(handle, handle.jsonValue())


def read_strings(array: JavaObject) -> list[str]:
    """The strings of a Java array, in one call."""
    found: list[str] = _fetched(array, array)
    return found


def read_nested(array: JavaObject) -> Any:
    """The lists in a Java array of arrays of strings, in one call."""
    return _fetched(array, array)


def _fetched(handle: JavaObject, value: JavaObject) -> Any:
    """The JSON that Jackson writes for a value in the JVM of `handle`."""
    jvm_json = _json_writer(handle._gateway_client)
    packed = jvm_json.buffer()
    jvm_json.mapper.writeValue(jvm_json.deflater(packed), value)
    return json.loads(zlib.decompress(packed.toByteArray()))


@dataclass(frozen=True)
class _JsonWriter:
    """The writer of JSON in a JVM: Jackson's mapper, and the classes of two streams."""

    mapper: JavaObject
    buffer: Any
    deflater: Any


@functools.lru_cache(maxsize=4)
def _json_writer(client: Any) -> _JsonWriter:
    from py4j.java_gateway import JVMView
    from py4j.protocol import DEFAULT_JVM_ID, DEFAULT_JVM_NAME

    jvm = JVMView(client, DEFAULT_JVM_NAME, id=DEFAULT_JVM_ID)
    return _JsonWriter(
        mapper=singleton(jvm, "org.json4s.jackson.JsonMethods").mapper(),
        buffer=jvm.java.io.ByteArrayOutputStream,
        deflater=jvm.java.util.zip.DeflaterOutputStream,
    )


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
    """The place of a plan or expression in the SQL text, if Catalyst knows it."""
    origin = handle.origin()
    if not origin.sqlText().isDefined():
        return None
    line = option(origin.line())
    text = " ".join(str(origin.context().fragment()).split())
    shown = text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
    return Origin(text=shown, line=None if line is None else int(line))


def place(handle: JavaObject) -> str:
    """The place of a node as the end of an error message; empty if unknown."""
    origin = origin_of(handle)
    if origin is None:
        return _call_site(handle)
    line = "" if origin.line is None else f" at line {origin.line}"
    return f"{line}: {origin.text}"


def _call_site(handle: JavaObject) -> str:
    """The Python call that made a node of a DataFrame, or the first of its expressions."""
    from py4j.protocol import Py4JError

    waiting = [handle]
    for node in waiting:
        made = option(node.origin().pysparkErrorContext())
        if made is not None:
            return f" ({made._1()} at {made._2()})"
        with suppress(Py4JError):  # only plans have expressions
            waiting += items(node.expressions())
        if node is not handle:
            waiting += items(node.children())
        if len(waiting) > _LOOKED_THROUGH:
            break
    return ""
