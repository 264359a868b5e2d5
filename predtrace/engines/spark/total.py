"""Spark's spellings as total functions: what would fail in the pipeline gives NULL here.

A predicate of lineage meets rows that the pipeline never evaluated it on. In the job's own
ANSI mode a value is what the pipeline had wherever the pipeline had one: operators that fail
in ANSI mode are spelled by their TRY forms, which differ from them in failing alone, and
what else may fail, in either mode, stands in a `FUNCTION` of our own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from sqlglot import exp

from predtrace.engines.spark.aggregates import SPARK_AGGREGATES, SPARK_TRY_AGGREGATES
from predtrace.engines.spark.dialect import SPARK_DIALECT
from predtrace.engines.spark.functions import SPARK, try_cast
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.dialect import Dialect
from symbolic.expr import Call, Literal
from symbolic.types import (
    Binary,
    Boolean,
    Decimal,
    Float,
    Integer,
    Null,
    String,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from predtrace.engines.sql.compiler import Args, Builder, Spelling

FUNCTION = "predtrace_total"
"""The name, in question sessions, of Catalyst's TryEval: its argument, NULL if that fails."""

_SIMPLE = (Boolean, Integer, Float, Decimal, String, Binary, Null)
_NUMERIC = (Integer, Float, Decimal, Null)


TRY: dict[str, Spelling] = {
    "add": "try_add",
    "subtract": "try_subtract",
    "multiply": "try_multiply",
    "divide": "try_divide",
    "remainder": "try_mod",
    "cast": try_cast,
    "check_overflow": try_cast,
}
"""Function id to how Spark spells it so that it gives NULL where ANSI mode fails."""

Condition = Callable[[Call], bool]
"""Whether this call never fails."""


def _always(call: Call) -> bool:
    return True


def _simple(call: Call) -> bool:
    """Of dates, times, intervals and nested values casts may fail even as TRY_CAST."""
    return isinstance(call.type, _SIMPLE) and isinstance(call.args[0].type, _SIMPLE)


def _numeric(call: Call) -> bool:
    return isinstance(call.type, _NUMERIC)


def _without_escapes(call: Call) -> bool:
    match call.args[1:]:
        case (Literal(value=pattern), Literal(value=escape)):
            return pattern is None or escape is None or escape not in pattern
    return False


_TOTAL: dict[str, Condition] = {
    **dict.fromkeys(
        (
            "and", "or", "not", "in", "case", "coalesce", "nullif", "greatest", "least",
            "eq", "lt", "le", "gt", "ge", "nullsafe_eq", "is_null", "is_not_null", "is_nan",
            "bit_and", "bit_or", "bit_xor", "sqrt", "power", "exp", "ln", "log10", "sign",
            "normalize_float", "starts_with", "ends_with", "contains", "substring", "upper",
            "lower", "initcap", "trim", "ltrim", "rtrim", "char_pad", "length", "concat",
            "replace", "translate", "reverse", "position", "instr", "ascii", "md5", "sha2",
            "try_add", "try_subtract", "try_multiply", "to_number",
            "year", "quarter", "month", "day", "day_of_week", "weekday", "day_of_year",
            "date_diff", "get_field", "get_item", "array_size", "array_contains",
            "array_position", "make_array", "make_struct", "concat_ws", "hash", "xxhash64",
        ),
        _always,
    ),
    **dict.fromkeys(("like", "ilike"), _without_escapes),
    **dict.fromkeys(("cast", "try_cast", "check_overflow"), _simple),
}  # fmt: skip
"""Functions that never fail in either mode, spelled as `TRY` where that has them."""
_TOTAL_WITHOUT_ANSI: dict[str, Condition] = {
    **_TOTAL,
    **dict.fromkeys(
        (
            "add", "subtract", "multiply", "divide", "integer_divide", "remainder", "pmod",
            "negate", "abs",
        ),
        _numeric,
    ),
}  # fmt: skip
_TOTAL_IN_ANSI: dict[str, Condition] = {
    **_TOTAL,
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "remainder"), _always),
}


def total(value: exp.Expr) -> exp.Expr:
    """The value, NULL where its computation fails."""
    return named(FUNCTION, value)


def _spelled(function: str, spelling: Spelling, never_fails: Mapping[str, Condition]) -> Builder:
    condition = never_fails.get(function)

    def build(call: Call, args: Args) -> exp.Expr:
        value = named(spelling, *args) if isinstance(spelling, str) else spelling(call, args)
        return value if condition is not None and condition(call) else total(value)

    return build


def _functions(*, ansi: bool) -> dict[str, Spelling]:
    table = {**SPARK, **TRY} if ansi else SPARK
    never_fails = _TOTAL_IN_ANSI if ansi else _TOTAL_WITHOUT_ANSI
    return {name: _spelled(name, spelling, never_fails) for name, spelling in table.items()}


DIALECTS: dict[bool, Dialect] = {
    ansi: replace(
        SPARK_DIALECT,
        functions=_functions(ansi=ansi),
        aggregates=SPARK_TRY_AGGREGATES if ansi else SPARK_AGGREGATES,
    )
    for ansi in (True, False)
}
"""How a question is spelled in Spark, by the ANSI mode of its job."""


def provide(session: SparkSession) -> None:
    """Let a session's statements use `FUNCTION`; other sessions do not see it."""
    registry = session._jsparkSession.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(FUNCTION, _try_eval(session._jvm), "built-in")


@functools.lru_cache(maxsize=4)
def _try_eval(jvm: Any) -> Any:
    """What builds Catalyst's TryEval from its argument."""
    catalyst = "org.apache.spark.sql.catalyst"
    loader = jvm.Thread.currentThread().getContextClassLoader()

    def found(name: str) -> Any:
        return jvm.java.lang.Class.forName(name, True, loader)

    registry = found(f"{catalyst}.analysis.FunctionRegistryBase$").getField("MODULE$").get(None)
    kind = jvm.scala.reflect.ClassTag.apply(found(f"{catalyst}.expressions.TryEval"))
    return registry.build(FUNCTION, jvm.scala.Option.empty(), kind)._2()
