"""Spark's data types, as their JSON form gives them, as types of the IR."""

from __future__ import annotations

import re
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
    "string": t.STRING,
    "binary": t.Binary(),
    "date": t.DATE,
    "timestamp": t.TIMESTAMP,
    "timestamp_ltz": t.TIMESTAMP,
    "timestamp_ntz": t.Timestamp(zoned=False),
    "void": t.NULL,
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_CHARACTERS = re.compile(r"(?:char|varchar)\(\d+\)")
_YEAR_MONTH = re.compile(r"interval (?:year|month|year to month)")
_DAY_TIME = re.compile(r"interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?")


def data_type(spark_type: Any) -> t.DataType:
    """The IR type of a type in Spark's JSON form (a name, or a dict for nested types).

    >>> data_type("decimal(15,2)")
    Decimal(precision=15, scale=2)
    """
    if isinstance(spark_type, dict):
        return _nested(spark_type)
    name = str(spark_type)
    if name in _PLAIN:
        return _PLAIN[name]
    if match := _DECIMAL.fullmatch(name):
        return t.Decimal(int(match[1]), int(match[2]))
    if name.startswith("string collate "):
        return t.String(name.removeprefix("string collate "))
    if _CHARACTERS.fullmatch(name):
        return t.STRING
    if _YEAR_MONTH.fullmatch(name):
        return t.YearMonthInterval()
    if _DAY_TIME.fullmatch(name):
        return t.DayTimeInterval()
    return t.Opaque(name)


def _nested(spark_type: dict[str, Any]) -> t.DataType:
    match spark_type.get("type"):
        case "array":
            return t.Array(data_type(spark_type["elementType"]))
        case "map":
            return t.Map(data_type(spark_type["keyType"]), data_type(spark_type["valueType"]))
        case "struct":
            fields = (t.Field(f["name"], data_type(f["type"])) for f in spark_type["fields"])
            return t.Record(tuple(fields))
        case other:
            return t.Opaque(str(spark_type.get("class", other)))
