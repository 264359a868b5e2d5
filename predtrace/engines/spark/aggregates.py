"""How Spark spells the aggregates of `symbolic.functions.AGGREGATES`: by its own names."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from predtrace.engines.sql.aggregates import AggregateSpelling, spelled
from predtrace.engines.sql.literals import sql_type
from pushdown.operators import AggregateCall
from symbolic.types import LONG, Decimal

_ANY_LONG = Decimal(20, 0)


def _try_sum(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Of bigints as decimals: their sums may leave the range, and come back into it, on the way.

    In which order a run adds, and so whether ``try_sum`` is NULL, need not be the same again.
    """
    if call.args[0].type != LONG:
        return spelled("try_sum")(call, args, keep)
    wide = exp.Cast(this=args[0], to=sql_type(_ANY_LONG, "spark"))
    total = spelled("sum")(call, [wide], keep)
    return exp.TryCast(this=total, to=sql_type(LONG, "spark"), safe=True)


SPARK_AGGREGATES: dict[str, AggregateSpelling] = {
    **{
        name: spelled(name)
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
    "avg": spelled("try_avg"),
}
"""The same in ANSI mode, without failing: NULL for what does not fit."""
