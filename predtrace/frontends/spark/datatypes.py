"""Spark's data types, in their JSON form, as types of the IR."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from symbolic import types as t

_PLAIN: dict[str, t.DataType] = {
    "boolean": t.BOOLEAN,
    "byte": t.Integer(8),
    "short": t.Integer(16),
    "integer": t.INTEGER,
    "long": t.LONG,
    "float": t.Float(32),
    "double": t.DOUBLE,
    "binary": t.Binary(),
    "date": t.DATE,
    "timestamp": t.TIMESTAMP,
    "timestamp_ltz": t.TIMESTAMP,
    "timestamp_ntz": t.Timestamp(zoned=False),
    "void": t.NULL,
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_TEXT = re.compile(r"(?:string|(?:char|varchar)\(\d+\))(?: collate (\w+))?")
_YEAR_MONTH = re.compile(r"interval (?:year|month|year to month)")
_DAY_TIME = re.compile(r"interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?")


_COLLATIONS = "__COLLATIONS"

_Collations = Mapping[str, str]
"""Collations of the strings in a struct's field by their place in it, e.g. ``tags.element``."""


def data_type(spark_type: Any) -> t.DataType:
    """The IR type of a type in Spark's JSON form (a name, or a dict for nested types).

    >>> data_type("decimal(15,2)")
    Decimal(precision=15, scale=2)
    """
    return _read(spark_type, {}, "")


def _read(spark_type: Any, collations: _Collations, place: str) -> t.DataType:
    if isinstance(spark_type, dict):
        return _nested(spark_type, collations, place)
    name = str(spark_type)
    if name in _PLAIN:
        return _PLAIN[name]
    if match := _DECIMAL.fullmatch(name):
        return t.Decimal(int(match[1]), int(match[2]))
    if match := _TEXT.fullmatch(name):
        # Inside structs the type is plain, and the field has the collation.
        collation = match[1] or collations.get(place, "").rpartition(".")[2]
        return t.String(collation) if collation else t.STRING
    if _YEAR_MONTH.fullmatch(name):
        return t.YearMonthInterval()
    if _DAY_TIME.fullmatch(name):
        return t.DayTimeInterval()
    return t.Opaque(name)


def _nested(spark_type: dict[str, Any], collations: _Collations, place: str) -> t.DataType:
    def part(key: str, step: str) -> t.DataType:
        return _read(spark_type[key], collations, f"{place}.{step}")

    match spark_type.get("type"):
        case "array":
            return t.Array(part("elementType", "element"))
        case "map":
            return t.Map(part("keyType", "key"), part("valueType", "value"))
        case "struct":
            return t.Record(tuple(map(_field, spark_type["fields"])))
        case other:
            return t.Opaque(str(spark_type.get("class", other)))


def _field(spark_field: dict[str, Any]) -> t.Field:
    name = spark_field["name"]
    collations = spark_field.get("metadata", {}).get(_COLLATIONS, {})
    return t.Field(name, _read(spark_field["type"], collations, name))
