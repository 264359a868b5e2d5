"""Catalyst literals as literals of the IR."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.tree import Node
from symbolic import types as t
from symbolic.expr import Literal

_EPOCH = dt.datetime(1970, 1, 1)


def read_literal(node: Node) -> Literal:
    """A ``Literal`` node: its value in Python, exact.

    Zoned timestamps are aware datetimes in UTC, others naive. Raises
    UnsupportedOperatorError for a value that the IR cannot hold.
    """
    kind = data_type(node.fields["dataType"])
    text = node.fields.get("value")
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
        raise UnsupportedOperatorError(
            f"the literal {text} is outside of Python's {t.type_name(kind)} values"
            f"{place(node.handle)}"
        ) from error
    raise UnsupportedOperatorError(
        f"a literal of type {t.type_name(kind)} cannot be traced{place(node.handle)}"
    )


def _timestamp(micros: int, zoned: bool) -> dt.datetime:
    moment = _EPOCH + dt.timedelta(microseconds=micros)
    return moment.replace(tzinfo=dt.timezone.utc) if zoned else moment


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
