"""How the engines spell the aggregates of `symbolic.functions.AGGREGATES`.

DuckDB's table has those that it can compute exactly as Spark does; under which conditions
stands in `faithful_plan`. The result's type is the caller's to see to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.exact_division import exact_quotient
from predtrace.engines.sql.literals import sql_type
from pushdown.operators import AggregateCall
from symbolic.types import LONG, Decimal

COUNT_TYPE = Decimal(19, 0)
"""Holds every count of rows."""
_WIDEST = 38
_ANY_LONG = Decimal(20, 0)

AggregateSpelling = Callable[[AggregateCall, Sequence[exp.Expr], "exp.Expr | None"], exp.Expr]
"""Gets the call, its arguments in SQL, and the condition of FILTER, if any."""


def sum_type(argument: Decimal) -> Decimal:
    """The type of a sum of decimals: room for ten thousand million of them, if there is."""
    return Decimal(min(argument.precision + 10, _WIDEST), argument.scale)


def _spelled(name: str) -> AggregateSpelling:
    """The aggregate under a name of the engine."""

    def build(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
        values: list[exp.Expr] = [arg.copy() for arg in args] or [exp.Star()]
        if call.distinct and args:
            values = [exp.Distinct(expressions=values)]
        return _filtered(named(name, *values), keep)

    return build


def _filtered(aggregate: exp.Expr, keep: exp.Expr | None) -> exp.Expr:
    if keep is None:
        return aggregate
    return exp.Filter(this=aggregate, expression=exp.Where(this=keep.copy()))


def _both(*conditions: exp.Expr | None) -> exp.Expr | None:
    given = [condition for condition in conditions if condition is not None]
    return exp.and_(*given) if given else None


def _duckdb_count(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Of several arguments: those rows, or different tuples, where none is NULL."""
    if len(args) < 2:
        return _spelled("count")(call, args, keep)
    present = [exp.Not(this=exp.Is(this=exp.paren(arg), expression=exp.Null())) for arg in args]
    counted: exp.Expr = exp.Star()
    if call.distinct:
        counted = exp.Distinct(expressions=[named("row", *(arg.copy() for arg in args))])
    return _filtered(named("count", counted), _both(keep, *present))


def _duckdb_avg(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Decimals: the exact sum by the count, rounded half up as Spark does."""
    argument = call.args[0].type
    if not (isinstance(call.type, Decimal) and isinstance(argument, Decimal)):
        return _spelled("avg")(call, args, keep)
    total, count = (_spelled(name)(call, args, keep) for name in ("sum", "count"))
    return exact_quotient(total, sum_type(argument), count, COUNT_TYPE, call.type)


def _duckdb_count_if(
    call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None
) -> exp.Expr:
    """DuckDB's own gives NULL for no rows."""
    if_true = exp.Case(ifs=[exp.If(this=args[0].copy(), true=exp.true())])
    return _spelled("count")(call, [if_true], keep)


DUCKDB_AGGREGATES: dict[str, AggregateSpelling] = {
    "count": _duckdb_count,
    **dict.fromkeys(("sum", "try_sum"), _spelled("sum")),
    "avg": _duckdb_avg,
    "min": _spelled("min"),
    "max": _spelled("max"),
    "bool_and": _spelled("bool_and"),
    "bool_or": _spelled("bool_or"),
    "count_if": _duckdb_count_if,
}
"""Aggregate id to its spelling in DuckDB."""


def _try_sum(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Of bigints as decimals: their sums may leave the range, and come back into it, on the way.

    In which order a run adds, and so whether ``try_sum`` is NULL, need not be the same again.
    """
    if call.args[0].type != LONG:
        return _spelled("try_sum")(call, args, keep)
    wide = exp.Cast(this=args[0], to=sql_type(_ANY_LONG, "spark"))
    total = _spelled("sum")(call, [wide], keep)
    return exp.TryCast(this=total, to=sql_type(LONG, "spark"), safe=True)


SPARK_AGGREGATES: dict[str, AggregateSpelling] = {
    **{
        name: _spelled(name)
        for name in (
            "count", "sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp",
            "var_pop", "bool_and", "bool_or", "corr", "covar_pop", "covar_samp", "median",
            "percentile", "count_if",
        )
    },
    "try_sum": _try_sum,
}  # fmt: skip
"""Aggregate id to its spelling in Spark SQL: its own names."""
SPARK_TRY_AGGREGATES: dict[str, AggregateSpelling] = {
    **SPARK_AGGREGATES,
    "sum": _try_sum,
    "avg": _spelled("try_avg"),
}
"""The same in ANSI mode, without failing: NULL for what does not fit."""
