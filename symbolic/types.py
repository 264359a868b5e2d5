"""Data types of columns and expressions.

They follow Spark SQL's types, because a pipeline's values must keep their meaning:
DECIMAL stays exact with its precision and scale, dates and timestamps stay apart,
and a type that is not interpreted is carried by name as `Opaque`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Union

import msgspec


class TypeBase(msgspec.Struct, frozen=True, tag_field="kind"):
    """Common base of all data types: immutable, hashable, compared by value."""


class Boolean(TypeBase, frozen=True, tag="boolean"):
    """TRUE or FALSE."""


class Integer(TypeBase, frozen=True, tag="integer"):
    """Signed integer; `bits` is 8, 16, 32 or 64."""

    bits: int = 64


class Float(TypeBase, frozen=True, tag="float"):
    """IEEE floating point; `bits` is 32 or 64. NaN equals NaN, 0.0 equals -0.0."""

    bits: int = 64


class Decimal(TypeBase, frozen=True, tag="decimal"):
    """Exact decimal with `precision` digits, `scale` of them after the point."""

    precision: int = 38
    scale: int = 0


class String(TypeBase, frozen=True, tag="string"):
    """Text. Only the binary collation has a meaning the solver may use."""

    collation: str = "UTF8_BINARY"


class Binary(TypeBase, frozen=True, tag="binary"):
    """Bytes."""


class Date(TypeBase, frozen=True, tag="date"):
    """Calendar date."""


class Timestamp(TypeBase, frozen=True, tag="timestamp"):
    """Microsecond timestamp; `zoned` values are instants shown in the session time zone."""

    zoned: bool = True


class YearMonthInterval(TypeBase, frozen=True, tag="year_month_interval"):
    """Interval in whole months; a literal's value is an int of months."""


class DayTimeInterval(TypeBase, frozen=True, tag="day_time_interval"):
    """Interval in microseconds; a literal's value is an int of microseconds."""


class Null(TypeBase, frozen=True, tag="null"):
    """The type of a bare NULL (Spark: void)."""


class Array(TypeBase, frozen=True, tag="array"):
    """Array of `element`."""

    element: DataType


class Field(msgspec.Struct, frozen=True):
    """One field of a `Record`."""

    name: str
    type: DataType


class Record(TypeBase, frozen=True, tag="struct"):
    """Struct with named fields."""

    fields: tuple[Field, ...]


class Map(TypeBase, frozen=True, tag="map"):
    """Map from `key` to `value`; SQL does not compare maps."""

    key: DataType
    value: DataType


class Opaque(TypeBase, frozen=True, tag="opaque"):
    """A type known by name only; never compared by another engine."""

    name: str


DataType = Union[
    Boolean,
    Integer,
    Float,
    Decimal,
    String,
    Binary,
    Date,
    Timestamp,
    YearMonthInterval,
    DayTimeInterval,
    Null,
    Array,
    Record,
    Map,
    Opaque,
]

BOOLEAN = Boolean()
INTEGER = Integer(32)
LONG = Integer(64)
DOUBLE = Float(64)
STRING = String()
DATE = Date()
TIMESTAMP = Timestamp()
NULL = Null()


def is_numeric(data_type: DataType) -> bool:
    """Whether values of the type are numbers."""
    return isinstance(data_type, (Integer, Float, Decimal))


def parts(data_type: DataType) -> Iterator[DataType]:
    """The type itself and all types that its values hold, outermost first."""
    yield data_type
    match data_type:
        case Array(element):
            yield from parts(element)
        case Record(fields):
            for field in fields:
                yield from parts(field.type)
        case Map(key, value):
            yield from parts(key)
            yield from parts(value)


def comparable(data_type: DataType) -> bool:
    """Whether SQL compares values of the type: not if they are, or hold, maps."""
    return not any(isinstance(part, Map) for part in parts(data_type))


def has_floats(data_type: DataType) -> bool:
    """Whether values of the type may be equal but not identical: 0.0 and -0.0."""
    return any(isinstance(part, Float) for part in parts(data_type))


def same_if_equal(types: Iterable[DataType]) -> bool:
    """Whether DISTINCT can compare such columns, and drops only identical values."""
    return all(comparable(one) and not has_floats(one) for one in types)


def type_name(data_type: DataType) -> str:
    """The type as people write it, e.g. ``decimal(15,2)`` or ``array<int>``."""
    match data_type:
        case Integer(bits):
            return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[bits]
        case Float(bits):
            return "float" if bits == 32 else "double"
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Timestamp(zoned):
            return "timestamp" if zoned else "timestamp_ntz"
        case Array(element):
            return f"array<{type_name(element)}>"
        case Record(fields):
            inner = ", ".join(f"{field.name}: {type_name(field.type)}" for field in fields)
            return f"struct<{inner}>"
        case Map(key, value):
            return f"map<{type_name(key)}, {type_name(value)}>"
        case Opaque(name):
            return name
        case Null():
            return "void"
        case YearMonthInterval():
            return "interval year to month"
        case DayTimeInterval():
            return "interval day to second"
        case _:
            return type(data_type).__name__.lower()
