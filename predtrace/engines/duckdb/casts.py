"""Casts in DuckDB: how each pair of types is converted, and where that is exact.

In ANSI mode casts are spelled as TRY_CAST is: what fails there is NULL. Without ANSI mode numbers
wrap or are cut off, and text is read more leniently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb import whole_numbers, zoned
from predtrace.engines.duckdb.dates import date_of, date_text
from predtrace.engines.duckdb.zones import has_same_rules
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import cast_to, number
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import TIME_PARSER
from symbolic.expr import Call, Expr, Literal
from symbolic.types import (
    Binary,
    Boolean,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    Null,
    String,
    Timestamp,
    type_name,
)

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args

_EXACT_IN_DOUBLE = 15
_PLAIN_TEXT_SCALE = 6
_WIDEST = 38
_BINARY = "UTF8_BINARY"
_LEAST_INTEGER = 127
"""What the narrowest integer type holds."""


def cast(call: Call, args: Args) -> exp.Expr:
    """CAST without ANSI mode."""
    return _converted(call, args[0], strict=False)


def try_cast(call: Call, args: Args) -> exp.Expr:
    """TRY_CAST, and CAST in ANSI mode."""
    return _converted(call, args[0], strict=True)


def _converted(call: Call, source: exp.Expr, *, strict: bool) -> exp.Expr:
    result = call.type
    match call.args[0].type, result:
        case Integer(bits), Integer(narrow) if narrow < bits and not strict:
            return whole_numbers.of_whole(source, Integer(narrow))
        case Decimal(), Integer():
            if strict:
                return cast_to(named("trunc", source), result, "duckdb")
            return whole_numbers.of_decimal(source, Integer(result.bits))
        case Float(), Integer() if not strict:
            return whole_numbers.of_float(source, Integer(result.bits))
        case String(), Integer(bits):
            read = named("spark_whole", source, number(bits), exp.Boolean(this=strict))
            return cast_to(read, result, "duckdb")
        case String(), Float():
            return cast_to(named("spark_double", source), result, "duckdb")
        case String(), Decimal(precision, scale):
            read = named("spark_decimal", source, number(precision), number(scale))
            return cast_to(read, result, "duckdb")
        case String(), Boolean():
            return named("spark_boolean", source)
        case Timestamp(), Date():
            return zoned.to_date(call, [source])
        case Date(), Timestamp():
            return zoned.of_date(call, [source])
        case String(), Date():
            return date_of(named("spark_days", source))
        case String(), Binary():
            return named("encode", source)
        case Date(), String():
            return date_text(source, cast_to(source, result, "duckdb"))
        case Decimal(precision, scale), String() if precision == scale:
            # A decimal without a digit before the point is written '.5'.
            source = cast_to(source, Decimal(precision + 1, scale), "duckdb")
    return cast_to(source, result, "duckdb")


def _inexactness(call: Call, settings: EngineSettings) -> str | None:
    """Why a cast is not exact; None if it is."""
    source, result = call.args[0].type, call.type
    if (
        source == result
        or isinstance(source, Null)
        or _few_bits(call.args[0], result)
        or _exact(source, result, settings)
        or (call.function == "cast" and not settings.ansi and _exact_untried(source, result))
    ):
        return None
    return f"casts from {type_name(source)} to {type_name(result)} differ"


def _few_bits(value: Expr, result: DataType) -> bool:
    """Whether the value has so few bits that every integer type holds it: `grouping(k)` has one."""
    match value, result:
        case (Call(function="bit_and", args=(_, Literal(value=int(mask)))), Integer()):
            return 0 <= mask <= _LEAST_INTEGER
    return False


def _exact_untried(source: DataType, result: DataType) -> bool:
    """Casts that are exact without ANSI mode."""
    match source, result:
        case Float(), Integer():
            return True
        case Float(), Boolean():
            return True
    return False


def _exact(source: DataType, result: DataType, settings: EngineSettings) -> bool:
    match source, result:
        case Integer() | Boolean() | Decimal(), Integer() | Boolean() | Decimal():
            return True
        case Integer() | Boolean(), Float():
            return True
        case Decimal(precision), Float(64):
            # Up to here the digits are exact in a double and one division rounds right.
            return precision <= _EXACT_IN_DOUBLE
        case Float(32), Float(64):
            return True
        case Integer() | Boolean(), String():
            return True
        case Date(), String():
            # Java's old formatter knows no years before the first, and no sign.
            return settings.conf.get(TIME_PARSER) != "LEGACY"
        case Decimal(scale=scale), String():
            # Above, Java turns to scientific notation, except in ANSI mode. DuckDB needs room for
            # a digit before the point.
            return scale < _WIDEST and (settings.ansi or scale <= _PLAIN_TEXT_SCALE)
        case String(), String():
            return True
        case String(collation=collation), (
            Integer() | Float(64) | Decimal() | Boolean() | Date() | Binary()
        ):
            return collation == _BINARY
        case (Date(), Timestamp(zoned)) | (Timestamp(zoned), Date()):
            return not zoned or has_same_rules(settings.time_zone)
        case _:
            return False


CAST = Exactness("between types that are converted alike", _inexactness)
