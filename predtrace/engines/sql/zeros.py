"""Floating-point values as grouping, DISTINCT and set operations give them: 0.0 for -0.0."""

from __future__ import annotations

from sqlglot import exp

from predtrace.engines.sql.literals import sql_type
from symbolic.types import Array, DataType, Float, Record, has_floats


def normalized(value: exp.Expr, data_type: DataType, dialect: str) -> exp.Expr:
    """The value with 0.0 in place of -0.0, in arrays and structs, too.

    NaNs differ only in their bits, which no function of SQL sees. Nested values need the dialect of
    Spark: only Spark compares them.
    """
    return _normalized(value, data_type, dialect, 0)


def _normalized(value: exp.Expr, data_type: DataType, dialect: str, depth: int) -> exp.Expr:
    if not has_floats(data_type):
        return value
    match data_type:
        case Array(element):
            name = f"z{depth}"
            inner = _normalized(exp.column(name), element, dialect, depth + 1)
            change = exp.Lambda(this=inner, expressions=[exp.to_identifier(name)])
            return exp.Anonymous(this="transform", expressions=[value, change])
        case Record(fields):
            parts: list[exp.Expr] = []
            for field in fields:
                place = exp.to_identifier(field.name, quoted=True)
                part = exp.Dot(this=exp.paren(value), expression=place)
                parts.append(exp.Literal.string(field.name))
                parts.append(_normalized(part, field.type, dialect, depth))
            struct = exp.Anonymous(this="named_struct", expressions=parts)
            present = exp.Not(this=exp.Is(this=exp.paren(value), expression=exp.Null()))
            return exp.Case(ifs=[exp.If(this=present, true=struct)])
        case Float():
            # -0.0 + 0 is 0.0; engines do not optimize the addition away, since it has this effect.
            zero = exp.Cast(this=exp.Literal.number(0), to=sql_type(data_type, dialect))
            return exp.paren(exp.Add(this=value, expression=zero), copy=False)
        case _:
            # Maps are not compared.
            return value
