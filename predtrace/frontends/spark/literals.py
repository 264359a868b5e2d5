"""Catalyst literals as literals of the IR."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.unreadable import OpaqueExpressionError
from symbolic import types as t
from symbolic.expr import Call, Expr, Literal

_EPOCH = dt.datetime(1970, 1, 1)


def read_literal(node: Node) -> Literal:
    """A ``Literal`` node: its value in Python, exact.

    Zoned timestamps are aware datetimes in UTC, others naive. Raises
    OpaqueExpressionError for a value that the IR cannot hold.
    """
    return _read(node, data_type(node.fields["dataType"]), node.fields.get("value"))


def _read(node: Node, kind: t.DataType, text: str | None) -> Literal:
    if text is None:
        return Literal(None, kind)
    reader = _READERS.get(type(kind))
    try:
        if reader is not None:
            return Literal(reader(text), kind)
        if isinstance(kind, t.Binary):
            return Literal(bytes(node.handle.value()), kind)
        if isinstance(kind, t.Timestamp):
            return Literal(_timestamp(int(node.handle.value()), kind.zoned), kind)
    except (ValueError, OverflowError) as error:
        raise OpaqueExpressionError(
            f"the literal {text} is outside of Python's {t.type_name(kind)} values"
            f"{place(node.handle)}"
        ) from error
    raise OpaqueExpressionError(
        f"a literal of type {t.type_name(kind)} cannot be traced{place(node.handle)}"
    )


def read_nested(node: Node, kind: t.Array | t.Record) -> Expr:
    """A ``Literal`` node of an array or struct, as the array of its elements, or the struct of
    its fields.

    Raises OpaqueExpressionError for elements that the IR cannot hold.
    """
    value = None if node.fields.get("value") is None else node.handle.value()
    return _inner(node, value, node.handle.dataType(), kind)


def _inner(node: Node, value: Any, java_type: Any, kind: t.DataType) -> Expr:
    """A value in Catalyst's internal form, perhaps one inside a literal."""
    match kind:
        case _ if value is None:
            return Literal(None, kind)
        case t.Array(element=element):
            inner = java_type.elementType()
            items = (
                _inner(node, _at(value, n, inner), inner, element)
                for n in range(value.numElements())
            )
            return Call("make_array", tuple(items), kind, nullable=False)
        case t.Record(fields=fields):
            types = [each.dataType() for each in java_type.fields()]
            values = (
                _inner(node, _at(value, n, inner), inner, field.type)
                for n, (inner, field) in enumerate(zip(types, fields, strict=True))
            )
            return Call("make_struct", tuple(values), kind, nullable=False)
        case t.Timestamp(zoned=zoned):
            return Literal(_timestamp(value, zoned), kind)
        case t.Binary():
            return Literal(bytes(value), kind)
        case _:
            return _read(node, kind, _text(value, kind))


def _at(data: Any, place: int, java_type: Any) -> Any:
    return None if data.isNullAt(place) else data.get(place, java_type)


def _text(value: Any, kind: t.DataType) -> str:
    """A value in Catalyst's internal form, as a ``Literal`` node shows it."""
    match kind:
        case t.Date():
            return (_EPOCH + dt.timedelta(days=value)).date().isoformat()
        case t.Boolean():
            return str(value).lower()
        case _:
            return str(value)


def _timestamp(micros: int, zoned: bool) -> dt.datetime:
    moment = _EPOCH + dt.timedelta(microseconds=micros)
    return moment.replace(tzinfo=dt.UTC) if zoned else moment


_READERS: dict[type, Callable[[str], Any]] = {
    t.Boolean: lambda text: text == "true",
    t.Integer: int,
    t.Float: float,
    t.Decimal: Decimal,
    t.String: str,
    t.Date: dt.date.fromisoformat,
    t.YearMonthInterval: int,
    t.DayTimeInterval: int,
}
