"""The functions of the IR in DuckDB: one row each, with its spelling and where that is exact.

Refused functions are left to Spark, for the reason in their row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb import exactness as where
from predtrace.engines.duckdb import nested
from predtrace.engines.duckdb import spellings as spell
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
from predtrace.engines.sql.functions import ALWAYS, Evaluated, Refused, call_inexactness
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call, Expr, Param, walk
from symbolic.functions import key_of, shown
from symbolic.types import type_name

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Spelling

_HASH = "the hash function is Spark's own"
_ROUNDING = "results may round otherwise"
_JAVA = "Spark follows Java here"
_UNICODE = "Unicode rules differ"
_ZONES = "time zone rules may differ"
_NESTED = "nested values are handled otherwise"
_UNPROVEN = "not measured against Spark"

DUCKDB: Mapping[str, Evaluated[Spelling, Call] | Refused] = {
    "and": Evaluated(chain(exp.And), ALWAYS),
    "or": Evaluated(chain(exp.Or), ALWAYS),
    "not": Evaluated(build_not, ALWAYS),
    "in": Evaluated(build_in, where.COMPARED),
    "case": Evaluated(build_case, where.BRANCHES),
    "coalesce": Evaluated("coalesce", where.ARGUMENTS),
    "eq": Evaluated(infix(exp.EQ), where.COMPARED),
    "lt": Evaluated(infix(exp.LT), where.COMPARED),
    "le": Evaluated(infix(exp.LTE), where.COMPARED),
    "gt": Evaluated(infix(exp.GT), where.COMPARED),
    "ge": Evaluated(infix(exp.GTE), where.COMPARED),
    "is_null": Evaluated(build_is_null, ALWAYS),
    "is_not_null": Evaluated(build_is_not_null, ALWAYS),
    "nullsafe_eq": Evaluated(infix(exp.NullSafeEQ), where.COMPARED),
    "is_nan": Evaluated(spell.is_nan, where.OF_FLOAT),
    "greatest": Evaluated("greatest", where.COMPARED),
    "least": Evaluated("least", where.COMPARED),
    "nullif": Evaluated("nullif", where.COMPARED),
    "hash": Refused(_HASH),
    "xxhash64": Refused(_HASH),
    "add": Evaluated(spell.arithmetic(exp.Add), where.ARITHMETIC),
    "subtract": Evaluated(spell.arithmetic(exp.Sub), where.ARITHMETIC),
    "multiply": Evaluated(spell.multiply, where.ARITHMETIC),
    "try_add": Evaluated(spell.arithmetic(exp.Add), where.ARITHMETIC_IN_ANSI),
    "try_subtract": Evaluated(spell.arithmetic(exp.Sub), where.ARITHMETIC_IN_ANSI),
    "try_multiply": Evaluated(spell.multiply, where.ARITHMETIC_IN_ANSI),
    "divide": Evaluated(spell.divide, where.DIVISION),
    "integer_divide": Refused(_UNPROVEN),
    "remainder": Refused(_UNPROVEN),
    "pmod": Refused(_UNPROVEN),
    "negate": Evaluated(spell.negative, where.ARITHMETIC),
    "abs": Evaluated(spell.absolute, where.ARITHMETIC),
    "round": Refused(_ROUNDING),
    "bround": Refused(_ROUNDING),
    "floor": Refused(_ROUNDING),
    "ceil": Refused(_ROUNDING),
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
    "check_overflow": Evaluated(build_cast("duckdb"), where.CAST),
    "cast": Evaluated(spell.cast, where.CAST),
    "try_cast": Evaluated(spell.cast, where.CAST_IN_ANSI),
    "to_number": Refused(_UNPROVEN),
    "like": Evaluated(spell.like, where.LIKE),
    "ilike": Refused(_UNICODE),
    "rlike": Refused(_JAVA),
    "starts_with": Evaluated("starts_with", where.OF_TEXT),
    "ends_with": Evaluated("suffix", where.OF_TEXT),
    "contains": Evaluated("contains", where.OF_TEXT),
    "substring": Evaluated(spell.substring, where.SUBSTRING),
    "upper": Refused(_UNICODE),
    "lower": Refused(_UNICODE),
    "initcap": Refused(_UNICODE),
    "trim": Evaluated(spell.trimmed("trim"), where.TRIM),
    "ltrim": Evaluated(spell.trimmed("ltrim"), where.TRIM),
    "rtrim": Evaluated(spell.trimmed("rtrim"), where.TRIM),
    "lpad": Refused(_UNPROVEN),
    "rpad": Refused(_UNPROVEN),
    "char_pad": Evaluated(spell.char_pad, where.PAD),
    "length": Evaluated(spell.typed("length"), where.OF_TEXT),
    "concat": Evaluated(spell.concat, where.OF_TEXT),
    "concat_ws": Refused(_UNPROVEN),
    "replace": Evaluated("replace", where.REPLACE),
    "translate": Refused(_UNPROVEN),
    "reverse": Refused(_UNICODE),
    "repeat": Refused(_UNPROVEN),
    "position": Refused(_UNPROVEN),
    "instr": Evaluated(spell.typed("instr"), where.OF_TEXT),
    "regexp_replace": Refused(_JAVA),
    "regexp_extract": Refused(_JAVA),
    "split": Refused(_JAVA),
    "ascii": Refused(_UNICODE),
    "md5": Refused(_UNPROVEN),
    "sha2": Refused(_UNPROVEN),
    "year": Evaluated(spell.typed("year"), where.OF_DATE),
    "quarter": Evaluated(spell.typed("quarter"), where.OF_DATE),
    "month": Evaluated(spell.typed("month"), where.OF_DATE),
    "day": Evaluated(spell.typed("day"), where.OF_DATE),
    "day_of_week": Evaluated(spell.typed("dayofweek", plus=1), where.OF_DATE),
    "weekday": Evaluated(spell.typed("isodow", plus=-1), where.OF_DATE),
    "day_of_year": Evaluated(spell.typed("dayofyear"), where.OF_DATE),
    "week_of_year": Evaluated(spell.typed("weekofyear"), where.OF_DATE),
    "hour": Refused(_ZONES),
    "minute": Refused(_ZONES),
    "second": Refused(_ZONES),
    "date_add": Evaluated(spell.date_shift(exp.Add), where.DATE_AND_DAYS),
    "date_sub": Evaluated(spell.date_shift(exp.Sub), where.DATE_AND_DAYS),
    "date_diff": Evaluated(spell.date_diff, where.OF_DATES),
    "date_add_interval": Evaluated(spell.date_add_interval, where.DATE_AND_INTERVAL),
    "timestamp_add_interval": Refused(_ZONES),
    "timestamp_diff": Refused(_ZONES),
    "add_months": Evaluated(spell.add_months, where.DATE_AND_MONTHS),
    "months_between": Refused(_UNPROVEN),
    "last_day": Evaluated("last_day", where.OF_DATE),
    "next_day": Refused(_UNPROVEN),
    "trunc_date": Refused(_UNPROVEN),
    "trunc_timestamp": Refused(_ZONES),
    "date_format": Refused(_JAVA),
    "parse_timestamp": Refused(_JAVA),
    "from_unix_time": Refused(_JAVA),
    "unix_time": Refused(_JAVA),
    "unix_micros": Refused(_UNPROVEN),
    "timestamp_micros": Refused(_UNPROVEN),
    "make_date": Refused(_UNPROVEN),
    "get_field": Evaluated("struct_extract", nested.FIELDS),
    "get_item": Refused(_NESTED),
    "array_size": Evaluated(nested.size, ALWAYS),
    "array_contains": Refused(_NESTED),
    "array_position": Refused(_NESTED),
    "element_at": Refused(_NESTED),
    "slice": Refused(_NESTED),
    "flatten": Refused(_NESTED),
    "sort_array": Refused(_NESTED),
    "array_distinct": Refused(_NESTED),
    "array_remove": Refused(_NESTED),
    "array_repeat": Refused(_NESTED),
    "transform": Evaluated(nested.transform, ALWAYS),
    "filter": Refused(_NESTED),
    "zip_with": Refused(_NESTED),
    "array_exists": Evaluated(nested.array_exists, nested.EXISTS),
    "array_forall": Refused(_NESTED),
    "array_aggregate": Refused(_NESTED),
    "map_entries": Refused(_NESTED),
    "make_array": Evaluated("list_value", nested.ELEMENTS),
    "make_struct": Evaluated(nested.struct, nested.FIELDS),
    "make_map": Refused(_NESTED),
    "map_from_arrays": Refused(_NESTED),
    "carried": Refused("it is one of Spark's that nobody has compared"),
    "python": Evaluated(kept_call, KEPT),
}
"""Every function, by id."""


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
