"""The aggregates of the IR in DuckDB: one row each, with its spelling and where that is exact.

Aggregates that add floating-point numbers depend on the order of the rows, which differs between
engines. Decimals and integers are added exactly. In ANSI mode a job with an overflow would have
failed, so no group that matters has an overflow here.

The caller casts the result to its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace
from sqlglot import exp

from predtrace.engines.duckdb.exact_types import compared_alike
from predtrace.engines.sql.aggregates import AggregateSpelling, filtered, spelled, sum_type
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.exact_division import divisible, exact_quotient
from predtrace.engines.sql.functions import ALWAYS, Evaluated, Exactness, Refused
from predtrace.jobs.model import EngineSettings
from pushdown.operators import AggregateCall
from symbolic.functions.carried import KEY
from symbolic.types import Decimal, Integer, type_name

COUNT_TYPE = Decimal(19, 0)
"""Holds every count of rows."""
_AVERAGED_AS_DOUBLE = 11
"""Spark's optimizer averages decimals of up to so many digits as doubles."""
_INTEGER_SUMMED_SAFELY = 32


def _both(*conditions: exp.Expr | None) -> exp.Expr | None:
    given = [condition for condition in conditions if condition is not None]
    return exp.and_(*given) if given else None


def _count(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Of several arguments: counts the rows, or the distinct tuples, in which none is NULL."""
    if len(args) < 2:
        return spelled("count")(call, args, keep)
    present = [exp.Not(this=exp.Is(this=exp.paren(arg), expression=exp.Null())) for arg in args]
    counted: exp.Expr = exp.Star()
    if call.distinct:
        counted = exp.Distinct(expressions=[named("row", *(arg.copy() for arg in args))])
    return filtered(named("count", counted), _both(keep, *present))


def _avg(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Decimals: the exact sum divided by the count, rounded half up as in Spark."""
    argument = call.args[0].type
    if not (isinstance(call.type, Decimal) and isinstance(argument, Decimal)):
        return spelled("avg")(call, args, keep)
    total, count = (spelled(name)(call, args, keep) for name in ("sum", "count"))
    return exact_quotient(total, sum_type(argument), count, COUNT_TYPE, call.type)


def _count_if(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """DuckDB's own `count_if` gives NULL for no rows."""
    if_true = exp.Case(ifs=[exp.If(this=args[0].copy(), true=exp.true())])
    return spelled("count")(call, [if_true], keep)


def _ordered(call: AggregateCall, settings: EngineSettings) -> str | None:
    argument = call.args[0].type
    return (
        None if compared_alike(argument) else f"{type_name(argument)} values are compared otherwise"
    )


def _sum(call: AggregateCall, settings: EngineSettings) -> str | None:
    match call.args[0].type, call.type:
        case Integer(bits), Integer(64):
            # The sum of four thousand million of the largest values stays in range.
            exact = settings.ansi or bits <= _INTEGER_SUMMED_SAFELY
            return None if exact else "integers overflow otherwise without ANSI mode"
        case Decimal() as argument, Decimal() as result if result == sum_type(argument):
            return _overflow(argument, settings)
    return f"sums of {type_name(call.args[0].type)} depend on the order of the rows"


def _mean(call: AggregateCall, settings: EngineSettings) -> str | None:
    argument = call.args[0].type
    if not (isinstance(argument, Decimal) and isinstance(call.type, Decimal)):
        return f"means of {type_name(argument)} are floating-point numbers"
    if argument.precision <= _AVERAGED_AS_DOUBLE:
        return f"Spark computes means of {type_name(argument)} as doubles"
    if not divisible(sum_type(argument), COUNT_TYPE, call.type):
        return f"means of {type_name(argument)} have too many digits"
    return _overflow(argument, settings)


def _overflow(argument: Decimal, settings: EngineSettings) -> str | None:
    roomy = settings.ansi or sum_type(argument).precision == argument.precision + 10
    return None if roomy else "decimals overflow otherwise without ANSI mode"


def _sum_in_ansi(call: AggregateCall, settings: EngineSettings) -> str | None:
    return _sum(call, replace(settings, ansi=True))


_ORDERED = Exactness("where the values are compared alike", _ordered)
_SUM = Exactness("on integers and decimals; without ANSI mode on those that leave room", _sum)
_SUM_IN_ANSI = Exactness("on integers and decimals", _sum_in_ansi)
_AVG = Exactness("on decimals of more than eleven digits that leave room", _mean)
_ROUNDS = "its floating-point result depends on the order of the rows or on rounding"

DUCKDB_AGGREGATES: Mapping[str, Evaluated[AggregateSpelling, AggregateCall] | Refused] = {
    "count": Evaluated(_count, ALWAYS),
    "sum": Evaluated(spelled("sum"), _SUM),
    "try_sum": Evaluated(spelled("sum"), _SUM_IN_ANSI),
    "avg": Evaluated(_avg, _AVG),
    "min": Evaluated(spelled("min"), _ORDERED),
    "max": Evaluated(spelled("max"), _ORDERED),
    "stddev_samp": Refused(_ROUNDS),
    "stddev_pop": Refused(_ROUNDS),
    "var_samp": Refused(_ROUNDS),
    "var_pop": Refused(_ROUNDS),
    "bool_and": Evaluated(spelled("bool_and"), ALWAYS),
    "bool_or": Evaluated(spelled("bool_or"), ALWAYS),
    "corr": Refused(_ROUNDS),
    "covar_pop": Refused(_ROUNDS),
    "covar_samp": Refused(_ROUNDS),
    "median": Refused(_ROUNDS),
    "percentile": Refused(_ROUNDS),
    "count_if": Evaluated(_count_if, ALWAYS),
    KEY: Refused("it is an aggregate of Spark that only Spark evaluates"),
}
"""Every aggregate that is computed again, by id."""
