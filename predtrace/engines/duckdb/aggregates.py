"""How DuckDB spells the aggregates that it can compute exactly as Spark does.

Under which conditions stands in `exact_plans`. The result's type is the caller's to see to.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from predtrace.engines.sql.aggregates import AggregateSpelling, filtered, spelled, sum_type
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.exact_division import exact_quotient
from pushdown.operators import AggregateCall
from symbolic.types import Decimal

COUNT_TYPE = Decimal(19, 0)
"""Holds every count of rows."""


def _both(*conditions: exp.Expr | None) -> exp.Expr | None:
    given = [condition for condition in conditions if condition is not None]
    return exp.and_(*given) if given else None


def _duckdb_count(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Of several arguments: those rows, or different tuples, where none is NULL."""
    if len(args) < 2:
        return spelled("count")(call, args, keep)
    present = [exp.Not(this=exp.Is(this=exp.paren(arg), expression=exp.Null())) for arg in args]
    counted: exp.Expr = exp.Star()
    if call.distinct:
        counted = exp.Distinct(expressions=[named("row", *(arg.copy() for arg in args))])
    return filtered(named("count", counted), _both(keep, *present))


def _duckdb_avg(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Decimals: the exact sum by the count, rounded half up as Spark does."""
    argument = call.args[0].type
    if not (isinstance(call.type, Decimal) and isinstance(argument, Decimal)):
        return spelled("avg")(call, args, keep)
    total, count = (spelled(name)(call, args, keep) for name in ("sum", "count"))
    return exact_quotient(total, sum_type(argument), count, COUNT_TYPE, call.type)


def _duckdb_count_if(
    call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None
) -> exp.Expr:
    """DuckDB's own gives NULL for no rows."""
    if_true = exp.Case(ifs=[exp.If(this=args[0].copy(), true=exp.true())])
    return spelled("count")(call, [if_true], keep)


DUCKDB_AGGREGATES: dict[str, AggregateSpelling] = {
    "count": _duckdb_count,
    **dict.fromkeys(("sum", "try_sum"), spelled("sum")),
    "avg": _duckdb_avg,
    "min": spelled("min"),
    "max": spelled("max"),
    "bool_and": spelled("bool_and"),
    "bool_or": spelled("bool_or"),
    "count_if": _duckdb_count_if,
}
"""Aggregate id to its spelling in DuckDB."""
