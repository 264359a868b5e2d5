"""Spark SQL's spellings of functions that are more than a name with arguments.

Arguments come in Catalyst's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.sql.compiler import literal_argument, named
from predtrace.engines.sql.literals import number, sql_type
from predtrace.engines.sql.zeros import normalized
from predtrace.text.spark_calls import spark_call
from symbolic.expr import Call, Literal
from symbolic.functions import carried
from symbolic.types import DayTimeInterval, Decimal, Map, Record, Timestamp

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder

_MICROSECONDS_PER_DAY = 86_400_000_000


def char_pad(call: Call, args: Args) -> exp.Expr:
    """Text padded with blanks, if it is shorter."""
    text, length = args
    too_short = exp.LT(this=named("length", text), expression=length.copy())
    padded = named("rpad", text.copy(), length.copy(), exp.Literal.string(" "))
    return exp.Case(ifs=[exp.If(this=too_short, true=padded)], default=text.copy())


def try_cast(call: Call, args: Args) -> exp.Expr:
    """CAST by ANSI's rules, NULL where it fails."""
    return exp.TryCast(this=args[0], to=sql_type(call.type, "spark"), safe=True)


def trimmed(position: str | None) -> Builder:
    """TRIM, LEADING or TRAILING or (None) both; of blanks unless characters are given."""

    def build(call: Call, args: Args) -> exp.Expr:
        if len(args) == 1:
            return named({None: "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position], *args)
        return exp.Trim(this=args[0], expression=args[1], position=position or "BOTH")

    return build


def field(call: Call, args: Args) -> exp.Expr:
    """The field of a struct."""
    name = str(literal_argument(call, 1))
    return exp.Dot(this=args[0], expression=exp.to_identifier(name, quoted=True))


def item(call: Call, args: Args) -> exp.Expr:
    """An element of an array from 0, or the value of a map's key; NULL if it is absent."""
    return named("try_element_at" if isinstance(call.args[0].type, Map) else "get", *args)


def element_at(call: Call, args: Args) -> exp.Expr:
    """An element of an array from 1; NULL if it is absent, and for position 0."""
    array, place = args
    return _where(_other_than_zero(place), named("try_element_at", array, place.copy()))


def slice(call: Call, args: Args) -> exp.Expr:
    """Elements of an array, NULL for arguments that would fail."""
    array, start, length = args
    there = exp.GTE(this=length, expression=number(0))
    valid = exp.And(this=_other_than_zero(start), expression=there)
    return _where(valid, named("slice", array, start.copy(), length.copy()))


def _other_than_zero(place: exp.Expr) -> exp.Expr:
    return exp.NEQ(this=place, expression=number(0))


def _where(valid: exp.Expr, value: exp.Expr) -> exp.Expr:
    """The value under a condition; NULL where it would fail."""
    return exp.Case(ifs=[exp.If(this=valid, true=value)])


def struct(call: Call, args: Args) -> exp.Expr:
    """A struct with the field names of the call's type."""
    assert isinstance(call.type, Record)
    names = [exp.Literal.string(field.name) for field in call.type.fields]
    pairs = zip(names, args, strict=True)
    return named("named_struct", *(part for pair in pairs for part in pair))


def date_add_interval(call: Call, args: Args) -> exp.Expr:
    """A date or timestamp plus an interval, of the call's type."""
    date, interval = args
    moved_by = call.args[1]
    whole_days = isinstance(moved_by.type, DayTimeInterval) and not isinstance(call.type, Timestamp)
    if not whole_days:
        return exp.paren(exp.Add(this=date, expression=interval), copy=False)
    # A date plus INTERVAL DAY TO SECOND would become a timestamp in Spark.
    if isinstance(moved_by, Literal) and moved_by.value is not None:
        return named("date_add", date, number(moved_by.value // _MICROSECONDS_PER_DAY))
    return named("date_add", date, exp.Extract(this=exp.var("DAY"), expression=interval))


def parse_timestamp(call: Call, args: Args) -> exp.Expr:
    """A timestamp from text, zoned or not as the call's type is."""
    zoned = isinstance(call.type, Timestamp) and call.type.zoned
    return named("to_timestamp_ltz" if zoned else "to_timestamp_ntz", *args)


def unix_micros(call: Call, args: Args) -> exp.Expr:
    """Microseconds since 1970: of a timestamp without zone, as if it were in UTC."""
    given = call.args[0].type
    if isinstance(given, Timestamp) and given.zoned:
        return named("unix_micros", *args)
    # No function of Spark takes it without a zone, except as text.
    text = exp.Cast(this=args[0], to=exp.DataType.build("text", dialect="spark"))
    zoned = exp.Cast(
        this=named("concat", text, exp.Literal.string("Z")), to=sql_type(Timestamp(), "spark")
    )
    return named("unix_micros", zoned)


def timestamp_micros(call: Call, args: Args) -> exp.Expr:
    """The timestamp of microseconds since 1970, zoned or not as the call's type is."""
    if isinstance(call.type, Timestamp) and call.type.zoned:
        return named("timestamp_micros", *args)
    text = exp.Literal.string("1970-01-01 00:00:00")
    epoch = exp.Cast(this=text, to=sql_type(Timestamp(zoned=False), "spark"))
    return named("timestampadd", exp.var("MICROSECOND"), *args, epoch)


def unscaled(call: Call, args: Args) -> exp.Expr:
    """A decimal's digits as a whole number."""
    argument = call.args[0].type
    scale = argument.scale if isinstance(argument, Decimal) else 0
    shifted = exp.Mul(this=args[0], expression=_power_of_ten(scale))
    return exp.Cast(this=shifted, to=sql_type(call.type, "spark"))


def decimal_of(call: Call, args: Args) -> exp.Expr:
    """The decimal of these digits."""
    scale = call.type.scale if isinstance(call.type, Decimal) else 0
    whole = exp.Cast(this=args[0], to=sql_type(Decimal(19, 0), "spark"))
    quotient = exp.Div(this=whole, expression=_power_of_ten(scale))
    return exp.Cast(this=quotient, to=sql_type(call.type, "spark"))


def _power_of_ten(scale: int) -> exp.Expr:
    return exp.Cast(
        this=exp.Literal.string(str(10**scale)), to=sql_type(Decimal(scale + 1, 0), "spark")
    )


def carried_call(call: Call, args: Args) -> exp.Expr:
    """A function by Spark's own name, with the parameters that it was made with."""
    function = carried(call.function)
    assert function is not None
    return spark_call(function, args)


def normalize_float(call: Call, args: Args) -> exp.Expr:
    """A number without a negative zero, with one NaN."""
    return normalized(args[0], call.type, "spark")


def negative(call: Call, args: Args) -> exp.Expr:
    """The number with the other sign."""
    return exp.paren(exp.Neg(this=exp.paren(args[0], copy=False)), copy=False)
