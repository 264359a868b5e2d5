"""Typed literals and type names in each SQL dialect, as sqlglot trees."""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from predtrace.errors import EngineError
from symbolic.expr import Literal
from symbolic.types import (
    Array,
    Binary,
    Boolean,
    DataType,
    Date,
    DayTimeInterval,
    Decimal,
    Float,
    Integer,
    Map,
    Null,
    Opaque,
    Record,
    String,
    Timestamp,
    TypeBase,
    YearMonthInterval,
    type_name,
)

_INTEGERS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_PLAIN: dict[str, dict[type[TypeBase], str]] = {
    "duckdb": {Boolean: "BOOLEAN", String: "VARCHAR", Binary: "BLOB", Date: "DATE"},
    "spark": {Boolean: "BOOLEAN", String: "STRING", Binary: "BINARY", Date: "DATE"},
}
_TIMESTAMPS = {
    ("duckdb", True): "TIMESTAMPTZ",
    ("duckdb", False): "TIMESTAMP",
    # The meaning of plain TIMESTAMP depends on a setting.
    ("spark", True): "TIMESTAMP_LTZ",
    ("spark", False): "TIMESTAMP_NTZ",
}


def sql_type(data_type: DataType, dialect: str) -> exp.DataType:
    """The type's name in the dialect. Raises EngineError for a type without one."""
    return _parsed_type(_type_text(data_type, dialect), dialect).copy()


@functools.lru_cache(maxsize=1024)
def _parsed_type(text: str, dialect: str) -> exp.DataType:
    return exp.DataType.build(text, dialect=dialect)


def _type_text(data_type: DataType, dialect: str) -> str:
    match data_type:
        case Integer(bits):
            return _INTEGERS[bits]
        case Float(bits):
            return "DOUBLE" if bits == 64 else "FLOAT"
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Timestamp(zoned):
            return _TIMESTAMPS[dialect, zoned]
        case Array(element):
            inner = _type_text(element, dialect)
            return f"{inner}[]" if dialect == "duckdb" else f"ARRAY<{inner}>"
        case Map(key, value):
            types = f"{_type_text(key, dialect)}, {_type_text(value, dialect)}"
            return f"MAP({types})" if dialect == "duckdb" else f"MAP<{types}>"
        case Record(fields):
            return _record_text([(f.name, _type_text(f.type, dialect)) for f in fields], dialect)
        case YearMonthInterval() if dialect == "spark":
            return "INTERVAL YEAR TO MONTH"
        case DayTimeInterval() if dialect == "spark":
            return "INTERVAL DAY TO SECOND"
        case Opaque("interval") if dialect == "spark":
            return "INTERVAL"
        case _ if (name := _PLAIN[dialect].get(type(data_type))) is not None:
            return name
        case _:
            raise EngineError(f"{dialect} has no type for {type_name(data_type)}")


def _record_text(fields: list[tuple[str, str]], dialect: str) -> str:
    if dialect == "duckdb":
        quoted = (exp.to_identifier(name, quoted=True).sql(dialect) for name, _ in fields)
        parts = ", ".join(f"{name} {text}" for name, (_, text) in zip(quoted, fields, strict=True))
        return f"STRUCT({parts})"
    parts = ", ".join(
        f"{exp.to_identifier(name, quoted=True).sql(dialect)}: {text}" for name, text in fields
    )
    return f"STRUCT<{parts}>"


def cast_to(value: exp.Expr, data_type: DataType, dialect: str) -> exp.Expr:
    """A cast that gives NULL where it fails."""
    kind = exp.TryCast if dialect == "duckdb" else exp.Cast
    return kind(this=value, to=sql_type(data_type, dialect))


def sql_literal(literal: Literal, dialect: str) -> exp.Expr:
    """The constant with its type. Raises EngineError for a type that has no literals."""
    if isinstance(literal.type, Null):
        return exp.Null()
    if literal.value is None:
        return exp.Cast(this=exp.Null(), to=sql_type(literal.type, dialect))
    build = _LITERALS.get(type(literal.type))
    if build is None:
        raise EngineError(f"{type_name(literal.type)} values cannot be compared by an engine")
    return build(literal.value, literal.type, dialect)


def has_literals(data_type: DataType) -> bool:
    """Whether values of the type can be written as literals."""
    return type(data_type) in _LITERALS or isinstance(data_type, Null)


def text_literal(text: str) -> exp.Expr:
    """A string constant."""
    return exp.Literal.string(text)


def number(value: int) -> exp.Expr:
    """A plain integer constant, for positions and lengths."""
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


def _text(value: Any, data_type: DataType, dialect: str) -> exp.Expr:
    if "\x00" not in value:
        return text_literal(value)
    # Parsers end a statement at NUL.
    unhexed = exp.Anonymous(this="unhex", expressions=[text_literal(value.encode().hex())])
    charset = [text_literal("UTF-8")] if dialect == "spark" else []
    return exp.Anonymous(this="decode", expressions=[unhexed, *charset])


def _binary(value: Any, data_type: DataType, dialect: str) -> exp.Expr:
    return exp.Anonymous(this="unhex", expressions=[text_literal(bytes(value).hex())])


def _boolean(value: Any, data_type: DataType, dialect: str) -> exp.Expr:
    return exp.Boolean(this=bool(value))


def _as_text(spell: Callable[[Any], str]) -> Callable[[Any, DataType, str], exp.Expr]:
    def build(value: Any, data_type: DataType, dialect: str) -> exp.Expr:
        return exp.Cast(this=text_literal(spell(value)), to=sql_type(data_type, dialect))

    return build


def _spell_float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("Infinity" if value > 0 else "-Infinity") if math.isinf(value) else repr(value)


def _spell_instant(value: dt.datetime) -> str:
    """Zoned values (naive values are UTC) with their offset, other values unchanged."""
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC)
    day = f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    return f"{day} {value.time().replace(tzinfo=None).isoformat('microseconds')}"


def _timestamp(value: Any, data_type: DataType, dialect: str) -> exp.Expr:
    zoned = isinstance(data_type, Timestamp) and data_type.zoned
    text = _spell_instant(value) + ("+00:00" if zoned else "")
    return exp.Cast(this=text_literal(text), to=sql_type(data_type, dialect))


def _months(value: Any, data_type: DataType, dialect: str) -> exp.Expr:
    name, before = ("to_months", []) if dialect == "duckdb" else ("make_ym_interval", [number(0)])
    return exp.Anonymous(this=name, expressions=[*before, number(value)])


def _microseconds(value: Any, data_type: DataType, dialect: str) -> exp.Expr:
    if dialect == "duckdb":
        return exp.Anonymous(this="to_microseconds", expressions=[number(value)])
    seconds = exp.Cast(
        this=text_literal(
            f"{'-' if value < 0 else ''}{abs(value) // 10**6}.{abs(value) % 10**6:06d}"
        ),
        to=exp.DataType.build("DECIMAL(18, 6)", dialect=dialect),
    )
    arguments = [number(0), number(0), number(0), seconds]
    return exp.Anonymous(this="make_dt_interval", expressions=arguments)


_LITERALS: dict[type[TypeBase], Callable[[Any, DataType, str], exp.Expr]] = {
    Boolean: _boolean,
    Integer: _as_text(str),
    Float: _as_text(_spell_float),
    Decimal: _as_text(lambda value: format(value, "f")),
    String: _text,
    Binary: _binary,
    Date: _as_text(lambda value: value.isoformat()),
    Timestamp: _timestamp,
    YearMonthInterval: _months,
    DayTimeInterval: _microseconds,
}
