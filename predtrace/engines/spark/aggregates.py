"""The aggregates of the IR in Spark SQL: one row each.

Spark is the pipelines' own engine, and so exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from predtrace.engines.spark.total import OWN_ENGINE
from predtrace.engines.sql.aggregates import AggregateSpelling, filtered, spelled
from predtrace.engines.sql.functions import Evaluated
from predtrace.engines.sql.literals import sql_type
from predtrace.text.spark_calls import spark_call
from pushdown.operators import AggregateCall
from symbolic.functions import carried
from symbolic.functions.carried import KEY
from symbolic.types import LONG, Decimal

_ANY_LONG = Decimal(20, 0)


def _try_sum(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """Sums bigints as decimals: partial sums of bigints may leave the range and come back.

    Another run may add in another order, and the order decides whether ``try_sum`` is NULL.
    """
    if call.args[0].type != LONG:
        return spelled("try_sum")(call, args, keep)
    wide = exp.Cast(this=args[0], to=sql_type(_ANY_LONG, "spark"))
    total = spelled("sum")(call, [wide], keep)
    return exp.TryCast(this=total, to=sql_type(LONG, "spark"), safe=True)


def _carried(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
    """An aggregate by Spark's name for it."""
    function = carried(call.function)
    assert function is not None
    values = [exp.Distinct(expressions=list(args))] if call.distinct else args
    return filtered(spark_call(function, values), keep)


class SparkAggregate(Evaluated[AggregateSpelling, AggregateCall], frozen=True):
    """An aggregate in Spark: as pipelines spell it, and as questions spell it in ANSI mode.

    In questions a result that does not fit is NULL instead of an error.
    """

    in_ansi: AggregateSpelling


def _row(spelling: AggregateSpelling, in_ansi: AggregateSpelling | None = None) -> SparkAggregate:
    return SparkAggregate(spelling, OWN_ENGINE, in_ansi or spelling)


SPARK_AGGREGATES: Mapping[str, SparkAggregate] = {
    "count": _row(spelled("count")),
    "sum": _row(spelled("sum"), in_ansi=_try_sum),
    "try_sum": _row(_try_sum),
    "avg": _row(spelled("avg"), in_ansi=spelled("try_avg")),
    "min": _row(spelled("min")),
    "max": _row(spelled("max")),
    "stddev_samp": _row(spelled("stddev_samp")),
    "stddev_pop": _row(spelled("stddev_pop")),
    "var_samp": _row(spelled("var_samp")),
    "var_pop": _row(spelled("var_pop")),
    "bool_and": _row(spelled("bool_and")),
    "bool_or": _row(spelled("bool_or")),
    "corr": _row(spelled("corr")),
    "covar_pop": _row(spelled("covar_pop")),
    "covar_samp": _row(spelled("covar_samp")),
    "median": _row(spelled("median")),
    "percentile": _row(spelled("percentile")),
    "count_if": _row(spelled("count_if")),
    KEY: _row(_carried),
}
"""Every aggregate that is computed again, by id."""
