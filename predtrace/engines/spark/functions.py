"""How Spark SQL spells the functions. Spark is the pipelines' own engine: all are exact.

Arguments stand in Catalyst's order. Questions make total functions of them (`spark.total`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.sql.compiler import (
    CONNECTIVES,
    build_cast,
    build_like,
    infix,
    literal_argument,
    named,
    suffix,
)
from predtrace.engines.sql.literals import number, sql_type
from predtrace.engines.sql.zeros import normalized
from symbolic.expr import Call, Literal
from symbolic.types import DayTimeInterval, Decimal, Map, Record, Timestamp

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder, Spelling

_MICROSECONDS_PER_DAY = 86_400_000_000


def _char_pad(call: Call, args: Args) -> exp.Expr:
    text, length = args
    too_short = exp.LT(this=named("length", text), expression=length.copy())
    padded = named("rpad", text.copy(), length.copy(), exp.Literal.string(" "))
    return exp.Case(ifs=[exp.If(this=too_short, true=padded)], default=text.copy())


def try_cast(call: Call, args: Args) -> exp.Expr:
    """CAST by ANSI's rules, NULL where it fails."""
    return exp.TryCast(this=args[0], to=sql_type(call.type, "spark"), safe=True)


def _trim(position: str | None) -> Builder:
    def build(call: Call, args: Args) -> exp.Expr:
        if len(args) == 1:
            return named({None: "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position], *args)
        return exp.Trim(this=args[0], expression=args[1], position=position or "BOTH")

    return build


def _field(call: Call, args: Args) -> exp.Expr:
    name = str(literal_argument(call, 1))
    return exp.Dot(this=args[0], expression=exp.to_identifier(name, quoted=True))


def _item(call: Call, args: Args) -> exp.Expr:
    # Both give NULL for what is absent.
    return named("try_element_at" if isinstance(call.args[0].type, Map) else "get", *args)


def _element_at(call: Call, args: Args) -> exp.Expr:
    array, place = args
    return _where(_other_than_zero(place), named("try_element_at", array, place.copy()))


def _slice(call: Call, args: Args) -> exp.Expr:
    array, start, length = args
    there = exp.GTE(this=length, expression=number(0))
    valid = exp.And(this=_other_than_zero(start), expression=there)
    return _where(valid, named("slice", array, start.copy(), length.copy()))


def _other_than_zero(place: exp.Expr) -> exp.Expr:
    return exp.NEQ(this=place, expression=number(0))


def _where(valid: exp.Expr, value: exp.Expr) -> exp.Expr:
    """The value, NULL where it would fail."""
    return exp.Case(ifs=[exp.If(this=valid, true=value)])


def _struct(call: Call, args: Args) -> exp.Expr:
    assert isinstance(call.type, Record)
    names = [exp.Literal.string(field.name) for field in call.type.fields]
    pairs = zip(names, args, strict=True)
    return named("named_struct", *(part for pair in pairs for part in pair))


def _date_add_interval(call: Call, args: Args) -> exp.Expr:
    date, interval = args
    moved_by = call.args[1]
    whole_days = isinstance(moved_by.type, DayTimeInterval) and not isinstance(call.type, Timestamp)
    if not whole_days:
        return exp.paren(exp.Add(this=date, expression=interval), copy=False)
    # A date plus INTERVAL DAY TO SECOND would become a timestamp in Spark.
    if isinstance(moved_by, Literal) and moved_by.value is not None:
        return named("date_add", date, number(moved_by.value // _MICROSECONDS_PER_DAY))
    return named("date_add", date, exp.Extract(this=exp.var("DAY"), expression=interval))


def _parse_timestamp(call: Call, args: Args) -> exp.Expr:
    zoned = isinstance(call.type, Timestamp) and call.type.zoned
    return named("to_timestamp_ltz" if zoned else "to_timestamp_ntz", *args)


def _unscaled(call: Call, args: Args) -> exp.Expr:
    argument = call.args[0].type
    scale = argument.scale if isinstance(argument, Decimal) else 0
    shifted = exp.Mul(this=args[0], expression=_power_of_ten(scale))
    return exp.Cast(this=shifted, to=sql_type(call.type, "spark"))


def _decimal_of(call: Call, args: Args) -> exp.Expr:
    scale = call.type.scale if isinstance(call.type, Decimal) else 0
    whole = exp.Cast(this=args[0], to=sql_type(Decimal(19, 0), "spark"))
    quotient = exp.Div(this=whole, expression=_power_of_ten(scale))
    return exp.Cast(this=quotient, to=sql_type(call.type, "spark"))


def _power_of_ten(scale: int) -> exp.Expr:
    return exp.Cast(
        this=exp.Literal.string(str(10**scale)), to=sql_type(Decimal(scale + 1, 0), "spark")
    )


def _normalize_float(call: Call, args: Args) -> exp.Expr:
    return normalized(args[0], call.type, "spark")


SPARK: dict[str, Spelling] = {
    **CONNECTIVES,
    "is_nan": "isnan",
    "add": infix(exp.Add),
    "subtract": infix(exp.Sub),
    "multiply": infix(exp.Mul),
    "try_add": "try_add",
    "try_subtract": "try_subtract",
    "try_multiply": "try_multiply",
    "divide": infix(exp.Div),
    "integer_divide": infix(exp.IntDiv),
    "remainder": infix(exp.Mod),
    "pmod": "pmod",
    "negate": suffix(lambda arg: exp.Neg(this=exp.paren(arg, copy=False))),
    "abs": "abs",
    "round": "round",
    "bround": "bround",
    "floor": "floor",
    "ceil": "ceil",
    "sqrt": "sqrt",
    "power": "power",
    "exp": "exp",
    "ln": "ln",
    "log10": "log10",
    "sign": "sign",
    "bit_and": infix(exp.BitwiseAnd),
    "bit_or": infix(exp.BitwiseOr),
    "bit_xor": infix(exp.BitwiseXor),
    "unscaled": _unscaled,
    "decimal_of": _decimal_of,
    "check_overflow": build_cast("spark"),
    "cast": build_cast("spark"),
    "try_cast": try_cast,
    "to_number": "try_to_number",
    "like": build_like(exp.Like),
    "ilike": build_like(exp.ILike),
    "rlike": "regexp_like",
    "starts_with": "startswith",
    "ends_with": "endswith",
    "contains": "contains",
    "substring": "substring",
    "upper": "upper",
    "lower": "lower",
    "initcap": "initcap",
    "trim": _trim(None),
    "ltrim": _trim("LEADING"),
    "rtrim": _trim("TRAILING"),
    "lpad": "lpad",
    "rpad": "rpad",
    "char_pad": _char_pad,
    "length": "length",
    "concat": "concat",
    "replace": "replace",
    "translate": "translate",
    "reverse": "reverse",
    "repeat": "repeat",
    "position": "locate",
    "instr": "instr",
    "regexp_replace": "regexp_replace",
    "regexp_extract": "regexp_extract",
    "split": "split",
    "ascii": "ascii",
    "md5": "md5",
    "sha2": "sha2",
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "day": "dayofmonth",
    "day_of_week": "dayofweek",
    "weekday": "weekday",
    "day_of_year": "dayofyear",
    "week_of_year": "weekofyear",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "date_add": "date_add",
    "date_sub": "date_sub",
    "date_diff": "datediff",
    "date_add_interval": _date_add_interval,
    "timestamp_add_interval": infix(exp.Add),
    "timestamp_diff": infix(exp.Sub),
    "add_months": "add_months",
    "months_between": "months_between",
    "last_day": "last_day",
    "next_day": "next_day",
    "trunc_date": "trunc",
    "trunc_timestamp": "date_trunc",
    "date_format": "date_format",
    "parse_timestamp": _parse_timestamp,
    "from_unix_time": "from_unixtime",
    "unix_time": "unix_timestamp",
    "make_date": "make_date",
    "get_field": _field,
    "get_item": _item,
    "array_size": "array_size",
    "array_contains": "array_contains",
    "array_position": "array_position",
    "element_at": _element_at,
    "slice": _slice,
    "flatten": "flatten",
    "sort_array": "sort_array",
    "array_distinct": "array_distinct",
    "array_remove": "array_remove",
    "transform": "transform",
    "filter": "filter",
    "zip_with": "zip_with",
    "array_exists": "exists",
    "array_forall": "forall",
    "array_repeat": "array_repeat",
    "array_aggregate": "aggregate",
    "concat_ws": "concat_ws",
    "greatest": "greatest",
    "least": "least",
    "nullif": "nullif",
    "hash": "hash",
    "xxhash64": "xxhash64",
    "make_array": "array",
    "make_struct": _struct,
    "make_map": "map",
    "map_from_arrays": "map_from_arrays",
    "normalize_float": _normalize_float,
}
"""Function id to its spelling in Spark SQL."""
