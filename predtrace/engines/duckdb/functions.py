"""The functions of the IR in DuckDB: one row each, with its spelling and where that is exact.

Refused functions are left to Spark, for the reason in their row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from sqlglot import exp

from predtrace.engines.duckdb import carried, casts, dates, formats, nested, texts, zoned
from predtrace.engines.duckdb import exactness as where
from predtrace.engines.duckdb import spellings as spell
from predtrace.engines.duckdb import whole_numbers as whole
from predtrace.engines.duckdb.exact_types import UNREADABLE
from predtrace.engines.duckdb.python_functions import KEPT, kept_call
from predtrace.engines.sql.compiler import (
    build_case,
    build_cast,
    build_in,
    build_is_not_null,
    build_is_null,
    build_not,
    chain,
    infix,
)
from predtrace.engines.sql.functions import ALWAYS, Evaluated, Refused, call_inexactness, spellings
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call, Expr, Param, walk
from symbolic.functions import key_of, shown
from symbolic.types import type_name

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Builder, Spelling

_HASH = "the hash function is Spark's own"
_ROUNDING = "results may round otherwise"
_JAVA = "Spark follows Java here"
_UNICODE = "Unicode rules differ"
_ZONES = "time zone rules may differ"
_NESTED = "nested values are handled otherwise"
_UNPROVEN = "not measured against Spark"


class ByMode(msgspec.Struct, frozen=True):
    """Two spellings: for jobs in ANSI mode, and for jobs without it."""

    in_ansi: Spelling
    without_ansi: Spelling


def _on_numbers(integers: Callable[[whole.Fit], Builder], others: Builder) -> ByMode:
    """Integers wrap without ANSI mode."""
    return ByMode(
        spell.of_result(integers(whole.in_range), others),
        spell.of_result(integers(whole.wrapped), others),
    )


def _sum(kind: type[exp.Binary]) -> ByMode:
    return _on_numbers(functools.partial(whole.arithmetic, kind), spell.arithmetic(kind))


def _cut_off(name: str) -> ByMode:
    return ByMode(spell.whole(name), spell.whole_or_nearest(name))


_PRODUCT = _on_numbers(functools.partial(whole.arithmetic, exp.Mul), spell.multiply)
_INTEGER_DIVIDE = ByMode(whole.integer_divide(whole.in_range), whole.integer_divide(whole.wrapped))

DUCKDB: Mapping[str, Evaluated[Spelling | ByMode, Call] | Refused] = {
    "and": Evaluated(chain(exp.And), ALWAYS),
    "or": Evaluated(chain(exp.Or), ALWAYS),
    "not": Evaluated(build_not, ALWAYS),
    "in": Evaluated(build_in, where.COMPARED),
    "case": Evaluated(build_case, where.BRANCHES),
    "coalesce": Evaluated("coalesce", where.ARGUMENTS),
    "eq": Evaluated(infix(exp.EQ), where.EQUAL),
    "lt": Evaluated(infix(exp.LT), where.COMPARED),
    "le": Evaluated(infix(exp.LTE), where.COMPARED),
    "gt": Evaluated(infix(exp.GT), where.COMPARED),
    "ge": Evaluated(infix(exp.GTE), where.COMPARED),
    "is_null": Evaluated(build_is_null, ALWAYS),
    "is_not_null": Evaluated(build_is_not_null, ALWAYS),
    "nullsafe_eq": Evaluated(infix(exp.NullSafeEQ), where.EQUAL),
    "is_nan": Evaluated(spell.is_nan, where.OF_FLOAT),
    "greatest": Evaluated("greatest", where.COMPARED),
    "least": Evaluated("least", where.COMPARED),
    "nullif": Evaluated("nullif", where.COMPARED),
    "hash": Refused(_HASH),
    "xxhash64": Refused(_HASH),
    "add": Evaluated(_sum(exp.Add), where.ARITHMETIC),
    "subtract": Evaluated(_sum(exp.Sub), where.ARITHMETIC),
    "multiply": Evaluated(_PRODUCT, where.ARITHMETIC),
    "try_add": Evaluated(_sum(exp.Add).in_ansi, where.ARITHMETIC),
    "try_subtract": Evaluated(_sum(exp.Sub).in_ansi, where.ARITHMETIC),
    "try_multiply": Evaluated(_PRODUCT.in_ansi, where.ARITHMETIC),
    "divide": Evaluated(spell.divide, where.DIVISION),
    "integer_divide": Evaluated(_INTEGER_DIVIDE, where.WHOLE),
    "remainder": Evaluated(whole.remainder, where.WHOLE),
    "pmod": Evaluated(whole.positive_modulus, where.WHOLE),
    "negate": Evaluated(_on_numbers(whole.negative, spell.negative), where.ARITHMETIC),
    "abs": Evaluated(_on_numbers(whole.absolute, spell.absolute), where.ARITHMETIC),
    "round": Evaluated(spell.rounded, where.ROUNDED),
    "bround": Refused(_ROUNDING),
    "floor": Evaluated(_cut_off("floor"), where.CUT),
    "ceil": Evaluated(_cut_off("ceil"), where.CUT),
    "sqrt": Refused(_ROUNDING),
    "power": Refused(_ROUNDING),
    "exp": Refused(_ROUNDING),
    "ln": Refused(_ROUNDING),
    "log10": Refused(_ROUNDING),
    "sign": Refused(_UNPROVEN),
    "bit_and": Evaluated(infix(exp.BitwiseAnd), where.BITS),
    "bit_or": Evaluated(infix(exp.BitwiseOr), where.BITS),
    "bit_xor": Evaluated("xor", where.BITS),
    "shift_right": Evaluated(infix(exp.BitwiseRightShift), where.SHIFT),
    "normalize_float": Refused(_ROUNDING),
    "unscaled": Refused(_UNPROVEN),
    "decimal_of": Refused(_UNPROVEN),
    "check_overflow": Evaluated(build_cast("duckdb"), casts.CAST),
    "cast": Evaluated(ByMode(casts.try_cast, casts.cast), casts.CAST),
    "try_cast": Evaluated(casts.try_cast, casts.CAST),
    "to_number": Refused(_UNPROVEN),
    "like": Evaluated(spell.like, where.LIKE),
    "ilike": Refused(_UNICODE),
    "rlike": Refused(_JAVA),
    "starts_with": Evaluated("starts_with", where.OF_TEXT),
    "ends_with": Evaluated("suffix", where.OF_TEXT),
    "contains": Evaluated("contains", where.OF_TEXT),
    "substring": Evaluated(spell.substring, where.SUBSTRING),
    "upper": Evaluated(texts.in_case("upper"), texts.CASES),
    "lower": Evaluated(texts.in_case("lower"), texts.CASES),
    "initcap": Evaluated("spark_initcap", texts.CASES),
    "trim": Evaluated(spell.trimmed("trim"), where.TRIM),
    "ltrim": Evaluated(spell.trimmed("ltrim"), where.TRIM),
    "rtrim": Evaluated(spell.trimmed("rtrim"), where.TRIM),
    "lpad": Evaluated(texts.padded("lpad"), texts.PADDED),
    "rpad": Evaluated(texts.padded("rpad"), texts.PADDED),
    "char_pad": Evaluated(spell.char_pad, where.PAD),
    "length": Evaluated(spell.typed("length"), where.OF_TEXT),
    "concat": Evaluated(spell.concat, where.OF_TEXT),
    "concat_ws": Evaluated(texts.concat_ws, texts.JOINED),
    "replace": Evaluated("replace", where.REPLACE),
    "translate": Evaluated("translate", texts.CONSTANTS),
    "reverse": Evaluated(texts.reverse, ALWAYS),
    "repeat": Evaluated("repeat", texts.REPEATED),
    "position": Evaluated(texts.position, texts.LOCATED),
    "instr": Evaluated(spell.typed("instr"), where.OF_TEXT),
    "regexp_replace": Refused(_JAVA),
    "regexp_extract": Refused(_JAVA),
    "split": Evaluated(texts.split, texts.PARTED),
    "ascii": Evaluated("ascii", where.OF_TEXT),
    "md5": Evaluated("md5", texts.HASHED),
    "sha2": Evaluated(texts.sha2, texts.HASHED),
    "year": Evaluated(spell.typed("year"), dates.OF_DATE),
    "quarter": Evaluated(spell.typed("quarter"), dates.OF_DATE),
    "month": Evaluated(spell.typed("month"), dates.OF_DATE),
    "day": Evaluated(spell.typed("day"), dates.OF_DATE),
    "day_of_week": Evaluated(spell.typed("dayofweek", plus=1), dates.OF_DATE),
    "weekday": Evaluated(spell.typed("isodow", plus=-1), dates.OF_DATE),
    "day_of_year": Evaluated(spell.typed("dayofyear"), dates.OF_DATE),
    "week_of_year": Evaluated(spell.typed("weekofyear"), dates.OF_DATE),
    "hour": Evaluated(zoned.part("hour"), zoned.OF_TIME),
    "minute": Evaluated(zoned.part("minute"), zoned.OF_TIME),
    "second": Evaluated(zoned.part("second"), zoned.OF_TIME),
    "date_add": Evaluated(dates.date_shift(exp.Add), dates.DATE_AND_DAYS),
    "date_sub": Evaluated(dates.date_shift(exp.Sub), dates.DATE_AND_DAYS),
    "date_diff": Evaluated(dates.date_diff, dates.OF_DATES),
    "date_add_interval": Evaluated(dates.date_add_interval, dates.DATE_AND_INTERVAL),
    "timestamp_add_interval": Evaluated(zoned.add_interval, zoned.WITH_INTERVAL),
    "timestamp_diff": Refused(_ZONES),
    "add_months": Evaluated(dates.add_months, dates.DATE_AND_MONTHS),
    "months_between": Refused(_UNPROVEN),
    "last_day": Evaluated("last_day", dates.OF_DATE),
    "next_day": Refused(_UNPROVEN),
    "trunc_date": Refused(_UNPROVEN),
    "trunc_timestamp": Evaluated(zoned.truncated, zoned.TRUNCATED),
    "date_format": Evaluated(formats.formatted, formats.FORMATTED),
    "parse_timestamp": Refused(_JAVA),
    "from_unix_time": Refused(_JAVA),
    "unix_time": Refused(_JAVA),
    "unix_micros": Evaluated(zoned.micros, ALWAYS),
    "timestamp_micros": Evaluated(zoned.of_micros, ALWAYS),
    "make_date": Refused(_UNPROVEN),
    "get_field": Evaluated("struct_extract", nested.FIELDS),
    "get_item": Evaluated(nested.item, nested.OF_ARRAY),
    "array_size": Evaluated(nested.size, ALWAYS),
    "array_contains": Evaluated(nested.contains, nested.ELEMENTS_COMPARED),
    "array_position": Evaluated(nested.position, nested.ELEMENTS_COMPARED),
    "element_at": Evaluated("list_extract", nested.OF_ARRAY),
    "slice": Refused(_NESTED),
    "flatten": Refused(_NESTED),
    "sort_array": Evaluated(nested.sorted_, nested.SORTED),
    "array_distinct": Evaluated(nested.distinct, nested.ELEMENTS_COMPARED),
    "array_remove": Refused(_NESTED),
    "array_repeat": Refused(_NESTED),
    "transform": Evaluated(nested.transform, ALWAYS),
    "filter": Evaluated("list_filter", nested.ONE_PARAMETER),
    "zip_with": Refused(_NESTED),
    "array_exists": Evaluated(nested.array_exists, nested.EXISTS),
    "array_forall": Refused(_NESTED),
    "array_aggregate": Refused(_NESTED),
    "map_entries": Refused(_NESTED),
    "make_array": Evaluated("list_value", nested.ELEMENTS),
    "make_struct": Evaluated(nested.struct, nested.FIELDS),
    "make_map": Refused(_NESTED),
    "map_from_arrays": Refused(_NESTED),
    "carried": Evaluated(carried.build, carried.CARRIED),
    "python": Evaluated(kept_call, KEPT),
}
"""Every function, by id."""


def spelled(ansi: bool) -> dict[str, Spelling]:
    """The spellings of the functions that DuckDB evaluates, for jobs in ANSI mode or without."""
    return {
        function: (spelling.in_ansi if ansi else spelling.without_ansi)
        if isinstance(spelling, ByMode)
        else spelling
        for function, spelling in spellings(DUCKDB).items()
    }


def inexactness(exprs: Sequence[Expr], settings: EngineSettings) -> str | None:
    """The reason why DuckDB does not evaluate these exactly as Spark does; None if it does."""
    for expr in exprs:
        for node in walk(expr):
            reason = _node_reason(node, settings)
            if reason is not None:
                return reason
    return None


def _node_reason(node: Expr, settings: EngineSettings) -> str | None:
    if isinstance(node, Param) and isinstance(node.type, UNREADABLE):
        return f"{node.name} is of type {type_name(node.type)}"
    if not isinstance(node, Call):
        return None
    why = call_inexactness(DUCKDB.get(key_of(node.function)), node, settings)
    if why is None:
        return None
    return f"the function {shown(node.function)} is not evaluated exactly as in Spark: {why}"
